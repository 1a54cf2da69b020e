//! Key groups: the unit in which keyed state is owned, stored and moved to another parallelism.
//!
//! A key's group never changes; which task owns the group follows from the parallelism alone. So a
//! snapshot taken by three tasks is restored by five without looking at a single key.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::KeyHash;

/// A key group's number, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct KeyGroup(u32);

impl KeyGroup {
    /// The number as one of these.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The plain number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for KeyGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of key groups that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyGroupError {
    /// None, or too many.
    #[error("{count} key groups: choose 1 to {}", KeyGroups::MAX)]
    Count {
        /// How many were asked for.
        count: u32,
    },
    /// Tasks would be left without a group.
    #[error(
        "parallelism {parallelism} with {count} key groups: a task needs at least one group, so \
         raise the number of key groups or lower the parallelism"
    )]
    Parallelism {
        /// How many tasks.
        parallelism: usize,
        /// How many key groups.
        count: u32,
    },
    /// There is no task at all.
    #[error("parallelism 0: a stage needs at least one task")]
    NoTask,
}

/// How many key groups a job has. Fixed for the life of the job and of its checkpoints.
///
/// # Examples
///
/// ```
/// use millstream_core::{KeyGroups, KeyHash};
///
/// let groups = KeyGroups::default_for(3).checked_for(3)?;
/// assert_eq!(groups.count(), 128);
/// assert_eq!(groups.range(1, 3), 43..86);
///
/// let hash = KeyHash::of("EWR")?;
/// let owner = groups.owner_of(hash, 3);
/// assert!(groups.range(owner, 3).contains(&groups.of(hash).get()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct KeyGroups(u32);

impl KeyGroups {
    /// The most groups that a job can have.
    pub const MAX: u32 = 1 << 15;
    /// The fewest that a job has without being asked.
    pub const DEFAULT_MIN: u32 = 1 << 7;

    /// This many groups.
    ///
    /// # Errors
    ///
    /// [`KeyGroupError::Count`] unless `count` is 1 to [`KeyGroups::MAX`].
    pub const fn new(count: u32) -> Result<Self, KeyGroupError> {
        if count == 0 || count > Self::MAX {
            return Err(KeyGroupError::Count { count });
        }
        Ok(Self(count))
    }

    /// As many as suit a job of this parallelism that may grow: the next power of two from one and
    /// a half times the parallelism, at least [`KeyGroups::DEFAULT_MIN`] and at most
    /// [`KeyGroups::MAX`].
    pub fn default_for(parallelism: usize) -> Self {
        let parallelism = u32::try_from(parallelism).unwrap_or(Self::MAX).min(Self::MAX);
        let wanted = (parallelism + parallelism / 2).next_power_of_two();
        Self(wanted.clamp(Self::DEFAULT_MIN, Self::MAX))
    }

    /// The same, if that many tasks can share these groups.
    ///
    /// # Errors
    ///
    /// [`KeyGroupError::Parallelism`] when there are more tasks than groups,
    /// [`KeyGroupError::NoTask`] when there is none.
    pub const fn checked_for(self, parallelism: usize) -> Result<Self, KeyGroupError> {
        if parallelism == 0 {
            return Err(KeyGroupError::NoTask);
        }
        if parallelism > self.0 as usize {
            return Err(KeyGroupError::Parallelism { parallelism, count: self.0 });
        }
        Ok(self)
    }

    /// How many.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0
    }

    /// The group of a key.
    ///
    /// The hash's low half is taken as a fraction of the count, so the count may be any number.
    #[inline]
    pub const fn of(self, hash: KeyHash) -> KeyGroup {
        let low = hash.get() & 0xFFFF_FFFF;
        KeyGroup(((low * self.0 as u64) >> 32) as u32)
    }

    /// Which of `parallelism` tasks owns a group.
    ///
    /// `group` is one of these groups, and `parallelism` has passed
    /// [`checked_for`](Self::checked_for).
    #[inline]
    pub const fn owner(self, group: KeyGroup, parallelism: usize) -> usize {
        debug_assert!(group.0 < self.0, "a group of another job");
        debug_assert!(parallelism > 0 && parallelism <= self.0 as usize, "unchecked parallelism");
        // Both factors are at most `MAX`, so 32 bits hold the product; a division of 32 bits is
        // the cheapest there is.
        (group.0 * parallelism as u32 / self.0) as usize
    }

    /// Which of `parallelism` tasks owns a key: the two steps in one, for the exchange.
    #[inline]
    pub const fn owner_of(self, hash: KeyHash, parallelism: usize) -> usize {
        self.owner(self.of(hash), parallelism)
    }

    /// The groups that a subtask owns: those whose [`owner`](Self::owner) it is.
    ///
    /// `parallelism` has passed [`checked_for`](Self::checked_for). A subtask that is none of them
    /// owns nothing.
    #[must_use]
    pub const fn range(self, subtask: usize, parallelism: usize) -> Range<u32> {
        debug_assert!(parallelism > 0 && parallelism <= self.0 as usize, "unchecked parallelism");
        self.first(subtask, parallelism)..self.first(subtask + 1, parallelism)
    }

    /// The first group that this subtask or a later one owns.
    const fn first(self, subtask: usize, parallelism: usize) -> u32 {
        if subtask >= parallelism {
            return self.0;
        }
        (subtask as u64 * self.0 as u64).div_ceil(parallelism as u64) as u32
    }
}

impl TryFrom<u32> for KeyGroups {
    type Error = KeyGroupError;

    fn try_from(count: u32) -> Result<Self, Self::Error> {
        Self::new(count)
    }
}

impl From<KeyGroups> for u32 {
    fn from(groups: KeyGroups) -> Self {
        groups.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(count: u32) -> KeyGroups {
        KeyGroups::new(count).unwrap()
    }

    #[test]
    fn c061_ranges_are_disjoint_cover_all_groups_and_agree_with_the_owner() {
        let ranges = |count, parallelism| -> Vec<_> {
            (0..parallelism).map(|i| groups(count).range(i, parallelism)).collect()
        };
        assert_eq!(ranges(128, 3), [0..43, 43..86, 86..128]);
        assert_eq!(ranges(10, 3), [0..4, 4..7, 7..10]);
        assert_eq!(ranges(10, 4), [0..3, 3..5, 5..8, 8..10]);
        assert_eq!(ranges(5, 2), [0..3, 3..5]);
        for count in (1..200).chain([1_000, 32_767, 32_768]) {
            for parallelism in (1..=count.min(200) as usize).chain([count as usize]) {
                let mut next = 0;
                for subtask in 0..parallelism {
                    let range = groups(count).range(subtask, parallelism);
                    assert_eq!(range.start, next, "{count} groups, {parallelism} tasks");
                    assert!(!range.is_empty(), "{count} groups, {parallelism} tasks");
                    next = range.end;
                    for group in range {
                        let owner = groups(count).owner(KeyGroup::new(group), parallelism);
                        assert_eq!(owner, subtask, "{count} groups, {parallelism} tasks");
                    }
                }
                assert_eq!(next, count);
            }
        }
    }

    /// The behaviour also refuses a null key. Ours cannot be null: a key is a value of its type,
    /// and an `Option` in it is a key like any other.
    #[test]
    fn c062_the_default_number_grows_with_the_parallelism_and_tasks_need_a_group_each() {
        let defaults = [1, 85, 86, 100, 171, 172, 30_000, usize::MAX];
        let counts = defaults.map(|parallelism| KeyGroups::default_for(parallelism).count());
        assert_eq!(counts, [128, 128, 256, 256, 256, 512, 32_768, 32_768]);
        assert_eq!(
            groups(128).checked_for(129),
            Err(KeyGroupError::Parallelism { parallelism: 129, count: 128 })
        );
        assert_eq!(groups(128).checked_for(128), Ok(groups(128)));
        assert_eq!(groups(128).checked_for(0), Err(KeyGroupError::NoTask));
    }

    #[test]
    fn a_count_of_zero_or_too_many_is_refused_also_when_it_is_read() {
        for count in [0, 32_769] {
            assert_eq!(KeyGroups::new(count), Err(KeyGroupError::Count { count }));
            let bytes = rmp_serde::to_vec(&count).unwrap();
            assert!(rmp_serde::from_slice::<KeyGroups>(&bytes).is_err());
        }
        let bytes = rmp_serde::to_vec(&groups(32_768)).unwrap();
        assert_eq!(rmp_serde::from_slice::<KeyGroups>(&bytes).unwrap(), groups(32_768));
    }

    #[test]
    fn the_group_comes_from_the_low_half_of_the_hash_alone() {
        let group = |raw| groups(128).of(KeyHash::from_raw(raw)).get();
        assert_eq!(group(0), 0);
        assert_eq!(group(u64::MAX << 32), 0);
        assert_eq!(group(0xFFFF_FFFF), 127);
        assert_eq!(group(0x8000_0000), 64);
        assert_eq!(groups(1).of(KeyHash::from_raw(u64::MAX)), KeyGroup::new(0));
        assert_eq!(groups(128).owner_of(KeyHash::from_raw(0xFFFF_FFFF), 3), 2);
    }
}
