//! Since when a task has been in its turn: written by the task, read by whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millstream_core::Moment;

/// The beginning of the turn that a task is in, shared with the watch.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat(AtomicU64);

/// No turn is under way.
const AT_REST: u64 = 0;

impl Heartbeat {
    pub(crate) fn turn_begins(&self, now: Moment) {
        self.0.store(now.nanos().max(1), Ordering::Relaxed);
    }

    pub(crate) fn turn_ends(&self) {
        self.0.store(AT_REST, Ordering::Relaxed);
    }

    /// How long the turn has lasted, if one is under way, and what tells it from others.
    pub(crate) fn turn_for(&self, now: Moment) -> Option<(u64, Duration)> {
        match self.0.load(Ordering::Relaxed) {
            AT_REST => None,
            began => Some((began, now.since(Moment::from_nanos(began)))),
        }
    }
}
