//! Proves what a task of calls does with marks: watermarks keep their places, barriers pass calls
//! that are out and a stage that is full.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use actix::{Actor, Handler};

use millstream_core::{
    Attempt, Batch, Clock, Epoch, Failure, KeyGroups, Mark, StageId, Stamped, TaskInfo, Timestamp,
};
use millstream_metrics::TaskMetrics;
use millstream_operators::Effects;
use millstream_operators::async_wait::{DeadLetter, Handlers, Limits, Order};

use super::{After, Budget, CallsLogic, CallsOf, Logic, Turn};
use crate::calls::Caller;
use crate::channel::{Branch, Deliver, Inbox, Link, Outbox, Outgoing, Resume};
use crate::clock::SystemClock;
use crate::ends::TaskContext;
use crate::offload::Offload;

/// Answers by value, and who waits for them.
#[derive(Default)]
struct Inner {
    answers: BTreeMap<u64, u64>,
    waiting: BTreeMap<u64, Waker>,
    called: Vec<u64>,
}

/// Calls that a test answers, from whatever thread.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Inner>>);

impl Desk {
    fn answer(&self, value: u64) {
        let mut inner = self.0.lock().unwrap();
        inner.answers.insert(value, value * 10);
        let waker = inner.waiting.remove(&value);
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
    }

    fn open(&self) -> Vec<u64> {
        self.0.lock().unwrap().waiting.keys().copied().collect()
    }
}

struct Asked(u64, Desk);

impl Future for Asked {
    type Output = Result<u64, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.1.0.lock().unwrap();
        match inner.answers.get(&self.0) {
            Some(answer) => Poll::Ready(Ok(*answer)),
            None => {
                inner.waiting.insert(self.0, cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Makes such calls; on threads of their own if it is told to.
struct Asking {
    desk: Desk,
    on_threads: bool,
}

impl Handlers<u64, u64> for Asking {}

impl Caller for Asking {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = Asked;

    fn call(&mut self, n: u64) -> Asked {
        self.desk.0.lock().unwrap().called.push(n);
        if self.on_threads {
            let desk = self.desk.clone();
            thread::spawn(move || desk.answer(n));
        }
        Asked(n, self.desk.clone())
    }

    fn emit(&mut self, at: Stamped<()>, answer: u64, out: &mut Effects<u64>) {
        out.emit(at.with(answer));
    }

    fn dead_letter(&mut self, _: Stamped<DeadLetter<u64>>, _: &mut Effects<u64>) {}
}

/// A way out that notes what it is given.
struct Ear(Rc<RefCell<Vec<String>>>);

impl Branch<u64> for Ear {
    fn records(&mut self, records: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        let text = |record: Stamped<u64>| match record.timestamp() {
            Some(at) => format!("{}@{}", record.value, at.millis()),
            None => record.value.to_string(),
        };
        self.0.borrow_mut().extend(records.drain(..).map(text));
        Ok(())
    }
}

impl Outgoing for Ear {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.0.borrow_mut().push(match mark {
            Mark::Watermark(at) => format!("W{}", at.millis()),
            Mark::Barrier(epoch) => format!("B{}", epoch.get()),
            Mark::Idle => "idle".to_owned(),
            Mark::Active => "active".to_owned(),
            Mark::End => "end".to_owned(),
        });
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) {}

    fn holding(&self) -> bool {
        false
    }

    fn blocked(&self) -> bool {
        false
    }

    fn filling(&self) -> bool {
        false
    }

    fn wait(&self) -> bool {
        true
    }

    fn take_sent(&mut self) -> u64 {
        0
    }

    fn batch_records(&self) -> usize {
        usize::MAX
    }
}

/// Stands in for a producer.
struct Deaf;

impl Actor for Deaf {
    type Context = actix::Context<Self>;
}

impl Handler<Resume> for Deaf {
    type Result = ();

    fn handle(&mut self, _: Resume, _: &mut Self::Context) {}
}

const CREDITS: usize = 100;

/// The logic of a task of calls between channels that a test fills and an ear.
struct Bench {
    logic: CallsLogic<Asking>,
    inbox: Inbox<u64>,
    link: Arc<Link<u64>>,
    heard: Rc<RefCell<Vec<String>>>,
    desk: Desk,
    waker: Waker,
}

impl Bench {
    fn new(order: Order, capacity: usize, channels: usize) -> Self {
        Self::of(order, capacity, channels, false)
    }

    fn of(order: Order, capacity: usize, channels: usize, on_threads: bool) -> Self {
        let metrics = Arc::<TaskMetrics>::default();
        let (heard, desk) = (Rc::<RefCell<Vec<String>>>::default(), Desk::default());
        let info = TaskInfo {
            job: "job".into(),
            stage: "call".into(),
            id: StageId::new(0),
            subtask: 0,
            parallelism: 1,
            attempt: Attempt::new(0),
            key_groups: KeyGroups::default_for(1),
        };
        let (ear, theirs) = (Ear(heard.clone()), desk.clone());
        let clock = Arc::new(SystemClock::new());
        let mut bench = Self {
            logic: CallsLogic::new(CallsOf {
                context: TaskContext { info, clock, offload: Offload::pool() },
                channels,
                batch_records: 10,
                limits: Limits { capacity, ..Limits::new(order) },
                make: Box::new(move |_| Asking { desk: theirs, on_threads }),
                wire: Box::new(move || Outbox::new(Some(Box::new(ear)), Vec::new())),
            }),
            inbox: Inbox::new(channels),
            link: Arc::new(Link::new(CREDITS, Deaf.start().recipient().downgrade(), metrics)),
            heard,
            desk,
            waker: Waker::noop().clone(),
        };
        assert!(bench.turn(|logic, _, turn| logic.open(turn).is_ready()));
        bench
    }

    fn turn<R>(
        &mut self,
        call: impl FnOnce(&mut CallsLogic<Asking>, &mut Inbox<u64>, &mut Turn<'_, '_>) -> R,
    ) -> R {
        let (clock, metrics) = (SystemClock::new(), TaskMetrics::default());
        let budget = Budget::new(&clock, 1_000, clock.monotonic(), Duration::from_secs(600));
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        let mut turn = Turn { cx: &mut cx, budget, metrics: &metrics, schedule: None };
        call(&mut self.logic, &mut self.inbox, &mut turn)
    }

    /// Works as far as that is possible; what goes on by that.
    fn works(&mut self) -> String {
        let after = self.turn(|logic, inbox, turn| logic.work(inbox, turn)).unwrap();
        assert!(matches!(after, After::Input | After::Ended));
        std::mem::take(&mut *self.heard.borrow_mut()).join(", ")
    }

    /// A batch comes by a channel, records in front of a mark: `1@1, 2, W2`.
    fn files(&mut self, channel: usize, text: &str) {
        let time = |text: &str| Timestamp::from_millis(text.parse().unwrap()).unwrap();
        let (mut records, mut mark) = (Vec::new(), None);
        for element in text.split(", ") {
            assert!(mark.is_none(), "a mark ends its batch");
            match (element, element.split_at(1)) {
                ("end", _) => mark = Some(Mark::End),
                ("idle", _) => mark = Some(Mark::Idle),
                ("active", _) => mark = Some(Mark::Active),
                (_, ("W", at)) => mark = Some(Mark::Watermark(time(at))),
                (_, ("B", n)) => mark = Some(Mark::Barrier(Epoch::new(n.parse().unwrap()))),
                _ => records.push(match element.split_once('@') {
                    Some((n, at)) => Stamped::at(n.parse().unwrap(), time(at)),
                    None => Stamped::new(element.parse().unwrap()),
                }),
            }
        }
        assert!(records.is_empty() || self.link.credits.take());
        let loan = self.link.lend(Batch { records, mark });
        let delivery = Deliver { channel, attempt: Attempt::new(0), loan };
        assert!(self.inbox.file(delivery).is_ok());
    }

    /// A batch comes and is worked off as far as that is possible.
    fn comes(&mut self, channel: usize, text: &str) -> String {
        self.files(channel, text);
        self.works()
    }

    fn answers(&mut self, value: u64) -> String {
        self.desk.answer(value);
        self.works()
    }

    fn lent(&self) -> usize {
        CREDITS - self.link.credits.available()
    }
}

/// Wakes the thread that runs the turns.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What goes on of this input when other threads answer.
fn doubled(order: Order) -> Vec<String> {
    let mut bench = Bench::of(order, 2, 1, true);
    bench.waker = Waker::from(Arc::new(Unpark(thread::current())));
    for batch in ["1@1, 2@2, W2", "3@3, end"] {
        bench.files(0, batch);
    }
    let mut all = Vec::new();
    while all.last().is_none_or(|last| last != "end") {
        let heard = bench.works();
        all.extend(heard.split(", ").filter(|it| !it.is_empty()).map(str::to_owned));
        if heard.is_empty() {
            thread::park();
        }
    }
    all
}

#[actix::test]
async fn a013_in_order_a_watermark_stands_between_the_results_of_its_records() {
    for _ in 0..100 {
        assert_eq!(doubled(Order::Ordered), ["10@1", "20@2", "W2", "30@3", "end"]);
    }
}

#[actix::test]
async fn a022_results_in_front_of_a_watermark_go_in_any_order_and_none_crosses_it() {
    for _ in 0..100 {
        let mut all = doubled(Order::Unordered);
        all[..2].sort_unstable();
        assert_eq!(all, ["10@1", "20@2", "W2", "30@3", "end"]);
    }
}

const ORDERS: [Order; 2] = [Order::Ordered, Order::Unordered];

#[actix::test]
async fn a_barrier_passes_calls_that_are_out() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 5, 1);
        assert_eq!(bench.comes(0, "1@1, 2@2, B7"), "B7");
        assert_eq!(bench.desk.open(), [1, 2]);
        assert_eq!((bench.lent(), bench.answers(1)), (0, "10@1".to_owned()));
        assert_eq!(bench.comes(0, "3@3, B8"), "B8");
        assert_eq!(bench.answers(2), "20@2");
        assert_eq!(bench.answers(3), "30@3");
    }
}

/// What had come in front of it and found no room was taken, and is called in its turn; its batch
/// is given back when it has been admitted.
#[actix::test]
async fn a_barrier_passes_a_stage_that_is_full() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 2, 1);
        bench.files(0, "1, 2, 3");
        bench.files(0, "4, 5, B7");
        bench.files(0, "6, B8");
        bench.files(0, "7");
        assert_eq!(bench.works(), "B7, B8");
        assert_eq!((bench.desk.open(), bench.lent()), (vec![1, 2], 4));
        let mut lent = Vec::new();
        for n in 1..=7 {
            assert_eq!(bench.answers(n), (n * 10).to_string());
            lent.push(bench.lent());
        }
        assert_eq!(lent, [4, 4, 4, 1, 0, 0, 0], "what is parked keeps its credits");
        assert_eq!(bench.desk.0.lock().unwrap().called, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bench.comes(0, "end"), "end");
    }
}

#[actix::test]
async fn without_a_barrier_a_full_stage_takes_nothing_more() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 2, 1);
        bench.files(0, "1, 2, 3");
        bench.files(0, "4, 5");
        assert_eq!((bench.works(), bench.lent(), bench.inbox.waiting()), (String::new(), 2, 1));
        assert_eq!(bench.answers(1), "10");
        assert_eq!((bench.lent(), bench.inbox.waiting()), (1, 1), "3 was the last of its batch");
    }
}

/// A watermark between a record and a barrier keeps its place behind the record.
#[actix::test]
async fn a_barrier_behind_a_watermark_does_not_wait_for_its_place() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 1, 1);
        bench.files(0, "1@1, W5");
        bench.files(0, "2@6, W7");
        bench.files(0, "B1");
        assert_eq!(bench.works(), "B1");
        assert_eq!(bench.answers(1), "10@1, W5");
        assert_eq!(bench.answers(2), "20@6, W7");
        assert_eq!(bench.comes(0, "end"), "end");
    }
}

#[actix::test]
async fn what_has_been_written_goes_in_front_of_a_barrier() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 2, 1);
        for n in [1, 2, 4] {
            bench.desk.answer(n);
        }
        assert_eq!(
            bench.comes(0, "1, 2, 3, 4, B1"),
            match order {
                Order::Ordered => "10, 20, B1",
                _ => "10, 20, 40, B1",
            }
        );
        assert_eq!(bench.answers(3), if order == Order::Ordered { "30, 40" } else { "30" });
    }
}

/// Of two channels the one that has delivered its barrier waits for the other, although the stage
/// is full.
#[actix::test]
async fn a_full_stage_waits_for_the_barrier_of_its_other_channel() {
    for order in ORDERS {
        let mut bench = Bench::new(order, 1, 2);
        assert_eq!(bench.comes(0, "1, 2, B1"), "");
        assert_eq!(bench.comes(0, "3"), "");
        assert_eq!(bench.comes(1, "4"), "");
        assert_eq!(bench.answers(1), "10");
        assert_eq!(bench.answers(2), "20", "4 has come in front of its barrier, 3 behind");
        assert_eq!(bench.desk.open(), [4]);
        assert_eq!(bench.comes(1, "5, B1"), "B1");
        for n in [4, 5, 3] {
            assert_eq!((bench.desk.open(), bench.answers(n)), (vec![n], (n * 10).to_string()));
        }
    }
}

/// The end of a channel stands for all its later barriers.
#[actix::test]
async fn an_end_completes_the_barrier_of_a_full_stage() {
    let mut bench = Bench::new(Order::Ordered, 1, 2);
    assert_eq!(bench.comes(0, "1, 2, B1"), "");
    assert_eq!(bench.comes(1, "end"), "B1");
    assert_eq!(bench.comes(0, "end"), "");
    assert_eq!(bench.answers(1), "10");
    assert_eq!(bench.answers(2), "20, end");
}

#[actix::test]
async fn statuses_keep_their_places_between_records() {
    let mut bench = Bench::new(Order::Ordered, 10, 1);
    for batch in ["1@1, W2", "2@3, idle", "active", "3@4, W5"] {
        assert_eq!(bench.comes(0, batch), "");
    }
    assert_eq!(bench.answers(2), "");
    assert_eq!(bench.answers(1), "10@1, W2, 20@3, idle, active");
    assert_eq!(bench.answers(3), "30@4, W5");
}
