//! A running job: who watches over its tasks, who waits for it, and how it can end.

mod error;
mod handle;
mod supervisor;
mod watch;

pub use error::{JobError, StartError, TaskName};
pub use handle::{Job, JobState, JobStatus};
pub(crate) use handle::{Outcome, Shared};
pub(crate) use supervisor::{Begin, Member, StageMembers, Supervisor, SupervisorOf};
pub(crate) use watch::{Watch, Watched};
