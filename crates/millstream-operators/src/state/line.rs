//! The line on which the keys of a table stand: group by group, within a group by their hashes.

use std::ops::Range;

use millstream_core::{KeyGroup, KeyGroups, KeyHash};

use super::error::NotOurs;

/// Numbers from 0 to 2⁶⁴, shared out evenly among the key groups that a table has, in their order.
///
/// A key's group is the integer part of (the low half of its hash × the number of groups ÷ 2³²).
/// The fraction says where in its group it stands, and the high half of the hash where exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// How many groups the job has.
    count: u64,
    /// Where our groups begin among them, in units of 2⁻³² groups.
    start: u64,
    /// The number of our groups, in the same units.
    width: u64,
    /// Points of the line in such a unit.
    scale: u64,
}

impl Line {
    /// The line of the groups in `range`, which is not empty, out of all the job's `groups`.
    pub(super) const fn new(groups: KeyGroups, range: Range<u32>) -> Self {
        let ours = range.end.saturating_sub(range.start) as u64;
        let scale = match (1_u64 << 32).checked_div(ours) {
            Some(scale) => scale,
            None => 0,
        };
        Self {
            count: groups.count() as u64,
            start: (range.start as u64) << 32,
            width: ours << 32,
            scale,
        }
    }

    /// How many groups there are.
    pub(super) const fn groups(&self) -> usize {
        (self.width >> 32) as usize
    }

    /// Whether every group of the job is ours.
    #[inline]
    pub(super) const fn is_all(&self) -> bool {
        self.width >> 32 == self.count
    }

    /// The `index`-th of our groups.
    pub(super) const fn group(&self, index: usize) -> KeyGroup {
        KeyGroup::new((self.start >> 32) as u32 + index as u32)
    }

    /// Where a key stands, in units of 2⁻³² groups.
    #[inline]
    const fn offset(&self, hash: KeyHash) -> u64 {
        self.offset_of_all(hash).wrapping_sub(self.start)
    }

    /// The same, counted from the job's first group.
    #[inline]
    const fn offset_of_all(&self, hash: KeyHash) -> u64 {
        (hash.get() & 0xFFFF_FFFF) * self.count
    }

    /// Refuses a key of a group that is not ours.
    #[inline]
    pub(super) const fn check(&self, hash: KeyHash) -> Result<(), NotOurs> {
        if self.offset(hash) < self.width { Ok(()) } else { Err(self.refusal(hash)) }
    }

    #[cold]
    const fn refusal(&self, hash: KeyHash) -> NotOurs {
        let group = KeyGroup::new((self.offset_of_all(hash) >> 32) as u32);
        let first = (self.start >> 32) as u32;
        NotOurs { group, first, end: first + self.groups() as u32 }
    }

    /// Which of our groups a key of ours belongs to.
    #[inline]
    pub(super) const fn index_of(&self, hash: KeyHash) -> usize {
        (self.offset(hash) >> 32) as usize
    }

    /// The point at which a key of ours stands; for another key any point.
    #[inline]
    pub(super) const fn point(&self, hash: KeyHash) -> u64 {
        let within = ((hash.get() >> 32) * self.scale) >> 32;
        self.offset(hash).wrapping_mul(self.scale).wrapping_add(within)
    }

    /// The point at which the `index`-th of our groups ends and the next one begins; nothing for
    /// the last one, which reaches to the end of the line.
    pub(super) const fn end_of(&self, index: usize) -> Option<u64> {
        let next = index as u64 + 1;
        if next << 32 >= self.width { None } else { Some((next << 32) * self.scale) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_their_group_and_groups_side_by_side() {
        for (count, range) in [(1, 0..1), (128, 0..128), (128, 43..86), (7, 6..7), (1 << 15, 9..12)]
        {
            let groups = KeyGroups::new(count).unwrap();
            let line = Line::new(groups, range.clone());
            assert_eq!(line.groups(), range.len());
            assert_eq!(line.end_of(line.groups() - 1), None);
            for key in 0..20_000_u32 {
                let hash = KeyHash::of(&key).unwrap();
                let group = groups.of(hash);
                let ours = range.contains(&group.get());
                assert_eq!(line.check(hash).is_ok(), ours);
                if ours {
                    let (index, point) = (line.index_of(hash), line.point(hash));
                    assert_eq!(line.group(index), group);
                    assert!(index == 0 || line.end_of(index - 1).unwrap() <= point);
                    assert!(line.end_of(index).is_none_or(|end| point < end));
                }
            }
        }
    }

    #[test]
    fn the_ends_of_a_group_are_its_own() {
        // The hashes whose low half is the first or the last one of a group.
        for (count, range) in [(3, 0..3), (128, 0..128), (1_000, 17..90)] {
            let line = Line::new(KeyGroups::new(count).unwrap(), range.clone());
            for group in range {
                let edge = |group: u64| (group << 32).div_ceil(u64::from(count));
                let (low, next) = (edge(u64::from(group)), edge(u64::from(group) + 1));
                for hash in [low, low | u64::MAX << 32, next - 1, (next - 1) | u64::MAX << 32] {
                    let hash = KeyHash::from_raw(hash);
                    let (index, point) = (line.index_of(hash), line.point(hash));
                    assert_eq!(line.group(index).get(), group);
                    assert!(index == 0 || line.end_of(index - 1).unwrap() <= point);
                    assert!(line.end_of(index).is_none_or(|end| point < end));
                }
            }
        }
    }
}
