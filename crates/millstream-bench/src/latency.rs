//! How old records are when they come out: a source's schedule, a record's stamp, and the
//! distribution of ages.
//!
//! Age counts from the making of a record, so that it is what the stream adds. A source that is
//! held up makes its records late instead, and that must not go unseen: a stamp also says how
//! late its record was made, and the report has both.

use std::time::Instant;

use hdrhistogram::Histogram;
use millstream_bench_workload::{Latency, SideError};
use serde::{Deserialize, Serialize};

/// Ages are kept to three digits up to a minute.
const AGE_MAX_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// When each record of a source is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    begin: Instant,
    rate: u64,
}

/// A record of `latency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamped {
    /// Its number.
    pub(crate) number: u64,
    /// When it was made, in nanoseconds of the schedule.
    made: u64,
    /// How long after it was due.
    late: u64,
}

impl Schedule {
    /// A schedule of `rate` records a second that begins now.
    pub(crate) fn new(rate: u64) -> Self {
        Self { begin: Instant::now(), rate: rate.max(1) }
    }

    /// How many records are due by now.
    pub(crate) fn due(&self) -> u64 {
        due_at(self.now(), self.rate)
    }

    /// Record `number`, made now.
    pub(crate) fn stamp(&self, number: u64) -> Stamped {
        stamp_at(self.now(), number, self.rate)
    }

    /// Nanoseconds since the schedule began.
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn due_at(now: u64, rate: u64) -> u64 {
    let due = u128::from(now) * u128::from(rate) / 1_000_000_000 + 1;
    u64::try_from(due).unwrap_or(u64::MAX)
}

fn stamp_at(now: u64, number: u64, rate: u64) -> Stamped {
    let due = u128::from(number) * 1_000_000_000 / u128::from(rate);
    let due = u64::try_from(due).unwrap_or(u64::MAX);
    Stamped { number, made: now, late: now.saturating_sub(due) }
}

/// What a sink knows of the ages of its records.
#[derive(Clone, Debug)]
pub(crate) struct Ages {
    schedule: Schedule,
    age: Histogram<u64>,
    late: Histogram<u64>,
}

impl Ages {
    /// No ages yet.
    pub(crate) fn new(schedule: Schedule) -> Result<Self, SideError> {
        let empty = || Histogram::new_with_bounds(1, AGE_MAX_NS, DIGITS).map_err(SideError::failed);
        Ok(Self { schedule, age: empty()?, late: empty()? })
    }

    /// A record has come out now.
    pub(crate) fn add(&mut self, record: &Stamped) {
        self.add_at(self.schedule.now(), record);
    }

    fn add_at(&mut self, now: u64, record: &Stamped) {
        self.age.saturating_record(now.saturating_sub(record.made));
        self.late.saturating_record(record.late);
    }

    /// The figures.
    pub(crate) fn latency(&self) -> Latency {
        let ms = |histogram: &Histogram<u64>, part| {
            histogram.value_at_quantile(part) as f64 / 1_000_000.0
        };
        Latency {
            p50_ms: ms(&self.age, 0.5),
            p99_ms: ms(&self.age, 0.99),
            p999_ms: ms(&self.age, 0.999),
            late_p99_ms: ms(&self.late, 0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_is_due_at_once_and_the_next_after_its_time() {
        assert_eq!(due_at(0, 100_000), 1);
        assert_eq!(due_at(9_999, 100_000), 1);
        assert_eq!(due_at(10_000, 100_000), 2);
        assert_eq!(due_at(1_000_000_000, 100_000), 100_001);
    }

    #[test]
    fn a_record_that_is_made_late_says_so() {
        let stamped = stamp_at(25_000, 2, 100_000);
        assert_eq!(stamped, Stamped { number: 2, made: 25_000, late: 5_000 });
        assert_eq!(stamp_at(0, 2, 100_000).late, 0);
    }

    #[test]
    fn figures_are_those_of_the_distribution() {
        let mut ages = Ages::new(Schedule::new(1_000)).unwrap();
        for number in 0..1_000 {
            // Made 1 ms late each; 0, 1, 2 … µs old when they come out.
            let record = Stamped { number, made: 0, late: 1_000_000 };
            ages.add_at(number * 1_000, &record);
        }
        let latency = ages.latency();
        let near = |is: f64, meant: f64| (is - meant).abs() <= meant * 2e-3;
        assert!(near(latency.p50_ms, 0.499), "{latency:?}");
        assert!(near(latency.p99_ms, 0.989), "{latency:?}");
        assert!(near(latency.p999_ms, 0.998), "{latency:?}");
        assert!(near(latency.late_p99_ms, 1.0), "{latency:?}");
    }
}
