//! The actor that keeps the timers of one task: a shell of one [`TimerService`].

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;

use actix::{Actor, ActorContext, Addr, AsyncContext, Handler, Message};

use millstream_core::Key;
use millstream_operators::let_go;
use millstream_operators::timers::Edits;

use super::line::Line;
use super::serving::{Serving, TimersOf, Work};
use crate::schedule::Schedule;
use crate::turner::{Next, Turner, Turns};

/// What a task says to the actor that keeps its timers.
#[derive(Message)]
#[rtype(result = "()")]
enum Say<P> {
    Edits(Edits<P>),
    /// The task is over.
    Stop,
}

/// The actor that keeps the timers of one task, on the task's arbiter.
///
/// Its mailbox is bounded by the task, which rests when it has too many edits under way.
struct TimerActor<P: Key> {
    serving: Shared<P>,
    line: Rc<Line<P>>,
    schedule: Option<Arc<dyn Schedule>>,
}

/// What the actor works with. The task has it in its hands as well, so that it is dropped with the
/// task: no timer outlives its task, and what a user's value does when it is dropped is done behind
/// the task's panic border.
type Shared<P> = Rc<RefCell<Option<Serving<P>>>>;

/// The task's end of its timer actor, which ends with it.
pub(crate) struct Keeper<P: Key> {
    actor: Addr<TimerActor<P>>,
    serving: Shared<P>,
    line: Rc<Line<P>>,
}

impl<P: Key> Keeper<P> {
    /// Starts an actor on the current arbiter.
    pub(crate) fn start(of: TimersOf, schedule: Option<Arc<dyn Schedule>>) -> Self {
        let serving = Serving::new(of);
        let line = serving.line();
        let serving = Rc::new(RefCell::new(Some(serving)));
        let actor = TimerActor { serving: serving.clone(), line: line.clone(), schedule }.start();
        Self { actor, serving, line }
    }

    /// Tells the actor what has happened.
    pub(crate) fn tell(&self, edits: Edits<P>) {
        self.actor.do_send(Say::Edits(edits));
    }

    /// What the actor tells.
    pub(crate) fn line(&self) -> &Line<P> {
        &self.line
    }
}

impl<P: Key> Drop for Keeper<P> {
    fn drop(&mut self) {
        self.actor.do_send(Say::Stop);
        drop(self.serving.take());
    }
}

impl<P: Key> Turns for TimerActor<P> {
    fn turn(&mut self, ctx: &mut Self::Context, cx: &mut Context<'_>) -> Next {
        let worked = self.serving.borrow_mut().as_mut().map(|serving| serving.turn(cx));
        let chance = self.schedule.as_ref().map_or(0, |schedule| schedule.yields());
        match worked {
            Some(Ok(Work::Left)) => return Next::Yield(1 + chance),
            Some(Ok(Work::Done)) => return Next::Wait(chance),
            Some(Err(failure)) => {
                let_go(self.serving.take());
                self.line.fail(failure);
            }
            None => {}
        }
        ctx.stop();
        Next::Stop
    }
}

impl<P: Key> Unpin for TimerActor<P> {}

impl<P: Key> Actor for TimerActor<P> {
    type Context = actix::Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(0);
        ctx.spawn(Turner::new(tokio::task::yield_now));
    }
}

impl<P: Key> Handler<Say<P>> for TimerActor<P> {
    type Result = ();

    fn handle(&mut self, said: Say<P>, ctx: &mut Self::Context) {
        match (said, self.serving.borrow_mut().as_mut()) {
            (Say::Edits(edits), Some(serving)) => serving.file(edits),
            (Say::Stop, _) | (_, None) => ctx.stop(),
        }
    }
}
