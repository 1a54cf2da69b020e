//! A task of calls at work: what it does next in its turn, and when it rests.

use millstream_core::{Failure, Mark};
use millstream_operators::Progress;

use super::driver::Driver;
use crate::alarm::Alarm;
use crate::calls::Caller;
use crate::channel::{Inbox, Outbox, Whole};
use crate::task::marks::Marks;
use crate::task::{After, Turn};

/// Records that are admitted, or calls that are polled, between two looks at the clock.
const PIECE: usize = 64;

/// A task of calls at work.
pub(super) struct Running<C: Caller> {
    pub(super) driver: Driver<C>,
    pub(super) outbox: Outbox<C::Out>,
    marks: Marks,
    /// The batch whose records are being admitted.
    batch: Option<Whole<C::In>>,
    /// Batches that were taken in front of a barrier; they keep their credits until what was in
    /// them has been admitted.
    parked: Vec<Whole<C::In>>,
    alarm: Alarm,
    /// The input has ended.
    ending: bool,
    /// Everything has been passed on.
    ended: bool,
}

impl<C: Caller> Running<C> {
    pub(super) fn new(driver: Driver<C>, outbox: Outbox<C::Out>, channels: usize) -> Self {
        Self {
            driver,
            outbox,
            marks: Marks::new(channels),
            batch: None,
            parked: Vec::new(),
            alarm: Alarm::default(),
            ending: false,
            ended: false,
        }
    }

    /// Works until the budget is spent or nothing can be done: what is over, what has been woken,
    /// what is to be called again, what can go out, and then new input.
    pub(super) fn work(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        // The task may have slept for long, and what it finds now has come since.
        self.driver.wait.look(turn.budget.looked());
        loop {
            self.outbox.look(turn.budget.looked())?;
            if self.outbox.advance()? {
                turn.budget.spend(0);
            }
            if self.ended {
                if !self.outbox.holding() {
                    return Ok(After::Ended);
                }
                if self.outbox.wait() {
                    return Ok(After::Credit);
                }
                continue;
            }
            if turn.budget.is_spent() {
                return Ok(After::Again);
            }
            let now = turn.budget.looked();
            if self.driver.wait.next_due().is_some_and(|due| due <= now) {
                self.driver.wait.look(now);
                self.driver.expire(now)?;
            }
            let mut worked = self.some(turn, Driver::poll_next)?;
            worked |= self.some(turn, Driver::start_next)?;
            if !self.driver.wait.is_parking() {
                self.parked.clear();
            }
            worked |= self.emit(turn)?;
            if self.ending && self.driver.is_drained() {
                self.driver.caller.close()?;
                self.ended = true;
                self.outbox.mark(Mark::End)?;
                continue;
            }
            worked |= self.admit(inbox, turn)?;
            if !worked && let Some(after) = self.rest(turn) {
                return Ok(after);
            }
        }
    }

    /// Does a piece of something. Whether there was anything to do.
    fn some(
        &mut self,
        turn: &mut Turn<'_, '_>,
        mut one: impl FnMut(&mut Driver<C>) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let mut done = 0;
        while done < PIECE && one(&mut self.driver)? {
            done += 1;
        }
        self.spend(done, turn);
        Ok(done > 0)
    }

    /// Work was done: looks at the clock, which dates what has begun.
    fn spend(&mut self, done: usize, turn: &mut Turn<'_, '_>) {
        if done > 0 {
            turn.budget.spend(done);
            self.driver.wait.look(turn.budget.looked());
        }
    }

    /// Sends on what may go, as far as there is credit. Whether something went.
    fn emit(&mut self, turn: &mut Turn<'_, '_>) -> Result<bool, Failure> {
        let mut any = false;
        while !self.outbox.blocked() {
            let (wrote, mark) = self.driver.write();
            // What was answered at once has been written down already.
            let went = self.settle(turn)? > 0 || wrote;
            any |= went;
            if went {
                // The steps behind the calls are this task's work as well.
                turn.budget.spend(0);
            }
            match mark {
                Some(mark) => self.outbox.mark(mark)?,
                None if wrote => {}
                None => break,
            }
        }
        Ok(any)
    }

    /// Hands on what was written; how many records.
    fn settle(&mut self, turn: &mut Turn<'_, '_>) -> Result<usize, Failure> {
        let effects = &mut self.driver.effects;
        let made = self.outbox.records(effects.records())?;
        turn.metrics.records_out.add(made as u64);
        self.outbox.sides(effects.sides())?;
        turn.metrics.side_records_dropped.add(effects.sides().take_unread());
        effects.take_more();
        Ok(made)
    }

    /// Takes from the input what there is room for. Whether something was taken.
    fn admit(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<bool, Failure> {
        if self.batch.is_none() {
            // An end finds room always: else it would wait behind calls that wait for it.
            let takes = self.driver.wait.takes_mark() || inbox.has_end() || inbox.has_barrier();
            self.batch = if takes { inbox.take_whole(|n| turn.pick(n)) } else { None };
        }
        let Some(batch) = &mut self.batch else { return Ok(false) };
        let mut done = 0;
        while done < PIECE
            && let Some(next) = batch.ahead()
            && self.driver.takes(next)
            && let Some(record) = batch.next()
        {
            done += 1;
            self.driver.admit(record)?;
        }
        if done == 0 && batch.ahead().is_some() {
            if !batch.has_barrier() && !inbox.has_barrier() {
                return Ok(false);
            }
            done = self.park();
        }
        turn.metrics.records_in.add(done as u64);
        self.spend(done, turn);
        let Some(batch) = &mut self.batch else { return Ok(true) };
        if batch.ahead().is_none() {
            let mark = batch.take_mark();
            // What there was room for goes back at once.
            self.parked.extend(self.batch.take().filter(|_| self.driver.wait.is_parking()));
            if let Some((channel, mark)) = mark {
                self.mark(channel, mark, inbox, turn)?;
            }
        }
        Ok(true)
    }

    /// A barrier lies in the input and there is no room: what stands in front of it belongs to its
    /// snapshot, so it is taken and waits here.
    fn park(&mut self) -> usize {
        let mut done = 0;
        while let Some(record) = self.batch.as_mut().and_then(Whole::next) {
            self.driver.wait.park(record);
            done += 1;
        }
        done
    }

    /// A mark of one channel: what it means for the task as a whole.
    fn mark(
        &mut self,
        channel: usize,
        mark: Mark,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Failure> {
        let (complete, progress) = self.marks.take(channel, mark, inbox);
        if let Some(epoch) = complete {
            // It does not wait for the calls that are out: their inputs are in its snapshot. What
            // has been written down is not, so it goes first.
            self.settle(turn)?;
            self.outbox.mark(Mark::Barrier(epoch))?;
        }
        let wait = &mut self.driver.wait;
        match progress {
            Progress::None => {}
            Progress::Watermark(watermark) => wait.mark(Mark::Watermark(watermark)),
            Progress::Idle(watermark) => {
                watermark.into_iter().for_each(|it| wait.mark(Mark::Watermark(it)));
                wait.mark(Mark::Idle);
            }
            Progress::Active(watermark) => {
                wait.mark(Mark::Active);
                watermark.into_iter().for_each(|it| wait.mark(Mark::Watermark(it)));
            }
            Progress::End => {
                self.ending = true;
                wait.end();
            }
        }
        Ok(())
    }

    /// There is nothing to do now. None if something has come up since; else what it waits for.
    fn rest(&mut self, turn: &mut Turn<'_, '_>) -> Option<After> {
        let stuck = self.outbox.holding() || (self.outbox.blocked() && self.driver.has_output());
        if stuck && !self.outbox.wait() {
            return None;
        }
        let due = [self.driver.wait.next_due(), self.outbox.next_look()];
        if self.alarm.rings(due.into_iter().flatten().min(), turn.budget.clock(), turn.cx) {
            turn.budget.spend(0);
            return None;
        }
        let rests = self.driver.calls.rest(turn.cx.waker());
        rests.then_some(if stuck { After::Credit } else { After::Input })
    }
}
