//! What the tests of calls share: calls that a test answers by hand, and a source that it feeds.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Collected, Read, ReadContext, Reader, Source, TaskContext};
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
#[derive(Clone, Default)]
pub struct Feed(Arc<Mutex<Fed>>);

#[derive(Default)]
struct Fed {
    records: VecDeque<Stamped<u64>>,
    ended: bool,
    reader: Option<Waker>,
}

impl Feed {
    /// One that gives these and then ends.
    pub fn of(records: impl IntoIterator<Item = Stamped<u64>>) -> Self {
        let feed = Self::default();
        feed.give_stamped(records);
        feed.end();
        feed
    }

    pub fn give(&self, values: impl IntoIterator<Item = u64>) {
        self.give_stamped(values.into_iter().map(Stamped::new));
    }

    pub fn give_stamped(&self, records: impl IntoIterator<Item = Stamped<u64>>) {
        self.change(|fed| fed.records.extend(records));
    }

    pub fn end(&self) {
        self.change(|fed| fed.ended = true);
    }

    fn change(&self, change: impl FnOnce(&mut Fed)) {
        let mut fed = self.0.lock().unwrap();
        change(&mut fed);
        let reader = fed.reader.take();
        drop(fed);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Source for Feed {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Reader for Feed {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        let mut fed = self.0.lock().unwrap();
        let budget = cx.budget().min(fed.records.len());
        cx.extend(fed.records.drain(..budget));
        fed.reader = Some(cx.waker().clone());
        Ok(match fed.records.is_empty() {
            true if fed.ended => Read::Ended,
            true => Read::Later,
            false => Read::Ready,
        })
    }

    fn position(&self) -> u64 {
        0
    }
}
