//! What the user of a stage of calls has said, in tests: limits, rules, which task it is.

use std::time::Duration;

use millstream_core::{Attempt, Failure, KeyGroups, KeyHash, StageId, TaskInfo};

use super::super::{Handlers, Limits, Order, Verdict};

pub(super) type Results = Vec<i64>;
pub(super) type Judged = Result<Verdict<Results>, Failure>;

/// What the user of the stage has said, and how often the machine has asked.
#[derive(Clone)]
pub(super) struct Rules {
    pub(super) key: fn(i64) -> Option<i64>,
    pub(super) weight: fn(i64) -> usize,
    pub(super) retries_error: fn(&str) -> bool,
    pub(super) retries_panic: fn(&str) -> bool,
    pub(super) retries_results: fn(&[i64]) -> bool,
    pub(super) on_error: fn(Option<i64>, &str) -> Judged,
    pub(super) on_timeout: fn(Option<i64>) -> Judged,
    pub(super) errors: u32,
    pub(super) timeouts: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            key: Some,
            weight: |_| 0,
            retries_error: |_| true,
            retries_panic: |_| false,
            retries_results: |_| false,
            on_error: |_, _| Ok(Verdict::Fail),
            on_timeout: |_| Ok(Verdict::Fail),
            errors: 0,
            timeouts: 0,
        }
    }
}

impl Handlers<i64, Results> for Rules {
    fn key(&self, input: &i64) -> Option<KeyHash> {
        (self.key)(*input).map(|key| KeyHash::of(&key).unwrap())
    }

    fn weight(&self, input: &i64) -> usize {
        (self.weight)(*input)
    }

    fn retries_error(&mut self, failure: &Failure) -> bool {
        (self.retries_error)(&failure.to_string())
    }

    fn retries_panic(&mut self, failure: &Failure) -> bool {
        (self.retries_panic)(&failure.to_string())
    }

    fn retries_results(&mut self, results: &Results) -> bool {
        (self.retries_results)(results)
    }

    fn on_error(&mut self, input: Option<&i64>, failure: &Failure) -> Judged {
        self.errors += 1;
        (self.on_error)(input.copied(), &failure.to_string())
    }

    fn on_timeout(&mut self, input: Option<&i64>) -> Judged {
        self.timeouts += 1;
        (self.on_timeout)(input.copied())
    }
}

pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn limits(order: Order, capacity: usize) -> Limits {
    Limits { capacity, ..Limits::new(order) }
}

pub(super) fn ordered(capacity: usize) -> Limits {
    limits(Order::Ordered, capacity)
}

pub(super) fn unordered(capacity: usize) -> Limits {
    limits(Order::Unordered, capacity)
}

pub(super) fn keyed(capacity: usize) -> Limits {
    limits(Order::KeyOrdered { per_key: 1 }, capacity)
}

/// The two orders that know no keys.
pub(super) fn both(capacity: usize) -> [Limits; 2] {
    [ordered(capacity), unordered(capacity)]
}

pub(super) fn task(subtask: usize, parallelism: usize) -> TaskInfo {
    TaskInfo {
        job: "job".into(),
        stage: "calls".into(),
        id: StageId::new(1),
        subtask,
        parallelism,
        attempt: Attempt::new(1),
        key_groups: KeyGroups::new(128).unwrap(),
    }
}
