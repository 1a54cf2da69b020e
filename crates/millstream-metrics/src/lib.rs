//! The numbers of a job: tasks write them, anyone reads them, and no task is asked.
//!
//! An actor that answers questions about itself is slow exactly when it is interesting. So each
//! task is given a [`TaskMetrics`], a handful of atomic numbers, and a [`Registry`] holds those of
//! a whole job. [`Registry::numbers`] makes plain data of them, which can be printed as a table or
//! serialised. Where a task's time goes is told by [`TaskTime`].
//!
//! # Examples
//!
//! ```
//! use millstream_core::Moment;
//! use millstream_metrics::{Activity, Registry, TaskState, TaskTime};
//!
//! let registry = Registry::new("orders", ["orders", "totals", "out"]);
//!
//! // In the task:
//! let metrics = registry.task("totals", 0);
//! let mut time = TaskTime::new(metrics.clone());
//! metrics.set_state(TaskState::Running);
//! time.enter(Activity::Busy, Moment::from_nanos(0));
//! metrics.records_in.add(1_024);
//! metrics.count("refunds", 3);
//! time.enter(Activity::Idle, Moment::from_nanos(250));
//!
//! // Anywhere else, at any time:
//! let numbers = registry.numbers(Moment::from_nanos(1_000));
//! let totals = numbers.task("totals", 0).unwrap();
//! assert_eq!(totals.state, TaskState::Running);
//! assert_eq!(totals.numbers.records_in, 1_024);
//! assert_eq!((totals.numbers.busy_ns, totals.numbers.idle_ns), (250, 750));
//! assert_eq!(totals.numbers.counts["refunds"], 3);
//! ```

mod activity;
mod calls;
mod counts;
mod numbers;
mod registry;
mod state;
mod table;
mod task;
mod time;

pub use activity::Activity;
pub use calls::{CallMetrics, CallNumbers};
pub use counts::{COUNTS_MAX, COUNTS_OTHER};
pub use numbers::{JobNumbers, Numbers, StageNumbers, TaskNumbers};
pub use registry::Registry;
pub use state::TaskState;
pub use task::TaskMetrics;
pub use time::TaskTime;
