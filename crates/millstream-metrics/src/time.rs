//! Where a task's time goes: at every moment into exactly one of four sums.

use std::sync::Arc;

use millstream_core::Moment;

use crate::{Activity, TaskMetrics};

/// Adds up what a task does with its time. It has no clock: it is told.
///
/// From the first [`enter`](Self::enter) to [`stop`](Self::stop), busy, idle, back-pressured and
/// waiting time together are the time that has passed, also for a reader who looks in between: a
/// task that has been stuck for an hour shows an hour.
///
/// A task has one of these. It is to be told when the task is over, however that came about; else
/// the last activity seems to go on.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use millstream_core::Moment;
/// use millstream_metrics::{Activity, TaskMetrics, TaskTime};
///
/// let metrics = Arc::new(TaskMetrics::default());
/// let mut time = TaskTime::new(metrics.clone());
/// time.enter(Activity::Idle, Moment::from_nanos(10));
/// time.enter(Activity::Busy, Moment::from_nanos(70));
/// time.stop(Moment::from_nanos(100));
/// assert_eq!((metrics.idle_ns.get(), metrics.busy_ns.get()), (60, 30));
/// ```
#[derive(Debug)]
pub struct TaskTime {
    metrics: Arc<TaskMetrics>,
    current: Option<(Activity, Moment)>,
}

impl TaskTime {
    /// Nothing is counted until the first activity is told.
    pub const fn new(metrics: Arc<TaskMetrics>) -> Self {
        Self { metrics, current: None }
    }

    /// The task does this from now on.
    ///
    /// A moment before the last one told is taken for that one.
    pub fn enter(&mut self, activity: Activity, now: Moment) {
        if self.activity() != Some(activity) {
            self.change(Some(activity), now);
        }
    }

    /// The task does nothing any more; its time is over until it enters something again.
    pub fn stop(&mut self, now: Moment) {
        if self.current.is_some() {
            self.change(None, now);
        }
    }

    /// What the task is doing.
    pub fn activity(&self) -> Option<Activity> {
        self.current.map(|(activity, _)| activity)
    }

    fn change(&mut self, activity: Option<Activity>, now: Moment) {
        let now = self.current.map_or(now, |(_, since)| since.max(now));
        let next = activity.map(|activity| (activity, now));
        self.metrics.change(self.current, next, now);
        self.current = next;
    }
}
