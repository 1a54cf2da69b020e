//! The three actors. Each record is one `do_send` to the operator and one to the sink.

use actix::prelude::*;
use millstream_bench_workload::Outcome;
use tokio::sync::oneshot::{self, error::RecvError};

use crate::Job;

/// Records under way at most: what a mailbox must hold, since `do_send` heeds no bound.
const UNACKNOWLEDGED_MAX: u64 = 1_024;

/// Records that the sink acknowledges with one message. More messages would only cost more.
const ACKNOWLEDGED_AT_ONCE: u64 = UNACKNOWLEDGED_MAX / 2;

/// Starts the three actors and waits for what the sink has found.
pub(crate) fn run<J: Job>(records: u64) -> Result<Outcome, RecvError> {
    System::new().block_on(async move {
        let (finished, found) = oneshot::channel();
        Source::<J>::create(|context| {
            let source = context.address();
            let sink = Sink { outcome: Outcome::default(), source, finished: Some(finished) };
            let operator = Operator { job: J::default(), sink: sink.start() }.start();
            Source { numbers: J::numbers(records), operator, under_way: 0 }
        });
        found.await
    })
}

/// One record on its way from one actor to the next.
#[derive(Message)]
#[rtype(result = "()")]
struct Record<T>(T);

/// No record follows.
#[derive(Message)]
#[rtype(result = "()")]
struct End;

/// So many records have arrived at the sink.
#[derive(Message)]
#[rtype(result = "()")]
struct Arrived(u64);

/// Makes records as long as not too many are under way.
struct Source<J: Job> {
    numbers: J::Numbers,
    operator: Addr<Operator<J>>,
    under_way: u64,
}

impl<J: Job> Source<J> {
    fn make(&mut self, context: &mut Context<Self>) {
        while self.under_way < UNACKNOWLEDGED_MAX {
            let Some(number) = self.numbers.next() else {
                self.operator.do_send(End);
                return context.stop();
            };
            self.operator.do_send(Record(number));
            self.under_way += 1;
        }
    }
}

impl<J: Job> Actor for Source<J> {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.make(context);
    }
}

impl<J: Job> Handler<Arrived> for Source<J> {
    type Result = ();

    fn handle(&mut self, Arrived(records): Arrived, context: &mut Context<Self>) {
        self.under_way -= records;
        self.make(context);
    }
}

/// Operates on each record.
struct Operator<J: Job> {
    job: J,
    sink: Addr<Sink<J>>,
}

impl<J: Job> Actor for Operator<J> {
    type Context = Context<Self>;
}

impl<J: Job> Handler<Record<J::Item>> for Operator<J> {
    type Result = ();

    fn handle(&mut self, Record(item): Record<J::Item>, _context: &mut Context<Self>) {
        self.sink.do_send(Record(self.job.operate(item)));
    }
}

impl<J: Job> Handler<End> for Operator<J> {
    type Result = ();

    fn handle(&mut self, end: End, context: &mut Context<Self>) {
        self.sink.do_send(end);
        context.stop();
    }
}

/// Adds up what arrives, and says so to the source.
struct Sink<J: Job> {
    outcome: Outcome,
    source: Addr<Source<J>>,
    finished: Option<oneshot::Sender<Outcome>>,
}

impl<J: Job> Actor for Sink<J> {
    type Context = Context<Self>;
}

impl<J: Job> Handler<Record<J::Item>> for Sink<J> {
    type Result = ();

    fn handle(&mut self, Record(item): Record<J::Item>, _context: &mut Context<Self>) {
        self.outcome.records += 1;
        self.outcome.checksum.add(J::digest(item));
        if self.outcome.records % ACKNOWLEDGED_AT_ONCE == 0 {
            self.source.do_send(Arrived(ACKNOWLEDGED_AT_ONCE));
        }
    }
}

impl<J: Job> Handler<End> for Sink<J> {
    type Result = ();

    fn handle(&mut self, _end: End, context: &mut Context<Self>) {
        if let Some(finished) = self.finished.take() {
            // Nobody waits only when the round was given up.
            let _ = finished.send(self.outcome);
        }
        context.stop();
    }
}
