//! Our own side: each workload as a program that a user of Millstream would write, one a file.

mod exchange;
mod idle;
mod keyed;
mod late;
mod map;
mod process;
mod shares;
mod sum;
mod timers;
mod waits;
mod words;

use std::num::NonZeroUsize;

use millstream::{Dataflow, Job, Settings, Workers};
use millstream_bench_workload::{RoundRequest, SideError, Workload};

/// The workloads that our side can do.
pub(crate) fn workloads() -> Vec<Box<dyn Workload>> {
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(map::Map { step: true }),
        Box::new(exchange::Exchange),
        Box::new(keyed::KeyedSum { name: "keyed-sum" }),
        Box::new(keyed::KeyedSum { name: "keyed-work" }),
        Box::new(words::WordCount::default()),
        Box::new(late::LatencyOfExchange),
        Box::new(idle::Idle),
    ];
    workloads.extend(waits::workloads());
    workloads.extend(process::workloads());
    workloads.extend(timers::workloads());
    workloads
}

/// The workload `map` without its step.
pub(crate) fn empty_hop() -> Box<dyn Workload> {
    Box::new(map::Map { step: false })
}

/// As many arbiters and tasks as there are workers; one worker is the current arbiter.
fn settings(request: &RoundRequest) -> Result<Settings, SideError> {
    let workers = usize::try_from(request.workers).map_err(SideError::failed)?;
    let workers = NonZeroUsize::new(workers).ok_or_else(|| SideError::failed("no workers"))?;
    let batch = usize::try_from(request.batch_records).map_err(SideError::failed)?;
    let settings = Settings::new().batch_records(batch).parallelism(workers.get());
    Ok(match workers.get() {
        1 => settings,
        _ => settings.workers(Workers::Own(workers)),
    })
}

/// Runs a job to its end, inside an actix system that is made for it.
fn finish(flow: Dataflow, request: &RoundRequest) -> Result<Job, SideError> {
    let settings = settings(request)?;
    actix::System::new().block_on(async move {
        let job = flow.start(settings).await.map_err(SideError::failed)?;
        job.finished().await.map_err(SideError::failed)?;
        Ok(job)
    })
}

/// How many batches a stage has received.
fn batches(job: &Job, stage: &str) -> u64 {
    job.status().numbers.stage(stage).map_or(0, |stage| stage.numbers.batches_in)
}
