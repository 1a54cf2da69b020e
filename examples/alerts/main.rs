//! Something that has not happened: flights that have left New York and have not landed half an
//! hour after they should have.
//!
//! Departures and arrivals are two streams, each in its own order. They meet by flight; a departure
//! sets a timer at the scheduled arrival plus thirty minutes, the arrival deletes it, and a timer
//! that fires is an alert. Times are instants, derived from clock times and time zones.
//!
//! Run it: `cargo run --release --example alerts`, and with `-- --help` for what it can do besides

mod flight;
mod graph;
mod overdue;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use examples::{data, grouped, say};
use millstream::Settings;

use overdue::News;

/// Alerts for flights that have not landed half an hour after they should have
#[derive(Parser)]
#[command(name = "alerts")]
struct Arguments {
    /// CSV file of flights, packed if it ends in .gz [default: those of January 2013]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// File that a line is written to for each alert, and for each landing that follows one
    #[arg(long, value_name = "FILE", default_value = "target/alerts.jsonl")]
    out: PathBuf,
}

#[actix::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("alerts: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let input = arguments.input.clone().unwrap_or_else(|| data("flights-2013-01.csv.gz"));
    let (departures, arrivals) = graph::events(&input).await?;
    let (left, landed) = (departures.len() as u64, arrivals.len() as u64);
    let (flow, news) = graph::build(departures, arrivals, &arguments.out);
    flow.start(Settings::from_env()?).await?.finished().await?;
    let news = news.take();
    let alerts = news.iter().filter(|it| matches!(it, News::Overdue { .. })).count() as u64;
    let later = news.len() as u64 - alerts;
    let (left, landed) = (grouped(left), grouped(landed));
    Ok(say(&format!(
        "{left} flights left, {landed} landed where they were to.\n\
         {} alerts: {} landed later than that, {} never did.\n\n\
         They are in {}\n",
        grouped(alerts),
        grouped(later),
        grouped(alerts - later),
        arguments.out.display()
    ))?)
}
