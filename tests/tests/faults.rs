//! A fault in a user's code ends the job with an error that names it; what came before is
//! delivered, and no actor is left.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use millstream::prelude::*;
use millstream::{JobState, Read, ReadContext, Reader, Sink, Source, TaskContext, Writer};

const RECORDS: u64 = 1_000;
/// The first, a middle and the last record.
const PLACES: [u64; 3] = [0, 499, RECORDS - 1];

/// What a sink was given, in the order in which it came.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<u64>>>);

impl Seen {
    fn add(&self, n: u64) {
        self.0.lock().unwrap().push(n);
    }

    fn sorted(&self) -> Vec<u64> {
        let mut seen = self.0.lock().unwrap().clone();
        seen.sort_unstable();
        seen
    }
}

/// How user code fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Error,
    Panic,
}

fn fail(how: How, n: u64) -> Result<(), Failure> {
    match how {
        How::Error => Err(Failure::new(format!("no {n}")).about(&n)),
        How::Panic => panic!("no {n}"),
    }
}

/// Waits for the end of a job that must fail, and checks that no task of it is left.
async fn failed(job: &Job) -> JobError {
    let error = job.finished().await.expect_err("the job has a fault");
    let status = job.status();
    assert!(matches!(status.state, JobState::Failed(_)), "{:?}", status.state);
    for task in &status.numbers.tasks {
        assert!(task.state.is_over(), "{} {} is left", task.stage, task.subtask);
    }
    error
}

fn assert_blames(error: &JobError, how: How, stage: &str, subtask: usize, n: u64) {
    match (error, how) {
        (JobError::Failed { task, failure }, How::Error) => {
            assert_eq!((&*task.job, &*task.stage, task.subtask), ("faults", stage, subtask));
            assert_eq!(failure.to_string(), format!("no {n}"));
            assert_eq!(failure.record(), Some(&*n.to_string()));
        }
        (JobError::Panicked { task, message, .. }, How::Panic) => {
            assert_eq!((&*task.job, &*task.stage, task.subtask), ("faults", stage, subtask));
            assert_eq!(message, &format!("no {n}"));
        }
        (error, how) => panic!("{how:?} at {stage}: {error:?}"),
    }
}

/// A source of numbers that fails in place of number `at`.
#[derive(Clone)]
struct Failing {
    at: u64,
    how: How,
}

struct FailingReader {
    of: Failing,
    next: u64,
}

impl Source for Failing {
    type Out = u64;
    type Position = u64;
    type Reader = FailingReader;

    async fn open(
        &self,
        _: &str,
        _: Option<u64>,
        _: &TaskContext,
    ) -> Result<FailingReader, Failure> {
        Ok(FailingReader { of: self.clone(), next: 0 })
    }
}

impl Reader for FailingReader {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        while cx.budget() > 0 {
            if self.next == self.of.at {
                fail(self.of.how, self.next)?;
            }
            cx.emit(Stamped::new(self.next));
            self.next += 1;
        }
        Ok(Read::Ready)
    }

    fn position(&self) -> u64 {
        self.next
    }
}

#[actix::test]
async fn a_source_that_fails_delivers_what_it_gave_before() {
    for how in [How::Error, How::Panic] {
        for at in PLACES {
            let seen = Seen::default();
            let flow = Dataflow::new("faults");
            let sink = seen.clone();
            let _ = flow
                .source("numbers", Failing { at, how })
                .for_each("out", move |n: u64| sink.add(n));
            let job = flow.start(Settings::new()).await.unwrap();
            assert_blames(&failed(&job).await, how, "numbers", 0, at);
            assert_eq!(seen.sorted(), (0..at).collect::<Vec<_>>(), "{how:?} at {at}");
        }
    }
}

/// An operator that fails at record `at` of the subtask `subtask`.
struct FailingOperator {
    at: u64,
    how: How,
    mine: bool,
}

impl Operator for FailingOperator {
    type In = Keyed<u64, u64>;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<Keyed<u64, u64>>,
        out: &mut Effects<u64>,
    ) -> Result<(), Failure> {
        let n = record.value.value;
        if self.mine && n == self.at {
            fail(self.how, n)?;
        }
        out.emit(Stamped::new(n));
        Ok(())
    }
}

#[actix::test]
async fn an_operator_that_fails_names_its_task_whichever_it_is() {
    const TASKS: usize = 3;
    let groups = millstream::KeyGroups::default_for(TASKS);
    for how in [How::Error, How::Panic] {
        for at in PLACES {
            let hash = millstream::KeyHash::of(&at).unwrap();
            let owner = groups.owner_of(hash, TASKS);
            let seen = Seen::default();
            let flow = Dataflow::new("faults");
            let sink = seen.clone();
            let _ = flow
                .source("numbers", Items::from(0..RECORDS))
                .key_by(|n| *n)
                .operator("check", move |task: &TaskInfo| FailingOperator {
                    at,
                    how,
                    mine: task.subtask == owner,
                })
                .parallelism(TASKS)
                .for_each("out", move |n: u64| sink.add(n))
                .parallelism(1);
            let job = flow.start(Settings::new()).await.unwrap();
            assert_blames(&failed(&job).await, how, "check", owner, at);
            let before = |n: &u64| {
                let hash = millstream::KeyHash::of(n).unwrap();
                groups.owner_of(hash, TASKS) == owner
            };
            let mine: Vec<u64> = seen.sorted().into_iter().filter(before).collect();
            let expected: Vec<u64> = (0..at).filter(before).collect();
            assert_eq!(mine, expected, "{how:?} at {at}: what came before was delivered");
        }
    }
}

#[actix::test]
async fn a_step_or_a_key_function_that_panics_is_its_tasks_fault() {
    for at in PLACES {
        for step in ["map", "filter", "flat_map", "key_by"] {
            let seen = Seen::default();
            let flow = Dataflow::new("faults");
            let numbers = flow.source("numbers", Items::from(0..RECORDS)).boxed();
            let check = move |name: &str, n: u64| {
                assert!(!(name == step && n == at), "no {n}");
            };
            let sink = seen.clone();
            let _ = numbers
                .map(move |n| {
                    check("map", n);
                    n
                })
                .filter(move |n| {
                    check("filter", *n);
                    true
                })
                .flat_map(move |n| {
                    check("flat_map", n);
                    [n]
                })
                .key_by(move |n| {
                    check("key_by", *n);
                    *n
                })
                .map_with_state("keep", |_, (): &mut (), n| n)
                .for_each("out", move |n: u64| sink.add(n));
            let job = flow.start(Settings::new()).await.unwrap();
            let error = failed(&job).await;
            assert_blames(&error, How::Panic, "numbers", 0, at);
            assert_eq!(seen.sorted(), (0..at).collect::<Vec<_>>(), "{step} at {at}");
        }
    }
}

/// A sink that fails at a record, or when it flushes, prepares or commits.
#[derive(Clone)]
struct FailingSink {
    seen: Seen,
    at: Option<u64>,
    phase: &'static str,
    how: How,
}

impl Sink for FailingSink {
    type In = u64;
    type Transaction = u64;
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<u64>) -> Result<Self, Failure> {
        if self.phase == "open" {
            fail(self.how, 1)?;
        }
        Ok(self.clone())
    }
}

impl Writer for FailingSink {
    type In = u64;
    type Transaction = u64;

    fn write(&mut self, batch: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        for record in batch.drain(..) {
            if self.at == Some(record.value) {
                fail(self.how, record.value)?;
            }
            self.seen.add(record.value);
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        if self.phase == "flush" { fail(self.how, 2) } else { Ok(()) }
    }

    async fn prepare(&mut self, _: millstream::Epoch) -> Result<Option<u64>, Failure> {
        if self.phase == "prepare" {
            fail(self.how, 3)?;
        }
        Ok(Some(4))
    }

    async fn commit(&mut self, _: u64) -> Result<(), Failure> {
        if self.phase == "commit" { fail(self.how, 4) } else { Ok(()) }
    }
}

#[actix::test]
async fn a_sink_that_fails_at_a_record_has_had_those_before() {
    for how in [How::Error, How::Panic] {
        for at in PLACES {
            let sink = FailingSink { seen: Seen::default(), at: Some(at), phase: "", how };
            let flow = Dataflow::new("faults");
            flow.source("numbers", Items::from(0..RECORDS)).sink("out", sink.clone());
            let job = flow.start(Settings::new()).await.unwrap();
            assert_blames(&failed(&job).await, how, "out", 0, at);
            assert_eq!(sink.seen.sorted(), (0..at).collect::<Vec<_>>());
        }
    }
}

#[actix::test]
async fn a_sink_that_fails_at_the_end_fails_the_job() {
    for how in [How::Error, How::Panic] {
        for (phase, n) in [("flush", 2), ("prepare", 3), ("commit", 4)] {
            let sink = FailingSink { seen: Seen::default(), at: None, phase, how };
            let flow = Dataflow::new("faults");
            flow.source("numbers", Items::from(0..RECORDS)).sink("out", sink.clone());
            let job = flow.start(Settings::new()).await.unwrap();
            assert_blames(&failed(&job).await, how, "out", 0, n);
            assert_eq!(sink.seen.sorted(), (0..RECORDS).collect::<Vec<_>>());
        }
    }
}

#[actix::test]
async fn what_fails_while_it_is_opened_fails_the_start() {
    for how in [How::Error, How::Panic] {
        let sink = FailingSink { seen: Seen::default(), at: None, phase: "open", how };
        let flow = Dataflow::new("faults");
        flow.source("numbers", Items::from(0..RECORDS)).sink("out", sink.clone());
        match flow.start(Settings::new()).await.err().expect("the sink does not open") {
            StartError::Failed(error) => assert_blames(&error, how, "out", 0, 1),
            error => panic!("{error:?}"),
        }
        assert_eq!(sink.seen.sorted(), [0_u64; 0]);
    }
}

/// A reader that has no end and never says that it has to wait.
#[actix::test]
async fn a_source_that_never_yields_of_itself_is_cancelled_all_the_same() {
    let seen = Arc::new(AtomicU64::new(0));
    let flow = Dataflow::new("faults");
    let sink = seen.clone();
    let _ = flow.source("numbers", Generate::new(|n| n)).for_each("out", move |_: u64| {
        sink.fetch_add(1, Ordering::Relaxed);
    });
    let job = flow.start(Settings::new()).await.unwrap();
    while seen.load(Ordering::Relaxed) < 100_000 {
        tokio::task::yield_now().await;
    }
    job.cancel().await.unwrap();
    assert!(matches!(job.finished().await, Err(JobError::Cancelled { .. })));
    let after = seen.load(Ordering::Relaxed);
    tokio::task::yield_now().await;
    assert_eq!(seen.load(Ordering::Relaxed), after, "nothing is emitted after a cancel");
}

/// A reader that gives more than it was asked for.
#[derive(Clone)]
struct Greedy;

impl Source for Greedy {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Reader for Greedy {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        for n in 0..=cx.budget() as u64 {
            cx.emit(Stamped::new(n));
        }
        Ok(Read::Ready)
    }

    fn position(&self) -> u64 {
        0
    }
}

#[actix::test]
async fn a_reader_that_exceeds_its_budget_is_told_so() {
    let flow = Dataflow::new("faults");
    let _ = flow.source("numbers", Greedy).collect("out");
    let job = flow.start(Settings::new().batch_records(10)).await.unwrap();
    let error = failed(&job).await;
    assert_eq!(
        error.to_string(),
        "task 0 of \"numbers\" in job \"faults\" failed: \
         the reader gave 11 records in one call, and its budget was 10"
    );
}

#[actix::test]
async fn an_empty_source_is_a_job_that_ends() {
    let flow = Dataflow::new("faults");
    let out = flow
        .source("numbers", Items::from(Vec::<u64>::new()))
        .key_by(|n| *n)
        .at_end()
        .count("count")
        .collect("out");
    flow.start(Settings::new().parallelism(3)).await.unwrap().finished().await.unwrap();
    assert!(out.is_empty());
}

#[actix::test]
async fn with_batches_of_one_and_one_credit_everything_arrives_in_order() {
    let flow = Dataflow::new("faults");
    let out = flow.source("numbers", Items::from(0..RECORDS)).rebalance("spread").collect("out");
    let settings = Settings::new().batch_records(1).credits(1).turn_records(1);
    flow.start(settings).await.unwrap().finished().await.unwrap();
    assert_eq!(out.take(), (0..RECORDS).collect::<Vec<_>>());
}

#[actix::test]
async fn a_dropped_handle_leaves_the_job_running() {
    let flow = Dataflow::new("faults");
    let out = flow.source("numbers", Items::from(0..RECORDS)).collect("out");
    drop(flow.start(Settings::new()).await.unwrap());
    while out.len() < RECORDS as usize {
        tokio::task::yield_now().await;
    }
    assert_eq!(out.take(), (0..RECORDS).collect::<Vec<_>>());
}

#[actix::test]
async fn a_handle_that_cancels_on_drop_does() {
    let alive = Arc::new(());
    let held = alive.clone();
    let flow = Dataflow::new("faults");
    let _ = flow.source("numbers", Generate::new(|n| n)).for_each("out", move |_: u64| {
        let _ = &held;
    });
    let job = flow.start(Settings::new()).await.unwrap().cancel_on_drop();
    drop(job);
    drop(flow);
    // The sink's function is gone when its task is.
    while Arc::strong_count(&alive) > 1 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn stopping_the_system_ends_the_job_with_an_error() {
    let (tell, told) = std::sync::mpsc::channel();
    let system = actix::System::new();
    system.block_on(async move {
        let flow = Dataflow::new("faults");
        let _ = flow.source("numbers", Generate::new(|n| n)).for_each("out", |_: u64| {});
        let two = std::num::NonZeroUsize::new(2).unwrap();
        let job = flow.start(Settings::new().workers(Workers::Own(two))).await.unwrap();
        tell.send(job).unwrap();
        actix::System::current().stop();
    });
    system.run().unwrap();
    let job = told.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(job.finished()).expect_err("it was cut off");
    assert!(matches!(error, JobError::SystemStopped { .. } | JobError::Died { .. }), "{error:?}");
}
