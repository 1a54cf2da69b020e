//! An outside system that needs no network: a table that takes its time to answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millstream::{Clock, SystemClock};

/// Rows by their keys. Each answer comes after a delay that follows from the seed and the number of
/// the request, so that two runs wait alike.
pub(crate) struct Service<V> {
    rows: Arc<BTreeMap<String, V>>,
    seed: u64,
    clock: SystemClock,
}

impl<V> Clone for Service<V> {
    fn clone(&self) -> Self {
        Self { rows: self.rows.clone(), ..*self }
    }
}

impl<V: Clone> Service<V> {
    pub(crate) fn new(seed: u64, rows: impl IntoIterator<Item = (String, V)>) -> Self {
        Self { rows: Arc::new(rows.into_iter().collect()), seed, clock: SystemClock::new() }
    }

    /// The row of this key, if there is one.
    pub(crate) async fn get(&self, key: &str, request: u64) -> Option<V> {
        let answers = self.clock.monotonic().plus(self.delay(request));
        self.clock.wake_at(answers).await;
        self.rows.get(key).cloned()
    }
}

impl<V> Service<V> {
    /// From half a millisecond to one and a half; for one request of a hundred ten times as long.
    /// The system's clock wakes in steps of a millisecond, so an answer may come up to one later.
    fn delay(&self, request: u64) -> Duration {
        let chance = mixed(self.seed ^ mixed(request));
        let usual = Duration::from_micros(500 + chance % 1_000);
        if (chance >> 32).is_multiple_of(100) { usual * 10 } else { usual }
    }
}

/// Each bit of the number decides about all bits of the result.
const fn mixed(number: u64) -> u64 {
    let x = (number ^ (number >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(seed: u64) -> Vec<u128> {
        let service = Service::<()>::new(seed, []);
        (0..100_000).map(|request| service.delay(request).as_micros()).collect()
    }

    #[test]
    fn the_delays_follow_from_the_seed() {
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }

    #[test]
    fn one_answer_of_a_hundred_takes_ten_times_as_long() {
        let (usual, slow): (Vec<u128>, Vec<u128>) =
            delays(1).into_iter().partition(|micros| *micros < 5_000);
        assert!(slow.len().abs_diff(1_000) < 100, "{}", slow.len());
        let mean = |of: &[u128]| of.iter().sum::<u128>() / of.len() as u128;
        assert!(mean(&usual).abs_diff(1_000) < 20, "{}", mean(&usual));
        assert!(mean(&slow).abs_diff(10_000) < 500, "{}", mean(&slow));
    }
}
