//! The numbers that a user's code gives names to.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use millstream_core::Counter;

/// The most names that one task counts under.
pub const COUNTS_MAX: usize = 64;

/// The name that everything is counted under whose own name came after [`COUNTS_MAX`] others.
pub const COUNTS_OTHER: &str = "(other)";

/// A small map of counters.
///
/// Names rarely change, so that a known one needs no more than a shared lock: reading all of them
/// never keeps the task from counting. Only a new name locks readers out, for one insertion.
#[derive(Debug, Default)]
pub(crate) struct Counts(RwLock<BTreeMap<Box<str>, Counter>>);

impl Counts {
    pub(crate) fn add(&self, name: &str, count: u64) {
        // A map of counters is whole at every moment, so a poisoned lock has nothing to tell.
        if let Some(counter) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return counter.add_saturating(count);
        }
        let mut counters = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_full = counters.len() >= COUNTS_MAX && !counters.contains_key(name);
        let name = if is_full { COUNTS_OTHER } else { name };
        counters.entry(name.into()).or_default().add_saturating(count);
    }

    pub(crate) fn get(&self) -> BTreeMap<String, u64> {
        let counters = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counters.iter().map(|(name, counter)| (name.to_string(), counter.get())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_past_the_limit_are_counted_under_one() {
        let counts = Counts::default();
        for number in 0..COUNTS_MAX + 10 {
            counts.add(&number.to_string(), 2);
        }
        counts.add("0", 1);
        counts.add("one more", 1);
        let counts = counts.get();
        assert_eq!(counts.len(), COUNTS_MAX + 1);
        assert_eq!((counts["0"], counts["63"], counts.get("64")), (3, 2, None));
        assert_eq!(counts[COUNTS_OTHER], 21);
    }

    #[test]
    fn a_count_stays_at_the_most_that_there_is() {
        let counts = Counts::default();
        for count in [1, u64::MAX, 1, u64::MAX] {
            counts.add("much", count);
        }
        assert_eq!(counts.get()["much"], u64::MAX);
    }
}
