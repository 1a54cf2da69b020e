//! The one resident future of an actor: it runs turns, and yields between them.
//!
//! actix polls it after the mailbox is empty, at every wake of the actor, so a handler only files
//! what has arrived. Work that is left is resumed through `tokio::task::yield_now`: a message to
//! oneself would be served in the same poll, before anything else on the thread, and waking oneself
//! lets many more turns pass before the thread looks at timers and at other threads.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use actix::Actor;
use actix::fut::ActorFuture;

use crate::schedule::Yielding;

/// What the turner does after a turn.
pub(crate) enum Next {
    /// Yield so often, then the next turn.
    Yield(u32),
    /// The next turn comes with the next wake, after so many yields.
    Wait(u32),
    /// No further turn.
    Stop,
}

/// An actor that works in turns of bounded size.
pub(crate) trait Turns: Actor<Context = actix::Context<Self>> {
    /// One turn.
    fn turn(&mut self, ctx: &mut Self::Context, cx: &mut Context<'_>) -> Next;
}

pub(crate) struct Turner<F, M> {
    yielding: Yielding<F, M>,
}

impl<F: Future<Output = ()>, M: FnMut() -> F> Turner<F, M> {
    pub(crate) fn new(make: M) -> Self {
        Self { yielding: Yielding::new(make) }
    }
}

/// A turn outside tokio's own budget, which lets a task poll 128 times and then makes everything
/// look as if it were not ready. The bound here is the turn's budget.
fn unconstrained_turn<A: Turns>(actor: &mut A, ctx: &mut A::Context, cx: &mut Context<'_>) -> Next {
    let mut next = Next::Wait(0);
    let turn = poll_fn(|cx| {
        next = actor.turn(ctx, cx);
        Poll::Ready(())
    });
    let _ = pin!(tokio::task::unconstrained(turn)).poll(cx);
    next
}

impl<A, F, M> ActorFuture<A> for Turner<F, M>
where
    A: Turns,
    F: Future<Output = ()>,
    M: FnMut() -> F + Unpin,
{
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut A,
        ctx: &mut A::Context,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            ready!(self.yielding.poll(cx));
            match unconstrained_turn(actor, ctx, cx) {
                Next::Yield(times) => self.yielding.start(times),
                Next::Wait(times) => {
                    self.yielding.start(times);
                    return Poll::Pending;
                }
                Next::Stop => return Poll::Ready(()),
            }
        }
    }
}
