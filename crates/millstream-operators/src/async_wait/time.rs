//! What time does to a stage of calls: it dates what has begun, calls again, gives up, and ends.

use millstream_core::{Failure, Moment, Record};

use super::outcome::{Cause, settled};
use super::policy::Handlers;
use super::queue::Ticket;
use super::wait::AsyncWait;

impl<I: Record + Clone, R> AsyncWait<I, R> {
    /// The clock shows `now`. Calls that have begun since the last look have begun now, and delays
    /// count from here; those that are over are called again, unless the record's time is over too.
    pub fn look(&mut self, now: Moment) {
        self.runs.look(now);
        for (ticket, delay) in self.undated.drain(..) {
            if self.ended {
                self.again.push_back(ticket);
            } else if self.queue.pending(ticket).is_some() {
                self.delays.begin(ticket.index(), now.plus(delay));
            }
        }
        while let Some(place) = self.delays.due(now) {
            self.delays.end(place);
            // Else the time-out takes it, in its turn.
            if !self.runs.is_due(place, now) {
                self.again.extend(self.queue.pending_at(place).map(|(ticket, _)| ticket));
            }
        }
    }

    /// A record whose time is over at `now`. Whoever runs the calls looks once more whether its
    /// call has answered, and if not says that it has [timed out](Self::timed_out).
    pub fn next_expired(&self, now: Moment) -> Option<Ticket> {
        self.queue.pending_at(self.runs.due(now)?).map(|(ticket, _)| ticket)
    }

    /// No answer has come for a record whose time is over.
    ///
    /// # Errors
    ///
    /// When the job is to fail because of it, or when a handler fails.
    pub fn timed_out(
        &mut self,
        ticket: Ticket,
        handlers: &mut impl Handlers<I, R>,
    ) -> Result<(), Failure> {
        let Some(call) = self.queue.pending(ticket) else { return Ok(()) };
        self.seen.timeouts += 1;
        let cause = Cause::Timeout(self.limits.timeout.unwrap_or_default());
        let (attempts, has_input) = (call.attempt, call.input.is_some());
        let verdict = handlers.on_timeout(call.input.as_ref())?;
        self.close(ticket, settled(verdict, has_input, cause, attempts), None)
    }

    /// When the clock is to be looked at again, if nothing happens before.
    pub fn next_due(&self) -> Option<Moment> {
        self.runs.next_due().into_iter().chain(self.delays.next_due()).min()
    }

    /// The input has ended: nothing waits before it is called again, and nothing is called again
    /// after that.
    pub fn end(&mut self) {
        self.ended = true;
        self.again.extend(self.undated.drain(..).map(|(ticket, _)| ticket));
        while let Some(place) = self.delays.take_first() {
            self.again.extend(self.queue.pending_at(place).map(|(ticket, _)| ticket));
        }
    }
}
