//! A function of one's own is opened once a task, called on the task's own arbiter alone, asked
//! about failures, and closed last.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use millstream::prelude::*;
use millstream::{CallId, TaskContext, call_id};
use millstream_testkit::{ManualClock, SimulatedClock, run, run_on_threads, until};
use tokio::sync::oneshot;

use crate::desk::{Answer, Desk, Feed, at, came, idle, ms, start};

/// What was called: of which task, what, on which thread, within which call.
type Entry = (usize, &'static str, ThreadId, Option<CallId>);

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Entry>>>);

impl Log {
    fn note(&self, subtask: usize, what: &'static str) {
        let entry = (subtask, what, thread::current().id(), call_id());
        self.0.lock().unwrap().push(entry);
    }

    /// What was called of a task, in order, repetitions left out.
    fn of(&self, subtask: usize) -> Vec<&'static str> {
        let log = self.0.lock().unwrap();
        let mut what: Vec<_> =
            log.iter().filter(|entry| entry.0 == subtask).map(|entry| entry.1).collect();
        what.dedup();
        what
    }

    fn threads(&self, subtask: usize) -> BTreeSet<String> {
        let log = self.0.lock().unwrap();
        let threads = log.iter().filter(|entry| entry.0 == subtask).map(|entry| entry.2);
        threads.map(|thread| format!("{thread:?}")).collect()
    }

    /// What was called while a call's id could be asked for.
    fn within_calls(&self) -> BTreeSet<&'static str> {
        let log = self.0.lock().unwrap();
        log.iter().filter(|entry| entry.3.is_some()).map(|entry| entry.1).collect()
    }
}

/// Who answers calls: other threads.
type Asked = (u64, oneshot::Sender<Answer<u64>>);

/// Threads that answer with the tenfold: what is a multiple of 7 with an error.
fn pool(threads: usize) -> Sender<Asked> {
    let (sender, receiver) = channel::<Asked>();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..threads {
        let receiver = receiver.clone();
        thread::spawn(move || {
            loop {
                let next = receiver.lock().unwrap().recv();
                let Ok((n, answer)) = next else { return };
                let _ = answer.send(match n % 7 {
                    0 => Err(Failure::new("a multiple of seven")),
                    _ => Ok(n * 10),
                });
            }
        });
    }
    sender
}

/// Notes all that is called of it.
struct Noting {
    log: Log,
    subtask: usize,
    pool: Sender<Asked>,
    /// What it was called for, first calls only.
    inputs: Arc<Mutex<BTreeMap<usize, Vec<u64>>>>,
    last: u64,
}

impl Noting {
    fn note(&self, what: &'static str) {
        self.log.note(self.subtask, what);
    }
}

impl AsyncFunction for Noting {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = Pin<Box<dyn Future<Output = Answer<u64>>>>;

    async fn open(self, task: TaskContext) -> Result<Self, Failure> {
        self.note("open");
        tokio::task::yield_now().await;
        assert_eq!(task.info.subtask, self.subtask);
        self.note("open");
        Ok(self)
    }

    fn call(&mut self, n: u64) -> Self::Call {
        self.note("call");
        if n > self.last {
            self.last = n;
            self.inputs.lock().unwrap().entry(self.subtask).or_default().push(n);
        }
        let (log, subtask, pool) = (self.log.clone(), self.subtask, self.pool.clone());
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            log.note(subtask, "poll");
            // Some are never answered.
            if n.is_multiple_of(97) {
                std::future::pending::<()>().await;
            }
            pool.send((n, answer)).unwrap();
            let came = answered.await;
            log.note(subtask, "poll");
            came.unwrap()
        })
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        self.note("results");
        [answer]
    }

    fn retries_error(&mut self, _: &Failure) -> Option<bool> {
        self.note("retries_error");
        Some(true)
    }

    fn retries_answer(&mut self, _: &u64) -> Option<bool> {
        self.note("retries_answer");
        Some(false)
    }

    fn on_error(&mut self, input: &u64, _: &Failure) -> Result<Option<u64>, Failure> {
        self.note("on_error");
        Ok(Some(input * 10))
    }

    fn on_timeout(&mut self, input: &u64) -> Result<Option<u64>, Failure> {
        self.note("on_timeout");
        Ok(Some(input * 10))
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.note("close");
        Ok(())
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.note("drop");
    }
}

#[test]
fn a102_all_that_is_the_users_runs_on_the_arbiter_of_its_task() {
    let (log, inputs) = (Log::default(), Arc::<Mutex<BTreeMap<usize, Vec<u64>>>>::default());
    run_on_threads(async {
        let (clock, pool) = (ManualClock::new(), pool(8));
        let flow = Dataflow::new("calls");
        let wait = AsyncWait::unordered()
            .capacity(10)
            .timeout(ms(10_000))
            .retry(Retry::fixed(ms(1)).max_retries(1));
        let (theirs, noted) = (log.clone(), inputs.clone());
        let out = flow
            .source("numbers", Items::from(1..=1_000_u64))
            .async_call("call", wait, move |task: &TaskInfo| Noting {
                log: theirs.clone(),
                subtask: task.subtask,
                pool: pool.clone(),
                inputs: noted.clone(),
                last: 0,
            })
            .parallelism(3)
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock.clone()));
        let two = Workers::Own(2.try_into().unwrap());
        let job = flow.start(settings.workers(two)).await.unwrap();
        // Whether a call is answered or its time is over makes no difference for what goes out.
        until(|| {
            clock.advance(ms(100));
            out.len() == 1_000
        })
        .await;
        job.finished().await.unwrap();
        let mut came = out.take();
        came.sort_unstable();
        assert_eq!(came, (1..=1_000).map(|n| n * 10).collect::<Vec<_>>());
    });
    let asked = inputs.lock().unwrap();
    let mut all: Vec<u64> = asked.values().flatten().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=1_000).collect::<Vec<_>>(), "in the order of the input, and all");
    for subtask in 0..3 {
        assert_eq!(log.threads(subtask).len(), 1, "one arbiter for all of task {subtask}");
        let what = log.of(subtask);
        assert_eq!(what[0], "open");
        assert_eq!(what[what.len() - 2..], ["close", "drop"]);
        for of in ["open", "close", "drop"] {
            let times = what.iter().filter(|it| **it == of).count();
            assert_eq!(times, 1, "{of} of task {subtask}");
        }
    }
    let seen: BTreeSet<_> = (0..3).flat_map(|subtask| log.of(subtask)).collect();
    let rare = ["retries_error", "retries_answer", "on_error", "on_timeout", "results"];
    assert!(rare.iter().all(|what| seen.contains(what)), "{seen:?}");
    assert_eq!(log.within_calls(), BTreeSet::from(["call", "poll"]));
}

/// Every call of a record has the record's id, and no two records have one.
#[test]
fn a_call_knows_its_id_which_is_that_of_its_record() {
    type Ids = Arc<Mutex<Vec<(u64, CallId)>>>;
    for tasks in [1, 3] {
        let ids = Ids::default();
        run(async {
            let flow = Dataflow::new("calls");
            let wait = AsyncWait::unordered().capacity(7).retry(Retry::fixed(ms(1)).max_retries(2));
            let noted = ids.clone();
            let feed = Feed::default();
            let out = flow
                .source("numbers", feed.clone())
                .async_wait("ask", wait, move |n| {
                    let made = call_id().expect("a call is being created");
                    let noted = noted.clone();
                    async move {
                        assert_eq!(call_id().as_ref(), Some(&made));
                        tokio::task::yield_now().await;
                        assert_eq!(call_id().as_ref(), Some(&made), "others ran in between");
                        let mut noted = noted.lock().unwrap();
                        let before = noted.iter().filter(|(of, _)| *of == n).count() as u64;
                        noted.push((n, made));
                        if before < n % 3 { Err(Failure::new("again")) } else { Ok(n) }
                    }
                })
                .parallelism(tasks)
                .collect("out");
            let clock = Arc::new(SimulatedClock::new());
            let job = flow.start(Settings::new().clock(clock)).await.unwrap();
            feed.give(0..300);
            until(|| out.len() == 300).await;
            feed.end();
            job.finished().await.unwrap();
            let mut came = out.take();
            came.sort_unstable();
            assert_eq!(came, (0..300).collect::<Vec<_>>());
        });
        let mut of_record: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        let mut numbers: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        let ids = ids.lock().unwrap();
        assert_eq!(ids.len(), 600, "a call for each, and two hundred times one and two more");
        for (n, id) in ids.iter() {
            assert_eq!((&*id.job, &*id.stage), ("calls", "ask"));
            let text = id.to_string();
            assert!(text.starts_with("calls/ask/"), "{text}");
            assert!(text.ends_with(&format!("/{}/{}", id.subtask, id.number)), "{text}");
            of_record.entry(*n).or_default().insert(id.to_string());
            numbers.entry(id.subtask).or_default().insert(id.number);
        }
        assert!(of_record.values().all(|ids| ids.len() == 1), "{of_record:?}");
        let all: BTreeSet<_> = of_record.values().flatten().collect();
        assert_eq!(all.len(), of_record.len(), "no two have the same");
        assert_eq!(numbers.len(), tasks);
        assert!(numbers.values().all(|them| them.iter().copied().eq(0..them.len() as u64)));
    }
}

/// Panics in its call, or while its call is polled, and looks around afterwards.
struct Panicking(Log);

impl AsyncFunction for Panicking {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = Pin<Box<dyn Future<Output = Answer<u64>>>>;

    fn call(&mut self, n: u64) -> Self::Call {
        assert_ne!(n, 1, "no call for 1");
        Box::pin(async move {
            assert_ne!(n, 2, "nothing to poll for 2");
            Ok(n * 10)
        })
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        self.0.note(0, "results");
        [answer]
    }

    fn on_error(&mut self, input: &u64, failure: &Failure) -> Result<Option<u64>, Failure> {
        self.0.note(0, "on_error");
        assert!(failure.to_string().contains(&format!("for {input}")), "{failure}");
        Ok(Some(*input))
    }
}

#[test]
fn outside_of_calls_there_is_no_id_also_after_a_panic_in_one() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        let log = Log::default();
        run(async {
            let flow = Dataflow::new("calls");
            let theirs = log.clone();
            let out = flow
                .source("numbers", Items::from(0..4_u64))
                .async_call("call", wait, move |_: &TaskInfo| Panicking(theirs.clone()))
                .collect("out");
            flow.start(Settings::new()).await.unwrap().finished().await.unwrap();
            assert_eq!(out.take(), [0, 1, 2, 30]);
        });
        assert_eq!(log.within_calls(), BTreeSet::new());
        assert!(log.of(0).contains(&"on_error") && log.of(0).contains(&"results"));
    }
}

/// Answers by hand, and decides about time-outs and errors as it is told.
#[derive(Clone)]
struct Deciding {
    desk: Desk<u64>,
    decided: Result<Option<u64>, &'static str>,
    asked: Arc<Mutex<Vec<u64>>>,
}

impl Deciding {
    fn decide(&self, input: u64) -> Result<Option<u64>, Failure> {
        self.asked.lock().unwrap().push(input);
        self.decided.map_err(Failure::new)
    }
}

impl AsyncFunction for Deciding {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = crate::desk::Asked<u64>;

    fn call(&mut self, n: u64) -> Self::Call {
        self.desk.call(n)
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        [answer]
    }

    fn on_error(&mut self, input: &u64, _: &Failure) -> Result<Option<u64>, Failure> {
        self.decide(*input)
    }

    fn on_timeout(&mut self, input: &u64) -> Result<Option<u64>, Failure> {
        self.decide(*input)
    }
}

/// A job of two records, of which the first times out and the second fails; what is decided about
/// them, and by the settings if nothing is.
fn decided(
    decided: Result<Option<u64>, &'static str>,
    then: &OnFailure<u64, u64>,
) -> (Vec<String>, Vec<u64>, Result<(), JobError>) {
    let (desk, asked) = (Desk::new(), Arc::<Mutex<Vec<u64>>>::default());
    let function = Deciding { desk: desk.clone(), decided, asked: asked.clone() };
    let (came, outcome) = run(async {
        let clock = ManualClock::new();
        let wait =
            AsyncWait::ordered().timeout(ms(300)).on_timeout(then.clone()).on_error(then.clone());
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", Feed::of([at(1, 10), at(2, 20)]))
            .async_call("call", wait, move |_: &TaskInfo| function.clone())
            .collect("out");
        let job = start(&flow, &clock).await;
        until(|| desk.open() == [1, 2]).await;
        desk.fail(2, "no 2");
        idle().await;
        clock.advance(ms(300));
        let outcome = job.finished().await;
        (came(&out), outcome)
    });
    let asked = asked.lock().unwrap().clone();
    (came, asked, outcome)
}

#[test]
fn a_handler_of_ones_own_decides_before_the_settings_do() {
    let (came, asked, outcome) = decided(Ok(Some(7)), &OnFailure::Fail);
    outcome.unwrap();
    assert_eq!((came, asked), (vec!["7@10".to_owned(), "7@20".to_owned()], vec![2, 1]));
}

/// There is no third way, in which a record would be left without an outcome.
#[test]
fn a_handler_that_gives_nothing_leaves_it_to_the_settings() {
    let fallback = OnFailure::fallback(|n: &u64| n + 100);
    let (came, asked, outcome) = decided(Ok(None), &fallback);
    outcome.unwrap();
    assert_eq!((came, asked), (vec!["101@10".to_owned(), "102@20".to_owned()], vec![2, 1]));

    let (came, asked, outcome) = decided(Ok(None), &OnFailure::Drop);
    outcome.unwrap();
    assert_eq!((came, asked), (vec![], vec![2, 1]));
}

#[test]
fn a_handler_that_fails_fails_the_job_with_its_own_error() {
    let (came, asked, outcome) = decided(Err("cannot decide"), &OnFailure::Drop);
    let error = outcome.unwrap_err().to_string();
    assert_eq!(error, r#"task 0 of "call" in job "calls" failed: cannot decide"#);
    assert_eq!((came, asked), (vec![], vec![2]));
}
