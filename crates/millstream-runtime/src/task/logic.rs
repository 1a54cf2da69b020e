//! What a task runs: a loop over the contract of a source, an operator or a sink.

use std::task::{Context, Poll};

use millstream_core::Failure;
use millstream_metrics::TaskMetrics;

use super::Budget;
use crate::channel::Inbox;
use crate::schedule::Schedule;

/// What a call of a logic may use.
pub(crate) struct Turn<'a, 'w> {
    /// For polling futures that wake the task.
    pub(crate) cx: &'a mut Context<'w>,
    pub(crate) budget: Budget<'a>,
    pub(crate) metrics: &'a TaskMetrics,
    pub(crate) schedule: Option<&'a dyn Schedule>,
}

impl Turn<'_, '_> {
    /// One of `n` things that could be next.
    pub(crate) fn pick(&self, n: usize) -> usize {
        self.schedule.map_or(0, |schedule| schedule.pick(n))
    }
}

/// How a logic goes on after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Work is left.
    Again,
    /// Nothing to do until something arrives or wakes the task.
    Input,
    /// Nothing can be done until there is credit.
    Credit,
    /// The input has ended, and something outside has to be waited for: not to be cut off because
    /// another task has failed.
    Outside,
    /// Everything has been passed on.
    Ended,
}

/// What a task runs. Every call is made behind a panic border; after an error or a panic nothing is
/// called any more.
pub(crate) trait Logic: 'static {
    /// What comes in; a type without values for a source.
    type In: Send + 'static;

    /// Makes and opens what the logic runs. Called until it is ready.
    fn open(&mut self, turn: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>>;

    /// Works until the budget is spent or nothing can be done.
    fn work(
        &mut self,
        inbox: &mut Inbox<Self::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure>;

    /// Ends the input here, as if the outside had ended. Only sources do anything.
    fn drain(&mut self) {}

    /// Whether a batch is being filled that nothing has ended.
    fn filling(&self) -> bool {
        false
    }

    /// Lets go of batches that are not full.
    fn flush(&mut self) {}

    /// The user's code has failed: drop it, and hand on what it made before. Called once. What
    /// fails in that is no news.
    fn salvage(&mut self);

    /// Sends what waits for credit. Ready when nothing is left.
    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    /// Batches sent since this was last asked.
    fn take_sent(&mut self) -> u64 {
        0
    }
}
