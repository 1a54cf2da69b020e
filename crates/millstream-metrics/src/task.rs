//! What one task writes about itself.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use millstream_core::{Counter, Gauge, Moment};

use crate::activity::{Activity, Current, Stretch};
use crate::calls::CallMetrics;
use crate::counts::Counts;
use crate::state::{StateCell, TaskState};

/// The numbers of one task, shared by the task that writes them and all who read them.
///
/// They go on over the lives of a task: a restart does not set them back.
#[derive(Debug, Default)]
pub struct TaskMetrics {
    /// Records taken from the task's inputs, or read by a source.
    pub records_in: Counter,
    /// Records sent, or written by a sink.
    pub records_out: Counter,
    /// Batches taken.
    pub batches_in: Counter,
    /// Batches sent.
    pub batches_out: Counter,
    /// Records for a side output that nothing is connected to.
    pub side_records_dropped: Counter,
    /// Time spent working.
    pub busy_ns: Counter,
    /// Time without anything to do.
    pub idle_ns: Counter,
    /// Time in which records could not be sent on.
    pub back_pressured_ns: Counter,
    /// Time in which it could have worked while another task of its worker had its turn.
    pub waiting_for_cpu_ns: Counter,
    /// Records in batches that this task has made and that nobody has dropped yet.
    pub records_queued: Gauge,
    /// Turns taken.
    pub turns: Counter,
    /// Turns that took longer than the job allows.
    pub slow_turns: Counter,
    calls: OnceLock<CallMetrics>,
    counts: Counts,
    state: StateCell,
    stretch: Stretch,
}

impl TaskMetrics {
    /// The numbers of its calls to outside systems. Only a task that makes such calls asks for
    /// them; others have none.
    pub fn calls(&self) -> &CallMetrics {
        self.calls.get_or_init(CallMetrics::default)
    }

    /// The numbers of its calls, if it makes any.
    pub(crate) fn calls_if_any(&self) -> Option<&CallMetrics> {
        self.calls.get()
    }

    /// Counts `count` more under a name that the user's code chose.
    ///
    /// At most [`COUNTS_MAX`](crate::COUNTS_MAX) names are kept apart; further ones are counted
    /// together as [`COUNTS_OTHER`](crate::COUNTS_OTHER), so that a name made from data cannot
    /// fill the memory.
    pub fn count(&self, name: &str, count: u64) {
        self.counts.add(name, count);
    }

    /// What has been counted by name.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.get()
    }

    /// Where the task is in its life. Whoever sees it sees what the task counted before.
    pub fn state(&self) -> TaskState {
        self.state.get()
    }

    /// The task has come to this place in its life. Of one that is over no call is out.
    pub fn set_state(&self, state: TaskState) {
        if state.is_over()
            && let Some(calls) = self.calls.get()
        {
            calls.set_none_out();
        }
        self.state.set(state);
    }

    /// Ends what the task was doing and begins something else, or nothing.
    pub(crate) fn change(&self, last: Current, next: Current, now: Moment) {
        self.stretch.begin(next, || {
            if let Some((activity, since)) = last {
                self.nanos(activity).add(nanos_between(since, now));
            }
        });
    }

    /// Nanoseconds spent busy, idle, back-pressured and waiting, all of one moment, the current
    /// stretch until `now` included; only if the task changes faster than can be read, without it.
    pub(crate) fn times(&self, now: Moment) -> [u64; 4] {
        let counters = || Activity::ALL.map(|activity| self.nanos(activity).get());
        let Some((current, mut times)) = self.stretch.read(counters) else {
            return counters();
        };
        if let Some((activity, since)) = current {
            let time = &mut times[activity as usize];
            *time = time.saturating_add(nanos_between(since, now));
        }
        times
    }

    const fn nanos(&self, activity: Activity) -> &Counter {
        match activity {
            Activity::Busy => &self.busy_ns,
            Activity::Idle => &self.idle_ns,
            Activity::BackPressured => &self.back_pressured_ns,
            Activity::Waiting => &self.waiting_for_cpu_ns,
        }
    }
}

/// Zero if `now` is the earlier one.
const fn nanos_between(since: Moment, now: Moment) -> u64 {
    now.nanos().saturating_sub(since.nanos())
}
