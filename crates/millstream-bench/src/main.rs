//! Measures Millstream against its peers: the same work on the same data, in turns, in one run.
//!
//! Each side is a process of its own that lives through the run and does one round a line, see
//! [`millstream_bench_workload`]. Our own side is one too, a second process of this program: so
//! both sides have an allocator, a heap and a clock of processor time to themselves, both pay the
//! same pipe, and nothing of what draws the progress bar is counted as work of either.

mod args;
mod catalogue;
mod child;
mod error;
mod figures;
mod floor;
mod latency;
mod load;
mod ours;
mod places;
mod rounds;
mod run;
mod show;

use std::error::Error;
use std::io;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::catalogue::{Program, Side};
use crate::error::BenchError;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.serve {
        Some(side) => serve(side),
        None if args.list => {
            println!("{}", show::list());
            Ok(())
        }
        None => run::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let causes = std::iter::successors(error.source(), |&cause| cause.source());
            causes.for_each(|cause| eprintln!("  because {cause}"));
            ExitCode::FAILURE
        }
    }
}

/// Is one of the sides that live in this program.
fn serve(side: Side) -> Result<(), BenchError> {
    let mut workloads = match side.program() {
        Program::Ourselves(Side::EmptyHop) => vec![ours::empty_hop()],
        Program::Ourselves(Side::TokioChannel) => floor::workloads(),
        Program::Ourselves(_) => ours::workloads(),
        Program::Peer(_) => return Err(BenchError::Elsewhere { side: side.name() }),
    };
    millstream_bench_workload::serve(&mut workloads, io::stdin().lock(), io::stdout().lock())
        .map_err(|source| BenchError::Pipe { side: side.name(), source })
}
