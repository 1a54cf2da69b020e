//! What calls and timers cost in memory: nothing a record once they run, and little for each that
//! waits.
//!
//! A file of its own, because everything in it shares one counting allocator.

use std::future::{Future, pending, poll_fn};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;

use dhat::{Alloc, HeapStats, Profiler};
use millstream::prelude::*;
use millstream::timers::{TimerHeap, TimerQueue};
use millstream::{KeyGroups, KeyHash, Timer, TimerDomain};

#[global_allocator]
static ALLOCATOR: Alloc = Alloc;

/// A batch is a message, which allocates. Few of them, so that calls are what is counted.
const BATCH: usize = 16_384;
/// Records after which everything has come to its size.
const WARM: u64 = 4 * BATCH as u64;
/// Records that are counted.
const COUNTED: u64 = 100_000;
/// Allocations in all while they flow, those of their batches included.
const MOST: u64 = 100;
/// Calls in flight side by side.
const WAITING: usize = 10_000;
/// Bytes a call in flight may take beside its input and its future.
const BESIDE: usize = 200;

/// Timers, at least, while their memory is looked at.
const TIMERS: u64 = 100_000;
/// Bytes a timer may take beside its key.
const BESIDE_A_TIMER: u64 = 64;

/// The profiler is one for the whole process, so that tests take turns.
fn profile() -> (std::sync::MutexGuard<'static, ()>, Profiler) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (turn, Profiler::builder().testing().build())
}

/// The allocations so far when this many records have been called.
#[derive(Default)]
struct Marks {
    called: AtomicU64,
    warm: OnceLock<u64>,
    counted: OnceLock<u64>,
}

impl Marks {
    fn call(&self) {
        match self.called.fetch_add(1, Ordering::Relaxed) {
            WARM => self.warm.set(HeapStats::get().total_blocks).unwrap(),
            n if n == WARM + COUNTED => self.counted.set(HeapStats::get().total_blocks).unwrap(),
            _ => {}
        }
    }

    fn between(&self) -> u64 {
        self.counted.get().unwrap() - self.warm.get().unwrap()
    }
}

async fn ready(x: u64) -> Result<u64, Failure> {
    Ok(black_box(x) * 2)
}

async fn yields_once(x: u64) -> Result<u64, Failure> {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    Ok(black_box(x) * 2)
}

/// How many allocations `COUNTED` calls cause.
async fn allocations<F>(keyed: bool, wait: AsyncWait<u64, u64>, call: fn(u64) -> F) -> u64
where
    F: Future<Output = Result<u64, Failure>> + 'static,
{
    let marks = Arc::new(Marks::default());
    let flow = Dataflow::new("counted");
    let total = Arc::new(AtomicU64::new(0));
    let (seen, sum) = (marks.clone(), total.clone());
    let numbers = flow.source("numbers", Generate::new(|n| n).records(WARM + 2 * COUNTED));
    let counted = move |x| {
        seen.call();
        call(x)
    };
    let called = if keyed {
        numbers.key_by(|x| x % 1_000).async_wait("call", wait, counted)
    } else {
        numbers.async_wait("call", wait, counted)
    };
    called.for_each("sum", move |x| {
        sum.fetch_add(x, Ordering::Relaxed);
    });
    flow.start(Settings::default().batch_records(BATCH)).await.unwrap().finished().await.unwrap();
    let records = WARM + 2 * COUNTED;
    assert_eq!(total.load(Ordering::Relaxed), records * (records - 1));
    marks.between()
}

#[actix::test]
async fn calls_in_the_steady_state_allocate_nothing_a_record() {
    let _profile = profile();
    let minute = std::time::Duration::from_secs(60);
    for (order, wait) in [
        ("ordered", AsyncWait::ordered()),
        ("unordered", AsyncWait::unordered()),
        ("with a time-out", AsyncWait::ordered().timeout(minute)),
        ("by key", AsyncWait::key_ordered()),
    ] {
        let keyed = order == "by key";
        let ready = allocations(keyed, wait.clone(), ready).await;
        let yielding = allocations(keyed, wait, yields_once).await;
        assert!(ready <= MOST && yielding <= MOST, "{order}: {ready} ready, {yielding} yielding");
    }
}

#[actix::test]
async fn a_call_that_waits_takes_little_beside_its_input_and_its_future() {
    let _profile = profile();
    let waits = |x: u64| async move {
        pending::<()>().await;
        Ok::<_, Failure>(x)
    };
    let future = size_of_val(&waits(0));
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        let bytes: Arc<Mutex<Vec<usize>>> = Arc::default();
        let flow = Dataflow::new("waiting");
        let (seen, called) = (bytes.clone(), Arc::new(AtomicU64::new(0)));
        flow.source("numbers", Generate::new(|n| n))
            .async_wait("call", wait.capacity(WAITING + 1), move |x| {
                let n = called.fetch_add(1, Ordering::Relaxed);
                if n == 0 || n == WAITING as u64 {
                    seen.lock().unwrap().push(HeapStats::get().curr_bytes);
                }
                waits(x)
            })
            .for_each("sink", |_| {});
        let job = flow.start(Settings::default()).await.unwrap();
        while bytes.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        job.cancel().await.unwrap();
        let bytes = bytes.lock().unwrap();
        let each = (bytes[1] - bytes[0]) / WAITING;
        let most = size_of::<u64>() + future + BESIDE;
        assert!(each <= most, "{each} bytes a call, where {most} are allowed");
    }
}

/// Bytes in use for each timer beside its key, as the mean over sizes from `TIMERS` to twice that:
/// what grows by doubling is nearly full at one of them and half empty at another.
fn bytes_a_timer(at: impl Fn(u64) -> i64) -> u64 {
    let key_groups = KeyGroups::default_for(1);
    let mut heap = TimerHeap::new(key_groups);
    let before = HeapStats::get().curr_bytes;
    let (mut sum, mut looks) = (0, 0);
    for key in 0..2 * TIMERS {
        let time = Timestamp::from_millis(at(key)).unwrap();
        let hash = KeyHash::of(&key).unwrap();
        heap.set(Timer { time, domain: TimerDomain::Event, hash, payload: key }).unwrap();
        if key >= TIMERS && key % (TIMERS / 10) == 0 {
            sum += (HeapStats::get().curr_bytes - before) as u64 / (key + 1);
            looks += 1;
        }
    }
    sum / looks - size_of::<u64>() as u64
}

#[test]
fn a_timer_takes_little_beside_its_key() {
    let _profile = profile();
    type Time = fn(u64) -> i64;
    let shapes: [(&str, Time); 4] = [
        ("in order", |n| n as i64),
        ("spread", |n| (n.wrapping_mul(2_654_435_761) % 1_000_003) as i64),
        ("a hundred of an instant", |n| (n / 100) as i64),
        ("many of few instants", |n| (n % 10) as i64),
    ];
    for (shape, at) in shapes {
        let bytes = bytes_a_timer(at);
        assert!(bytes <= BESIDE_A_TIMER, "{shape}: {bytes} bytes a timer");
    }
}
