//! However many calls are out, a task has one wake-up armed at the clock, and arms few.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use millstream::prelude::*;
use millstream::{Clock, Moment, Wake};
use millstream_testkit::{Chance, ManualClock, run};

use crate::desk::{Desk, Feed, idle, ms};

const CALLS: u64 = 10_000;

/// A clock that counts the wake-ups that it is asked for.
#[derive(Clone)]
struct Counting {
    clock: ManualClock,
    armed: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Counting {
    fn new() -> Self {
        let zero = Arc::<AtomicUsize>::default;
        Self { clock: ManualClock::new(), armed: zero(), alive: zero(), most: zero() }
    }

    /// How many were armed, how many of them are, and how many were at most, that of the start
    /// included.
    fn counts(&self) -> [usize; 3] {
        [&self.armed, &self.alive, &self.most].map(|count| count.load(Ordering::SeqCst))
    }
}

/// A wake-up that counts as long as it is there.
struct Counted(Wake, Arc<AtomicUsize>);

impl Future for Counted {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock for Counting {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic(&self) -> Moment {
        self.clock.monotonic()
    }

    fn wake_at(&self, moment: Moment) -> Wake {
        self.armed.fetch_add(1, Ordering::SeqCst);
        let alive = self.alive.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(alive, Ordering::SeqCst);
        Box::pin(Counted(self.clock.wake_at(moment), self.alive.clone()))
    }
}

/// A job whose calls are all out.
struct Bed {
    desk: Desk<u64>,
    clock: Counting,
    job: Job,
    out: millstream::Collected<u64>,
    feed: Feed,
}

impl Bed {
    async fn new(wait: AsyncWait<u64, u64>) -> Self {
        let (desk, clock, feed) = (Desk::new(), Counting::new(), Feed::default());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", feed.clone())
            .async_wait("call", wait.capacity(CALLS as usize), move |n| theirs.call(n))
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock.clone()));
        let job = flow.start(settings).await.unwrap();
        idle().await;
        // The limit of the start, which is no task's; it is due after ten seconds.
        assert_eq!(clock.counts(), [1, 1, 1]);
        feed.give(0..CALLS);
        idle().await;
        assert_eq!(desk.open().len() as u64, CALLS);
        Self { desk, clock, job, out, feed }
    }

    async fn passes(&self, millis: u64) {
        self.clock.clock.advance(ms(millis));
        idle().await;
    }
}

#[test]
fn ten_thousand_calls_without_a_time_out_arm_no_wake_up() {
    run(async {
        let bed = Bed::new(AsyncWait::unordered()).await;
        assert_eq!(bed.clock.counts(), [1, 1, 1]);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn ten_thousand_calls_with_time_outs_arm_one_wake_up() {
    run(async {
        let wait = AsyncWait::ordered().timeout(ms(100)).on_timeout(OnFailure::Drop);
        let bed = Bed::new(wait).await;
        assert_eq!(bed.clock.counts(), [2, 2, 2]);
        assert_eq!(bed.clock.clock.next_wake(), Some(Moment::ZERO.plus(ms(100))));
        for n in 0..CALLS / 2 {
            bed.desk.answer(n, n);
        }
        bed.passes(50).await;
        assert_eq!(bed.out.len() as u64, CALLS / 2);
        // Those that come now are due later: the one that is armed is enough.
        bed.feed.give(CALLS..CALLS + CALLS / 2);
        idle().await;
        assert_eq!(bed.clock.counts(), [2, 2, 2]);
        bed.passes(50).await;
        assert_eq!(bed.clock.counts(), [3, 2, 2], "the rest of the first is over");
        assert_eq!(bed.desk.open(), (CALLS..CALLS + CALLS / 2).collect::<Vec<_>>());
        bed.passes(50).await;
        assert_eq!(bed.desk.open(), [0_u64; 0]);
        let [armed, _, most] = bed.clock.counts();
        assert_eq!((armed, most, bed.clock.clock.waiting()), (3, 2, 1), "none waits any more");
        bed.feed.end();
        bed.job.finished().await.unwrap();
        assert_eq!(bed.out.take(), (0..CALLS / 2).collect::<Vec<_>>());
    });
}

/// Each call fails once, and waits for as long as chance says.
#[test]
fn ten_thousand_calls_that_wait_to_be_made_again_have_one_wake_up_armed() {
    run(async {
        let wait = AsyncWait::unordered()
            .timeout(ms(1_000_000))
            .retry(Retry::fixed(ms(1_000)).jitter(1.0, 5).max_retries(1));
        let bed = Bed::new(wait).await;
        let mut all: Vec<u64> = (0..CALLS).collect();
        let mut chance = Chance::of(1);
        while !all.is_empty() {
            bed.desk.fail(all.swap_remove(chance.below(all.len())), "again");
        }
        idle().await;
        assert_eq!(bed.desk.open(), [0_u64; 0]);
        for _ in 0..1_000 {
            bed.passes(1).await;
        }
        let [armed, alive, most] = bed.clock.counts();
        assert!(armed <= 1_010, "{armed} were armed for a thousand instants");
        // The next one is armed before the one that it stands for is let go.
        assert!(alive <= 2 && most <= 3, "{alive} are armed, and {most} were");
        assert_eq!(bed.desk.open().len() as u64, CALLS);
        (0..CALLS).for_each(|n| bed.desk.answer(n, n));
        bed.feed.end();
        bed.job.finished().await.unwrap();
        let mut came = bed.out.take();
        came.sort_unstable();
        assert_eq!(came, (0..CALLS).collect::<Vec<_>>());
        assert_eq!(bed.clock.counts()[1], 0, "those of a job end with it");
    });
}
