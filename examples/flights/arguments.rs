//! What can be said on the command line, and what is meant when nothing is said.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use clap::Parser;
use examples::data;
use millstream::{Settings, SettingsError, Workers};

/// Flights, cancellations and mean departure delays, by carrier and by airport and day
#[derive(Parser)]
#[command(name = "flights")]
pub(crate) struct Arguments {
    /// CSV file of flights, packed if it ends in .gz [default: those of January 2013]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Folder for carriers.jsonl and origins.jsonl
    #[arg(long, value_name = "DIR", default_value = "target/flights")]
    pub(crate) out: PathBuf,

    /// Tasks that share the work on each table [default: 1]
    #[arg(long, value_name = "TASKS")]
    parallelism: Option<NonZeroUsize>,

    /// Print the graph as a Mermaid chart and run nothing
    #[arg(long)]
    pub(crate) plan: bool,
}

impl Arguments {
    /// The flights to be read.
    pub(crate) fn input(&self) -> PathBuf {
        self.input.clone().unwrap_or_else(|| data("flights-2013-01.csv.gz"))
    }

    /// The names of the carriers.
    pub(crate) fn carriers_file(&self) -> PathBuf {
        data("airlines.csv.gz")
    }

    /// What the environment says, changed by what the command line says. Tasks share the cores;
    /// more threads than cores would only take turns.
    pub(crate) fn settings(&self) -> Result<Settings, SettingsError> {
        let settings = Settings::from_env()?;
        let Some(parallelism) = self.parallelism else { return Ok(settings) };
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let workers = Workers::Own(parallelism.min(cores));
        Ok(settings.parallelism(parallelism.get()).workers(workers))
    }
}
