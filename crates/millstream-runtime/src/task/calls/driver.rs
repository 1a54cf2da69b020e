//! The user's calls and the machine that counts them, together: calls are made, answers filed.

use millstream_core::{Failure, Mark, Moment, Stamped};
use millstream_operators::Effects;
use millstream_operators::async_wait::{Admission, Answer, AsyncWait, Out, Start, Ticket};

use crate::calls::{self, Caller, Calls, Polled};

/// What a task of calls has once it is open.
pub(super) struct Driver<C: Caller> {
    pub(super) calls: Calls<C::Call>,
    pub(super) caller: C,
    pub(super) wait: AsyncWait<C::In, C::Answer>,
    pub(super) effects: Effects<C::Out>,
}

impl<C: Caller> Driver<C> {
    /// Whether a record finds room.
    #[inline]
    pub(super) fn takes(&self, record: &Stamped<C::In>) -> bool {
        self.wait.takes(&record.value, &self.caller)
    }

    /// Admits a record that finds room, and makes its call if that may begin. An answer that comes
    /// at once, and for which nothing else waits, is written down at once.
    #[inline]
    pub(super) fn admit(&mut self, record: Stamped<C::In>) -> Result<(), Failure> {
        let Self { calls, caller, wait, effects } = self;
        if wait.queues_first() || effects.is_full() {
            let start = wait.admit(record, caller);
            return start.map_or(Ok(()), |start| self.start(start));
        }
        let at = record.with(());
        let (admission, kept) = wait.begin(&record.value, caller);
        let (polled, out) = calls.start(admission, || caller.call(record.value));
        let polled = match polled {
            Polled::Ready(Ok(answer)) if wait.passes(&answer, caller) => {
                caller.emit(at, answer, effects);
                return Ok(());
            }
            polled => polled,
        };
        let ticket = wait.enter(admission, at, kept);
        self.started((ticket, 1, admission), polled, out)
    }

    /// Makes a call for a record that is in the queue.
    fn start(&mut self, start: Start<C::In>) -> Result<(), Failure> {
        let Self { calls, caller, .. } = self;
        let Start { ticket, attempt, admission, input } = start;
        let (polled, out) = calls.start(admission, || caller.call(input));
        self.started((ticket, attempt, admission), polled, out)
    }

    /// A call was made: files its answer, if that has come at once; else it is out.
    #[inline]
    fn started(
        &mut self,
        (ticket, attempt, admission): (Ticket, u32, Admission),
        polled: Polled<Result<C::Answer, Failure>>,
        out: calls::Out,
    ) -> Result<(), Failure> {
        if matches!(polled, Polled::Pending) {
            self.wait.waits(ticket);
            self.calls.hold(out, ticket, attempt, admission);
        }
        self.file((ticket, attempt), polled)
    }

    /// Makes the next call whose turn has come without a new record. Whether there was one.
    pub(super) fn start_next(&mut self) -> Result<bool, Failure> {
        let Some(start) = self.wait.next_start(&self.caller) else { return Ok(false) };
        self.start(start)?;
        Ok(true)
    }

    /// Polls the next call that has been woken. Whether there was one.
    #[inline]
    pub(super) fn poll_next(&mut self) -> Result<bool, Failure> {
        let Some((ticket, attempt, answer)) = self.calls.poll_next() else { return Ok(false) };
        self.file((ticket, attempt), answer)?;
        Ok(true)
    }

    /// Gives up records whose time is over at `now`. An answer that was there before counts.
    pub(super) fn expire(&mut self, now: Moment) -> Result<(), Failure> {
        while let Some(ticket) = self.wait.next_expired(now) {
            if let Some((attempt, answer)) = self.calls.poll_woken(ticket) {
                self.file((ticket, attempt), answer)?;
            }
            if self.wait.next_expired(now) == Some(ticket) {
                self.wait.timed_out(ticket, &mut self.caller)?;
                self.calls.cancel(ticket);
            }
        }
        Ok(())
    }

    /// Files what a call has given, if it has.
    #[inline]
    fn file(
        &mut self,
        (ticket, attempt): (Ticket, u32),
        polled: Polled<Result<C::Answer, Failure>>,
    ) -> Result<(), Failure> {
        let answer = match polled {
            Polled::Pending => return Ok(()),
            Polled::Ready(Ok(results)) => Answer::Results(results),
            Polled::Ready(Err(failure)) => Answer::Failed(failure),
            Polled::Panicked(message) => Answer::Panicked(Failure::new(message)),
        };
        self.wait.answered(ticket, attempt, answer, &mut self.caller)
    }

    /// Writes down what may go out, until it is enough or a mark stands in the way, which is given
    /// back. Whether there was anything.
    pub(super) fn write(&mut self) -> (bool, Option<Mark>) {
        // What calls that answered at once have filled has to make room first.
        let mut any = self.effects.is_full();
        while !self.effects.is_full()
            && let Some(out) = self.wait.pop()
        {
            any = true;
            match out {
                Out::Results(at, answer) => self.caller.emit(at, answer, &mut self.effects),
                Out::DeadLetter(letter) => self.caller.dead_letter(letter, &mut self.effects),
                Out::Mark(mark) => return (true, Some(mark)),
            }
        }
        (any, None)
    }

    /// Whether something can go out.
    pub(super) fn has_output(&mut self) -> bool {
        !self.effects.records().is_empty() || self.wait.has_next()
    }

    /// Whether nothing is left to wait for or to send on.
    pub(super) fn is_drained(&mut self) -> bool {
        self.effects.records().is_empty() && self.wait.is_empty()
    }
}
