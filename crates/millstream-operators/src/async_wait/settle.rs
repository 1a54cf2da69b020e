//! What an answer leads to: another call, a result, what stands in its place, or a failed job.

use millstream_core::{Failure, Record, Stamped, describe};

use super::outcome::{Answer, CallError, Cause, Settled, settled};
use super::policy::Handlers;
use super::queue::Ticket;
use super::stored::Admission;
use super::wait::AsyncWait;
use crate::{holding, let_go};

impl<I: Record + Clone, R> AsyncWait<I, R> {
    /// The call that was started has not answered at once: its time counts from the next
    /// [`look`](Self::look).
    pub fn waits(&mut self, ticket: Ticket) {
        self.runs.begin(ticket.index());
    }

    /// The call that is out for the record in this place, and which of the record's calls it is.
    #[inline]
    pub fn call_at(&self, place: usize) -> Option<(Ticket, u32)> {
        let (ticket, call) = self.queue.pending_at(place)?;
        call.out.then_some((ticket, call.attempt))
    }

    /// The record in this place, if it has no outcome.
    #[inline]
    pub fn record_at(&self, place: usize) -> Option<Admission> {
        Some(self.queue.pending_at(place)?.1.admission)
    }

    /// Whether the answer of the call in this place may go out at once, as one that
    /// [passes](Self::passes). The record is over then; gives its time.
    #[inline]
    pub fn lets_pass(&mut self, place: usize) -> Option<Stamped<()>> {
        if self.limits.retry.is_some() {
            return None;
        }
        let (at, weight) = self.queue.take_next(place, |call| (call.at, call.weight))?;
        self.over(place);
        self.weight -= weight as u128;
        self.seen.completed += 1;
        Some(at)
    }

    /// A call has answered. Ignored if another outcome of the record counts already, or if this was
    /// not its last attempt.
    ///
    /// # Errors
    ///
    /// When the job is to fail because of it, or when a handler fails.
    pub fn answered(
        &mut self,
        ticket: Ticket,
        attempt: u32,
        answer: Answer<R>,
        handlers: &mut impl Handlers<I, R>,
    ) -> Result<(), Failure> {
        let Some(call) = self.queue.pending_mut(ticket) else { return Ok(()) };
        if call.attempt != attempt || !call.out {
            return Ok(());
        }
        call.out = false;
        let record = call.admission.number;
        let retry = self.limits.retry.as_ref().filter(|it| !self.ended && it.allows(attempt));
        let (answer, again) = holding(answer, |answer| {
            retry.is_some()
                && match answer {
                    Answer::Results(results) => handlers.retries_results(results),
                    Answer::Failed(failure) => handlers.retries_error(failure),
                    Answer::Panicked(failure) => handlers.retries_panic(failure),
                }
        });
        if let Some(retry) = retry.filter(|_| again) {
            let delay = retry.delay(attempt, record);
            self.runs.begin(ticket.index());
            self.undated.push((ticket, delay));
            return Ok(());
        }
        let (cause, failure): (fn(String) -> Cause, _) = match answer {
            Answer::Results(results) => {
                self.settle(ticket, Settled::Results(results));
                return Ok(());
            }
            Answer::Failed(failure) => (Cause::Error, failure),
            Answer::Panicked(failure) => (Cause::Panic, failure),
        };
        self.seen.failures += 1;
        let input = self.queue.pending(ticket).and_then(|call| call.input.as_ref());
        let (failure, (cause, verdict)) = holding(failure, |failure| {
            (cause(failure.to_string()), handlers.on_error(input, failure))
        });
        match verdict {
            Ok(verdict) => {
                let decided = settled(verdict, input.is_some(), cause, attempt);
                self.close(ticket, decided, Some(failure))
            }
            Err(handlers) => {
                let_go(failure);
                Err(handlers)
            }
        }
    }

    /// What was decided about a record that has failed for good: its outcome, or why the job fails.
    pub(super) fn close(
        &mut self,
        ticket: Ticket,
        decided: Result<Settled<R>, Cause>,
        failure: Option<Failure>,
    ) -> Result<(), Failure> {
        match decided {
            Ok(outcome) => self.settle(ticket, outcome),
            Err(cause) => return Err(self.fails(ticket, cause, failure)),
        }
        Ok(())
    }

    fn settle(&mut self, ticket: Ticket, outcome: Settled<R>) {
        self.over(ticket.index());
        self.delays.end(ticket.index());
        let _ = self.queue.resolve(ticket, outcome);
    }

    /// The record in this place has its outcome: it runs no longer.
    #[inline]
    fn over(&mut self, place: usize) {
        match self.runs.end(place) {
            None => self.seen.at_once += 1,
            Some((began, ended)) => {
                if let Some(latency) = &self.latency {
                    latency.record(ended.nanos().saturating_sub(began.nanos()));
                }
            }
        }
    }

    /// The error of a record that fails the job.
    fn fails(&self, ticket: Ticket, cause: Cause, failure: Option<Failure>) -> Failure {
        let call = self.queue.pending(ticket);
        let text = call.and_then(|call| call.input.as_ref()).map(describe);
        let failed = CallError::failure(call.map_or(0, |call| call.attempt), cause, failure);
        match text {
            Some(text) => failed.about_text(text),
            None => failed,
        }
    }
}
