//! The handle of a running job: wait for it, look at it, stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use actix::Recipient;
use tokio::sync::watch;

use millstream_core::{Clock, Moment};
use millstream_metrics::{JobNumbers, Registry};
use millstream_plan::Plan;

use super::JobError;
use super::supervisor::Verb;

/// How a job came to its end.
pub(crate) type Outcome = Result<(), JobError>;

/// What the handle, the supervisor and the watch of a job share.
pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(crate) plan: Plan,
    pub(crate) registry: Registry,
    pub(crate) clock: Arc<dyn Clock>,
    outcome: watch::Sender<Option<Outcome>>,
    /// When the tasks were told to end, in nanoseconds of the clock; zero before.
    stopping_since: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        name: Arc<str>,
        plan: Plan,
        registry: Registry,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let outcome = watch::Sender::new(None);
        Self { name, plan, registry, clock, outcome, stopping_since: AtomicU64::new(0) }
    }

    /// The job has come to its end. Only the first word counts.
    pub(crate) fn settle(&self, outcome: Outcome) {
        self.outcome.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                tracing::info!(job = &*self.name, ?outcome, "the job has ended");
                *known = Some(outcome);
            }
            first
        });
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    /// The tasks are told to end; the first time counts.
    pub(crate) fn stopping(&self) {
        let now = self.clock.monotonic().nanos().max(1);
        let _ = self.stopping_since.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(crate) fn stopping_since(&self) -> Option<Moment> {
        match self.stopping_since.load(Ordering::SeqCst) {
            0 => None,
            nanos => Some(Moment::from_nanos(nanos)),
        }
    }
}

/// What a job is doing.
#[derive(Clone, Debug)]
pub enum JobState {
    /// Its tasks run.
    Running,
    /// Its tasks are told to end.
    Stopping,
    /// Every task has passed on the end of its input.
    Completed,
    /// It has ended otherwise.
    Failed(JobError),
}

/// A look at a job: what it is doing, and the numbers of its tasks.
#[derive(Clone, Debug)]
pub struct JobStatus {
    /// The job's name.
    pub job: Arc<str>,
    /// What it is doing.
    pub state: JobState,
    /// The numbers of its tasks, in the order of the plan.
    pub numbers: JobNumbers,
}

/// The handle of a running job.
///
/// Dropping it leaves the job running, unless [`cancel_on_drop`](Self::cancel_on_drop) was called.
/// Its futures can be awaited on any thread.
pub struct Job {
    shared: Arc<Shared>,
    verbs: Recipient<Verb>,
    cancel_on_drop: AtomicBool,
}

impl Job {
    pub(crate) fn new(shared: Arc<Shared>, verbs: Recipient<Verb>) -> Self {
        Self { shared, verbs, cancel_on_drop: AtomicBool::new(false) }
    }

    /// Resolves when no actor of the job is left; only if arbiters that were given to the job are
    /// stopped while it runs, it may resolve when all that are left have been told to end.
    ///
    /// # Errors
    ///
    /// The first failure, or that the job was cancelled or cut off. A job of which a task is
    /// missing never returns success.
    pub async fn finished(&self) -> Result<(), JobError> {
        let mut outcome = self.shared.outcome.subscribe();
        match outcome.wait_for(Option::is_some).await {
            Ok(settled) => settled.clone().unwrap_or(Ok(())),
            // The sender lives in what this handle holds.
            Err(_) => Err(JobError::SystemStopped { job: self.shared.name.clone() }),
        }
    }

    /// Ends the input of every source here and resolves when all that is under way has come out.
    ///
    /// # Errors
    ///
    /// As [`finished`](Self::finished).
    pub async fn drain(&self) -> Result<(), JobError> {
        self.verbs.do_send(Verb::Drain);
        self.finished().await
    }

    /// Ends the job now: nothing more is emitted, no sink commits. Resolves when no actor of the
    /// job is left; then [`finished`](Self::finished) says [`JobError::Cancelled`].
    ///
    /// # Errors
    ///
    /// When the job failed before or while it was cancelled.
    pub async fn cancel(&self) -> Result<(), JobError> {
        self.shared.stopping();
        self.verbs.do_send(Verb::Cancel);
        match self.finished().await {
            Err(JobError::Cancelled { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    /// From here on the job is cancelled when this handle is dropped.
    #[must_use]
    pub fn cancel_on_drop(self) -> Self {
        self.cancel_on_drop.store(true, Ordering::Relaxed);
        self
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The graph that runs.
    pub fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    /// A look at the job, without asking any of its actors.
    pub fn status(&self) -> JobStatus {
        let state = match (self.shared.outcome(), self.shared.stopping_since()) {
            (Some(Ok(())), _) => JobState::Completed,
            (Some(Err(error)), _) => JobState::Failed(error),
            (None, Some(_)) => JobState::Stopping,
            (None, None) => JobState::Running,
        };
        let numbers = self.shared.registry.numbers(self.shared.clock.monotonic());
        JobStatus { job: self.shared.name.clone(), state, numbers }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.cancel_on_drop.load(Ordering::Relaxed) {
            self.shared.stopping();
            self.verbs.do_send(Verb::Cancel);
        }
    }
}
