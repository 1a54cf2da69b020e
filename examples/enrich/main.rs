//! Calls to an outside system: each flight asks a slow service for its plane and its airport.
//!
//! The service is a table in memory that takes its time to answer: a millisecond or so, and for one
//! request of a hundred ten. A hundred flights ask at once. The job runs twice, with results in the
//! order of the file and as they come, and shows at the end what the order has cost.
//!
//! Run it: `cargo run --release --example enrich`, and with `-- --help` for what it can do besides

mod arguments;
mod graph;
mod report;
mod rows;
mod service;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use examples::{progress, say};
use millstream::{Clock, Settings, SystemClock};

use arguments::Arguments;
use graph::{Mode, Services};
use report::Run;

#[actix::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("enrich: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let services = Services::load(arguments.seed).await?;
    let ordered = run_as(Mode::Ordered, arguments, &services).await?;
    let unordered = run_as(Mode::Unordered, arguments, &services).await?;
    let report = report::text(&ordered, &unordered);
    let out = arguments.out.display();
    Ok(say(&format!("{report}\nThe flights of both runs are in {out}\n"))?)
}

/// One life of the job, from its start to its end.
async fn run_as(
    mode: Mode,
    arguments: &Arguments,
    services: &Services,
) -> Result<Run, Box<dyn Error>> {
    let input = arguments.input();
    let clock = SystemClock::new();
    let (flow, shown) = graph::build(mode, arguments, services, clock);
    let bar = progress::bar(&input).with_prefix(format!("{mode:<10}"));
    let began = clock.monotonic();
    let job = flow.start(Settings::from_env()?).await?;
    progress::follow(&job, graph::STAGE, &bar).await?;
    let took = clock.monotonic().since(began);
    // The registry keeps the numbers of a job that has ended.
    let numbers = job.status().numbers;
    let calls = numbers.stage(graph::STAGE).and_then(|stage| stage.numbers.calls.clone());
    let latency = calls.unwrap_or_default().latency;
    let call_ns = report::QUANTILES.map(|share| latency.quantile(share));
    Ok(Run::new(mode, took, call_ns, &shown.take()))
}
