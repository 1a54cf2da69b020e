//! How a job can fail, and how it can fail to start.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use millstream_core::{Failure, KeyGroupError, TaskInfo};
use millstream_plan::PlanError;

use crate::fault::GraphError;
use crate::settings::SettingsError;

/// A task, as errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The job's name.
    pub job: Arc<str>,
    /// The stage's name.
    pub stage: Arc<str>,
    /// Which of the stage's tasks.
    pub subtask: usize,
}

impl From<&TaskInfo> for TaskName {
    fn from(info: &TaskInfo) -> Self {
        Self { job: info.job.clone(), stage: info.stage.clone(), subtask: info.subtask }
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} of {:?} in job {:?}", self.subtask, self.stage, self.job)
    }
}

/// Why a job did not come to its end.
///
/// The first failure counts; what it brings about in other tasks is not told.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JobError {
    /// A source, an operator, a key function or a sink returned an error.
    #[error("{task} failed: {failure}{}", about(.failure))]
    Failed {
        /// Which task.
        task: TaskName,
        /// The cause, with place and record where they are known.
        failure: Failure,
    },
    /// User code panicked.
    #[error("{task} panicked after {records_in} records: {message}")]
    Panicked {
        /// Which task.
        task: TaskName,
        /// What the panic said.
        message: String,
        /// How many records the task had taken in the batches before.
        records_in: u64,
    },
    /// A task's actor went away in the middle of its life.
    #[error("{task} died without a word: its arbiter stopped, or this is a fault of the runtime")]
    Died {
        /// Which task.
        task: TaskName,
    },
    /// A task did not end within `stop_wait`.
    #[error("{task} has not ended for {since:?} although it was told to: does its code block?")]
    Stuck {
        /// Which task.
        task: TaskName,
        /// How long after it was told.
        since: Duration,
    },
    /// The job was cancelled.
    #[error("job {job:?} was cancelled")]
    Cancelled {
        /// The job's name.
        job: Arc<str>,
    },
    /// The actix system, or the arbiter that the job's supervisor was on, stopped.
    #[error("job {job:?} was cut off: its actix system or arbiter stopped while it ran")]
    SystemStopped {
        /// The job's name.
        job: Arc<str>,
    },
}

fn list(tasks: &[TaskName]) -> String {
    tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn about(failure: &Failure) -> String {
    failure.record().map(|record| format!("; the record is {record}")).unwrap_or_default()
}

impl JobError {
    /// The task to blame, if one is.
    pub fn task(&self) -> Option<&TaskName> {
        match self {
            Self::Failed { task, .. }
            | Self::Panicked { task, .. }
            | Self::Died { task }
            | Self::Stuck { task, .. } => Some(task),
            Self::Cancelled { .. } | Self::SystemStopped { .. } => None,
        }
    }
}

/// Why a job could not be started. Nothing of it is left.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StartError {
    /// The graph has faults, and its plan shows all of them; each is told.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The graph has faults, and its plan does not show all of them; each is told.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The number of key groups and the numbers of tasks do not fit.
    #[error(transparent)]
    KeyGroups(#[from] KeyGroupError),
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no actix system or arbiter on this thread.
    #[error(
        "no actix system runs on this thread: start inside `#[actix::main]`, or give arbiters by \
         `Workers::Given`"
    )]
    NoSystem,
    /// An arbiter that was given has stopped.
    #[error("worker {worker} cannot be used: its arbiter has stopped")]
    ArbiterGone {
        /// Its place in the list of workers.
        worker: usize,
    },
    /// An arbiter of the job's own could not be made.
    #[error("worker {worker} cannot be made: {cause}")]
    Worker {
        /// Its place in the list of workers.
        worker: usize,
        /// What the system says.
        cause: Arc<std::io::Error>,
    },
    /// Tasks were not open within `start_wait`.
    #[error("not open after {after:?}: {}", list(.waiting))]
    TimedOut {
        /// How long it was waited.
        after: Duration,
        /// The tasks that were being opened.
        waiting: Vec<TaskName>,
    },
    /// A task failed while it was opened.
    #[error(transparent)]
    Failed(#[from] JobError),
}
