//! A whole job on real data: who flew late out of New York, by carrier and by airport and day.
//!
//! Reads the flights of January 2013 from a packed CSV file and the names of the carriers from
//! another one, keeps two keyed tables, writes both as JSON Lines and shows them at the end. The
//! files come out the same, byte for byte, at every parallelism.
//!
//! Run it: `cargo run --release --example flights`, and with `-- --help` for what it can do besides

mod arguments;
mod flight;
mod graph;
mod report;
mod sorted;
mod totals;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use examples::{progress, say};

use arguments::Arguments;

#[actix::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flights: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let settings = arguments.settings()?;
    let input = arguments.input();
    let (flow, tables) = graph::build(&input, &arguments.carriers_file(), &arguments.out);
    if arguments.plan {
        return Ok(say(&flow.plan(&settings).to_mermaid())?);
    }
    let bar = progress::bar(&input);
    let job = flow.start(settings).await?;
    progress::follow(&job, "flights", &bar).await?;
    let report = report::text(&tables.carriers.take(), &tables.origins.take());
    let out = arguments.out.display();
    Ok(say(&format!("{report}\nBoth tables, the second by day, are in {out}\n"))?)
}
