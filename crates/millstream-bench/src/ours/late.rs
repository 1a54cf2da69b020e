//! `latency`: a generator with a rate, an exchange to a second actor, a sink that notes ages.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream::{
    Dataflow, Failure, Read, ReadContext, Reader, Sink, Source, Stamped as Record, TaskContext,
    Wake, Writer,
};
use millstream_bench_workload::{Checksum, Outcome, RoundRequest, SideError, Workload};

use crate::latency::{Ages, Schedule, Stamped};

/// tokio's timers tick once a millisecond: a source with a rate makes in one go what is due.
const TICK: Duration = Duration::from_millis(1);

const SECOND: &str = "second";

pub(super) struct LatencyOfExchange;

impl Workload for LatencyOfExchange {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "latency", field: "rate" };
        let schedule = Schedule::new(request.rate.ok_or(lacks)?);
        let noted = Noted {
            ages: Arc::new(Mutex::new(Some(Ages::new(schedule)?))),
            outcome: Arc::default(),
        };
        let flow = Dataflow::new("latency");
        flow.source("due", Due { schedule, records: request.records })
            .rebalance(SECOND)
            .sink("ages", noted.clone());
        let job = super::finish(flow, request)?;
        let batches = super::batches(&job, SECOND);
        let outcome = noted.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        let outcome = outcome.ok_or_else(|| SideError::failed("the sink noted nothing"))?;
        Ok(Outcome { batches, ..outcome })
    }
}

/// A source of records that are stamped when they are made.
#[derive(Clone)]
struct Due {
    schedule: Schedule,
    records: u64,
}

struct DueReader {
    of: Due,
    next: u64,
    wake: Option<Wake>,
}

impl Source for Due {
    type Out = Stamped;
    type Position = u64;
    type Reader = DueReader;

    async fn open(
        &self,
        _: &str,
        position: Option<u64>,
        _: &TaskContext,
    ) -> Result<DueReader, Failure> {
        Ok(DueReader { of: self.clone(), next: position.unwrap_or(0), wake: None })
    }
}

impl Reader for DueReader {
    type Out = Stamped;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, Stamped>) -> Result<Read, Failure> {
        let due = self.of.schedule.due().min(self.of.records);
        let last = due.min(self.next + cx.budget() as u64);
        while self.next < last {
            cx.emit(Record::new(self.of.schedule.stamp(self.next)));
            self.next += 1;
        }
        if self.next == self.of.records {
            return Ok(Read::Ended);
        }
        if self.next < due {
            return Ok(Read::Ready);
        }
        let tick = cx.clock().monotonic().plus(TICK);
        let wake = self.wake.insert(cx.clock().wake_at(tick));
        Ok(match wake.as_mut().poll(cx.context()).is_ready() {
            true => Read::Ready,
            false => Read::Later,
        })
    }

    fn position(&self) -> u64 {
        self.next
    }
}

/// What the sink hands out at the end.
#[derive(Clone)]
struct Noted {
    /// Taken by the one writer there is.
    ages: Arc<Mutex<Option<Ages>>>,
    outcome: Arc<Mutex<Option<Outcome>>>,
}

struct Noting {
    of: Noted,
    ages: Ages,
    records: u64,
    checksum: Checksum,
}

impl Sink for Noted {
    type In = Stamped;
    type Transaction = ();
    type Writer = Noting;

    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Noting, Failure> {
        let ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ages = ages.ok_or_else(|| Failure::new("the sink is opened twice"))?;
        Ok(Noting { of: self.clone(), ages, records: 0, checksum: Checksum::default() })
    }
}

impl Writer for Noting {
    type In = Stamped;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Record<Stamped>>) -> Result<(), Failure> {
        for record in batch.drain(..) {
            self.ages.add(&record.value);
            self.checksum.add(record.value.number);
            self.records += 1;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let latency = Some(self.ages.latency());
        let (records, checksum) = (self.records, self.checksum);
        let outcome = Outcome { records, checksum, batches: 0, latency };
        *self.of.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        Ok(())
    }
}
