//! What the tests of calls share: calls that a test answers by hand, and a source that it feeds.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Collected, DeadLetter};
use millstream_testkit::{ManualClock, until};

/// The answer of a call.
pub type Answer<A> = Result<A, Failure>;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A record of this value at this time.
pub fn at(value: u64, millis: i64) -> Stamped<u64> {
    Stamped::at(value, Timestamp::from_millis(millis).unwrap())
}

/// What came out so far, as text: `10@1`, or `10` where there is no time.
pub fn came<T: std::fmt::Display>(out: &Collected<T>) -> Vec<String> {
    let text = |record: Stamped<T>| match record.timestamp() {
        Some(at) => format!("{}@{}", record.value, at.millis()),
        None => record.value.to_string(),
    };
    out.take_stamped().into_iter().map(text).collect()
}

/// Starts a job by this clock, on this arbiter.
pub async fn start(flow: &Dataflow, clock: &ManualClock) -> Job {
    flow.start(Settings::new().clock(Arc::new(clock.clone()))).await.unwrap()
}

/// Resolves when nobody has anything to do but wait. For simulated time, where a millisecond only
/// passes when the thread is idle.
pub async fn idle() {
    let mut asked = 0;
    until(|| {
        asked += 1;
        asked > 1
    })
    .await;
}

/// Calls that a test answers by hand. Each notes that it was made, and that it was dropped.
pub struct Desk<A>(Arc<Mutex<Inner<A>>>);

struct Inner<A> {
    /// Calls that are out, by their number, with the value that each is about.
    out: BTreeMap<u64, (u64, Slot<A>)>,
    made: Vec<u64>,
    dropped: Vec<u64>,
    peak: usize,
}

enum Slot<A> {
    Waiting(Option<Waker>),
    Answered(Answer<A>),
}

impl<A> Clone for Desk<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A> Desk<A> {
    pub fn new() -> Self {
        let (out, made, dropped) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self(Arc::new(Mutex::new(Inner { out, made, dropped, peak: 0 })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner<A>> {
        self.0.lock().unwrap()
    }

    /// A call about this value.
    pub fn call(&self, value: u64) -> Asked<A> {
        let mut inner = self.inner();
        let number = inner.made.len() as u64;
        inner.made.push(value);
        inner.out.insert(number, (value, Slot::Waiting(None)));
        inner.peak = inner.peak.max(inner.out.len());
        Asked { desk: self.clone(), number }
    }

    /// What the calls that are out are about, in the order in which they were made.
    pub fn open(&self) -> Vec<u64> {
        self.inner().out.values().map(|(value, _)| *value).collect()
    }

    /// What all calls were about, in the order in which they were made.
    pub fn made(&self) -> Vec<u64> {
        self.inner().made.clone()
    }

    /// What the calls were about that were dropped before they had answered.
    pub fn dropped(&self) -> Vec<u64> {
        self.inner().dropped.clone()
    }

    /// The most calls that were out at once.
    pub fn peak(&self) -> usize {
        self.inner().peak
    }

    /// The first call about this value that waits has come to this. Its waker, if there is one.
    fn file(&self, value: u64, answer: Answer<A>) -> Option<Waker> {
        let mut inner = self.inner();
        let mut slots = inner.out.values_mut().filter(|(of, _)| *of == value);
        let waits = |(_, slot): &&mut (u64, Slot<A>)| matches!(slot, Slot::Waiting(_));
        let (_, slot) = slots.find(waits).unwrap_or_else(|| panic!("no call about {value} waits"));
        match std::mem::replace(slot, Slot::Answered(answer)) {
            Slot::Waiting(waker) => waker,
            Slot::Answered(_) => None,
        }
    }

    fn answered(&self, value: u64, answer: Answer<A>) {
        if let Some(waker) = self.file(value, answer) {
            waker.wake();
        }
    }

    pub fn answer(&self, value: u64, answer: A) {
        self.answered(value, Ok(answer));
    }

    pub fn fail(&self, value: u64, why: &str) {
        self.answered(value, Err(Failure::new(why)));
    }

    /// Wakes every call that is out, without an answer.
    pub fn wake_all(&self) {
        let wakers = |(_, slot): &(u64, Slot<A>)| match slot {
            Slot::Waiting(waker) => waker.clone(),
            Slot::Answered(_) => None,
        };
        let wakers: Vec<Waker> = self.inner().out.values().filter_map(wakers).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A call that a test answers.
pub struct Asked<A> {
    desk: Desk<A>,
    number: u64,
}

impl<A> Future for Asked<A> {
    type Output = Answer<A>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<A>> {
        let mut inner = self.desk.inner();
        let (value, slot) = inner.out.remove(&self.number).expect("a call answers once");
        match slot {
            Slot::Answered(answer) => Poll::Ready(answer),
            Slot::Waiting(_) => {
                let waiting = Slot::Waiting(Some(cx.waker().clone()));
                inner.out.insert(self.number, (value, waiting));
                Poll::Pending
            }
        }
    }
}

impl<A> Drop for Asked<A> {
    fn drop(&mut self) {
        let mut inner = self.desk.inner();
        if let Some((value, _)) = inner.out.remove(&self.number) {
            inner.dropped.push(value);
        }
    }
}

/// A source that a test feeds, and that ends when the test says so.
pub type Feed = millstream_testkit::Feed<u64>;

/// A job of one stage of calls that a test feeds and answers by hand, on a clock that it moves.
pub struct Bed {
    pub desk: Desk<u64>,
    pub feed: Feed,
    pub clock: ManualClock,
    pub job: Job,
    pub out: Collected<u64>,
    pub letters: Collected<DeadLetter<u64>>,
}

impl Bed {
    /// One whose dead letters go to [`letters`], if they go anywhere.
    pub async fn new(wait: AsyncWait<u64, u64>) -> Self {
        let desk = Desk::new();
        let theirs = desk.clone();
        Self::calling(wait, desk, move |n| theirs.call(n)).await
    }

    /// One whose calls are made by this function.
    pub async fn calling<C, F>(wait: AsyncWait<u64, u64>, desk: Desk<u64>, call: F) -> Self
    where
        C: Future<Output = Answer<u64>> + 'static,
        F: Fn(u64) -> C + Clone + Send + 'static,
    {
        let (feed, clock) = (Feed::default(), ManualClock::new());
        let flow = Dataflow::new("calls");
        let called = flow.source("numbers", feed.clone()).async_wait("call", wait, call);
        let letters = called.side_output(&letters()).collect("letters");
        let out = called.collect("out");
        let job = start(&flow, &clock).await;
        Self { desk, feed, clock, job, out, letters }
    }

    /// These records come and are worked off as far as that is possible.
    pub async fn comes(&self, values: impl IntoIterator<Item = u64>) {
        self.feed.give(values);
        idle().await;
    }

    pub async fn answers(&self, value: u64) {
        self.desk.answer(value, value * 10);
        idle().await;
    }

    pub async fn fails(&self, value: u64) {
        self.desk.fail(value, &format!("no {value}"));
        idle().await;
    }

    /// So many milliseconds pass.
    pub async fn passes(&self, millis: u64) {
        self.clock.advance(ms(millis));
        idle().await;
    }

    pub fn came(&self) -> Vec<String> {
        came(&self.out)
    }

    /// The dead letters that came so far, each with its time.
    pub fn dead(&self) -> Vec<(DeadLetter<u64>, Option<i64>)> {
        let stamp = |it: Stamped<DeadLetter<u64>>| {
            let at = it.timestamp().map(Timestamp::millis);
            (it.value, at)
        };
        self.letters.take_stamped().into_iter().map(stamp).collect()
    }

    /// The input ends, and the job must come to its good end. What came since it was last asked.
    pub async fn ends(self) -> Vec<String> {
        self.feed.end();
        self.job.finished().await.unwrap();
        assert_eq!(self.desk.open(), [0_u64; 0], "no call outlives its job");
        self.came()
    }

    /// The job has failed with this text, and no call is left.
    pub async fn failed(self) -> String {
        let error = self.job.finished().await.expect_err("the job has to fail");
        assert_eq!(self.desk.open(), [0_u64; 0], "no call outlives its job");
        error.to_string()
    }
}

/// Where dead letters go in these tests.
pub fn letters() -> SideOutput<DeadLetter<u64>> {
    SideOutput::new("letters")
}

/// All that a text of an error of the stage of calls begins with.
pub const FAILED: &str = r#"task 0 of "call" in job "calls" failed: "#;
