//! A start waits no longer than `start_wait` for its tasks to open, says for which it waited, and
//! leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Clock, ItemsReader, Sink, Source, TaskContext, TaskName, Writer};
use millstream_testkit::{SimulatedClock, run};

/// Longer than the default, so that it is this one that counts.
const WAIT: Duration = Duration::from_secs(3 * 60 * 60);

/// Whether those who ask get an answer.
#[derive(Clone, Default)]
struct Answer(Arc<AtomicBool>);

impl Answer {
    async fn wait(&self) {
        if !self.0.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

/// A source of a number for each split, in which the odd splits wait for an answer to open.
#[derive(Clone)]
struct Asking {
    splits: u64,
    answer: Answer,
}

impl Source for Asking {
    type Out = u64;
    type Position = u64;
    type Reader = ItemsReader<std::ops::Range<u64>>;

    fn splits(&self) -> Vec<String> {
        (0..self.splits).map(|split| split.to_string()).collect()
    }

    async fn open(
        &self,
        split: &str,
        _: Option<u64>,
        _: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        let n = split.parse::<u64>()?;
        if n % 2 == 1 {
            self.answer.wait().await;
        }
        ItemsReader::behind(n..n + 1, 0)
    }
}

/// A sink that waits for an answer to open.
#[derive(Clone)]
struct AskingSink(Answer);

impl Sink for AskingSink {
    type In = u64;
    type Transaction = ();
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        self.0.wait().await;
        Ok(self.clone())
    }
}

impl Writer for AskingSink {
    type In = u64;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        batch.clear();
        Ok(())
    }
}

fn names(stage: &str, subtasks: &[usize]) -> Vec<TaskName> {
    let name = |&subtask| TaskName { job: "asking".into(), stage: stage.into(), subtask };
    subtasks.iter().map(name).collect()
}

/// The error of a start that does not get its answer: told after `start_wait` and not before.
async fn times_out(flow: &Dataflow, settings: &Settings) -> StartError {
    let clock = SimulatedClock::new();
    let began = clock.monotonic();
    let error = flow.start(settings.clone()).await.err().expect("nobody answers");
    assert_eq!(clock.monotonic().since(began), WAIT);
    error
}

fn settings() -> Settings {
    Settings::new().clock(Arc::new(SimulatedClock::new())).start_wait(WAIT)
}

#[test]
fn a_start_that_is_not_answered_names_the_tasks_and_works_when_tried_again() {
    run(async {
        let answer = Answer::default();
        let flow = Dataflow::new("asking");
        let source = Asking { splits: 4, answer: answer.clone() };
        let out = flow.source("numbers", source).parallelism(4).rebalance("spread").collect("out");

        let error = times_out(&flow, &settings()).await;
        assert_eq!(
            error.to_string(),
            "not open after 10800s: task 1 of \"numbers\" in job \"asking\", \
             task 3 of \"numbers\" in job \"asking\""
        );
        let StartError::TimedOut { after, waiting } = error else { panic!("{error:?}") };
        assert_eq!((after, waiting), (WAIT, names("numbers", &[1, 3])));
        assert!(out.is_empty(), "the tasks that were open have not begun");

        answer.0.store(true, Ordering::Relaxed);
        flow.start(settings()).await.unwrap().finished().await.unwrap();
        let mut came = out.take();
        came.sort_unstable();
        assert_eq!(came, [0, 1, 2, 3]);
    });
}

/// What stands in front of it is not opened before it, and is not blamed for it.
#[test]
fn a_start_that_waits_for_a_sink_names_the_sink_alone() {
    run(async {
        let answer = Answer::default();
        let flow = Dataflow::new("asking");
        let source = Asking { splits: 2, answer: answer.clone() };
        flow.source("numbers", source).sink("out", AskingSink(answer.clone())).parallelism(1);
        let error = times_out(&flow, &settings()).await;
        let StartError::TimedOut { after, waiting } = error else { panic!("{error:?}") };
        assert_eq!((after, waiting), (WAIT, names("out", &[0])));
        answer.0.store(true, Ordering::Relaxed);
        flow.start(settings()).await.unwrap().finished().await.unwrap();
    });
}

/// A source whose first split fails to open, in either way, and whose second never answers.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Error,
    Panic,
}

impl Source for Broken {
    type Out = u64;
    type Position = u64;
    type Reader = ItemsReader<std::ops::Range<u64>>;

    fn splits(&self) -> Vec<String> {
        ["broken", "silent"].map(str::to_owned).to_vec()
    }

    async fn open(
        &self,
        split: &str,
        _: Option<u64>,
        _: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        match self {
            _ if split == "silent" => std::future::pending().await,
            Self::Error => Err(Failure::new("no such split")),
            Self::Panic => panic!("no such split"),
        }
    }
}

#[test]
fn a_task_that_fails_to_open_is_told_at_once_though_another_is_still_opening() {
    for broken in [Broken::Error, Broken::Panic] {
        run(async move {
            let clock = SimulatedClock::new();
            let began = clock.monotonic();
            let flow = Dataflow::new("asking");
            let _ = flow.source("numbers", broken).parallelism(2).collect("out");
            let error = flow.start(settings()).await.err().expect("one does not open");
            assert_eq!(clock.monotonic(), began, "nobody has waited for the other");
            let StartError::Failed(error) = error else { panic!("{error:?}") };
            let what = match (broken, &error) {
                (Broken::Error, JobError::Failed { failure, .. }) => failure.to_string(),
                (Broken::Panic, JobError::Panicked { message, .. }) => message.clone(),
                (broken, error) => panic!("{broken:?}: {error:?}"),
            };
            assert_eq!(what, "no such split");
            assert_eq!(error.task(), names("numbers", &[0]).first());
        });
    }
}
