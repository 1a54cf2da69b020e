//! How tasks end that others do not let alone: a sink that closes while another task fails, a
//! reader that is dropped by a drain, a task whose arbiter stops.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{
    Epoch, JobState, Read, ReadContext, Reader, Sink, Source, TaskContext, TaskState, Writer,
};
use millstream_testkit::{ManualClock, SimulatedClock, run, run_on_threads, until};
use tokio::sync::Notify;

/// What is said, in order.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    fn say(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A sink that says what it does, and in one part of its end waits until it is told to go on.
#[derive(Clone)]
struct Slow {
    part: &'static str,
    said: Said,
    go_on: Arc<Notify>,
}

impl Slow {
    async fn does(&self, part: &str) {
        self.said.say(part);
        if part == self.part {
            self.go_on.notified().await;
            self.said.say("goes on");
        }
    }
}

impl Sink for Slow {
    type In = u64;
    type Transaction = u64;
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<u64>) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Writer for Slow {
    type In = u64;
    type Transaction = u64;

    fn write(&mut self, batch: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        self.said.say(&format!("write {}", batch.len()));
        batch.clear();
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.does("flush").await;
        Ok(())
    }

    async fn prepare(&mut self, _: Epoch) -> Result<Option<u64>, Failure> {
        self.does("prepare").await;
        Ok(Some(7))
    }

    async fn commit(&mut self, transaction: u64) -> Result<(), Failure> {
        assert_eq!(transaction, 7);
        self.does("commit").await;
        Ok(())
    }
}

/// A source of nothing that fails when it is told to.
#[derive(Clone)]
struct Told(Arc<Notify>);

struct ToldReader(Pin<Box<dyn Future<Output = ()>>>);

impl Source for Told {
    type Out = u64;
    type Position = ();
    type Reader = ToldReader;

    async fn open(&self, _: &str, _: Option<()>, _: &TaskContext) -> Result<ToldReader, Failure> {
        let told = self.0.clone();
        Ok(ToldReader(Box::pin(async move { told.notified().await })))
    }
}

impl Reader for ToldReader {
    type Out = u64;
    type Position = ();

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        match self.0.as_mut().poll(cx.context()).is_ready() {
            true => Err(Failure::new("told to")),
            false => Ok(Read::Later),
        }
    }

    fn position(&self) {}
}

fn state(job: &Job, stage: &str) -> TaskState {
    let tasks = job.status().numbers.tasks;
    tasks.iter().find(|task| task.stage == stage).unwrap().state
}

/// A job of two parts, of which one fails as soon as the other's sink has come to a part of its
/// end. Gives the job when all that fails with it is over, and what the sink is waiting for.
async fn fails_beside(part: &'static str) -> (Job, Slow) {
    let slow = Slow { part, said: Said::default(), go_on: Arc::default() };
    let fail = Arc::<Notify>::default();
    let flow = Dataflow::new("stops");
    flow.source("numbers", Items::from(0..10_u64)).sink("slow", slow.clone());
    let _ = flow.source("told", Told(fail.clone())).collect("other");
    let settings = Settings::new().clock(Arc::new(SimulatedClock::new()));
    let job = flow.start(settings).await.unwrap();
    until(|| slow.said.all().iter().any(|said| said == part)).await;
    fail.notify_one();
    until(|| state(&job, "told").is_over() && state(&job, "other").is_over()).await;
    // Time for whatever else would follow from that.
    let mut looks = 0;
    until(|| {
        looks += 1;
        looks > 10
    })
    .await;
    assert!(matches!(job.status().state, JobState::Stopping));
    assert_eq!(state(&job, "slow"), TaskState::Running, "{part} was cut off");
    (job, slow)
}

fn assert_told(outcome: Result<(), JobError>) {
    match outcome {
        Err(JobError::Failed { task, failure }) => {
            assert_eq!((&*task.job, &*task.stage, task.subtask), ("stops", "told", 0));
            assert_eq!(failure.to_string(), "told to");
        }
        outcome => panic!("{outcome:?}"),
    }
}

const PARTS: [&str; 3] = ["flush", "prepare", "commit"];

#[test]
fn a_sink_whose_input_has_ended_commits_though_another_task_fails_meanwhile() {
    for (place, part) in PARTS.into_iter().enumerate() {
        run(async {
            let (job, slow) = fails_beside(part).await;
            slow.go_on.notify_one();
            assert_told(job.finished().await);
            assert_eq!(state(&job, "slow"), TaskState::Ended);
            assert_eq!(state(&job, "told"), TaskState::Failed);
            assert_eq!(state(&job, "other"), TaskState::Cancelled);
            let mut all = vec!["write 10", "flush", "prepare", "commit"];
            all.insert(place + 2, "goes on");
            assert_eq!(slow.said.all(), all);
        });
    }
}

#[test]
fn a_sink_that_does_not_come_to_its_end_is_cut_off_when_the_wait_is_half_over() {
    for (place, part) in PARTS.into_iter().enumerate() {
        run(async {
            let (job, slow) = fails_beside(part).await;
            assert_told(job.finished().await);
            assert_eq!(state(&job, "slow"), TaskState::Cancelled);
            let all = ["write 10", "flush", "prepare", "commit"];
            assert_eq!(slow.said.all(), all[..place + 2]);
        });
    }
}

/// A source of a few records that waits for more; its reader may panic when it is dropped.
#[derive(Clone)]
struct Few {
    records: u64,
    panics: bool,
}

struct FewReader(Few);

impl Drop for FewReader {
    fn drop(&mut self) {
        assert!(!self.0.panics, "the reader cannot be closed");
    }
}

impl Source for Few {
    type Out = u64;
    type Position = ();
    type Reader = FewReader;

    async fn open(&self, _: &str, _: Option<()>, _: &TaskContext) -> Result<FewReader, Failure> {
        Ok(FewReader(self.clone()))
    }
}

impl Reader for FewReader {
    type Out = u64;
    type Position = ();

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        if self.0.records == 0 {
            return Ok(Read::Later);
        }
        (0..self.0.records).for_each(|n| cx.emit(Stamped::new(n)));
        self.0.records = 0;
        Ok(Read::Ready)
    }

    fn position(&self) {}
}

/// The state of every task in the order of the plan; and none of them has any time any more.
fn ended_states(job: &Job, clock: &ManualClock) -> Vec<TaskState> {
    let before = job.status().numbers;
    clock.advance(Duration::from_secs(5));
    let after = job.status().numbers;
    assert_eq!(before.tasks, after.tasks, "the time of a task goes on");
    after.tasks.iter().map(|task| task.state).collect()
}

#[test]
fn a_reader_that_panics_when_a_drain_drops_it_fails_its_task_and_ends_its_time() {
    run(async {
        let clock = ManualClock::new();
        let flow = Dataflow::new("stops");
        let out = flow.source("numbers", Few { records: 10, panics: true }).collect("out");
        let job = flow.start(Settings::new().clock(Arc::new(clock.clone()))).await.unwrap();
        until(|| out.len() == 10).await;
        clock.advance(Duration::from_secs(1));
        match job.drain().await {
            Err(JobError::Panicked { task, message, records_in }) => {
                assert_eq!((&*task.job, &*task.stage, task.subtask), ("stops", "numbers", 0));
                assert_eq!((&*message, records_in), ("the reader cannot be closed", 10));
            }
            outcome => panic!("{outcome:?}"),
        }
        assert_eq!(out.take(), (0..10).collect::<Vec<_>>());
        assert_eq!(ended_states(&job, &clock), [TaskState::Failed, TaskState::Cancelled]);
        for task in job.status().numbers.tasks {
            assert_eq!(task.numbers.idle_ns, 1_000_000_000, "of {}", task.stage);
        }
    });
}

/// A job with a task on each of three arbiters, of which the one of this number is stopped. Gives
/// the job when all of its tasks should be over.
async fn arbiter_stops(number: usize, clock: &ManualClock) -> (Job, JobError) {
    let mut arbiters: Vec<_> = (0..3).map(|_| actix::Arbiter::new()).collect();
    let handles = arbiters.iter().map(actix::Arbiter::handle).collect();
    let flow = Dataflow::new("stops");
    let few = flow.source("numbers", Few { records: 30, panics: false });
    let out = few.rebalance("spread").parallelism(3).collect("out");
    let settings = Settings::new().workers(Workers::Given(handles)).clock(Arc::new(clock.clone()));
    let job = flow.start(settings).await.unwrap();
    until(|| out.len() == 30).await;
    let stopped = arbiters.remove(number);
    stopped.stop();
    stopped.join().unwrap();
    let error = job.finished().await.expect_err("a task of it is missing");
    // Soon, or never.
    let mut looks = 0;
    until(|| {
        looks += 1;
        looks > 5_000 || job.status().numbers.tasks.iter().all(|task| task.state.is_over())
    })
    .await;
    for arbiter in arbiters {
        arbiter.stop();
        arbiter.join().unwrap();
    }
    (job, error)
}

#[test]
fn a_task_whose_arbiter_stops_has_failed_and_its_time_ends() {
    run_on_threads(async {
        let clock = ManualClock::new();
        let (job, error) = arbiter_stops(1, &clock).await;
        let JobError::Died { task } = &error else { panic!("{error:?}") };
        assert_eq!((&*task.job, &*task.stage, task.subtask), ("stops", "spread", 1));
        let cancelled = TaskState::Cancelled;
        let expected = [cancelled, cancelled, TaskState::Failed, cancelled, cancelled];
        assert_eq!(ended_states(&job, &clock), expected);
    });
}

#[test]
fn when_the_arbiter_stops_that_watches_over_a_job_no_task_of_it_is_left_on_others() {
    run_on_threads(async {
        let clock = ManualClock::new();
        let (job, error) = arbiter_stops(0, &clock).await;
        assert!(
            matches!(&error, JobError::SystemStopped { job } if &**job == "stops"),
            "{error:?}"
        );
        let (failed, cancelled) = (TaskState::Failed, TaskState::Cancelled);
        let expected = [failed, failed, cancelled, cancelled, failed];
        assert_eq!(ended_states(&job, &clock), expected);
    });
}
