//! One number that tells whether both sides made the same results, in whatever order they came.

use serde::{Deserialize, Serialize};

/// The wrapping sum of everything that has been added.
///
/// A sum does not depend on the order, so two sides can be compared at any parallelism, and it
/// costs one addition, so it does not hide the work that is measured. What is lost, doubled or
/// changed changes it.
///
/// # Examples
///
/// ```
/// use millstream_bench_workload::Checksum;
///
/// let mut there = Checksum::default();
/// there.add(1);
/// there.add(2);
/// let mut back = Checksum::default();
/// back.add(2);
/// back.add(1);
/// assert_eq!(there, back);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0 = self.0.wrapping_add(value);
    }

    /// Adds a word and how often it was counted.
    pub fn add_count(&mut self, word: &str, count: u64) {
        // FNV-1a: the word must count, the speed of it does not matter (once a word a round).
        let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.add(hash.wrapping_mul(count));
    }

    /// Adds what another part of the results came to.
    #[inline]
    pub fn merge(&mut self, other: Self) {
        self.add(other.0);
    }

    /// The sum.
    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Checksum {
        let mut sum = Checksum::default();
        values.iter().for_each(|&value| sum.add(value));
        sum
    }

    #[test]
    fn parts_come_to_the_same_as_the_whole() {
        let mut parts = of(&[1, 2]);
        parts.merge(of(&[u64::MAX, 7]));
        assert_eq!(parts, of(&[7, u64::MAX, 2, 1]));
    }

    #[test]
    fn a_lost_and_a_doubled_value_show() {
        assert_ne!(of(&[2, 4, 6]), of(&[2, 4]));
        assert_ne!(of(&[2, 4, 6]), of(&[2, 4, 6, 6]));
    }

    #[test]
    fn a_count_given_to_another_word_shows() {
        let mut one = Checksum::default();
        one.add_count("mill", 2);
        one.add_count("stream", 1);
        let mut other = Checksum::default();
        other.add_count("mill", 1);
        other.add_count("stream", 2);
        assert_ne!(one, other);
    }
}
