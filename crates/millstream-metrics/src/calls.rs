//! What a task of calls to outside systems writes about them.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use millstream_core::{Counter, Gauge, Histogram, HistogramView, Moment};
use serde::{Serialize, Serializer};

/// Says that no call is out. No clock comes so far in 584 years.
const NONE: u64 = u64::MAX;

/// The numbers of the calls of one task.
#[derive(Debug)]
pub struct CallMetrics {
    /// Calls made.
    pub attempts: Counter,
    /// Of them, those that were made again.
    pub retries: Counter,
    /// Records whose time was over.
    pub timeouts: Counter,
    /// Records whose call failed for good, time-outs left out.
    pub failures: Counter,
    /// Records whose results, or what stood in their place, have gone out.
    pub completed: Counter,
    /// Records that were dropped because their call failed.
    pub dropped: Counter,
    /// Records that left as dead letters.
    pub dead_letters: Counter,
    /// Records admitted that have no outcome yet.
    pub in_flight: Gauge,
    /// Records admitted that have not gone out, those in flight among them.
    pub queued: Gauge,
    /// From a record's first call to its outcome, in nanoseconds.
    pub latency: Arc<Histogram>,
    oldest: AtomicU64,
}

impl Default for CallMetrics {
    fn default() -> Self {
        let (attempts, retries, timeouts) = <(Counter, Counter, Counter)>::default();
        let (failures, completed) = <(Counter, Counter)>::default();
        let (dropped, dead_letters) = <(Counter, Counter)>::default();
        let (in_flight, queued) = <(Gauge, Gauge)>::default();
        let (latency, oldest) = (Arc::default(), AtomicU64::new(NONE));
        Self {
            attempts,
            retries,
            timeouts,
            failures,
            completed,
            dropped,
            dead_letters,
            in_flight,
            queued,
            latency,
            oldest,
        }
    }
}

impl CallMetrics {
    /// The call that has been out for the longest time began at this moment; or none is out.
    pub fn set_oldest(&self, began: Option<Moment>) {
        self.oldest.store(began.map_or(NONE, Moment::nanos), Relaxed);
    }

    /// Nothing is out or waits, also of what was given up.
    pub fn set_none_out(&self) {
        self.in_flight.set(0);
        self.queued.set(0);
        self.set_oldest(None);
    }

    /// The numbers as they are now.
    pub fn numbers(&self, now: Moment) -> CallNumbers {
        let oldest = Some(self.oldest.load(Relaxed)).filter(|began| *began != NONE);
        CallNumbers {
            attempts: self.attempts.get(),
            retries: self.retries.get(),
            timeouts: self.timeouts.get(),
            failures: self.failures.get(),
            completed: self.completed.get(),
            dropped: self.dropped.get(),
            dead_letters: self.dead_letters.get(),
            in_flight: u64::try_from(self.in_flight.get()).unwrap_or(0),
            queued: u64::try_from(self.queued.get()).unwrap_or(0),
            oldest_ns: oldest.map(|began| now.nanos().saturating_sub(began)),
            latency: self.latency.view(),
        }
    }
}

/// What was counted about calls, by one task or by several together.
///
/// The fields are explained at [`CallMetrics`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallNumbers {
    /// Calls made.
    pub attempts: u64,
    /// Calls made again.
    pub retries: u64,
    /// Records whose time was over.
    pub timeouts: u64,
    /// Records whose call failed for good otherwise.
    pub failures: u64,
    /// Records whose results have gone out.
    pub completed: u64,
    /// Records dropped.
    pub dropped: u64,
    /// Records that left as dead letters.
    pub dead_letters: u64,
    /// Records without an outcome.
    pub in_flight: u64,
    /// Records that have not gone out.
    pub queued: u64,
    /// How long the oldest call has been out; of several tasks, the oldest of all.
    pub oldest_ns: Option<u64>,
    /// From a record's first call to its outcome, in nanoseconds; in serialised form its count,
    /// `p50_ns`, `p99_ns` and `max_ns`.
    #[serde(serialize_with = "in_short")]
    pub latency: HistogramView,
}

impl AddAssign<&Self> for CallNumbers {
    fn add_assign(&mut self, other: &Self) {
        // Without `..`, so that a new field cannot be forgotten here.
        let Self {
            attempts,
            retries,
            timeouts,
            failures,
            completed,
            dropped,
            dead_letters,
            in_flight,
            queued,
            oldest_ns,
            latency,
        } = other;
        for (sum, number) in [
            (&mut self.attempts, attempts),
            (&mut self.retries, retries),
            (&mut self.timeouts, timeouts),
            (&mut self.failures, failures),
            (&mut self.completed, completed),
            (&mut self.dropped, dropped),
            (&mut self.dead_letters, dead_letters),
            (&mut self.in_flight, in_flight),
            (&mut self.queued, queued),
        ] {
            *sum = sum.saturating_add(*number);
        }
        self.oldest_ns = self.oldest_ns.max(*oldest_ns);
        self.latency += latency;
    }
}

fn in_short<S: Serializer>(view: &HistogramView, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Short {
        count: u64,
        p50_ns: u64,
        p99_ns: u64,
        max_ns: u64,
    }
    let (count, max_ns) = (view.count(), view.max());
    Short { count, p50_ns: view.quantile(0.5), p99_ns: view.quantile(0.99), max_ns }.serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_call_grows_older_by_itself() {
        let metrics = CallMetrics::default();
        let age = |at| metrics.numbers(Moment::from_nanos(at)).oldest_ns;
        assert_eq!(age(50), None);
        metrics.set_oldest(Some(Moment::ZERO));
        assert_eq!((age(50), age(70)), (Some(50), Some(70)));
        metrics.set_oldest(None);
        assert_eq!(age(90), None);
    }

    #[test]
    fn tasks_are_added_up_and_latencies_are_those_of_all_together() {
        let [one, other] = [10_u64, 1_000].map(|latency| {
            let metrics = CallMetrics::default();
            metrics.attempts.add(100);
            metrics.in_flight.set(3);
            metrics.latency.record_many(latency, 100);
            metrics.set_oldest(Some(Moment::from_nanos(latency)));
            metrics.numbers(Moment::from_nanos(2_000))
        });
        let mut both = CallNumbers::default();
        both += &one;
        both += &other;
        assert_eq!((both.attempts, both.in_flight, both.oldest_ns), (200, 6, Some(1_990)));
        let json = serde_json::to_value(&both).unwrap();
        let latency = serde_json::json!({
            "count": 200, "p50_ns": 10, "p99_ns": 1_000, "max_ns": 1_000,
        });
        assert_eq!(json["latency"], latency);
    }
}
