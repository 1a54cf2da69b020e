//! The watch of a job: a thread that sees a turn which does not end, since nobody else can.
//!
//! User code that blocks holds up its whole arbiter, the supervisor with it if it is there. So this
//! is a thread of its own. It reports turns over `slow_turn`, and when the tasks were told to end
//! and a turn goes on past `stop_wait` it settles the job's outcome itself.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use millstream_core::TaskInfo;
use millstream_metrics::TaskMetrics;

use super::{JobError, Shared};
use crate::task::Heartbeat;

/// A task under watch.
pub(crate) struct Watched {
    pub(crate) info: TaskInfo,
    pub(crate) heartbeat: Arc<Heartbeat>,
    pub(crate) metrics: Arc<TaskMetrics>,
    /// The turn that was reported last.
    pub(crate) reported: u64,
}

/// Ends the watch when dropped.
pub(crate) struct Watch {
    over: Arc<(Mutex<bool>, Condvar)>,
}

impl Watch {
    /// Watches until dropped. Without a thread, if none can be made: then slow turns go unreported.
    pub(crate) fn begin(
        shared: Arc<Shared>,
        tasks: Vec<Watched>,
        slow_turn: Duration,
        stop_wait: Duration,
    ) -> Self {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let watch = Self { over: over.clone() };
        let mut tasks = tasks;
        let look = move || {
            let (over, changed) = &*over;
            let mut ended = over.lock().unwrap_or_else(PoisonError::into_inner);
            while !*ended {
                let waited = changed.wait_timeout(ended, slow_turn);
                ended = waited.unwrap_or_else(PoisonError::into_inner).0;
                look_at(&shared, &mut tasks, slow_turn, stop_wait);
            }
        };
        if let Err(error) = thread::Builder::new().name("millstream-watch".into()).spawn(look) {
            tracing::warn!(%error, "no thread for the watch: slow turns are not reported");
        }
        watch
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
    }
}

fn look_at(shared: &Shared, tasks: &mut [Watched], slow_turn: Duration, stop_wait: Duration) {
    let now = shared.clock.monotonic();
    let stopping = shared.stopping_since().map(|since| now.since(since));
    for task in tasks {
        let Some((turn, took)) = task.heartbeat.turn_for(now) else { continue };
        if took >= slow_turn && task.reported != turn {
            task.reported = turn;
            task.metrics.slow_turns.inc();
            tracing::warn!(?took, "{} is in a turn that does not end", task.info);
        }
        if let Some(since) = stopping
            && since >= stop_wait
            && took >= stop_wait
        {
            shared.settle(Err(JobError::Stuck { task: (&task.info).into(), since }));
        }
    }
}
