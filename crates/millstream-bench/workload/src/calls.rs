//! The calls to an outside system that is not there: what is measured is what it costs to wait.

use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::doubled;

/// How many calls are in flight at most.
pub const CALLS_MAX: usize = 100;

/// How many calls that sleep are in flight at most.
pub const SLEEPING_CALLS_MAX: usize = 1_000;

/// How many calls are in flight at most where all of them are to be.
pub const BURST_CALLS_MAX: usize = 1 << 16;

/// How long a call sleeps.
const SLEEP: Duration = Duration::from_millis(1);

/// How long a call sleeps of which there are many at once: until all have begun.
pub const LONG_SLEEP: Duration = Duration::from_millis(100);

/// A call that is ready when it is polled first. As all calls to an outside system it may fail; the
/// error is what each side takes.
///
/// # Errors
///
/// None.
#[inline(never)]
pub async fn called_at_once<E>(x: u64) -> Result<u64, E> {
    Ok(doubled(black_box(x)))
}

/// A call that is pending once, and has asked by then to be polled again.
///
/// # Errors
///
/// None.
#[inline(never)]
pub async fn called_with_yield<E>(x: u64) -> Result<u64, E> {
    let x = black_box(x);
    Yield::default().await;
    Ok(doubled(x))
}

/// A call that takes a millisecond. `sleep` makes the sleep, so that nothing but the two sides
/// depends on a runtime.
///
/// # Errors
///
/// None.
#[inline(never)]
pub async fn called_with_sleep<S: Future<Output = ()>, E>(
    x: u64,
    sleep: impl FnOnce(Duration) -> S,
) -> Result<u64, E> {
    let x = black_box(x);
    sleep(SLEEP).await;
    Ok(doubled(x))
}

/// Pending once.
#[derive(Debug, Default)]
struct Yield {
    yielded: bool,
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    type Answer = Result<u64, Infallible>;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What each poll gave until the call was ready, at most three, and how often it woke.
    fn polls(call: impl Future<Output = Answer>) -> (Vec<Poll<Answer>>, u32) {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut call = pin!(call);
        let mut polls = Vec::new();
        while polls.len() < 3 && !polls.last().is_some_and(Poll::is_ready) {
            polls.push(call.as_mut().poll(&mut Context::from_waker(&waker)));
        }
        (polls, wakes.0.load(Ordering::Relaxed))
    }

    #[test]
    fn a_call_at_once_is_ready_and_wakes_nobody() {
        assert_eq!(polls(called_at_once(21)), (vec![Poll::Ready(Ok(42))], 0));
    }

    #[test]
    fn a_call_with_a_yield_is_pending_once_and_wakes_once() {
        let meant = vec![Poll::Pending, Poll::Ready(Ok(42))];
        assert_eq!(polls(called_with_yield(21)), (meant, 1));
    }

    #[test]
    fn a_call_with_a_sleep_is_ready_when_the_sleep_is() {
        let asked = Cell::new(None);
        let asleep = |time| {
            asked.set(Some(time));
            ready(())
        };
        assert_eq!(polls(called_with_sleep(21, asleep)), (vec![Poll::Ready(Ok(42))], 0));
        assert_eq!(asked.get(), Some(Duration::from_millis(1)));
        let never = polls(called_with_sleep(21, |_| pending()));
        assert_eq!(never, (vec![Poll::Pending; 3], 0));
    }
}
