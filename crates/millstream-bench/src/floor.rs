//! The machine's own floor: what a bare tokio channel between two threads costs.

use std::thread;
use std::time::Duration;

use millstream_bench_workload::{Checksum, Outcome, RoundRequest, SideError, Workload};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::interval;

use crate::latency::{Ages, Schedule, Stamped};

/// Records in the channel: what 16 batches of 1,024 hold.
const CHANNEL_RECORDS: usize = 16 * 1_024;

/// Tasks of the idle floor.
const IDLE_TASKS: usize = 20;

/// tokio's timers tick once a millisecond: a source with a rate makes in one go what is due.
const TICK: Duration = Duration::from_millis(1);

/// The workloads that have a floor.
pub(crate) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(FloorLatency), Box::new(FloorIdle)]
}

fn runtime() -> Result<Runtime, SideError> {
    Builder::new_current_thread().enable_time().build().map_err(SideError::failed)
}

/// `latency`: a generator on one thread, a sink on another, a channel between them.
struct FloorLatency;

impl Workload for FloorLatency {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "latency", field: "rate" };
        let rate = request.rate.ok_or(lacks)?;
        let (sink, source) = (runtime()?, runtime()?);
        let (out, input) = channel(CHANNEL_RECORDS);
        let schedule = Schedule::new(rate);
        let records = request.records;
        let made = thread::spawn(move || source.block_on(generate(records, schedule, out)));
        let outcome = sink.block_on(collect(input, Ages::new(schedule)?));
        made.join().map_err(|_| SideError::failed("the generator panicked"))?;
        Ok(outcome)
    }
}

async fn generate(records: u64, schedule: Schedule, out: Sender<Stamped>) {
    let mut ticks = interval(TICK);
    let mut next = 0;
    while next < records {
        ticks.tick().await;
        let due = schedule.due().min(records);
        while next < due {
            if out.send(schedule.stamp(next)).await.is_err() {
                return;
            }
            next += 1;
        }
    }
}

async fn collect(mut input: Receiver<Stamped>, mut ages: Ages) -> Outcome {
    let (mut records, mut checksum) = (0, Checksum::default());
    while let Some(record) = input.recv().await {
        ages.add(&record);
        checksum.add(record.number);
        records += 1;
    }
    Outcome { records, checksum, batches: 0, latency: Some(ages.latency()) }
}

/// `idle`: a chain of tasks that wait for records which never come.
struct FloorIdle;

impl Workload for FloorIdle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "idle", field: "idle_seconds" };
        let idle = Duration::try_from_secs_f64(request.idle_seconds.ok_or(lacks)?)
            .map_err(SideError::failed)?;
        runtime()?.block_on(async {
            let mut tasks = JoinSet::new();
            let (first, mut input) = channel::<u64>(CHANNEL_RECORDS);
            for _ in 0..IDLE_TASKS {
                let (out, next) = channel(CHANNEL_RECORDS);
                tasks.spawn(forward(std::mem::replace(&mut input, next), out));
            }
            tokio::time::sleep(idle).await;
            drop((first, input));
            tasks.join_all().await;
        });
        Ok(Outcome::default())
    }
}

async fn forward(mut input: Receiver<u64>, out: Sender<u64>) {
    while let Some(record) = input.recv().await {
        if out.send(record).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_comes_out_with_an_age() {
        let request =
            RoundRequest { records: 1_000, rate: Some(1_000_000), ..RoundRequest::new("latency") };
        let outcome = FloorLatency.round(&request).unwrap();
        assert_eq!(outcome.records, 1_000);
        assert_eq!(outcome.checksum.value(), (0..1_000).sum::<u64>());
        assert!(outcome.latency.unwrap().p50_ms > 0.0);
    }

    #[test]
    fn the_idle_chain_ends() {
        let request = RoundRequest { idle_seconds: Some(0.0), ..RoundRequest::new("idle") };
        assert_eq!(FloorIdle.round(&request).unwrap(), Outcome::default());
    }

    #[test]
    fn what_a_round_needs_is_asked_for() {
        let lacks = |error| match error {
            Err(SideError::Lacks { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(lacks(FloorLatency.round(&RoundRequest::new("latency"))), "rate");
        assert_eq!(lacks(FloorIdle.round(&RoundRequest::new("idle"))), "idle_seconds");
    }
}
