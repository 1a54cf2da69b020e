//! A clock that stands still until a test moves it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use millstream_core::{Clock, Moment, Timestamp, Wake};

/// A clock that stands still until it is moved. A clone is another handle to the same clock.
///
/// It may be read, waited for and moved from any thread, so a job on several arbiters can run by
/// it.
///
/// # Ordering
///
/// Moving it wakes whoever waits for a moment that has come: earlier moments first, and those who
/// wait for the same moment in the order in which they began to wait. They are woken once the clock
/// has arrived, however many moments it has passed on its way.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::{Clock, Moment};
/// use millstream_runtime::actix_rt;
/// use millstream_testkit::{ManualClock, run, until};
///
/// let clock = ManualClock::new();
/// run(async {
///     let second = Moment::ZERO.plus(Duration::from_secs(1));
///     let sleeper = actix_rt::spawn(clock.wake_at(second));
///     until(|| clock.waiting() == 1).await;
///     assert!(!sleeper.is_finished());
///
///     clock.advance(Duration::from_secs(1));
///     sleeper.await.unwrap();
/// });
/// ```
#[derive(Clone, Default)]
pub struct ManualClock(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Moment,
    /// What the wall showed, in milliseconds, and when it was set to that.
    wall: i64,
    wall_since: Moment,
    /// Who waits for which moment; numbered, so that two can wait for the same one.
    waiting: BTreeMap<(Moment, u64), Waker>,
    last: u64,
}

impl ManualClock {
    /// A clock that stands at its beginning; the wall shows 1970-01-01T00:00:00Z.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time goes on by so much.
    pub fn advance(&self, by: Duration) {
        let now = self.state().now;
        self.advance_to(now.plus(by));
    }

    /// The time goes on to this moment; if that is past already, nothing happens.
    pub fn advance_to(&self, moment: Moment) {
        let due = {
            let mut state = self.state();
            state.now = state.now.max(moment);
            let now = state.now;
            let later = state.waiting.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.waiting, later)
        };
        // Without the lock: who is woken may look at the clock at once.
        due.into_values().for_each(Waker::wake);
    }

    /// The clock on the wall is set; it may go back. Moments do not change, and nobody is woken.
    pub fn set_wall(&self, wall: Timestamp) {
        let mut state = self.state();
        state.wall = wall.millis();
        state.wall_since = state.now;
    }

    /// How many wait for a moment to come.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// The earliest moment that somebody waits for.
    pub fn next_wake(&self) -> Option<Moment> {
        self.state().waiting.first_key_value().map(|((moment, _), _)| *moment)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        let state = self.state();
        let since = state.now.since(state.wall_since).as_millis();
        let millis = state.wall.saturating_add(i64::try_from(since).unwrap_or(i64::MAX));
        Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN)
    }

    fn monotonic(&self) -> Moment {
        self.state().now
    }

    fn wake_at(&self, moment: Moment) -> Wake {
        Box::pin(Waiting { clock: self.clone(), moment, number: None })
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "ManualClock({:?}, {} waiting)", state.now, state.waiting.len())
    }
}

/// Resolves when the clock has come to a moment.
struct Waiting {
    clock: ManualClock,
    moment: Moment,
    /// Its place among those who wait for the same moment, from the first poll on.
    number: Option<u64>,
}

impl Future for Waiting {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut state = this.clock.state();
        if state.now >= this.moment {
            return Poll::Ready(());
        }
        let number = *this.number.get_or_insert_with(|| {
            state.last += 1;
            state.last
        });
        state.waiting.insert((this.moment, number), cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.clock.state().waiting.remove(&(self.moment, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Wake as _;
    use std::thread;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::ZERO.plus(Duration::from_secs(seconds))
    }

    /// Notes its number when it is woken.
    struct Noting(usize, Arc<Mutex<Vec<usize>>>);

    impl std::task::Wake for Noting {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    fn is_ready(wake: &mut Wake, waker: &Waker) -> bool {
        wake.as_mut().poll(&mut Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn it_stands_still_until_it_is_moved_and_never_goes_back() {
        let clock = ManualClock::new();
        assert_eq!(clock.monotonic(), Moment::ZERO);
        clock.advance(Duration::from_secs(2));
        clock.advance_to(at(1));
        assert_eq!(clock.monotonic(), at(2));
        assert!(is_ready(&mut clock.wake_at(at(2)), Waker::noop()));
    }

    #[test]
    fn the_wall_goes_with_the_time_and_may_be_set_back() {
        let clock = ManualClock::new();
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.wall().millis(), 5_000);
        clock.set_wall(Timestamp::from_millis(-7).unwrap());
        clock.advance(Duration::from_millis(3));
        assert_eq!(
            (clock.wall().millis(), clock.monotonic()),
            (-4, at(5).plus(Duration::from_millis(3)))
        );
    }

    #[test]
    fn earlier_moments_wake_first_and_equal_ones_in_the_order_of_asking() {
        let clock = ManualClock::new();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let moments = [at(3), at(1), at(2), at(1), at(9)];
        let mut wakes: Vec<Wake> = moments.map(|moment| clock.wake_at(moment)).into();
        for (number, wake) in wakes.iter_mut().enumerate() {
            let waker = Waker::from(Arc::new(Noting(number, notes.clone())));
            assert!(!is_ready(wake, &waker));
        }
        assert_eq!((clock.waiting(), clock.next_wake()), (5, Some(at(1))));
        clock.advance_to(at(3));
        assert_eq!(*notes.lock().unwrap(), [1, 3, 2, 0]);
        assert!(wakes[..4].iter_mut().all(|wake| is_ready(wake, Waker::noop())));
        drop(wakes);
        assert_eq!(clock.waiting(), 0, "who is dropped waits no longer");
    }

    #[test]
    fn a_thread_is_woken_by_another_that_moves_the_clock() {
        struct Unpark(thread::Thread, AtomicUsize);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.1.fetch_add(1, Ordering::SeqCst);
                self.0.unpark();
            }
        }
        let clock = ManualClock::new();
        let theirs = clock.clone();
        let (done, woken) = mpsc::channel();
        thread::spawn(move || {
            let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
            let waker = Waker::from(unpark.clone());
            let mut wake = theirs.wake_at(at(1));
            while !is_ready(&mut wake, &waker) {
                thread::park();
            }
            done.send(unpark.1.load(Ordering::SeqCst))
        });
        while clock.waiting() == 0 {
            thread::yield_now();
        }
        clock.advance(Duration::from_secs(1));
        // Only so that a clock that wakes nobody does not hang the test.
        assert_eq!(woken.recv_timeout(Duration::from_secs(60)), Ok(1));
    }

    #[test]
    fn a_waker_that_is_woken_may_look_at_the_clock() {
        struct Looking(ManualClock, Mutex<Moment>);
        impl std::task::Wake for Looking {
            fn wake(self: Arc<Self>) {
                *self.1.lock().unwrap() = self.0.monotonic();
            }
        }
        let clock = ManualClock::new();
        let looking = Arc::new(Looking(clock.clone(), Mutex::default()));
        looking.clone().wake();
        let mut wake = clock.wake_at(at(1));
        assert!(!is_ready(&mut wake, &Waker::from(looking.clone())));
        clock.advance_to(at(4));
        assert_eq!(*looking.1.lock().unwrap(), at(4));
    }
}
