//! Everything that ends a run without a figure.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use millstream_bench_workload::{ProtocolError, TextError};

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The workload has no such peer.
    #[error("{workload:?} cannot be measured against {peer:?}, only against {peers}")]
    NotAgainst { workload: &'static str, peer: &'static str, peers: String },
    /// The side is another program.
    #[error("{side:?} is a program of its own and cannot be served by this one")]
    Elsewhere { side: &'static str },
    /// Nobody knows where this program lies.
    #[error("the folder of this program is not known, so there is no place to build peers in")]
    NoPlace(#[source] io::Error),
    /// `cargo build` could not be started.
    #[error("cargo cannot be started to build the peer {peer:?}")]
    Cargo { peer: &'static str, source: io::Error },
    /// `cargo build` failed.
    #[error("the peer {peer:?} was not built ({status}): try {command}")]
    Build { peer: &'static str, status: ExitStatus, command: String },
    /// The side's process could not be started.
    #[error("the side {side:?} cannot be started as {}", program.display())]
    Start { side: &'static str, program: PathBuf, source: io::Error },
    /// The side's process ended.
    #[error("the side {side:?} ended in the middle of the run ({status}); see what it said above")]
    Ended { side: &'static str, status: String },
    /// The side does not answer.
    #[error(
        "the side {side:?} is silent for {limit:?}: it hangs, or has {records} records too many"
    )]
    Silent { side: &'static str, limit: Duration, records: u64 },
    /// The pipe to or from the side broke.
    #[error("the pipe of the side {side:?} is broken")]
    Pipe { side: &'static str, source: io::Error },
    /// The side does not keep to the protocol.
    #[error("the side {side:?} does not keep to the protocol")]
    Protocol { side: &'static str, source: ProtocolError },
    /// The side could not do the round.
    #[error("the side {side:?} could not do its round of {workload:?}: {error}")]
    Refused { side: &'static str, workload: String, error: String },
    /// A round stays too short to be measured.
    #[error("the side {side:?} does {records} records in {seconds} s: too short to be measured")]
    Short { side: &'static str, records: u64, seconds: f64 },
    /// A side let other than the wanted number of records through.
    #[error("of {wanted} records {} came out of {:?}, {} of {:?}", ours.1, ours.0, peer.1, peer.0)]
    Records { wanted: u64, ours: (&'static str, u64), peer: (&'static str, u64) },
    /// The results differ.
    #[error(
        "the results differ on {records} records: checksum {:#x} of {:?}, {:#x} of {:?}",
        ours.1, ours.0, peer.1, peer.0
    )]
    Checksum { records: u64, ours: (&'static str, u64), peer: (&'static str, u64) },
    /// The exchange was none.
    #[error("no exchange: {got} batches reached the second task, {records} records need {least}")]
    Batches { got: u64, least: u64, records: u64 },
    /// A side did not say how old its records were.
    #[error("the side {side:?} did not say how old its records were")]
    NoLatency { side: &'static str },
    /// The text cannot be made.
    #[error("the text {} cannot be made", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The text cannot be used.
    #[error("the text cannot be used")]
    Text(#[from] TextError),
    /// A row cannot be written as JSON.
    #[error("a row cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}
