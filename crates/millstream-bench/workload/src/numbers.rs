//! The numbers that flow, and how they are divided among parallel sources.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How many keys the keyed workloads have.
pub const KEYS: u32 = 1_000;

/// The step of `map` and `exchange`.
#[inline]
pub fn doubled(x: u64) -> u64 {
    x.wrapping_mul(2)
}

/// The numbers that source `index` of `of` sources makes of `0..records`: one piece, in order.
///
/// # Examples
///
/// ```
/// use millstream_bench_workload::share;
///
/// assert_eq!(share(10, 0, 3), 0..4);
/// assert_eq!(share(10, 2, 3), 8..10);
/// ```
pub fn share(records: u64, index: u64, of: u64) -> Range<u64> {
    let piece = records.div_ceil(of.max(1));
    let start = piece.saturating_mul(index).min(records);
    start..start.saturating_add(piece).min(records)
}

/// A record of the keyed workloads; also what they emit, then with the running sum as value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    /// What the stream is divided by: the number of the record modulo [`KEYS`].
    pub key: u32,
    /// The number of the record, or the running sum of its key.
    pub value: u64,
}

impl Keyed {
    /// What one result adds to the checksum.
    #[inline]
    pub fn digest(self) -> u64 {
        self.value.wrapping_add(u64::from(self.key))
    }
}

/// The records that one of several parallel sources makes, in order.
///
/// A key belongs to one source, so that its records reach the sum in one order and every running
/// sum is the same at every parallelism.
#[derive(Clone, Debug)]
pub struct KeyedShare {
    records: u64,
    /// The number of the first record of the present round through the keys.
    round: u64,
    key: u32,
    first: u32,
    step: u32,
}

impl KeyedShare {
    /// The share of source `index` of `of` sources in `records` records.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream_bench_workload::{Keyed, KeyedShare};
    ///
    /// let second: Vec<Keyed> = KeyedShare::new(4, 1, 2).collect();
    /// assert_eq!(second, [Keyed { key: 1, value: 1 }, Keyed { key: 3, value: 3 }]);
    /// ```
    pub fn new(records: u64, index: u64, of: u64) -> Self {
        let first = u32::try_from(index).unwrap_or(KEYS);
        let step = u32::try_from(of.max(1)).unwrap_or(KEYS).min(KEYS);
        let records = if first < KEYS { records } else { 0 };
        Self { records, round: 0, key: first, first, step }
    }
}

impl Iterator for KeyedShare {
    type Item = Keyed;

    #[inline]
    fn next(&mut self) -> Option<Keyed> {
        let record = Keyed { key: self.key, value: self.round + u64::from(self.key) };
        if record.value >= self.records {
            return None;
        }
        self.key += self.step;
        if self.key >= KEYS {
            self.key = self.first;
            self.round += u64::from(KEYS);
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_whole_once() {
        for (records, of) in [(0, 1), (1, 4), (10, 3), (4_096, 4), (3, 7)] {
            let all: Vec<u64> = (0..of).flat_map(|index| share(records, index, of)).collect();
            assert_eq!(all, (0..records).collect::<Vec<_>>(), "{records} of {of}");
        }
    }

    #[test]
    fn one_source_makes_every_record_in_order() {
        let made: Vec<Keyed> = KeyedShare::new(2_500, 0, 1).collect();
        let meant: Vec<Keyed> =
            (0..2_500).map(|i| Keyed { key: (i % 1_000) as u32, value: i }).collect();
        assert_eq!(made, meant);
    }

    #[test]
    fn a_key_belongs_to_one_source_whatever_their_number() {
        for of in [2, 3, 7, 1_000, 1_500] {
            let mut owner = vec![None; KEYS as usize];
            let mut values = Vec::new();
            for index in 0..of {
                for record in KeyedShare::new(2_345, index, of) {
                    let owner = owner[record.key as usize].get_or_insert(index);
                    assert_eq!(*owner, index, "key {} of {of} sources", record.key);
                    values.push(record.value);
                }
            }
            values.sort_unstable();
            assert_eq!(values, (0..2_345).collect::<Vec<_>>(), "{of} sources");
        }
    }
}
