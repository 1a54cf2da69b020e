//! Any number of the values of a stage of calls may panic when they are dropped, whatever of it
//! panics first: the process lives, each value is dropped once, and the job ends with the first.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use millstream::prelude::*;
use millstream_testkit::{ManualClock, run};
use serde::{Deserialize, Serialize};

use crate::desk::{Answer, FAILED, Feed, idle, ms, start};

const RECORDS: u64 = 20;
const AT: u64 = 5;

/// How many values there are, how many were dropped, and whether those panic that are dropped now.
#[derive(Clone, Default)]
struct Tally {
    made: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
    armed: Arc<AtomicBool>,
    at: Where,
}

impl Tally {
    fn bomb(&self, n: u64) -> Bomb {
        self.made.fetch_add(1, Ordering::Relaxed);
        Bomb { n, tally: Some(self.clone()) }
    }

    /// Panics if it is record `AT` that is looked at, and this is where it has to.
    fn check(&self, n: u64, at: Where) {
        if n == AT && self.at == at {
            self.arm();
            panic!("a panic");
        }
    }

    fn arm(&self) {
        self.armed.store(true, Ordering::Relaxed);
    }

    fn counts(&self) -> (u64, u64) {
        (self.made.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

/// What panics, at record `AT`. Every value that is dropped from there on panics as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Where {
    #[default]
    Nowhere,
    Clone,
    Weight,
    Call,
    Poll,
    /// The drop of a call that has given its answer.
    DropOfCall,
    /// The drop of the input that was kept for a result that goes out.
    DropOfInput,
    RetriesError,
    RetriesAnswer,
    Display,
    OnError,
    OnTimeout,
    Results,
    Close,
}

/// A value that panics when it is dropped, once its tally is armed.
#[derive(Default, Serialize, Deserialize)]
struct Bomb {
    n: u64,
    #[serde(skip)]
    tally: Option<Tally>,
}

impl Bomb {
    fn defuse(mut self) -> u64 {
        if let Some(tally) = self.tally.take() {
            tally.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.n
    }

    /// Panics if it is that of record `AT` and this is where it has to.
    fn check(&self, at: Where) {
        self.tally.iter().for_each(|tally| tally.check(self.n, at));
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        self.check(Where::Clone);
        self.tally.as_ref().unwrap().bomb(self.n)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(tally) = &self.tally {
            tally.dropped.fetch_add(1, Ordering::Relaxed);
            assert!(!tally.armed.load(Ordering::Relaxed), "drop of {}", self.n);
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.check(Where::Display);
        write!(f, "no {}", self.n)
    }
}

impl fmt::Debug for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}", self.n)
    }
}

impl Error for Bomb {}

/// A call: of three records one answers at once, one when it is polled again, and one never, unless
/// that is needed for its result to go out.
struct Asked {
    n: u64,
    tally: Tally,
    _bomb: Option<Bomb>,
    polled: bool,
}

impl Future for Asked {
    type Output = Answer<Bomb>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<Bomb>> {
        let (n, at) = (self.n, self.tally.at);
        self.tally.check(n, Where::Poll);
        let again = std::mem::replace(&mut self.polled, true);
        if n % 3 > 0 && !again {
            if n % 3 == 2 || matches!(at, Where::DropOfInput | Where::Results) {
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        if n == AT && matches!(at, Where::DropOfCall | Where::DropOfInput) {
            self.tally.arm();
        }
        let answer = self.tally.bomb(n);
        let fails = n == AT && matches!(at, Where::RetriesError | Where::Display | Where::OnError);
        Poll::Ready(if fails { Err(answer.into()) } else { Ok(answer) })
    }
}

/// Makes such calls.
struct Asking {
    tally: Tally,
    #[expect(dead_code, reason = "it is there to be dropped")]
    own: Bomb,
}

impl AsyncFunction for Asking {
    type In = Bomb;
    type Answer = Bomb;
    type Out = Bomb;
    type Call = Asked;

    fn call(&mut self, input: Bomb) -> Asked {
        let (n, tally) = (input.defuse(), self.tally.clone());
        tally.check(n, Where::Call);
        let bomb = (tally.at != Where::DropOfInput).then(|| tally.bomb(n));
        Asked { n, tally, _bomb: bomb, polled: false }
    }

    fn results(&mut self, answer: Bomb) -> impl IntoIterator<Item = Bomb> {
        let n = answer.defuse();
        self.tally.check(n, Where::Results);
        [self.tally.bomb(n), self.tally.bomb(n)]
    }

    fn retries_error(&mut self, failure: &Failure) -> Option<bool> {
        failure.cause().downcast_ref::<Bomb>().unwrap().check(Where::RetriesError);
        None
    }

    fn retries_answer(&mut self, answer: &Bomb) -> Option<bool> {
        answer.check(Where::RetriesAnswer);
        None
    }

    fn on_error(&mut self, input: &Bomb, _: &Failure) -> Result<Option<Bomb>, Failure> {
        input.check(Where::OnError);
        Ok(None)
    }

    fn on_timeout(&mut self, _: &Bomb) -> Result<Option<Bomb>, Failure> {
        self.tally.check(AT, Where::OnTimeout);
        Ok(None)
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.tally.check(AT, Where::Close);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Orders {
    Ordered,
    Unordered,
    Keyed,
}

const ORDERS: [Orders; 3] = [Orders::Ordered, Orders::Unordered, Orders::Keyed];

fn settings(order: Orders, at: Where) -> AsyncWait<Bomb, Bomb> {
    let wait = match order {
        Orders::Ordered => AsyncWait::ordered(),
        Orders::Unordered => AsyncWait::unordered(),
        Orders::Keyed => AsyncWait::key_ordered().per_key(3),
    };
    let wait = wait.timeout(ms(100));
    match at {
        Where::RetriesError | Where::RetriesAnswer => wait.retry(Retry::fixed(ms(1))),
        Where::Weight => wait.weight(1_000, |bomb: &Bomb| {
            bomb.check(Where::Weight);
            1
        }),
        _ => wait,
    }
}

/// Runs a job to its end, which is a cancel if nothing panics before. Which results came out, and
/// with what words it ended. Each value was dropped once.
fn ends(order: Orders, at: Where) -> (Vec<u64>, String) {
    run(async move {
        let tally = Tally { at, ..Tally::default() };
        let (feed, clock) = (Feed::default(), ManualClock::new());
        let flow = Dataflow::new("calls");
        let (bombs, own) = (tally.clone(), tally.clone());
        let numbers = flow.source("numbers", feed.clone()).map(move |n| bombs.bomb(n));
        let make = move |_: &TaskInfo| Asking { tally: own.clone(), own: own.bomb(0) };
        let wait = settings(order, at);
        let called = match order {
            Orders::Keyed => numbers.key_by(|bomb| bomb.n % 4).async_call("call", wait, make),
            _ => numbers.async_call("call", wait, make),
        };
        let out = called.map(Bomb::defuse).collect("out");
        let job = start(&flow, &clock).await;
        feed.give(if at == Where::Close { 0..1 } else { 0..RECORDS });
        idle().await;
        match at {
            Where::Nowhere => {
                tally.arm();
                job.cancel().await.unwrap();
            }
            Where::Close => feed.end(),
            _ => clock.advance(ms(100)),
        }
        let error = job.finished().await.unwrap_err().to_string();
        let (made, dropped) = tally.counts();
        assert_eq!(made, dropped, "each value is dropped once: {order:?} {at:?}");
        let each: Vec<u64> = out.take().chunks(2).map(|two| two[0]).collect();
        (each, error)
    })
}

/// Asserts how jobs end that panic there: with these words at first, and before with these results
/// of each order.
#[track_caller]
fn assert_ends(at: Where, words: &str, before: [&[u64]; 3]) {
    for (order, before) in ORDERS.into_iter().zip(before) {
        let (came, error) = ends(order, at);
        assert!(error.starts_with(words), "{order:?} {at:?}: {error}");
        assert_eq!(came, before, "{order:?} {at:?}");
    }
}

const PANICKED: &str = r#"task 0 of "call" in job "calls" panicked after 20 records: a panic"#;

#[test]
fn a_cancel_drops_inputs_calls_and_answers_one_by_one() {
    let unordered = [0, 3, 6, 9, 12, 15, 18, 2, 5, 8, 11, 14, 17];
    let before: [&[u64]; 3] = [&[0], &unordered, &[0, 3, 2, 6]];
    assert_ends(Where::Nowhere, r#"job "calls" was cancelled"#, before);
}

#[test]
fn what_is_left_of_a_stage_is_dropped_one_by_one_when_the_making_of_a_call_panics() {
    let before: [&[u64]; 3] = [&[0], &[0, 3], &[0, 3]];
    for at in [Where::Clone, Where::Weight] {
        let words = r#"task 0 of "call" in job "calls" panicked after 0 records: a panic"#;
        assert_ends(at, words, before);
    }
    for at in [Where::Call, Where::Poll] {
        let words = format!("{FAILED}the call failed, after 1 call: panicked: a panic; the record");
        assert_ends(at, &words, before);
    }
}

#[test]
fn what_is_left_of_a_stage_is_dropped_one_by_one_when_a_late_answer_panics() {
    let before: [&[u64]; 3] = [&[0], &[0, 3, 6, 9, 12, 15, 18, 2], &[0, 3, 2]];
    let words = format!("{FAILED}the call failed, after 1 call: panicked: drop of 5; the record");
    assert_ends(Where::DropOfCall, &words, before);
    assert_ends(Where::Display, PANICKED, before);
    assert_ends(Where::OnError, PANICKED, before);
    // Nothing goes out at once where calls may be made again.
    assert_ends(Where::RetriesError, PANICKED, [&[]; 3]);
    assert_ends(Where::RetriesAnswer, PANICKED, [&[]; 3]);
}

#[test]
fn what_is_left_of_a_stage_is_dropped_one_by_one_when_a_record_goes_out_or_is_given_up() {
    let unordered = [0, 3, 6, 9, 12, 15, 18, 1, 2, 4];
    let before: [&[u64]; 3] = [&[0, 1, 2, 3, 4], &unordered, &[0, 3, 1, 2, 6, 4]];
    assert_ends(Where::Results, PANICKED, before);
    // What is dropped first is the input of the one that goes out next, and its results with it.
    let words = r#"task 0 of "call" in job "calls" panicked after 20 records: drop of "#;
    assert_ends(Where::DropOfInput, words, [&[0, 1, 2], &unordered, &[0, 3, 1, 2]]);
    let unordered = [0, 3, 6, 9, 12, 15, 18, 2, 5, 8, 11, 14, 17];
    assert_ends(Where::OnTimeout, PANICKED, [&[0], &unordered, &[0, 3, 2, 6]]);
    let words = r#"task 0 of "call" in job "calls" panicked after 1 records: a panic"#;
    assert_ends(Where::Close, words, [&[0]; 3]);
}

/// The answer has come before the panic, and is dropped behind it.
#[test]
fn an_answer_that_came_in_the_call_itself_is_dropped_behind_the_panic_of_that_call() {
    run(async {
        let tally = Tally { at: Where::Call, ..Tally::default() };
        let (feed, clock) = (Feed::default(), ManualClock::new());
        let flow = Dataflow::new("calls");
        let bombs = tally.clone();
        let numbers = flow.source("numbers", feed.clone());
        let out = numbers
            .async_callback("call", AsyncWait::ordered(), move |n, completer| {
                completer.complete(bombs.bomb(n));
                bombs.check(n, Where::Call);
            })
            .map(Bomb::defuse)
            .collect("out");
        let job = start(&flow, &clock).await;
        feed.give([1, AT, 7]);
        let error = job.finished().await.unwrap_err().to_string();
        let words = "the call failed, after 1 call: panicked: a panic; the record is 5";
        assert_eq!((out.take(), error), (vec![1], format!("{FAILED}{words}")));
        assert_eq!(tally.counts(), (2, 2));
    });
}
