//! An operator at work: calls of it, and what it has written handed on.

use millstream_core::{Failure, Stamped};
use millstream_operators::timers::Next;
use millstream_operators::{Effects, Operator, TimerDomain};

use super::super::Turn;
use super::super::budget::Piece;
use super::super::timers::TaskTimers;
use super::OperatorOf;
use crate::alarm::Alarm;
use crate::channel::{Inbox, Outbox};

/// What an operator takes between two looks at the clock, at most: more would save nothing that can
/// be measured, and a function that is slow from one record to the next would have the more.
const PIECE: usize = 256;

/// Timers that are fired one after the other before input is looked at.
const FIRINGS: usize = 64;

/// What exists once the task is open.
pub(super) struct Running<O: Operator> {
    /// Gone after a failure.
    pub(super) operator: Option<O>,
    pub(super) effects: Effects<O::Out, O::Timer>,
    pub(super) outbox: Outbox<O::Out>,
    pub(super) timers: TaskTimers<O::Timer>,
    /// The operator has announced work.
    pub(super) more: bool,
    /// What an operator of batches is given; empty in between.
    pub(super) batch: Vec<Stamped<O::In>>,
    pub(super) batch_records: usize,
    pub(super) piece: Piece,
    pub(super) alarm: Alarm,
}

impl<O: Operator> Running<O> {
    /// Makes the operator and opens it.
    pub(super) fn open(of: OperatorOf<O>) -> (Self, Result<(), Failure>) {
        let mut operator = (of.make)(&of.info);
        let opened = operator.open(&of.info);
        let outbox = (of.wire)();
        let batch_records = outbox.batch_records(of.batch_records);
        let running = Self {
            operator: Some(operator),
            effects: Effects::new(outbox.side_buffers(), batch_records),
            outbox,
            timers: TaskTimers::new(of.timers),
            more: false,
            batch: Vec::new(),
            batch_records,
            piece: Piece::at_most(PIECE),
            alarm: Alarm::default(),
        };
        (running, opened)
    }

    /// Hands on what the operator has written.
    pub(super) fn settle(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), Failure> {
        let made = self.outbox.records(self.effects.records())?;
        turn.metrics.records_out.add(made as u64);
        self.outbox.sides(self.effects.sides())?;
        turn.metrics.side_records_dropped.add(self.effects.sides().take_unread());
        for (name, n) in self.effects.counts().drain(..) {
            turn.metrics.count(name, n);
        }
        self.more |= self.effects.take_more();
        self.timers.edit(self.effects.timers(), None)
    }

    /// Works off the records that the inbox announced.
    pub(super) fn records(
        &mut self,
        inbox: &mut Inbox<O::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Failure> {
        let Self {
            operator: Some(operator),
            effects,
            outbox,
            more,
            batch,
            batch_records,
            piece,
            ..
        } = self
        else {
            return Ok(());
        };
        let budget = &mut turn.budget;
        if O::BATCHES {
            let n = inbox.piece(budget.records().min(*batch_records), batch);
            operator.on_batch(batch, effects)?;
            if !batch.is_empty() {
                return Err(Failure::new(
                    "the operator left records of the batch that it was given",
                ));
            }
            turn.metrics.records_in.add(n as u64);
            self.settle(turn)?;
            turn.budget.spend(n);
            return Ok(());
        }
        let mut made = 0;
        let (done, result) = inbox.records(
            piece.records(),
            |records| -> Result<bool, Failure> {
                let before = records.len();
                operator.on_records(records, effects)?;
                if records.len() == before {
                    return Err(Failure::new("the operator took none of the records that came"));
                }
                if !effects.is_full() {
                    return Ok(true);
                }
                *more |= effects.take_more();
                made += outbox.records(effects.records())?;
                outbox.sides(effects.sides())?;
                Ok(!*more && !outbox.blocked())
            },
            |records| budget.spend_piece(records, piece),
        );
        turn.metrics.records_in.add(done as u64);
        turn.metrics.records_out.add(made as u64);
        result?;
        self.settle(turn)?;
        // The steps behind the operator are this task's work as well.
        turn.budget.spend(0);
        Ok(())
    }

    /// Fires some timers that are due. Whether there were any, and what has come to an end.
    pub(super) fn fire(
        &mut self,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(bool, Next<O::Timer>), Failure> {
        let Some(operator) = &mut self.operator else { return Ok((false, Next::Nothing)) };
        let (mut fired, mut next) = (0, Next::Nothing);
        while fired < FIRINGS && !self.effects.is_full() {
            next = self.timers.draw();
            let Next::Fire(timer) = next else { break };
            let at = (timer.domain == TimerDomain::Event).then_some(timer.time);
            operator.on_timer(timer, &mut self.effects)?;
            if !self.effects.timers().is_empty() {
                self.timers.edit(self.effects.timers(), at)?;
            }
            next = Next::Nothing;
            fired += 1;
        }
        if fired > 0 {
            turn.metrics.count("timers fired", fired as u64);
            self.settle(turn)?;
            turn.budget.spend(fired);
        }
        Ok((fired > 0, next))
    }

    pub(super) fn call(
        &mut self,
        call: impl FnOnce(&mut O, &mut Effects<O::Out, O::Timer>) -> Result<(), Failure>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Failure> {
        if let Some(operator) = &mut self.operator {
            call(operator, &mut self.effects)?;
        }
        self.settle(turn)?;
        turn.budget.spend(1);
        Ok(())
    }
}
