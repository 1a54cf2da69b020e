//! Both ends of a channel, by hand and against naive models.

mod branch;
mod dropped;
mod inbox;
mod loan;
mod outlet;
mod whole;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use actix::{Actor, Addr, Handler, WeakRecipient};

use millstream_core::{Attempt, Epoch, Mark, Stamped, Timestamp};
use millstream_metrics::TaskMetrics;
use proptest::prelude::*;

use super::deliver::{Deliver, Link, Resume};
use super::outlet::{Outlet, OutletOf};

/// An actor that is polled by hand: it handles what lies in its mailbox when it is told to.
struct ByHand<A: Actor> {
    address: Addr<A>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

impl<A: Actor<Context = actix::Context<A>>> ByHand<A> {
    fn new(actor: A) -> Self {
        let context = actix::Context::new();
        let address = actix::AsyncContext::address(&context);
        Self { address, future: Box::pin(context.into_future(actor)) }
    }

    fn handle_all(&mut self) {
        let _ = self.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// A producer that counts how often it is told to go on.
struct Producer(Rc<Cell<usize>>);

impl Actor for Producer {
    type Context = actix::Context<Self>;
}

impl Handler<Resume> for Producer {
    type Result = ();

    fn handle(&mut self, _: Resume, _: &mut Self::Context) {
        self.0.set(self.0.get() + 1);
    }
}

/// A receiver that keeps what it is given, and with it the credits.
struct Receiver<T: Send + 'static>(Rc<RefCell<Vec<Deliver<T>>>>);

impl<T: Send + 'static> Actor for Receiver<T> {
    type Context = actix::Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(0);
    }
}

impl<T: Send + 'static> Handler<Deliver<T>> for Receiver<T> {
    type Result = ();

    fn handle(&mut self, delivery: Deliver<T>, _: &mut Self::Context) {
        self.0.borrow_mut().push(delivery);
    }
}

/// A producer that nobody hears.
fn nobody() -> WeakRecipient<Resume> {
    ByHand::new(Producer(Rc::default())).address.recipient().downgrade()
}

/// A channel whose ends are both in the hands of a test: the outlet is taken out of it.
struct Wire<T: Send + 'static> {
    receiver: ByHand<Receiver<T>>,
    producer: ByHand<Producer>,
    told: Rc<Cell<usize>>,
    /// What the receiver has been given and keeps.
    kept: Rc<RefCell<Vec<Deliver<T>>>>,
    metrics: Arc<TaskMetrics>,
    credits: usize,
    /// How many batches with records have been made free again.
    freed: usize,
    /// All that has come, in order.
    came: Vec<Element<T>>,
    deliveries: u64,
}

/// What comes by a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element<T> {
    Record(T),
    Mark(Mark),
}

impl<T: Send + Clone + 'static> Wire<T> {
    fn new(channel: usize, credits: usize, batch_records: usize) -> (Self, Outlet<T>) {
        let (told, kept) = (Rc::default(), Rc::default());
        let producer = ByHand::new(Producer(Rc::clone(&told)));
        let receiver = ByHand::new(Receiver(Rc::clone(&kept)));
        let metrics = Arc::new(TaskMetrics::default());
        let resume = producer.address.clone().recipient().downgrade();
        let outlet = Outlet::new(OutletOf {
            to: receiver.address.clone().recipient(),
            channel,
            attempt: Attempt::new(7),
            link: Link::new(credits, resume, metrics.clone()),
            batch_records,
        });
        let came = Vec::new();
        let wire = Self {
            receiver,
            producer,
            told,
            kept,
            metrics,
            credits,
            freed: 0,
            came,
            deliveries: 0,
        };
        (wire, outlet)
    }

    /// Takes in what was sent, and checks what holds for every delivery.
    fn receive(&mut self, channel: usize, batch_records: usize) {
        let before = self.kept.borrow().len();
        self.receiver.handle_all();
        for delivery in &self.kept.borrow()[before..] {
            self.deliveries += 1;
            assert_eq!((delivery.channel, delivery.attempt), (channel, Attempt::new(7)));
            let batch = &delivery.loan.batch;
            assert_eq!(delivery.loan.lent(), batch.records.len());
            assert!(batch.records.len() <= batch_records, "a batch is not larger than it may be");
            assert!(!batch.records.is_empty() || batch.mark.is_some(), "no batch is empty");
            let records = batch.records.iter().map(|record| Element::Record(record.value.clone()));
            self.came.extend(records);
            self.came.extend(batch.mark.map(Element::Mark));
        }
        assert!(self.under_way() <= self.credits, "no more batches than credits are under way");
    }

    /// Batches that hold a credit.
    fn under_way(&self) -> usize {
        self.kept.borrow().iter().filter(|delivery| delivery.loan.lent() > 0).count()
    }

    /// Records that have come and were not dropped.
    fn records_kept(&self) -> usize {
        self.kept.borrow().iter().map(|delivery| delivery.loan.lent()).sum()
    }

    /// How many records each of them has.
    fn sizes(&self) -> Vec<usize> {
        self.kept.borrow().iter().map(|delivery| delivery.loan.lent()).collect()
    }

    /// Drops one of the deliveries that are kept.
    fn free(&mut self, which: usize) {
        let delivery = {
            let mut kept = self.kept.borrow_mut();
            let n = kept.len();
            (n > 0).then(|| kept.remove(which % n))
        };
        if let Some(delivery) = delivery {
            self.freed += usize::from(delivery.loan.lent() > 0);
        }
    }

    fn free_all(&mut self) {
        while !self.kept.borrow().is_empty() {
            self.free(0);
        }
    }

    /// How often the producer has been told to go on.
    fn told(&mut self) -> usize {
        self.producer.handle_all();
        self.told.get()
    }
}

/// What is said by these elements once those that another one next to them makes needless are left
/// out: of adjacent watermarks only the newest counts, of equal statuses one, and who becomes
/// active only to be idle has been idle.
fn essence<T: Clone>(elements: &[Element<T>]) -> Vec<Element<T>> {
    let mut essence: Vec<Element<T>> = Vec::new();
    for element in elements {
        while let (Some(Element::Mark(last)), Element::Mark(next)) = (essence.last(), element)
            && matches!(
                (last, next),
                (Mark::Watermark(_), Mark::Watermark(_))
                    | (Mark::Active, Mark::Active | Mark::Idle)
                    | (Mark::Idle, Mark::Idle)
            )
        {
            essence.pop();
        }
        essence.push(element.clone());
    }
    essence
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN)
}

fn stamped(values: impl IntoIterator<Item = u64>) -> Vec<Stamped<u64>> {
    values.into_iter().map(Stamped::new).collect()
}

/// Any mark but the end. Whether it may come where it comes, its grammar says.
fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        6 => (0..40_i64).prop_map(|millis| Mark::Watermark(at(millis))),
        2 => Just(Mark::Idle),
        2 => Just(Mark::Active),
        2 => (0..9_u64).prop_map(|epoch| Mark::Barrier(Epoch::new(epoch))),
    ]
}
