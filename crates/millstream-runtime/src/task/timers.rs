//! The timers of a task: what its operator says about them, and the actor of its own that keeps
//! them.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Waker;

use millstream_core::{Clock, Epoch, Failure, Key, KeyHash, TaskInfo, Timestamp, describe};
use millstream_operators::timers::{Next, TimerClient};
use millstream_operators::{TimerDomain, TimerEdit};

use crate::panic::TaskFailure;
use crate::schedule::Schedule;
use crate::settings::Limits;
use crate::timers::{Keeper, TimersOf};

/// The timers of a task.
pub(super) struct TaskTimers<P: Key> {
    client: TimerClient<P>,
    /// Started with the first timer.
    keeper: Option<Keeper<P>>,
    of: TaskTimersOf,
    sent: u64,
    chains: BTreeMap<KeyHash, usize>,
    end: End,
}

/// What they are made of.
#[derive(Clone)]
pub(crate) struct TaskTimersOf {
    pub(crate) actor: TimersOf,
    pub(crate) schedule: Option<Arc<dyn Schedule>>,
    /// Edits under way with which the task takes no more input.
    pub(crate) timer_edits: usize,
    /// Timers that callbacks of one key may set in a step which they do not get on by.
    pub(crate) final_firings: usize,
}

impl TaskTimersOf {
    pub(crate) fn new(
        info: &TaskInfo,
        clock: Arc<dyn Clock>,
        schedule: Option<Arc<dyn Schedule>>,
        limits: &Limits,
    ) -> Self {
        let Limits { turn_records, turn_time, timer_batch, timer_edits, final_firings, .. } =
            *limits;
        let (task, key_groups) = (info.to_string().into(), info.key_groups);
        let actor = TimersOf { task, key_groups, clock, turn_records, turn_time, timer_batch };
        Self { actor, schedule, timer_edits, final_firings }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The actor has been asked to give out or drop what is left.
    Asked,
    Over,
}

/// The callbacks of a key set timers for ever.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the timers of {timer} do not come to an end: at watermark {watermark:?} their callbacks have \
     set {set} more that are due at once (setting `final_firings`)"
)]
pub(super) struct EndlessTimers {
    timer: String,
    watermark: Timestamp,
    set: usize,
}

impl<P: Key> TaskTimers<P> {
    pub(super) fn new(of: TaskTimersOf) -> Self {
        let (client, chains) = (TimerClient::new(), BTreeMap::new());
        Self { client, keeper: None, of, sent: 0, chains, end: End::Open }
    }

    /// Takes what the actor has told.
    pub(super) fn hear(&mut self) -> Result<(), Failure> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        let line = keeper.line();
        while let Some(firings) = line.take() {
            self.client.firings(firings);
        }
        self.client.knows(line.known());
        match line.take_failure() {
            None => Ok(()),
            Some(TaskFailure::Error(failure)) => Err(failure),
            // It was a key of this task that panicked.
            Some(TaskFailure::Panic(message)) => resume_unwind(Box::new(message)),
        }
    }

    /// What the operator wants, in the callback of a timer of this time or elsewhere.
    pub(super) fn edit(
        &mut self,
        edits: &mut Vec<TimerEdit<P>>,
        callback_of: Option<Timestamp>,
    ) -> Result<(), Failure> {
        let Some(now) = callback_of else {
            self.client.edit(edits);
            return Ok(());
        };
        for edit in edits.drain(..) {
            match edit {
                TimerEdit::Delete(timer) => self.client.delete(timer),
                TimerEdit::Set(timer) => {
                    if let Some(watermark) = self.client.step()
                        && timer.domain == TimerDomain::Event
                        && (watermark.is_final() || timer.time <= now)
                    {
                        let set = self.chains.entry(timer.hash).or_default();
                        *set += 1;
                        if *set > self.of.final_firings {
                            let timer = describe(&timer.payload);
                            let set = *set;
                            return Err(Failure::new(EndlessTimers { timer, watermark, set }));
                        }
                    }
                    self.client.set(timer);
                }
            }
        }
        Ok(())
    }

    /// A watermark has come. Whether timers are due at it: else it may be passed on.
    pub(super) fn watermark(&mut self, watermark: Timestamp) -> bool {
        self.client.watermark(watermark)
    }

    /// A barrier is taken.
    pub(super) fn barrier(&mut self, epoch: Epoch) {
        if self.keeper.is_some() {
            self.client.barrier(epoch);
        }
    }

    /// Whether timers are being fired at a watermark. Of all input only barriers are taken then.
    pub(super) fn is_stepping(&self) -> bool {
        self.client.step().is_some()
    }

    /// Whether input may be taken: no step is open, and the actor keeps up.
    pub(super) fn takes_input(&self) -> bool {
        !self.is_stepping()
            && self.keeper.as_ref().is_none_or(|keeper| {
                self.sent - keeper.line().known() <= self.of.timer_edits as u64
            })
    }

    /// What is to be done next.
    pub(super) fn draw(&mut self) -> Next<P> {
        let next = self.client.draw();
        match next {
            Next::Passed(_) => self.chains.clear(),
            Next::Ended { .. } => self.end = End::Over,
            Next::Fire(_) | Next::Nothing => {}
        }
        next
    }

    /// The input has ended, and all event timers have fired. Whether no timer is left; the first
    /// time it is asked for, processing timers begin to fire or to be dropped.
    pub(super) fn are_over(&mut self, fire: bool) -> bool {
        if self.end == End::Open {
            // Without an actor there may be edits that have not been sent.
            self.send();
            self.end = if self.keeper.is_none() { End::Over } else { End::Asked };
            if self.end == End::Asked {
                self.client.end(fire);
            }
        }
        self.end == End::Over
    }

    /// Sends what there is to say. Once a turn.
    pub(super) fn send(&mut self) {
        if let Some(edits) = self.client.take_edits() {
            self.sent = edits.before + edits.edits.len() as u64;
            let of = &self.of;
            let start = || Keeper::start(of.actor.clone(), of.schedule.clone());
            let keeper = self.keeper.get_or_insert_with(start);
            keeper.tell(edits);
            self.client.reuse(keeper.line().take_spare());
        }
    }

    /// The task rests, to be woken by `waker`. False if there is something to do.
    pub(super) fn rest(&self, waker: &Waker) -> bool {
        self.keeper.as_ref().is_none_or(|keeper| keeper.line().rest(waker))
    }
}
