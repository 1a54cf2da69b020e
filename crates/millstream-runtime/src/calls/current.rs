//! Which call the code that runs belongs to.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use millstream_core::{Attempt, TaskInfo};
use millstream_operators::async_wait::Admission;

/// Which call this is, for the outside world: the key by which an outside system can tell that it
/// has seen a request before.
///
/// All calls for one record have the same, also after a restore from a checkpoint that the record
/// is in; no two records of one start have the same. A record that came after the checkpoint is
/// read anew, and its calls have a new one. A job that is started without a checkpoint begins to
/// count anew: what has to be told apart for longer needs a name in the record, or one of the run.
///
/// # Examples
///
/// ```
/// use millstream_runtime::call_id;
///
/// // Outside of a call there is none.
/// assert_eq!(call_id(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallId {
    /// The dataflow's name.
    pub job: Arc<str>,
    /// The stage's name.
    pub stage: Arc<str>,
    /// The life of the job in which the record was admitted first.
    pub life: Attempt,
    /// The task that admitted it.
    pub subtask: u32,
    /// Its number among all that this task has admitted in that life.
    pub number: u64,
}

impl fmt::Display for CallId {
    /// `job/stage/life/subtask/number`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, stage, life, subtask, number } = self;
        write!(f, "{job}/{stage}/{life}/{subtask}/{number}")
    }
}

thread_local! {
    static TASK: RefCell<Option<Arc<TaskInfo>>> = const { RefCell::new(None) };
    static RECORD: Cell<Option<Admission>> = const { Cell::new(None) };
}

/// The call that this code runs for: while it is created, and while it is polled. None elsewhere,
/// and on other threads.
pub fn call_id() -> Option<CallId> {
    let Admission { life, subtask, number } = RECORD.get()?;
    TASK.with_borrow(|task| {
        let task = task.as_ref()?;
        Some(CallId { job: task.job.clone(), stage: task.stage.clone(), life, subtask, number })
    })
}

/// Whose calls run on this thread, for as long as it lives. Keeps whose they were before: a call
/// may run another task by hand.
pub(crate) struct CurrentTask(Option<Arc<TaskInfo>>);

impl CurrentTask {
    pub(crate) fn enter(task: &Arc<TaskInfo>) -> Self {
        Self(TASK.replace(Some(task.clone())))
    }
}

impl Drop for CurrentTask {
    fn drop(&mut self) {
        TASK.set(self.0.take());
    }
}

/// The call runs no more when this is dropped, also by a panic.
struct InCall(Option<Admission>);

impl Drop for InCall {
    fn drop(&mut self) {
        RECORD.set(self.0);
    }
}

/// Runs `work` as part of the call for a record.
#[inline]
pub(super) fn in_call<T>(record: Admission, work: impl FnOnce() -> T) -> T {
    let _in_call = InCall(RECORD.replace(Some(record)));
    work()
}
