//! What happens to an operator: opening, records, watermarks, timers, the end.

use millstream_core::{Failure, Mark, Stamped, Timestamp};
use millstream_operators::{Effects, Operator, Records, TimerDomain, TimerEdit};

use super::{Element, Harness, Phase};
use crate::refuse::refuse;

/// Calls of `more`, or firings, after which an operator is said to go on for ever.
const CALLS: usize = 1_000_000;

impl<O: Operator> Harness<O> {
    /// Opens the operator; the first input does it too.
    ///
    /// # Panics
    ///
    /// When it is open already, or fails.
    #[track_caller]
    pub fn open(&mut self) -> &mut Self {
        let opened = self.try_open();
        self.well(opened)
    }

    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// What the operator returns.
    ///
    /// # Panics
    ///
    /// When it is open already.
    #[track_caller]
    pub fn try_open(&mut self) -> Result<(), Failure> {
        if self.phase != Phase::Created {
            refuse("an operator is opened once, before anything else");
        }
        self.phase = Phase::Open;
        let opened = self.operator.open(&self.task);
        opened.inspect_err(|_| self.phase = Phase::Failed)
    }

    /// A record without a timestamp.
    ///
    /// # Panics
    ///
    /// After the end or a failure, and when the operator fails.
    #[track_caller]
    pub fn record(&mut self, value: O::In) -> &mut Self {
        let done = self.try_record(Stamped::new(value));
        self.well(done)
    }

    /// A record of this time.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), and when there is no such time.
    #[track_caller]
    pub fn record_at(&mut self, value: O::In, millis: i64) -> &mut Self {
        let done = self.try_record(Stamped::at(value, time(millis)));
        self.well(done)
    }

    /// As [`record`](Self::record).
    ///
    /// # Errors
    ///
    /// What the operator returns.
    ///
    /// # Panics
    ///
    /// After the end or a failure.
    #[track_caller]
    pub fn try_record(&mut self, record: Stamped<O::In>) -> Result<(), Failure> {
        self.input("a record")?;
        if let Err(error) = self.grammar.record() {
            refuse(format!("a record: {error}"));
        }
        self.call(|operator, out| {
            if O::BATCHES {
                return operator.on_batch(&mut vec![record], out);
            }
            operator.on_records(&mut Records::new(&mut vec![record].drain(..), 1), out)
        })
    }

    /// A watermark: the operator is told, event timers that are due fire, and it is passed on.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), and when it does not rise.
    #[track_caller]
    pub fn watermark(&mut self, millis: i64) -> &mut Self {
        let done = self.try_watermark(millis);
        self.well(done)
    }

    /// As [`watermark`](Self::watermark).
    ///
    /// # Errors
    ///
    /// What the operator returns.
    ///
    /// # Panics
    ///
    /// After the end or a failure, and when it does not rise.
    #[track_caller]
    pub fn try_watermark(&mut self, millis: i64) -> Result<(), Failure> {
        self.input("a watermark")?;
        let watermark = time(millis);
        if let Err(error) = self.grammar.mark(Mark::Watermark(watermark)) {
            refuse(format!("a watermark: {error}"));
        }
        self.call(|operator, out| operator.on_watermark(watermark, out))?;
        self.fire(TimerDomain::Event, watermark)?;
        self.output.push(Element::Mark(Mark::Watermark(watermark)));
        Ok(())
    }

    /// Event timers up to this time fire, earliest first, and no watermark comes.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record).
    #[track_caller]
    pub fn advance_event_time(&mut self, millis: i64) -> &mut Self {
        let done = self.input("a timer").and_then(|()| self.fire(TimerDomain::Event, time(millis)));
        self.well(done)
    }

    /// The clock on the wall shows this time: processing timers up to it fire, earliest first.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record).
    #[track_caller]
    pub fn advance_processing_time(&mut self, millis: i64) -> &mut Self {
        let fire = |this: &mut Self| {
            this.effects.set_now(time(millis));
            this.fire(TimerDomain::Processing, time(millis))
        };
        let done = self.input("a timer").and_then(|()| fire(self));
        self.well(done)
    }

    /// The clock on the wall shows this time, and nobody has looked: no timer fires for it.
    ///
    /// # Panics
    ///
    /// When there is no such time.
    #[track_caller]
    pub fn set_clock(&mut self, millis: i64) -> &mut Self {
        self.effects.set_now(time(millis));
        self
    }

    /// The input ends; the operator is told, processing timers that are still set
    /// [fire](Operator::fires_at_end) or are dropped, the operator is closed, and the end is passed
    /// on. The final watermark is no part of it.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record).
    #[track_caller]
    pub fn end(&mut self) -> &mut Self {
        let done = self.try_end();
        self.well(done)
    }

    /// As [`end`](Self::end).
    ///
    /// # Errors
    ///
    /// What the operator returns.
    ///
    /// # Panics
    ///
    /// After the end or a failure.
    #[track_caller]
    pub fn try_end(&mut self) -> Result<(), Failure> {
        self.input("the end")?;
        if let Err(error) = self.grammar.mark(Mark::End) {
            refuse(format!("the end: {error}"));
        }
        self.call(|operator, out| operator.on_end(out))?;
        self.end_timers()?;
        self.operator.close().inspect_err(|_| self.phase = Phase::Failed)?;
        self.phase = Phase::Ended;
        self.output.push(Element::Mark(Mark::End));
        Ok(())
    }

    /// Something comes in: the operator is opened if it is not, and takes no stored state any more.
    #[track_caller]
    fn input(&mut self, what: &str) -> Result<(), Failure> {
        self.ready(what)?;
        self.phase = Phase::Running;
        Ok(())
    }

    /// The operator is open and may be called.
    #[track_caller]
    pub(super) fn ready(&mut self, what: &str) -> Result<(), Failure> {
        match self.phase {
            Phase::Created => self.try_open(),
            Phase::Open | Phase::Running => Ok(()),
            Phase::Ended => refuse(format!("{what} after the end: nothing follows it")),
            Phase::Failed => refuse(format!("{what} after a failure: nothing is called after one")),
        }
    }

    /// One call of the operator, and of `more` as often as it says that work is left.
    #[track_caller]
    fn call(
        &mut self,
        call: impl FnOnce(&mut O, &mut Effects<O::Out, O::Timer>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut done = call(&mut self.operator, &mut self.effects);
        for _ in 0..CALLS {
            self.carry_out();
            match done {
                Ok(()) if self.effects.take_more() => {}
                Ok(()) => return Ok(()),
                Err(failure) => {
                    self.phase = Phase::Failed;
                    return Err(failure);
                }
            }
            done = self.operator.more(&mut self.effects);
        }
        refuse(format!("the operator still has work after {CALLS} calls of `more`"))
    }

    /// What the operator has written down is done.
    #[track_caller]
    fn carry_out(&mut self) {
        self.output.extend(self.effects.records().drain(..).map(Element::Record));
        for (name, n) in self.effects.counts().drain(..) {
            *self.counts.entry(name).or_default() += n;
        }
        if let Some(mismatch) = self.effects.sides().take_mismatch() {
            refuse(mismatch);
        }
        for edit in std::mem::take(self.effects.timers()) {
            let (TimerEdit::Set(timer) | TimerEdit::Delete(timer)) = &edit;
            let group = self.task.key_groups.of(timer.hash);
            self.owns(group, "a timer");
            match &edit {
                TimerEdit::Set(timer) => self.timers.set(timer.clone()),
                TimerEdit::Delete(timer) => self.timers.delete(timer),
            }
            self.edits.push(edit);
        }
    }

    /// Processing timers that are still set fire once if the operator says so; all others are
    /// dropped.
    #[track_caller]
    fn end_timers(&mut self) -> Result<(), Failure> {
        if self.operator.fires_at_end() {
            for timer in self.timers.all(TimerDomain::Processing) {
                if self.timers.take(&timer) {
                    self.call(|operator, out| operator.on_timer(timer, out))?;
                }
            }
        }
        self.timers.clear();
        Ok(())
    }

    /// Fires what is due, those too that are set meanwhile.
    #[track_caller]
    fn fire(&mut self, domain: TimerDomain, now: Timestamp) -> Result<(), Failure> {
        for _ in 0..CALLS {
            let Some(timer) = self.timers.due(domain, now) else { return Ok(()) };
            self.call(|operator, out| operator.on_timer(timer, out))?;
        }
        refuse(format!("a timer is still due after {CALLS} firings: each sets the next"))
    }

    #[track_caller]
    pub(super) fn well(&mut self, done: Result<(), Failure>) -> &mut Self {
        match done {
            Ok(()) => self,
            Err(failure) => refuse(format!("the operator fails: {failure}")),
        }
    }
}

/// A time of so many milliseconds.
#[track_caller]
fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or_else(|error| refuse(error.to_string()))
}
