//! Stages of calls behind one another and in front of other stages: how they open, push back, drain
//! and are cancelled.

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use millstream::prelude::*;
use millstream::{Collected, Sink, TaskContext, Writer};
use millstream_testkit::compare::{in_any_order, in_order};
use millstream_testkit::{Checker, ManualClock, run, run_on_threads};
use tokio::sync::oneshot;

use crate::desk::{Answer, Asked, Bed, Desk, Feed, at, came, idle, ms, start};

/// Doubles on one of ten threads.
async fn doubled_elsewhere(n: u64) -> Answer<u64> {
    let (answer, answered) = oneshot::channel();
    thread::spawn(move || answer.send(n * 2));
    Ok(answered.await?)
}

#[test]
fn a023_each_result_comes_once_at_the_time_of_its_input() {
    for ordered in [true, false] {
        run_on_threads(async {
            let wait = if ordered { AsyncWait::ordered() } else { AsyncWait::unordered() };
            let flow = Dataflow::new("calls");
            let out = flow
                .source("numbers", Feed::of((1..=8).map(|n| at(n, n as i64))))
                .async_wait("double", wait.capacity(6).timeout(ms(1_000)), doubled_elsewhere)
                .collect("out");
            let settings = Settings::new().clock(Arc::new(ManualClock::new()));
            flow.start(settings).await.unwrap().finished().await.unwrap();
            let expected: Vec<_> = (1..=8).map(|n| format!("{}@{n}", n * 2)).collect();
            let compare = if ordered { in_order } else { in_any_order };
            assert_eq!(compare(&came(&out), &expected), None);
        });
    }
}

#[test]
fn a099_two_stages_of_calls_on_one_thread_do_not_wait_for_each_other() {
    run_on_threads(async {
        let flow = Dataflow::new("calls");
        let ordered = AsyncWait::ordered().capacity(6).timeout(ms(1_000));
        let unordered = AsyncWait::unordered().capacity(3).timeout(ms(1_000));
        let out = flow
            .source("numbers", Feed::of([at(5, 0), at(6, 1), at(7, 2), at(8, 3), at(9, 4)]))
            .async_wait("first", ordered, doubled_elsewhere)
            .map(|n| n + 1)
            .async_wait("second", unordered, doubled_elsewhere)
            .collect("out");
        let settings = Settings::new().clock(Arc::new(ManualClock::new()));
        flow.start(settings.credits(1)).await.unwrap().finished().await.unwrap();
        let mut came = came(&out);
        came.sort_unstable();
        assert_eq!(came, ["22@0", "26@1", "30@2", "34@3", "38@4"]);
    });
}

/// Says when its parts are opened and called.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Takes several turns to open.
async fn opens_slowly(log: &Log, what: &'static str) {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    log.note(what);
}

/// A sink that says when it is open.
#[derive(Clone)]
struct Slow(Log);

impl Sink for Slow {
    type In = u64;
    type Transaction = ();
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        opens_slowly(&self.0, "sink").await;
        Ok(self.clone())
    }
}

impl Writer for Slow {
    type In = u64;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        batch.drain(..).for_each(|_| self.0.note("write"));
        Ok(())
    }
}

/// Answers by hand, and says when it is opened, closed and dropped.
struct Told {
    desk: Desk<u64>,
    log: Log,
    names: [&'static str; 3],
}

impl AsyncFunction for Told {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = Asked<u64>;

    async fn open(self, _: TaskContext) -> Result<Self, Failure> {
        opens_slowly(&self.log, self.names[0]).await;
        Ok(self)
    }

    fn call(&mut self, n: u64) -> Asked<u64> {
        self.desk.call(n)
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        [answer]
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.log.note(self.names[1]);
        Ok(())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.log.note(self.names[2]);
    }
}

const FIRST: [&str; 3] = ["first opens", "first closes", "first is dropped"];
const SECOND: [&str; 3] = ["second opens", "second closes", "second is dropped"];

#[test]
fn a091_a_stage_is_opened_when_all_that_is_behind_it_is() {
    run(async {
        let (log, desk, clock) = (Log::default(), Desk::new(), ManualClock::new());
        let told = |log: &Log, desk: &Desk<u64>, names| {
            let (log, desk) = (log.clone(), desk.clone());
            move |_: &TaskInfo| Told { desk: desk.clone(), log: log.clone(), names }
        };
        let flow = Dataflow::new("calls");
        let noted = log.clone();
        let numbers = flow.source("numbers", Feed::of([at(1, 0)])).inspect(move |_| {
            noted.note("the first record");
        });
        numbers
            .async_call("first", AsyncWait::ordered(), told(&log, &desk, FIRST))
            .operator("check", |_| Checker::new())
            .async_call("second", AsyncWait::ordered(), told(&log, &desk, SECOND))
            .sink("out", Slow(log.clone()));
        let job = start(&flow, &clock).await;
        idle().await;
        assert_eq!(log.take(), ["sink", "second opens", "first opens", "the first record"]);
        desk.answer(1, 1);
        idle().await;
        desk.answer(1, 1);
        job.finished().await.unwrap();
        let closes = ["first closes", "first is dropped", "write", "second closes"];
        let came = log.take();
        assert!(closes.iter().all(|it| came.contains(it)), "{came:?}");
    });
}

/// Two stages one behind the other: two records in the first, one in the second.
struct Two {
    log: Log,
    first: Desk<u64>,
    second: Desk<u64>,
    clock: ManualClock,
    job: Rc<Job>,
    out: Collected<u64>,
}

impl Two {
    async fn new() -> Self {
        let (log, first, second) = (Log::default(), Desk::new(), Desk::new());
        let (feed, clock) = (Feed::default(), ManualClock::new());
        let told = |desk: &Desk<u64>, names| {
            let (log, desk) = (log.clone(), desk.clone());
            move |_: &TaskInfo| Told { desk: desk.clone(), log: log.clone(), names }
        };
        let wait = || AsyncWait::ordered().timeout(ms(1_000));
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", feed.clone())
            .async_call("first", wait(), told(&first, FIRST))
            .async_call("second", wait(), told(&second, SECOND))
            .collect("out");
        let job = Rc::new(start(&flow, &clock).await);
        feed.give([0, 1, 2]);
        idle().await;
        first.answer(0, 0);
        idle().await;
        assert_eq!((first.open(), second.open()), (vec![1, 2], vec![0]));
        log.take();
        Self { log, first, second, clock, job, out }
    }
}

#[test]
fn a_drain_lets_all_calls_answer_stage_by_stage_and_closes_each() {
    run(async {
        let Two { log, first, second, clock, job, out } = Two::new().await;
        let draining = job.clone();
        let drained = actix::spawn(async move { draining.drain().await });
        idle().await;
        assert_eq!((log.take(), out.len()), (vec![], 0), "all are waited for");
        first.answer(2, 2);
        first.answer(1, 1);
        idle().await;
        assert_eq!(log.take(), [FIRST[1], FIRST[2]], "the first has passed on all that it had");
        assert_eq!(second.open(), [0, 1, 2], "and it came in front of the end");
        for n in [2, 1, 0] {
            assert!(!drained.is_finished() && out.is_empty());
            second.answer(n, n * 10);
            idle().await;
        }
        drained.await.unwrap().unwrap();
        assert_eq!(
            (came(&out), log.take()),
            (vec!["0".to_owned(), "10".to_owned(), "20".to_owned()], vec![SECOND[1], SECOND[2]],)
        );
        assert_eq!(clock.waiting(), 0);
    });
}

/// What was opened is dropped once, on its arbiter; `close` is for a good end.
#[test]
fn a_cancel_waits_for_no_call_and_drops_each_stage_once_without_closing_it() {
    run(async {
        let Two { log, first, second, clock, job, out } = Two::new().await;
        let late = [first.call(8), second.call(9)];
        job.cancel().await.unwrap();
        let mut ends = log.take();
        ends.sort_unstable();
        assert_eq!(ends, [FIRST[2], SECOND[2]]);
        assert_eq!((first.dropped(), second.dropped()), (vec![1, 2], vec![0]));
        assert_eq!(clock.waiting(), 0, "no deadline is left");
        first.answer(8, 8);
        second.answer(9, 9);
        drop(late);
        idle().await;
        assert_eq!((came(&out), log.take()), (vec![], vec![]));
    });
}

/// Without an end of the input nothing is waited for: what is out is dropped, and nothing goes out.
#[test]
fn a082_a_stop_without_a_drain_waits_for_no_call_and_sends_nothing() {
    for retry in [None, Some(Retry::fixed(ms(10)).max_retries(5))] {
        run(async {
            let wait = AsyncWait::ordered().capacity(5).timeout(ms(1_000));
            let wait = retry.into_iter().fold(wait, AsyncWait::retry);
            let bed = Bed::new(wait).await;
            bed.comes([1, 2]).await;
            bed.answers(2).await;
            bed.desk.answer(1, 10);
            // The answer of 1 is there, and nobody has looked at it.
            bed.job.cancel().await.unwrap();
            assert!(matches!(bed.job.finished().await, Err(JobError::Cancelled { .. })));
            idle().await;
            assert_eq!((bed.came(), bed.desk.open()), (vec![], vec![]));
        });
    }
}

/// A stage is not in the way of what is in front of it: what has gone out of the first has gone.
#[test]
fn a_call_may_wait_for_what_has_to_come_behind_it() {
    for capacity in [1, 2] {
        run(async {
            let (first, second) = (Desk::new(), Desk::<u64>::new());
            let (of_first, of_second, let_go) = (first.clone(), second.clone(), second.clone());
            let (feed, clock) = (Feed::of([at(1, 1), at(2, 2)]), ManualClock::new());
            let flow = Dataflow::new("calls");
            let out = flow
                .source("numbers", feed)
                .async_wait("first", AsyncWait::ordered(), move |n| of_first.call(n))
                .inspect(move |n| {
                    if *n == 2 {
                        let_go.answer(1, 10);
                    }
                })
                .async_wait("second", AsyncWait::ordered().capacity(capacity), move |n| {
                    of_second.call(n)
                })
                .collect("out");
            let job = start(&flow, &clock).await;
            idle().await;
            first.answer(1, 1);
            idle().await;
            assert_eq!((second.open(), out.len()), (vec![1], 0), "1 waits for 2 to pass the first");
            first.answer(2, 2);
            idle().await;
            second.answer(2, 20);
            job.finished().await.unwrap();
            assert_eq!(came(&out), ["10@1", "20@2"]);
        });
    }
}

/// A call that is ready after so many polls, each of which it has to be woken for.
async fn polled(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// What is behind takes nothing, and a time-out is near: calls go on to their answers, which keep
/// their places and do not time out.
#[test]
fn a144_calls_that_were_begun_go_on_whatever_is_behind() {
    run(async {
        let (begun, over) = (Log::default(), Log::default());
        let (theirs, done) = (begun.clone(), over.clone());
        let (desk, clock) = (Desk::<u64>::new(), ManualClock::new());
        let closed = desk.clone();
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", Items::from(0..100_u64))
            .async_wait("ask", AsyncWait::ordered().capacity(2).timeout(ms(10)), move |n| {
                theirs.note("call");
                let done = done.clone();
                async move {
                    polled(n % 5).await;
                    done.note("answer");
                    Ok(n)
                }
            })
            .async_wait("closed", AsyncWait::ordered().capacity(1), move |n| closed.call(n))
            .collect("out");
        let settings = Settings::new().credits(1).batch_records(1).clock(Arc::new(clock.clone()));
        let job = flow.start(settings).await.unwrap();
        idle().await;
        let calls = begun.take().len();
        // One is called behind, a few are on the way, and two have their places here.
        assert!((4..=8).contains(&calls), "{calls} calls were made");
        assert_eq!(over.take().len(), calls, "all of them have answered");
        clock.advance(ms(1_000));
        idle().await;
        assert_eq!((begun.take().len(), out.len()), (0, 0), "none is made, and none is late");
        for n in 0..100 {
            assert_eq!(desk.open(), [n]);
            desk.answer(n, n);
            idle().await;
        }
        job.finished().await.unwrap();
        assert_eq!(out.take(), (0..100).collect::<Vec<_>>());
    });
}

/// Answers that are worked out where they go out.
struct Lazy {
    threads: Arc<Mutex<Vec<ThreadId>>>,
}

type Work = Box<dyn FnOnce() -> u64 + Send>;

impl AsyncFunction for Lazy {
    type In = u64;
    type Answer = Work;
    type Out = u64;
    type Call = std::pin::Pin<Box<dyn Future<Output = Answer<Work>>>>;

    fn call(&mut self, n: u64) -> Self::Call {
        self.threads.lock().unwrap().push(thread::current().id());
        Box::pin(async move {
            let (answer, answered) = oneshot::channel::<Work>();
            thread::spawn(move || {
                answer.send(Box::new(move || {
                    assert_ne!(n, 7, "no results of 7");
                    n * 2
                }))
            });
            Ok(answered.await?)
        })
    }

    fn results(&mut self, answer: Work) -> impl IntoIterator<Item = u64> {
        self.threads.lock().unwrap().push(thread::current().id());
        [answer()]
    }
}

/// Runs a job over these, whose answers are worked out by `results`.
fn lazily(numbers: &[u64], wait: AsyncWait<u64, Work>) -> (Vec<String>, Result<(), JobError>) {
    let threads = Arc::<Mutex<Vec<ThreadId>>>::default();
    let (theirs, numbers) = (threads.clone(), numbers.to_vec());
    let (came, outcome) = run_on_threads(async move {
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", Feed::of(numbers.into_iter().map(|n| at(n, n as i64))))
            .async_call("call", wait, move |_: &TaskInfo| Lazy { threads: theirs.clone() })
            .parallelism(1)
            .collect("out");
        let settings = Settings::new().workers(Workers::Own(2.try_into().unwrap()));
        let outcome = flow.start(settings).await.unwrap().finished().await;
        (came(&out), outcome)
    });
    let mut threads = threads.lock().unwrap().clone();
    threads.dedup();
    assert_eq!(threads.len(), 1, "calls and results are made on one thread");
    (came, outcome)
}

#[test]
fn what_goes_out_for_an_answer_is_made_on_the_arbiter_of_the_task() {
    for wait in [AsyncWait::ordered().capacity(3), AsyncWait::unordered().capacity(3)] {
        let (mut came, outcome) = lazily(&[1, 2, 3], wait);
        outcome.unwrap();
        came.sort_unstable();
        assert_eq!(came, ["2@1", "4@2", "6@3"]);
    }
}

/// An answer has been given: what is made of it is not asked for again.
#[test]
fn what_fails_in_the_making_of_results_fails_the_job_and_is_no_failed_call() {
    let wait = || AsyncWait::unordered().capacity(1);
    for wait in [
        wait(),
        wait()
            .retry(Retry::fixed(ms(10)).max_retries(2))
            .retry_on_panic()
            .on_error(OnFailure::Drop),
    ] {
        let (came, outcome) = lazily(&[1, 7, 2], wait);
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains("no results of 7"), "{error}");
        assert!(matches!(&error, JobError::Panicked { task, .. } if &*task.stage == "call"));
        assert_eq!(came, ["2@1"]);
    }
}
