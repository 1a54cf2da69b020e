//! A clock that jumps to the next deadline whenever there is nothing else to do.

#![expect(clippy::disallowed_methods, reason = "this is the clock")]

use std::fmt;
use std::time::Duration;

use millstream_core::{Clock, Moment, Timestamp, Wake};
use tokio::time::Instant;

/// The time of a paused tokio runtime: it stands still while there is something to do, and jumps to
/// the next deadline when the runtime is idle. A wait of a month takes no time at all.
///
/// Made inside [`run`](crate::run) or [`simulate`](crate::simulate), whose runtime is paused. There
/// is one thread; a second one would not keep the time from jumping. Deadlines are rounded up to
/// milliseconds, as by the system's clock.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::{Clock, Moment};
/// use millstream_testkit::{SimulatedClock, run};
///
/// run(async {
///     let clock = SimulatedClock::new();
///     let day = Moment::ZERO.plus(Duration::from_secs(24 * 60 * 60));
///     clock.wake_at(day).await;
///     assert_eq!(clock.monotonic(), day);
///     assert_eq!(clock.wall().millis(), 24 * 60 * 60 * 1_000);
/// });
/// ```
#[derive(Clone, Copy)]
pub struct SimulatedClock {
    began: Instant,
    /// What the wall showed then, in milliseconds.
    wall: i64,
}

impl SimulatedClock {
    /// A clock that begins now; the wall shows 1970-01-01T00:00:00Z.
    pub fn new() -> Self {
        Self { began: Instant::now(), wall: 0 }
    }

    /// The same, and the wall shows this time.
    #[must_use]
    pub const fn showing(mut self, wall: Timestamp) -> Self {
        self.wall = wall.millis();
        self
    }
}

impl Default for SimulatedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimulatedClock {
    fn wall(&self) -> Timestamp {
        let since = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.wall.saturating_add(since)).unwrap_or(Timestamp::MIN)
    }

    fn monotonic(&self) -> Moment {
        Moment::ZERO.plus(self.began.elapsed())
    }

    fn wake_at(&self, moment: Moment) -> Wake {
        let due = self.began + Duration::from_nanos(moment.nanos());
        Box::pin(async move { tokio::time::sleep_until(due).await })
    }
}

impl fmt::Debug for SimulatedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimulatedClock({:?})", self.began.elapsed())
    }
}

/// A millisecond passes, of whichever time the runtime goes by: whatever can be done is done first
/// where that time is simulated.
pub(crate) async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use millstream_runtime::actix_rt;

    use super::*;
    use crate::run;

    #[test]
    fn time_stands_still_while_there_is_something_to_do() {
        run(async {
            let clock = SimulatedClock::new();
            let mut wake = clock.wake_at(Moment::from_nanos(1));
            for _ in 0..1_000 {
                let polled =
                    std::future::poll_fn(|cx| std::task::Poll::Ready(wake.as_mut().poll(cx)));
                assert!(polled.await.is_pending());
                tokio::task::yield_now().await;
            }
            assert_eq!(clock.monotonic(), Moment::ZERO);
        });
    }

    #[test]
    fn deadlines_come_in_their_order() {
        run(async {
            let clock = SimulatedClock::new();
            let notes = Rc::new(RefCell::new(Vec::new()));
            let wait = |seconds| {
                let notes = notes.clone();
                actix_rt::spawn(async move {
                    clock.wake_at(Moment::ZERO.plus(Duration::from_secs(seconds))).await;
                    notes.borrow_mut().push((seconds, clock.monotonic()));
                })
            };
            for waiting in [30, 1, 2, 1].map(wait) {
                waiting.await.unwrap();
            }
            let seconds = |n| (n, Moment::ZERO.plus(Duration::from_secs(n)));
            assert_eq!(*notes.borrow(), [seconds(1), seconds(1), seconds(2), seconds(30)]);
        });
    }

    #[test]
    fn the_wall_shows_what_it_was_told_and_what_has_passed() {
        run(async {
            let noon = Timestamp::from_millis(43_200_000).unwrap();
            let clock = SimulatedClock::new().showing(noon);
            clock.wake_at(Moment::ZERO.plus(Duration::from_secs(1))).await;
            assert_eq!(clock.wall().millis(), 43_201_000);
        });
    }
}
