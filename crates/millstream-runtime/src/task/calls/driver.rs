//! The user's calls and the machine that counts them, together: calls are made, answers filed.

use millstream_core::{Failure, Mark, Moment, Stamped};
use millstream_metrics::CallMetrics;
use millstream_operators::async_wait::{Answer, AsyncWait, Out, Start};
use millstream_operators::{Effects, holding};

use super::events::Events;
use crate::calls::{Caller, Calls, InTurn, Polled};

/// What a task of calls has once it is open.
pub(super) struct Driver<C: Caller> {
    pub(super) calls: Calls<C::Call>,
    pub(super) caller: C,
    pub(super) wait: AsyncWait<C::In, C::Answer>,
    pub(super) effects: Effects<C::Out>,
    events: Events,
}

impl<C: Caller> Driver<C> {
    pub(super) fn new(
        caller: C,
        wait: AsyncWait<C::In, C::Answer>,
        effects: Effects<C::Out>,
    ) -> Self {
        let calls = Calls::new(wait.capacity());
        Self { calls, caller, wait, effects, events: Events::default() }
    }

    /// The task's turn begins, and lasts until this is dropped.
    pub(super) fn begin_turn(&mut self) -> InTurn {
        self.events.begin_turn();
        self.calls.begin_turn()
    }

    /// Whether a record finds room.
    #[inline]
    pub(super) fn takes(&self, record: &Stamped<C::In>) -> bool {
        self.wait.takes(&record.value, &self.caller)
    }

    /// Admits a record that finds room, and makes its call if that may begin. An answer that comes
    /// at once, and for which nothing else waits, is written down at once.
    #[inline]
    pub(super) fn admit(&mut self, record: Stamped<C::In>) -> Result<(), Failure> {
        let Self { calls, caller, wait, effects, events } = self;
        if wait.queues_first() || effects.is_full() {
            let start = wait.admit(record, caller);
            return start.map_or(Ok(()), |start| self.start(start));
        }
        let at = record.with(());
        let (record, (admission, kept)) =
            holding(record, |record| wait.begin(&record.value, caller));
        let polled = calls.start(wait.next_place(), admission, || caller.call(record.value));
        events.called(admission, 1, &polled);
        let polled = match polled {
            Polled::Ready(Ok(answer)) if wait.passes() => {
                holding(kept, |_| caller.emit(at, answer, effects));
                return Ok(());
            }
            polled => polled,
        };
        let ticket = wait.enter(admission, at, kept);
        if matches!(polled, Polled::Pending) {
            wait.waits(ticket);
            return Ok(());
        }
        self.file(ticket.index(), polled)
    }

    /// Makes a call for a record that is in the queue.
    #[inline]
    fn start(&mut self, start: Start<C::In>) -> Result<(), Failure> {
        let Self { calls, caller, wait, events, .. } = self;
        let Start { ticket, admission, attempt, input } = start;
        let polled = calls.start(ticket.index(), admission, || caller.call(input));
        events.called(admission, attempt, &polled);
        if matches!(polled, Polled::Pending) {
            wait.waits(ticket);
            return Ok(());
        }
        self.file(ticket.index(), polled)
    }

    /// Makes the next call whose turn has come without a new record. Whether there was one.
    #[inline]
    pub(super) fn start_next(&mut self) -> Result<bool, Failure> {
        let Some(start) = self.wait.next_start(&self.caller) else { return Ok(false) };
        self.start(start)?;
        Ok(true)
    }

    /// Polls the next call that has been woken. Whether there was one.
    #[inline]
    pub(super) fn poll_next(&mut self) -> Result<bool, Failure> {
        let Self { calls, wait, .. } = self;
        let next = calls.poll_next(|place| wait.record_at(place));
        let Some((place, record, polled)) = next else { return Ok(false) };
        self.events.woken(record, &polled);
        self.file(place, polled)?;
        Ok(true)
    }

    /// Gives up records whose time is over at `now`. An answer that was there before counts.
    pub(super) fn expire(&mut self, now: Moment) -> Result<(), Failure> {
        while let Some(ticket) = self.wait.next_expired(now) {
            let Some(record) = self.wait.record_at(ticket.index()) else { return Ok(()) };
            if let Some(polled) = self.calls.poll_woken(ticket.index(), record) {
                self.events.woken(record, &polled);
                self.file(ticket.index(), polled)?;
            }
            if self.wait.next_expired(now) == Some(ticket) {
                self.events.timed_out(record);
                self.wait.timed_out(ticket, &mut self.caller)?;
                self.calls.cancel(ticket.index());
            }
        }
        Ok(())
    }

    /// Files what the call in this place has given, if it has.
    // What is passed here is not to be written to memory and read back at once.
    #[inline(always)]
    fn file(
        &mut self,
        place: usize,
        polled: Polled<Result<C::Answer, Failure>>,
    ) -> Result<(), Failure> {
        let Self { caller, wait, effects, .. } = self;
        let answer = match polled {
            Polled::Pending => return Ok(()),
            Polled::Ready(Ok(results)) if effects.is_full() => Answer::Results(results),
            Polled::Ready(Ok(results)) => {
                // An input that was kept for it is dropped there.
                let (results, passes) = holding(results, |_| wait.lets_pass(place));
                if let Some(at) = passes {
                    caller.emit(at, results, effects);
                    return Ok(());
                }
                Answer::Results(results)
            }
            Polled::Ready(Err(failure)) => Answer::Failed(failure),
            Polled::Panicked(message) => Answer::Panicked(Failure::new(String::from(message))),
        };
        self.file_behind(place, answer)
    }

    /// Files an answer that cannot go out at once.
    fn file_behind(&mut self, place: usize, answer: Answer<C::Answer>) -> Result<(), Failure> {
        let Some((ticket, attempt)) = self.wait.call_at(place) else { return Ok(()) };
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

    /// Writes down what has happened since this was done last, for all to see.
    pub(super) fn show(&mut self, metrics: &CallMetrics) {
        let seen = self.wait.take_seen();
        for (counter, count) in [
            (&metrics.attempts, seen.attempts),
            (&metrics.retries, seen.retries),
            (&metrics.timeouts, seen.timeouts),
            (&metrics.failures, seen.failures),
            (&metrics.completed, seen.completed),
            (&metrics.dropped, seen.dropped),
            (&metrics.dead_letters, seen.dead_letters),
        ] {
            if count > 0 {
                counter.add(count);
            }
        }
        self.events.filled(seen.queued, self.wait.capacity());
        metrics.in_flight.set(i64::try_from(seen.in_flight).unwrap_or(i64::MAX));
        metrics.queued.set(i64::try_from(seen.queued).unwrap_or(i64::MAX));
        metrics.set_oldest(seen.oldest);
        metrics.latency.record_many(0, seen.at_once);
    }
}
