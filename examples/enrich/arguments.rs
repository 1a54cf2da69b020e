//! What can be said on the command line, and what is meant when nothing is said.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use examples::data;

/// Flights with their planes and airports from a slow service, in order and as they come
#[derive(Parser)]
#[command(name = "enrich")]
pub(crate) struct Arguments {
    /// CSV file of flights, packed if it ends in .gz [default: those of January 2013]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Folder for ordered.jsonl and unordered.jsonl
    #[arg(long, value_name = "DIR", default_value = "target/enrich")]
    pub(crate) out: PathBuf,

    /// Where the chance begins that decides how long each answer takes
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// Flights that are asked about at once, at most
    #[arg(long, value_name = "FLIGHTS", default_value = "100")]
    pub(crate) capacity: NonZeroUsize,
}

impl Arguments {
    /// The flights to be read.
    pub(crate) fn input(&self) -> PathBuf {
        self.input.clone().unwrap_or_else(|| data("flights-2013-01.csv.gz"))
    }
}
