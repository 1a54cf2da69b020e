//! A task that works off a million records keeps nobody waiting: at most three of its turns pass
//! before a message is handled or a timer fires.
//!
//! Turns are counted, not time, so that a slow machine changes nothing.

#![expect(clippy::disallowed_methods, reason = "what is tested is when tokio's own timers fire")]

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, Context, Handler, Message, System};
use millstream::JobState;
use millstream::prelude::*;

const RECORDS: u64 = 1_000_000;
/// Something is sent each time that so many have been worked off.
const EVERY: u64 = 20_000;
/// So many turns of the task may pass.
const TURNS: u64 = 3;

/// Counts the turns of all tasks of a job, once there is one.
#[derive(Clone, Default)]
struct Turns(Arc<OnceLock<Job>>);

impl Turns {
    fn job(&self) -> &Job {
        self.0.get().expect("the job is started")
    }

    fn is_running(&self) -> bool {
        matches!(self.job().status().state, JobState::Running)
    }

    /// Each task's turns so far, that which it is in included.
    fn now(&self) -> Vec<u64> {
        let numbers = self.job().status().numbers;
        numbers.tasks.iter().map(|task| task.numbers.turns).collect()
    }

    /// The most turns that a task has begun since then.
    fn since(&self, then: &[u64]) -> u64 {
        let now = self.now();
        assert_eq!(now.len(), then.len());
        now.iter().zip(then).map(|(now, then)| now - then).max().expect("there are tasks")
    }
}

/// How many turns passed, each time.
#[derive(Clone, Default)]
struct Passed(Arc<Mutex<Vec<u64>>>);

impl Passed {
    fn add(&self, turns: u64) {
        self.0.lock().unwrap().push(turns);
    }

    fn assert_few(&self, at_least: u64) {
        let passed = self.0.lock().unwrap();
        assert!(passed.len() as u64 >= at_least, "looked at only {} times", passed.len());
        let most = passed.iter().max().expect("looked at");
        println!("{} times, at most {most} turns passed", passed.len());
        assert!(*most <= TURNS, "{most} turns passed");
    }
}

/// Passes on what comes, and calls a function in the middle of a turn, once in `EVERY` records.
struct Work<F>(F);

impl<F: FnMut() + 'static> Operator for Work<F> {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        if record.value % EVERY == EVERY / 2 {
            (self.0)();
        }
        out.emit(record);
        Ok(())
    }
}

/// Starts a job that works off a million records on this arbiter, and calls `sometimes` in its
/// turns.
async fn start<F>(turns: &Turns, sometimes: F)
where
    F: FnMut() + Clone + Send + 'static,
{
    let flow = Dataflow::new("turns");
    let _ = flow
        .source("numbers", Items::from(0..RECORDS))
        .operator("work", move |_: &TaskInfo| Work(sometimes.clone()))
        .for_each("out", |_: u64| {});
    // The records wait for this future to go on: all of it happens on one arbiter.
    let job = flow.start(Settings::new()).await.unwrap();
    assert!(turns.0.set(job).is_ok());
}

/// Sent when the tasks had begun so many turns.
#[derive(Message)]
#[rtype(result = "()")]
struct Sent(Vec<u64>);

/// Counts how many turns passed before it handles a message, and sends one to the next neighbour.
struct Neighbour {
    turns: Turns,
    passed: Passed,
    next: Option<Addr<Neighbour>>,
}

impl Actor for Neighbour {
    type Context = Context<Self>;
}

impl Handler<Sent> for Neighbour {
    type Result = ();

    fn handle(&mut self, Sent(then): Sent, _: &mut Self::Context) {
        self.passed.add(self.turns.since(&then));
        if let Some(next) = &self.next {
            next.do_send(Sent(self.turns.now()));
        }
    }
}

#[actix::test]
async fn a_message_from_the_same_arbiter_waits_for_three_turns_at_most() {
    let (turns, passed) = (Turns::default(), Passed::default());
    let last = Neighbour { turns: turns.clone(), passed: passed.clone(), next: None }.start();
    let first = Neighbour { turns: turns.clone(), passed: passed.clone(), next: Some(last) };
    let first = first.start();
    let sender = turns.clone();
    start(&turns, move || first.do_send(Sent(sender.now()))).await;
    turns.job().finished().await.unwrap();
    // One from within a turn of the task, and one from the neighbour to its own neighbour.
    passed.assert_few(2 * RECORDS / EVERY);
}

/// Tells an actor of another arbiter to send something; it answers when it has.
#[derive(Message)]
#[rtype(result = "()")]
struct Go(SyncSender<()>);

/// Sends messages across from its own arbiter.
struct Far {
    turns: Turns,
    to: Addr<Neighbour>,
}

impl Actor for Far {
    type Context = Context<Self>;
}

impl Handler<Go> for Far {
    type Result = ();

    fn handle(&mut self, Go(done): Go, _: &mut Self::Context) {
        self.to.do_send(Sent(self.turns.now()));
        done.send(()).expect("the task waits for it");
    }
}

/// The task stands still in the middle of a turn while the other arbiter sends, so the count at the
/// sending is exact.
#[actix::test]
async fn a_message_from_another_arbiter_waits_for_three_turns_at_most() {
    let (turns, passed) = (Turns::default(), Passed::default());
    let to = Neighbour { turns: turns.clone(), passed: passed.clone(), next: None }.start();
    let arbiter = Arbiter::new();
    let far = Far { turns: turns.clone(), to };
    let far = Far::start_in_arbiter(&arbiter.handle(), |_| far);
    start(&turns, move || {
        let (done, is_done) = sync_channel(1);
        far.do_send(Go(done));
        is_done.recv().expect("the other arbiter answers");
    })
    .await;
    turns.job().finished().await.unwrap();
    passed.assert_few(RECORDS / EVERY);
    arbiter.stop();
    arbiter.join().unwrap();
}

/// The clock is moved by hand: a timer is due at the instant in which it is moved, and not before.
#[test]
fn a_timer_that_is_due_fires_after_three_turns_at_most() {
    const AHEAD: Duration = Duration::from_millis(10);
    let mut paused = tokio::runtime::Builder::new_current_thread();
    paused.enable_time().start_paused(true);
    System::with_tokio_rt(|| paused.build().unwrap()).block_on(async {
        let (turns, passed) = (Turns::default(), Passed::default());
        start(&turns, || {}).await;
        while turns.is_running() {
            let due = tokio::time::Instant::now() + AHEAD;
            let (began, firing) = (Arc::new(OnceLock::new()), turns.clone());
            let then = began.clone();
            let timer = actix::spawn(async move {
                tokio::time::sleep_until(due).await;
                then.get().map(|then: &Vec<u64>| firing.since(then)).expect("it is due")
            });
            // The timer is set, and does not fire.
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            assert!(!timer.is_finished());
            began.set(turns.now()).unwrap();
            tokio::time::advance(AHEAD).await;
            passed.add(timer.await.unwrap());
        }
        turns.job().finished().await.unwrap();
        passed.assert_few(50);
    });
}
