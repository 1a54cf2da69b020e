//! Proves which channels a barrier holds up, in the task of an operator with two of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use actix::{Actor, Handler};

use millstream_core::{
    Attempt, Batch, Clock, Epoch, Failure, KeyGroups, Mark, StageId, Stamped, TaskInfo,
};
use millstream_metrics::TaskMetrics;
use millstream_operators::{Effects, NoTimer, Operator};

use super::{Budget, Logic, OperatorLogic, OperatorOf, TaskTimersOf, Turn};
use crate::channel::{Branch, Deliver, Inbox, Link, Outbox, Outgoing, Resume};
use crate::clock::SystemClock;
use crate::settings::Limits;
use Element::{Barrier, Record};

/// Passes on what comes.
struct Pass;

impl Operator for Pass {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.emit(record);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Record(u64),
    Barrier(u64),
}

/// A way out that notes what it is given.
struct Ear(Rc<RefCell<Vec<Element>>>);

impl Branch<u64> for Ear {
    fn records(&mut self, records: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        self.0.borrow_mut().extend(records.drain(..).map(|record| Record(record.value)));
        Ok(())
    }
}

impl Outgoing for Ear {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        let Mark::Barrier(epoch) = mark else { panic!("nothing but barriers: {mark:?}") };
        self.0.borrow_mut().push(Barrier(epoch.get()));
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

/// An operator's logic between two channels that a test fills and an ear.
struct Bench {
    logic: OperatorLogic<Pass>,
    inbox: Inbox<u64>,
    link: Arc<Link<u64>>,
    heard: Rc<RefCell<Vec<Element>>>,
}

impl Bench {
    fn new() -> Self {
        let metrics = Arc::<TaskMetrics>::default();
        let heard = Rc::<RefCell<Vec<Element>>>::default();
        let info = TaskInfo {
            job: "job".into(),
            stage: "pass".into(),
            id: StageId::new(0),
            subtask: 0,
            parallelism: 1,
            attempt: Attempt::new(0),
            key_groups: KeyGroups::default_for(1),
        };
        let ear = Ear(heard.clone());
        let timers =
            TaskTimersOf::new(&info, Arc::new(SystemClock::new()), None, &Limits::default());
        let mut bench = Self {
            logic: OperatorLogic::new(OperatorOf {
                info,
                channels: 2,
                batch_records: 10,
                timers,
                make: Box::new(|_| Pass),
                wire: Box::new(move || Outbox::new(Some(Box::new(ear)), Vec::new())),
            }),
            inbox: Inbox::new(2),
            link: Arc::new(Link::new(100, Deaf.start().recipient().downgrade(), metrics)),
            heard,
        };
        assert!(bench.turn(|logic, _, turn| logic.open(turn).is_ready()));
        bench
    }

    fn turn<R>(
        &mut self,
        call: impl FnOnce(&mut OperatorLogic<Pass>, &mut Inbox<u64>, &mut Turn<'_, '_>) -> R,
    ) -> R {
        let (clock, metrics) = (SystemClock::new(), TaskMetrics::default());
        let budget = Budget::new(&clock, 1_000, clock.monotonic(), Duration::from_secs(600));
        let mut cx = Context::from_waker(Waker::noop());
        let mut turn = Turn { cx: &mut cx, budget, metrics: &metrics, schedule: None };
        call(&mut self.logic, &mut self.inbox, &mut turn)
    }

    /// What goes on when this has come by a channel.
    fn comes(&mut self, channel: usize, elements: &[Element]) -> Vec<Element> {
        for element in elements {
            let batch = match *element {
                Record(n) => {
                    assert!(self.link.credits.take());
                    Batch::of(vec![Stamped::new(n)])
                }
                Barrier(epoch) => Batch::mark(Mark::Barrier(Epoch::new(epoch))),
            };
            let loan = self.link.lend(batch);
            let delivery = Deliver { channel, attempt: Attempt::new(0), loan };
            assert!(self.inbox.file(delivery).is_ok());
        }
        self.turn(|logic, inbox, turn| logic.work(inbox, turn).map(drop)).unwrap();
        std::mem::take(&mut self.heard.borrow_mut())
    }
}

#[actix::test]
async fn a_channel_waits_behind_its_barrier_until_the_other_has_delivered_it() {
    let mut bench = Bench::new();
    assert_eq!(bench.comes(0, &[Record(1), Barrier(1), Record(2)]), [Record(1)]);
    assert_eq!(bench.comes(1, &[Record(3)]), [Record(3)]);
    assert_eq!(bench.comes(1, &[Barrier(1), Record(4)]), [Barrier(1), Record(4), Record(2)]);
}

#[actix::test]
async fn a_barrier_that_comes_too_late_holds_nothing_up() {
    let mut bench = Bench::new();
    assert_eq!(bench.comes(0, &[Barrier(2), Record(1)]), []);
    assert_eq!(bench.comes(1, &[Barrier(1), Record(2)]), [Record(2)]);
    assert_eq!(bench.comes(1, &[Barrier(2)]), [Barrier(2), Record(1)]);
}

#[actix::test]
async fn a_newer_barrier_lets_those_go_on_that_waited_for_the_older_one() {
    let mut bench = Bench::new();
    assert_eq!(bench.comes(0, &[Barrier(1), Record(1)]), []);
    assert_eq!(bench.comes(1, &[Barrier(2), Record(2)]), [Record(1)]);
    assert_eq!(bench.comes(0, &[Record(3), Barrier(2)]), [Record(3), Barrier(2), Record(2)]);
}
