//! A task of calls: admits records as far as there is room, drives what is out, sends on in order.

mod by_hand;
mod driver;
mod events;
mod running;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use millstream_core::{Failure, TaskInfo};
use millstream_operators::async_wait::{AsyncWait, Limits};
use millstream_operators::{Effects, let_go};

pub use self::by_hand::CallsByHand;
use self::driver::Driver;
use self::running::Running;
use super::{After, Logic, Turn};
use crate::calls::{Caller, CurrentTask};
use crate::channel::{Inbox, Outbox};
use crate::ends::TaskContext;

type Make<C> = Box<dyn FnOnce(&TaskInfo) -> C>;
type Wire<C> = Box<dyn FnOnce() -> Outbox<<C as Caller>::Out>>;
type Opening<C> = Pin<Box<dyn Future<Output = Result<C, Failure>>>>;

/// What a task makes its caller and its outbox from, on its arbiter.
pub(crate) struct CallsOf<C: Caller> {
    pub(crate) context: TaskContext,
    pub(crate) channels: usize,
    /// Made records after which they are handed on.
    pub(crate) batch_records: usize,
    /// Checked when the graph was built.
    pub(crate) limits: Limits,
    pub(crate) make: Make<C>,
    pub(crate) wire: Wire<C>,
}

/// Runs a [`Caller`].
pub(crate) struct CallsLogic<C: Caller> {
    info: Arc<TaskInfo>,
    state: State<C>,
}

enum State<C: Caller> {
    Created(Box<CallsOf<C>>),
    Opening(Opening<C>, Option<Box<Parts<C>>>),
    Running(Box<Running<C>>),
    /// The user's code has failed; what it made before is handed on.
    Failed(Outbox<C::Out>),
    Gone,
}

/// What waits for the caller to be open.
struct Parts<C: Caller> {
    wait: AsyncWait<C::In, C::Answer>,
    effects: Effects<C::Out>,
    outbox: Outbox<C::Out>,
    channels: usize,
}

impl<C: Caller> CallsLogic<C> {
    pub(crate) fn new(of: CallsOf<C>) -> Self {
        Self { info: Arc::new(of.context.info.clone()), state: State::Created(Box::new(of)) }
    }

    fn outbox(&self) -> Option<&Outbox<C::Out>> {
        match &self.state {
            State::Running(running) => Some(&running.outbox),
            State::Failed(outbox) => Some(outbox),
            State::Created(_) | State::Opening(..) | State::Gone => None,
        }
    }

    fn outbox_mut(&mut self) -> Option<&mut Outbox<C::Out>> {
        match &mut self.state {
            State::Running(running) => Some(&mut running.outbox),
            State::Failed(outbox) => Some(outbox),
            State::Created(_) | State::Opening(..) | State::Gone => None,
        }
    }
}

impl<C: Caller> CallsOf<C> {
    fn open(self) -> State<C> {
        let Self { context, channels, batch_records, limits, make, wire } = self;
        let outbox = wire();
        let batch_records = outbox.batch_records(batch_records);
        let effects = Effects::new(outbox.side_buffers(), batch_records);
        let wait = AsyncWait::new(limits, &context.info);
        let caller = make(&context.info);
        let parts = Parts { wait, effects, outbox, channels };
        State::Opening(Box::pin(caller.open(context)), Some(Box::new(parts)))
    }
}

impl<C: Caller> Logic for CallsLogic<C> {
    type In = C::In;

    fn open(&mut self, turn: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Created(of) => of.open(),
            state => state,
        };
        let State::Opening(opening, parts) = &mut self.state else { return Poll::Ready(Ok(())) };
        let caller = ready!(opening.as_mut().poll(turn.cx))?;
        if let Some(parts) = parts.take() {
            let Parts { mut wait, effects, outbox, channels } = *parts;
            wait.resume();
            wait.measure(turn.metrics.calls().latency.clone());
            let driver = Driver::new(caller, wait, effects);
            self.state = State::Running(Box::new(Running::new(driver, outbox, channels)));
        }
        Poll::Ready(Ok(()))
    }

    fn work(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        let State::Running(running) = &mut self.state else { return Ok(After::Ended) };
        let _current = CurrentTask::enter(&self.info);
        let in_turn = running.driver.begin_turn();
        let after = running.work(inbox, turn);
        drop(in_turn);
        running.driver.show(turn.metrics.calls());
        after
    }

    fn filling(&self) -> bool {
        self.outbox().is_some_and(Outbox::filling)
    }

    fn flush(&mut self) {
        self.outbox_mut().into_iter().for_each(Outbox::flush);
    }

    fn salvage(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Gone);
        let State::Running(running) = state else { return };
        let Running { driver, mut outbox, .. } = *running;
        let Driver { calls, caller, wait, mut effects, .. } = driver;
        let_go(calls);
        let_go(caller);
        let_go(wait);
        outbox.salvage(effects.records());
        outbox.salvage_sides(effects.sides());
        self.state = State::Failed(outbox);
    }

    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        self.outbox_mut().map_or(Poll::Ready(Ok(())), Outbox::hand_over)
    }

    fn take_sent(&mut self) -> u64 {
        self.outbox_mut().map_or(0, Outbox::take_sent)
    }
}
