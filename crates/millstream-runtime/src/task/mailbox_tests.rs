//! Proves what a task's mailbox does when many write to it, when its code fails, and when it ends
//! with something in it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::thread::{self, JoinHandle};

use actix::{Actor, Addr, Handler};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use millstream_core::{Attempt, Failure, KeyGroups, Mark, StageId, Stamped, TaskInfo};
use millstream_metrics::TaskMetrics;
use millstream_operators::Collect;

use super::{After, Command, Departure, Event, Guard, Logic, Order, Report, Task, TaskOf, Turn};
use crate::channel::{Inbox, Link, Outlet, OutletOf, Resume, Taken};
use crate::clock::SystemClock;
use crate::panic::TaskFailure;
use crate::settings::Limits;
use crate::task::Heartbeat;

/// Stands in for the supervisor: passes on what it is told.
struct Boss(UnboundedSender<Event>);

impl Actor for Boss {
    type Context = actix::Context<Self>;
}

impl Handler<Report> for Boss {
    type Result = ();

    fn handle(&mut self, report: Report, _: &mut Self::Context) {
        assert_eq!((report.task, report.attempt), (5, Attempt::new(2)));
        let _ = self.0.send(report.event);
    }
}

/// Stands in for a producer that never waits for a word.
struct Deaf;

impl Actor for Deaf {
    type Context = actix::Context<Self>;
}

impl Handler<Resume> for Deaf {
    type Result = ();

    fn handle(&mut self, _: Resume, _: &mut Self::Context) {}
}

/// What a logic of these tests does when it may work.
type Work = Box<dyn FnMut(&mut Inbox<u64>, &mut Turn<'_, '_>) -> Result<After, Failure> + Send>;

/// A logic of closures.
struct Scripted {
    work: Work,
    /// What is called when what was made before a failure is handed on.
    hand_over: Box<dyn FnMut() -> Poll<Result<(), Failure>> + Send>,
}

impl Scripted {
    fn new<W>(work: W) -> Self
    where
        W: FnMut(&mut Inbox<u64>, &mut Turn<'_, '_>) -> Result<After, Failure> + Send + 'static,
    {
        Self { work: Box::new(work), hand_over: Box::new(|| Poll::Ready(Ok(()))) }
    }
}

impl Logic for Scripted {
    type In = u64;

    fn open(&mut self, _: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn work(&mut self, inbox: &mut Inbox<u64>, turn: &mut Turn<'_, '_>) -> Result<After, Failure> {
        (self.work)(inbox, turn)
    }

    fn salvage(&mut self) {}

    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        (self.hand_over)()
    }
}

/// A running task and what it tells.
struct Running {
    task: Addr<Task<Scripted>>,
    events: UnboundedReceiver<Event>,
    metrics: Arc<TaskMetrics>,
}

impl Running {
    /// A task that has been opened and told to run.
    async fn new(channels: usize, logic: Scripted) -> Self {
        let (tell, mut events) = unbounded_channel();
        let metrics = Arc::new(TaskMetrics::default());
        let attempt = Attempt::new(2);
        let info = TaskInfo {
            job: Arc::from("mailbox"),
            stage: Arc::from("reader"),
            id: StageId::new(0),
            subtask: 0,
            parallelism: 1,
            attempt,
            key_groups: KeyGroups::default_for(1),
        };
        let task = Task::new(TaskOf {
            info,
            logic: Ok(logic),
            channels,
            guard: Guard::new(5, attempt, Boss(tell).start().recipient()),
            limits: Limits::default(),
            clock: Arc::new(SystemClock::new()),
            schedule: None,
            metrics: metrics.clone(),
            heartbeat: Arc::new(Heartbeat::default()),
        })
        .start();
        task.do_send(Command { attempt, order: Order::Open });
        assert!(matches!(events.recv().await, Some(Event::Opened)));
        task.do_send(Command { attempt, order: Order::Run });
        Self { task, events, metrics }
    }

    fn order(&self, order: Order) {
        self.task.do_send(Command { attempt: Attempt::new(2), order });
    }

    /// The sending end of a channel to the task.
    fn outlet(&self, channel: usize, credits: usize, batch_records: usize) -> Outlet<u64> {
        Outlet::new(OutletOf {
            to: self.task.clone().recipient(),
            channel,
            attempt: Attempt::new(2),
            link: Link::new(credits, Deaf.start().recipient().downgrade(), self.metrics.clone()),
            batch_records,
        })
    }

    /// How the task departed. It is gone by then, and tells nothing more.
    async fn departed(&mut self) -> Departure {
        let Some(Event::Departed(departure)) = self.events.recv().await else {
            panic!("a task departs")
        };
        assert!(self.events.recv().await.is_none(), "its guard is gone with it");
        assert!(!self.task.connected());
        departure
    }

    fn is_quiet(&self) -> bool {
        self.metrics.records_queued.get() == 0
    }
}

fn error_of(departure: Departure) -> String {
    match departure {
        Departure::Failed(TaskFailure::Error(failure)) => failure.to_string(),
        Departure::Failed(TaskFailure::Panic(message)) => message,
        Departure::Ended => "ended".to_owned(),
        Departure::Cancelled => "cancelled".to_owned(),
        Departure::Died => "died".to_owned(),
    }
}

/// What a logic has seen.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(usize, u64)>>>);

impl Log {
    fn entries(&self) -> MutexGuard<'_, Vec<(usize, u64)>> {
        self.0.lock().unwrap()
    }
}

/// Pushes to a task from a thread of its own, waiting for credit without being told, until `more`
/// gives nothing or the task has gone; says then whether it has gone.
fn writer(
    mut outlet: Outlet<u64>,
    mut more: impl FnMut() -> Option<u64> + Send + 'static,
) -> JoinHandle<(Outlet<u64>, bool)> {
    thread::spawn(move || {
        while let Some(n) = more() {
            if outlet.closed() {
                return (outlet, true);
            }
            outlet.push(Stamped::new(n));
            while outlet.blocked() && !outlet.closed() {
                thread::yield_now();
                outlet.advance();
            }
        }
        outlet.mark(Mark::End);
        (outlet, false)
    })
}

/// Waits for threads without holding up the actors of this one.
async fn joined<T>(threads: Vec<JoinHandle<T>>) -> Vec<T> {
    while !threads.iter().all(JoinHandle::is_finished) {
        tokio::task::yield_now().await;
    }
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[actix::test]
async fn a124_ten_writers_are_read_each_in_its_order_until_nothing_is_left() {
    const WRITERS: usize = 10;
    const RECORDS: u64 = 1_000;
    let log = Log::default();
    let read = log.clone();
    let mut ended = 0;
    let logic = Scripted::new(move |inbox, turn| {
        loop {
            let waiting = inbox.waiting();
            // A batch is one record here, so that the one before is finished by now.
            match inbox.take(|n| turn.pick(n)) {
                None => {
                    assert!(inbox.waiting() == 0 && waiting <= 1, "nothing is left: {waiting}");
                    return Ok(After::Input);
                }
                Some(Taken::Records) => {
                    assert!(inbox.waiting() > 0, "what is being taken is there");
                    let mut records = Vec::new();
                    assert_eq!(inbox.piece(usize::MAX, &mut records), 1);
                    let n = records[0].value;
                    read.entries().push(((n / RECORDS) as usize, n % RECORDS));
                }
                Some(Taken::Mark(_, mark)) => {
                    assert!(mark == Mark::End && waiting > 0);
                    ended += 1;
                    if ended == WRITERS {
                        assert_eq!(inbox.waiting(), 0, "nothing comes behind the last");
                        return Ok(After::Ended);
                    }
                }
            }
        }
    });
    let mut running = Running::new(WRITERS, logic).await;
    let writers = (0..WRITERS).map(|channel| {
        let first = channel as u64 * RECORDS;
        let mut numbers = first..first + RECORDS;
        writer(running.outlet(channel, 16, 1), move || numbers.next())
    });
    let writers = writers.collect();
    assert_eq!(error_of(running.departed().await), "ended");
    assert!(joined(writers).await.iter().all(|(_, gone)| !gone));
    let read = log.entries();
    assert_eq!(read.len(), WRITERS * RECORDS as usize);
    for writer in 0..WRITERS {
        let of_writer = read.iter().filter(|(of, _)| *of == writer).map(|(_, n)| *n);
        assert!(of_writer.eq(0..RECORDS), "writer {writer}");
    }
    assert!(running.is_quiet());
}

/// Takes record by record; fails at `bad`.
fn failing_at(bad: u64, log: &Log) -> Scripted {
    let log = log.clone();
    Scripted::new(move |inbox, turn| {
        while let Some(Taken::Records) = inbox.take(|n| turn.pick(n)) {
            let each = |record: Stamped<u64>| {
                if record.value == bad {
                    return Err(Failure::new(format!("{bad} is bad")).about(&bad));
                }
                log.entries().push((0, record.value));
                Ok(())
            };
            inbox.records(64, |some| some.try_for_each(&each).map(|()| true), |_| true).1?;
        }
        Ok(After::Input)
    })
}

#[actix::test]
async fn a133_a_record_that_fails_ends_the_task_with_its_own_error_and_nothing_more_is_run() {
    let log = Log::default();
    let mut running = Running::new(2, failing_at(2, &log)).await;
    // All of it lies in the mailbox before the task has its turn.
    let mut outlets = [running.outlet(0, 2, 3), running.outlet(1, 2, 1)];
    (1..=3).for_each(|n| outlets[0].push(Stamped::new(n)));
    (10..=12).for_each(|n| outlets[0].push(Stamped::new(n)));
    (20..=21).for_each(|n| outlets[1].push(Stamped::new(n)));
    assert!(outlets.iter().all(Outlet::blocked));

    let Departure::Failed(TaskFailure::Error(failure)) = running.departed().await else {
        panic!("the task fails")
    };
    assert_eq!((failure.to_string().as_str(), failure.record()), ("2 is bad", Some("2")));
    assert_eq!(*log.entries(), [(0, 1)], "neither the rest of the batch nor what waited has run");
    assert!(!outlets.iter().any(Outlet::blocked), "what waited has been handed back");
    assert!(running.is_quiet());
}

#[actix::test]
async fn a133_an_order_from_outside_goes_before_all_that_waits() {
    let log = Log::default();
    let mut running = Running::new(1, failing_at(2, &log)).await;
    let mut outlet = running.outlet(0, 4, 1);
    (1..=3).for_each(|n| outlet.push(Stamped::new(n)));
    running.order(Order::Cancel);
    assert_eq!(error_of(running.departed().await), "cancelled");
    assert_eq!(*log.entries(), []);
    assert!(running.is_quiet() && !outlet.blocked());
}

#[actix::test]
async fn a133_an_error_is_not_lost_when_an_order_comes_after_it() {
    let log = Log::default();
    let (tell, mut told) = unbounded_channel();
    let mut logic = failing_at(1, &log);
    // What was made before the failure is never let go.
    logic.hand_over = Box::new(move || {
        let _ = tell.send(());
        Poll::Pending
    });
    let mut running = Running::new(1, logic).await;
    let mut outlet = running.outlet(0, 4, 1);
    outlet.push(Stamped::new(1));
    told.recv().await.unwrap();
    running.order(Order::Cancel);
    assert_eq!(error_of(running.departed().await), "1 is bad");
}

/// A call that is under way for ever, and tells when it is dropped.
struct Call(UnboundedSender<&'static str>);

impl Future for Call {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        let _ = self.0.send("polled");
        Poll::Pending
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[actix::test]
async fn a135_a_task_that_is_shut_down_runs_nothing_drops_its_call_and_hears_no_more_orders() {
    let (tell, mut told) = unbounded_channel();
    let mut call: Option<Pin<Box<Call>>> = None;
    let logic = Scripted::new(move |inbox, turn| {
        assert!(inbox.take(|n| turn.pick(n)).is_none(), "what waits is not run");
        let call = call.get_or_insert_with(|| Box::pin(Call(tell.clone())));
        assert!(call.as_mut().poll(turn.cx).is_pending());
        Ok(After::Input)
    });
    let mut running = Running::new(1, logic).await;
    assert_eq!(told.recv().await, Some("polled"));

    // In one go: something to do, that nothing more will come, the end, and orders after it.
    let mut outlet = running.outlet(0, 1, 1);
    outlet.push(Stamped::new(1));
    assert!(outlet.blocked() && !outlet.closed());
    running.order(Order::Settle);
    running.order(Order::Cancel);
    for late in [Order::Run, Order::Drain, Order::Settle, Order::Cancel, Order::Open] {
        running.order(late);
    }
    assert_eq!(error_of(running.departed().await), "cancelled");
    for late in [Order::Run, Order::Drain, Order::Settle, Order::Cancel, Order::Open] {
        running.order(late);
    }
    assert_eq!(told.recv().await, Some("dropped"));
    assert_eq!(told.recv().await, None, "and it was not polled again");
    assert!(running.is_quiet() && !outlet.blocked() && outlet.closed());
}

#[actix::test]
async fn a136_whoever_writes_to_a_task_that_is_closed_learns_of_it() {
    const WRITERS: usize = 8;
    for order in [Order::Cancel, Order::Settle] {
        let (tell, mut told) = unbounded_channel();
        let logic = Scripted::new(move |inbox, turn| {
            while let Some(Taken::Records) = inbox.take(|n| turn.pick(n)) {
                let (n, _) = inbox.records(1, |some| Ok::<_, ()>(some.count() > 0), |_| true);
                let _ = tell.send(n);
            }
            Ok(After::Input)
        });
        let mut running = Running::new(WRITERS, logic).await;
        let writers = (0..WRITERS)
            .map(|channel| writer(running.outlet(channel, 2, 3), move || Some(channel as u64)));
        let writers = writers.collect();
        for _ in 0..1_000 {
            assert_eq!(told.recv().await, Some(3));
        }
        running.order(order);
        assert_eq!(error_of(running.departed().await), "cancelled");
        for (mut outlet, gone) in joined(writers).await {
            assert!(gone, "a writer for ever ends only when the task has gone");
            outlet.advance();
            assert!(!outlet.blocked(), "what was under way has been handed back");
        }
        assert!(running.is_quiet());
    }
}

#[actix::test]
async fn a_task_whose_actor_is_dropped_in_the_middle_of_its_life_has_died() {
    let (tell, mut events) = unbounded_channel();
    let guard = Guard::new(5, Attempt::new(2), Boss(tell).start().recipient());
    guard.opened();
    drop(guard);
    assert!(matches!(events.recv().await, Some(Event::Opened)));
    let Some(Event::Departed(departure)) = events.recv().await else { panic!("a task departs") };
    assert_eq!(error_of(departure), "died");
}
