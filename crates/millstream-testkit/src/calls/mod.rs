//! One task of calls by hand: records are given to it, time is moved for it, and what it sends on
//! lies there to be looked at.

mod input;
mod snapshot;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use millstream_core::{Data, Failure, Grammar, Stamped, TaskInfo};
use millstream_operators::async_wait::Limits;
use millstream_operators::{SideBuffer, SideBuffers, SideOutput};
use millstream_runtime::{Caller, CallsByHand};

use crate::harness::{Element, Stored, task};
use crate::{ManualClock, refuse::refuse};

/// Runs one task of a stage of calls by hand.
///
/// It does what such a task does, with the real functions and their real futures: takes records as
/// long as there is room and keeps the rest waiting, polls what has been woken, calls again, gives
/// up, sends on in order, takes its snapshots and goes on from them. Time is that of
/// [`clock`](Self::clock) and moves only when told.
///
/// After each call of a method all is done that can be. What is woken from elsewhere is looked at
/// by the next one, be it [`turn`](Self::turn).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream::{AsyncWait, Clock, call_fn};
/// use millstream_testkit::{CallHarness, ManualClock};
///
/// let clock = ManualClock::new();
/// let answer_time = clock.clone();
/// let slow = move |n: u64| {
///     let clock = answer_time.clone();
///     async move {
///         clock.wake_at(clock.monotonic().plus(Duration::from_millis(10 * n))).await;
///         Ok(n * n)
///     }
/// };
/// let stage = |_: &_| AsyncWait::unordered().caller(call_fn(slow.clone()));
/// let mut one = CallHarness::on(&clock, stage);
/// one.record(3).record(1).record(2);
/// assert_eq!(one.advance(Duration::from_millis(10)).take(), [1]);
///
/// // A restart calls again what had not gone out, in order.
/// let stored = one.snapshot(1);
/// let mut again = CallHarness::restored_on(&clock, 1, &stored, stage).remove(0);
/// assert_eq!(again.out(), 2);
/// assert_eq!(again.advance(Duration::from_millis(30)).take(), [4, 9]);
/// ```
pub struct CallHarness<C: Caller> {
    task: TaskInfo,
    clock: ManualClock,
    limits: Limits,
    state: State<C>,
    ended: bool,
    failed: bool,
    grammar: Grammar,
    /// What has come and finds no room.
    input: VecDeque<Element<C::In>>,
    sides: Vec<Box<dyn Fn() -> SideBuffer>>,
    output: Vec<Element<C::Out>>,
    /// What comes back once it is open.
    stored: Option<Stored>,
}

type Opening<C> = Pin<Box<dyn Future<Output = Result<C, Failure>>>>;

enum State<C: Caller> {
    Created(C),
    Opening(Opening<C>),
    Open(Box<CallsByHand<C>>),
    /// It could not be opened.
    Gone,
}

impl<C: Caller> CallHarness<C> {
    /// Runs this stage as its only task, on a clock of its own.
    ///
    /// # Panics
    ///
    /// When its settings cannot be meant.
    #[track_caller]
    pub fn new((caller, limits): (C, Limits)) -> Self {
        Self::made_for(task(0, 1), &ManualClock::new(), |_| (caller, limits))
    }

    /// As [`new`](Self::new), on this clock.
    ///
    /// # Panics
    ///
    /// When its settings cannot be meant.
    #[track_caller]
    pub fn on(clock: &ManualClock, factory: impl FnOnce(&TaskInfo) -> (C, Limits)) -> Self {
        Self::made_for(task(0, 1), clock, factory)
    }

    /// Runs what a factory makes for this task, on this clock.
    ///
    /// # Panics
    ///
    /// When its settings cannot be meant.
    #[track_caller]
    pub fn made_for(
        task: TaskInfo,
        clock: &ManualClock,
        factory: impl FnOnce(&TaskInfo) -> (C, Limits),
    ) -> Self {
        let (caller, limits) = factory(&task);
        if let Err(error) = limits.check() {
            refuse(error.to_string());
        }
        Self {
            task,
            clock: clock.clone(),
            // A job that is to survive stores its inputs.
            limits: Limits { keeps_inputs: true, ..limits },
            state: State::Created(caller),
            ended: false,
            failed: false,
            grammar: Grammar::default(),
            input: VecDeque::new(),
            sides: Vec::new(),
            output: Vec::new(),
            stored: None,
        }
    }

    /// The same, and what is written to this side output is kept for
    /// [`take_side`](Self::take_side). What is written to any other is dropped, as by a task.
    ///
    /// # Panics
    ///
    /// After the first turn.
    #[must_use]
    #[track_caller]
    pub fn with_side<T: Data>(mut self, output: &SideOutput<T>) -> Self {
        if !matches!(self.state, State::Created(_)) {
            refuse("say which side outputs are looked at before anything happens");
        }
        let output = output.clone();
        self.sides.push(Box::new(move || SideBuffer::of(&output)));
        self
    }

    /// Which task it is.
    pub const fn task(&self) -> &TaskInfo {
        &self.task
    }

    /// What time it is for the task.
    pub const fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// How many records have been taken and wait for their calls.
    pub fn out(&mut self) -> usize {
        self.running().map_or(0, |it| it.wait().take_seen().in_flight)
    }

    /// How many records and marks have come and find no room.
    pub fn waiting(&self) -> usize {
        self.input.len()
    }

    /// The values that have left since the last look at the output.
    pub fn take(&mut self) -> Vec<C::Out> {
        self.take_records().into_iter().map(|record| record.value).collect()
    }

    /// The records that have left since the last look at the output. Marks between them are
    /// forgotten.
    pub fn take_records(&mut self) -> Vec<Stamped<C::Out>> {
        let record = |element| match element {
            Element::Record(record) => Some(record),
            Element::Mark(_) => None,
        };
        self.take_elements().into_iter().filter_map(record).collect()
    }

    /// Everything that has left since the last look at the output, in order.
    pub fn take_elements(&mut self) -> Vec<Element<C::Out>> {
        std::mem::take(&mut self.output)
    }

    /// The records that have left by a side output since the last look at it.
    ///
    /// # Panics
    ///
    /// When [`with_side`](Self::with_side) has not said that it is looked at.
    #[track_caller]
    pub fn take_side<T: Data>(&mut self, output: &SideOutput<T>) -> Vec<Stamped<T>> {
        if !self.sides.iter().any(|of| of().name() == output.name()) {
            refuse(format!("{output:?} is not looked at: say so by `with_side`"));
        }
        let Some(running) = self.running() else { return Vec::new() };
        let mut buffers = running.effects().sides().buffers().iter_mut();
        let buffer = buffers.find(|buffer| buffer.name() == output.name());
        buffer.and_then(SideBuffer::records).map(std::mem::take).unwrap_or_default()
    }

    /// Time goes on, and what is due happens.
    ///
    /// # Panics
    ///
    /// As [`turn`](Self::turn).
    #[track_caller]
    pub fn advance(&mut self, by: Duration) -> &mut Self {
        self.clock.advance(by);
        self.turn()
    }

    fn running(&mut self) -> Option<&mut CallsByHand<C>> {
        match &mut self.state {
            State::Open(running) => Some(running),
            State::Created(_) | State::Opening(_) | State::Gone => None,
        }
    }

    fn side_buffers(&self) -> SideBuffers {
        SideBuffers::new(self.sides.iter().map(|of| of()).collect())
    }

    /// Shared with what the clock is given to.
    fn shared_clock(&self) -> Arc<ManualClock> {
        Arc::new(self.clock.clone())
    }
}
