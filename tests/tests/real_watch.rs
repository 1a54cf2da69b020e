//! User code that blocks is seen by the watch, on real time: a slow turn is counted, and a job that
//! cannot be cancelled says which task is stuck instead of hanging.

#![expect(clippy::disallowed_methods, reason = "a test of what happens in real time")]

use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use millstream::prelude::*;

/// A gate that blocks whoever comes until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: bool,
    reached: bool,
}

impl Gate {
    fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.reached = true;
        drop(changed.wait_while(state, |state| !state.open).unwrap());
    }

    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    /// Resolves when somebody stands before it.
    async fn reached(&self) {
        until(|| self.0.0.lock().unwrap().reached).await;
    }
}

/// Waits for a condition, under a guard that no good run comes near.
async fn until(condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), met).await.expect("the condition is met");
}

fn two() -> Workers {
    Workers::Own(NonZeroUsize::new(2).unwrap())
}

#[actix::test]
async fn a_turn_that_does_not_end_is_counted_while_it_lasts() {
    let gate = Gate::default();
    let blocks = gate.clone();
    let flow = Dataflow::new("slow");
    let _ = flow.source("numbers", Items::from(0..3_u64)).for_each("blocks", move |_: u64| {
        blocks.pass();
    });
    let settings = Settings::new().workers(two()).parallelism(1);
    let job = flow.start(settings.slow_turn(Duration::from_millis(5))).await.unwrap();
    let slow_turns = || {
        let numbers = job.status().numbers;
        numbers.task("blocks", 0).map_or(0, |task| task.numbers.slow_turns)
    };
    until(|| slow_turns() > 0).await;
    gate.open();
    job.finished().await.unwrap();
    assert_eq!(slow_turns(), 1, "one turn is reported once");
}

#[actix::test]
async fn a_job_that_cannot_be_cancelled_names_the_task_that_is_stuck() {
    let gate = Gate::default();
    let blocks = gate.clone();
    let flow = Dataflow::new("stuck");
    let _ = flow.source("numbers", Items::from(0..3_u64)).for_each("blocks", move |_: u64| {
        blocks.pass();
    });
    let settings = Settings::new().workers(two()).parallelism(1);
    let settings = settings.slow_turn(Duration::from_millis(5));
    let job = flow.start(settings.stop_wait(Duration::from_millis(50))).await.unwrap();
    gate.reached().await;
    let ended = tokio::time::timeout(Duration::from_secs(60), job.cancel()).await;
    match ended.expect("the cancel does not hang").unwrap_err() {
        JobError::Stuck { task, since } => {
            assert_eq!((&*task.job, &*task.stage, task.subtask), ("stuck", "blocks", 0));
            assert!(since >= Duration::from_millis(50));
        }
        error => panic!("{error:?}"),
    }
    gate.open();
}
