//! An operator's task: merges the marks of its inputs and calls the operator as its contract says.

mod running;

use std::collections::VecDeque;
use std::task::Poll;

use millstream_core::{Failure, Mark, TaskInfo, Timestamp};
use millstream_operators::timers::Next;
use millstream_operators::{Operator, Progress, let_go, let_go_all};

use self::running::Running;
use super::marks::Marks;
use super::timers::TaskTimersOf;
use super::{After, Logic, Turn};
use crate::channel::{Inbox, Outbox, Taken};

/// What a task makes its operator and its outbox from, on its arbiter.
pub(crate) struct OperatorOf<O: Operator> {
    pub(crate) info: TaskInfo,
    pub(crate) channels: usize,
    /// Made records after which they are handed on.
    pub(crate) batch_records: usize,
    pub(crate) timers: TaskTimersOf,
    pub(crate) make: Box<dyn FnOnce(&TaskInfo) -> O>,
    pub(crate) wire: Box<dyn FnOnce() -> Outbox<O::Out>>,
}

/// Runs an operator.
pub(crate) struct OperatorLogic<O: Operator> {
    of: Option<OperatorOf<O>>,
    running: Option<Running<O>>,
    marks: Marks,
    /// Marks that are passed on once the operator has no more work announced.
    due: VecDeque<Mark>,
    /// The status that follows a watermark whose timers are being fired.
    behind: Option<Mark>,
    ended: bool,
}

impl<O: Operator> OperatorLogic<O> {
    pub(crate) fn new(of: OperatorOf<O>) -> Self {
        Self {
            marks: Marks::new(of.channels),
            of: Some(of),
            running: None,
            due: VecDeque::new(),
            behind: None,
            ended: false,
        }
    }

    /// A mark of one channel: what it means for the task as a whole.
    fn mark(
        &mut self,
        channel: usize,
        mark: Mark,
        inbox: &mut Inbox<O::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Failure> {
        let (complete, progress) = self.marks.take(channel, mark, inbox);
        if let (Some(epoch), Some(running)) = (complete, &mut self.running) {
            running.timers.barrier(epoch);
            self.due.push_back(Mark::Barrier(epoch));
        }
        match progress {
            Progress::None => Ok(()),
            Progress::Watermark(watermark) => self.watermark(watermark, turn),
            Progress::Idle(watermark) => {
                watermark.map_or(Ok(()), |watermark| self.watermark(watermark, turn))?;
                match &self.running {
                    Some(running) if running.timers.is_stepping() => self.behind = Some(Mark::Idle),
                    _ => self.due.push_back(Mark::Idle),
                }
                Ok(())
            }
            Progress::Active(None) => self.pass(Mark::Active),
            Progress::Active(Some(watermark)) => {
                self.pass(Mark::Active)?;
                self.watermark(watermark, turn)
            }
            Progress::End => {
                self.due.push_back(Mark::End);
                let Some(running) = &mut self.running else { return Ok(()) };
                running.call(|operator, out| operator.on_end(out), turn)
            }
        }
    }

    /// The operator is told first, then timers that are due fire, then the watermark is passed on.
    fn watermark(&mut self, watermark: Timestamp, turn: &mut Turn<'_, '_>) -> Result<(), Failure> {
        let Some(running) = &mut self.running else { return Ok(()) };
        running.call(|operator, out| operator.on_watermark(watermark, out), turn)?;
        if !running.timers.watermark(watermark) {
            self.due.push_back(Mark::Watermark(watermark));
        }
        Ok(())
    }

    fn pass(&mut self, mark: Mark) -> Result<(), Failure> {
        self.due.push_back(mark);
        Ok(())
    }

    /// Whether a mark may be passed on now: the end once no timer is left.
    fn passes_mark(&mut self) -> bool {
        let Some(running) = &mut self.running else { return false };
        let fire = || running.operator.as_ref().is_some_and(Operator::fires_at_end);
        match self.due.front() {
            None => false,
            Some(Mark::End) => running.timers.are_over(fire()),
            Some(_) => true,
        }
    }

    /// Works until the budget is spent or nothing can be done.
    fn work_on(
        &mut self,
        inbox: &mut Inbox<O::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        if let Some(running) = &mut self.running {
            running.effects.set_now(turn.budget.clock().wall());
        }
        loop {
            let Some(running) = &mut self.running else { return Ok(After::Input) };
            let mut holding = false;
            running.outbox.look(turn.budget.looked())?;
            if running.outbox.advance()? {
                turn.budget.spend(0);
                holding = running.outbox.holding();
            }
            if self.ended && !holding {
                return Ok(After::Ended);
            }
            if turn.budget.is_spent() {
                return Ok(After::Again);
            }
            running.timers.hear()?;
            if !holding
                && !running.more
                && self.passes_mark()
                && let Some(mark) = self.due.pop_front()
            {
                // A mark needs no credit.
                self.pass_due(mark)?;
                continue;
            }
            let Some(running) = &mut self.running else { return Ok(After::Input) };
            if running.outbox.blocked() {
                if running.outbox.wait() {
                    return Ok(After::Credit);
                }
            } else if std::mem::take(&mut running.more) {
                running.call(|operator, out| operator.more(out), turn)?;
            } else if let Some(after) = self.serve(inbox, turn)? {
                return Ok(after);
            }
        }
    }

    /// Fires timers and takes input, by turns. What the task waits for if there was nothing to do.
    fn serve(
        &mut self,
        inbox: &mut Inbox<O::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Option<After>, Failure> {
        let Some(running) = &mut self.running else { return Ok(Some(After::Input)) };
        let (fired, next) = running.fire(turn)?;
        match next {
            Next::Passed(watermark) => {
                self.due.push_back(Mark::Watermark(watermark));
                self.due.extend(self.behind.take());
                return Ok(None);
            }
            Next::Ended { dropped } => {
                turn.metrics.count("timers dropped at the end", dropped as u64);
                return Ok(None);
            }
            Next::Fire(_) | Next::Nothing => {}
        }
        if fired && (running.more || running.outbox.blocked() || turn.budget.is_spent()) {
            return Ok(None);
        }
        let taken = if running.timers.takes_input() {
            inbox.take(|n| turn.pick(n))
        } else {
            inbox.take_barrier().map(|(channel, mark)| Taken::Mark(channel, mark))
        };
        match taken {
            Some(Taken::Records) => running.records(inbox, turn)?,
            Some(Taken::Mark(channel, mark)) => self.mark(channel, mark, inbox, turn)?,
            None if fired => {}
            None => {
                running.timers.send();
                let due = running.outbox.next_look();
                if running.alarm.rings(due, turn.budget.clock(), turn.cx) {
                    turn.budget.spend(0);
                    return Ok(None);
                }
                return Ok(running.timers.rest(turn.cx.waker()).then_some(After::Input));
            }
        }
        Ok(None)
    }

    /// Passes on the next due mark; the end only after the operator is closed.
    fn pass_due(&mut self, mark: Mark) -> Result<(), Failure> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if mark == Mark::End {
            if let Some(operator) = &mut running.operator {
                operator.close()?;
            }
            self.ended = true;
        }
        running.outbox.mark(mark)
    }
}

impl<O: Operator> Logic for OperatorLogic<O>
where
    O::In: Send,
{
    type In = O::In;

    fn open(&mut self, _: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        let Some(of) = self.of.take() else { return Poll::Ready(Ok(())) };
        let (running, opened) = Running::open(of);
        self.running = Some(running);
        Poll::Ready(opened)
    }

    fn work(
        &mut self,
        inbox: &mut Inbox<O::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        let after = self.work_on(inbox, turn)?;
        self.running.iter_mut().for_each(|running| running.timers.send());
        Ok(after)
    }

    fn filling(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.outbox.filling())
    }

    fn flush(&mut self) {
        self.running.iter_mut().for_each(|running| running.outbox.flush());
    }

    fn salvage(&mut self) {
        let Some(running) = &mut self.running else { return };
        // What it has made is handed on even if it panics when it is dropped.
        let_go(running.operator.take());
        let_go_all(&mut running.batch);
        running.outbox.salvage(running.effects.records());
        running.outbox.salvage_sides(running.effects.sides());
    }

    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        match &mut self.running {
            Some(running) => running.outbox.hand_over(),
            None => Poll::Ready(Ok(())),
        }
    }

    fn take_sent(&mut self) -> u64 {
        self.running.as_mut().map_or(0, |running| running.outbox.take_sent())
    }
}
