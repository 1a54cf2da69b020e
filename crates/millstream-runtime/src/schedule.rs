//! Who goes first: in real life whoever is ready, in a simulation whom a seed says.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Decides what is otherwise left to chance. A simulation gives a seeded one, so that one seed is
/// one run; without one everything goes as it comes.
pub trait Schedule: Send + Sync + 'static {
    /// How often a task yields before its next turn, or blocking work before it is done.
    fn yields(&self) -> u32;

    /// One of `n` things that could be next, below `n`.
    fn pick(&self, n: usize) -> usize;
}

/// Yields to the other tasks of the thread, so often.
pub(crate) async fn yield_times(times: u32) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// A yield that can be started again and again without an allocation.
///
/// `tokio::task::yield_now` puts the task behind what is ready, what other threads have sent and
/// what timers have fired; waking oneself does not.
pub(crate) struct Yielding<F, M> {
    make: M,
    left: u32,
    under_way: Pin<Box<Option<F>>>,
}

impl<F: Future<Output = ()>, M: FnMut() -> F> Yielding<F, M> {
    pub(crate) fn new(make: M) -> Self {
        Self { make, left: 0, under_way: Box::pin(None) }
    }

    /// Yields so often from the next poll on.
    pub(crate) fn start(&mut self, times: u32) {
        self.left = times;
    }

    /// Ready when the yields that were started are over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(yielding) = self.under_way.as_mut().as_pin_mut() {
                std::task::ready!(yielding.poll(cx));
                self.under_way.set(None);
                self.left = self.left.saturating_sub(1);
            }
            if self.left == 0 {
                return Poll::Ready(());
            }
            self.under_way.set(Some((self.make)()));
        }
    }
}
