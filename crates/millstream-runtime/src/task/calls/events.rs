//! What is told about calls as events: each call at trace level, how full it is at debug level.

use millstream_operators::async_wait::Admission;
use tracing::{Level, debug, enabled, trace};

use crate::calls::Polled;

/// How many degrees of being full are told apart.
const DEGREES: usize = 4;

/// Tells about the calls of one task, within the task's span.
#[derive(Default)]
pub(super) struct Events {
    /// Somebody listens to every single call. Asked once a turn: it is for debugging, and a call
    /// that is ready at once takes no longer than a few such questions.
    each: bool,
    /// The degree that was told last.
    degree: usize,
}

impl Events {
    pub(super) fn begin_turn(&mut self) {
        self.each = enabled!(Level::TRACE);
    }

    /// A call was made.
    #[inline]
    pub(super) fn called<T, E>(&self, of: Admission, attempt: u32, to: &Polled<Result<T, E>>) {
        if self.each {
            let answer = name(to);
            trace!(life = of.life.get(), record = of.number, attempt, answer, "calls");
        }
    }

    /// A call that was out has been polled.
    #[inline]
    pub(super) fn woken<T, E>(&self, of: Admission, to: &Polled<Result<T, E>>) {
        if self.each {
            trace!(life = of.life.get(), record = of.number, answer = name(to), "polls a call");
        }
    }

    /// A record's time is over.
    pub(super) fn timed_out(&self, of: Admission) {
        if self.each {
            trace!(
                life = of.life.get(),
                record = of.number,
                "gives up a record whose time is over"
            );
        }
    }

    /// So many records are admitted of so many that can be.
    pub(super) fn filled(&mut self, queued: usize, capacity: usize) {
        let degree = queued.saturating_mul(DEGREES) / capacity.max(1);
        if degree != self.degree {
            self.degree = degree;
            debug!(queued, capacity, "the queue of calls fills or empties");
        }
    }
}

const fn name<T, E>(polled: &Polled<Result<T, E>>) -> &'static str {
    match polled {
        Polled::Pending => "pending",
        Polled::Ready(Ok(_)) => "ready",
        Polled::Ready(Err(_)) => "failed",
        Polled::Panicked(_) => "panicked",
    }
}
