//! Calls that are answered by whoever is given the completer, from any thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use millstream_core::Failure;

/// Answers one call, from any thread, once.
///
/// One that is dropped unanswered counts as an error of its call. An answer that comes after the
/// record's time, or after the job has gone, is ignored.
///
/// ```compile_fail
/// fn twice(completer: millstream_runtime::Completer<u64>) {
///     completer.complete(1);
///     completer.complete(2);
/// }
/// ```
#[derive(Debug)]
pub struct Completer<A>(oneshot::Sender<Result<A, Failure>>);

impl<A> Completer<A> {
    /// The call has succeeded.
    pub fn complete(self, answer: A) {
        self.answer(Ok(answer));
    }

    /// The call has failed.
    pub fn fail(self, failure: impl Into<Failure>) {
        self.answer(Err(failure.into()));
    }

    /// The call has come to this.
    pub fn answer(self, answer: Result<A, Failure>) {
        // Nobody is there any more if the record's time is over or the job has gone.
        let _ = self.0.send(answer);
    }
}

/// A completer was dropped before it had answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the completer of the call was dropped without an answer")]
struct Unanswered;

/// A call that waits for its completer.
#[derive(Debug)]
pub struct Answered<A>(oneshot::Receiver<Result<A, Failure>>);

impl<A> Answered<A> {
    /// A call that has not been answered, and what answers it.
    pub fn pair() -> (Completer<A>, Self) {
        let (sender, receiver) = oneshot::channel();
        (Completer(sender), Self(receiver))
    }
}

impl<A> Future for Answered<A> {
    type Output = Result<A, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(answer.unwrap_or_else(|_| Err(Unanswered.into())))
    }
}
