//! Stateful stream processing inside a Rust service, in which every operator is an actix actor.
//!
//! A [`Dataflow`] is built from streams: a [`Stream`] is what leaves a stage, with the stateless
//! steps that are fused to it; a [`KeyedStream`] has a key. Starting it makes actors of its stages
//! and gives a [`Job`].
//!
//! ```
//! use millstream::prelude::*;
//!
//! #[actix::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let flow = Dataflow::new("words");
//!     let counts = flow
//!         .source("lines", Items::from(["to be or", "not to be"]))
//!         .flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
//!         .key_by(|word| word.clone())
//!         .at_end()
//!         .count("count")
//!         .collect("out");
//!     flow.start(Settings::new()).await?.finished().await?;
//!
//!     let mut counts = counts.take();
//!     counts.sort();
//!     let expected = [("be", 2), ("not", 1), ("or", 1), ("to", 2)];
//!     assert_eq!(counts, expected.map(|(word, n)| (word.to_owned(), n)));
//!     Ok(())
//! }
//! ```

mod dataflow;
mod ends;
mod event_time;
mod keyed;
mod stream;
mod waits;

pub mod prelude;

pub use dataflow::Dataflow;
#[cfg(any(feature = "csv", feature = "json"))]
pub use ends::{BadRow, FileError, FilePosition, FileTransaction, RowError};
pub use ends::{Collect, Collected, Each, Generate, Items, ItemsReader};
#[cfg(feature = "csv")]
pub use ends::{Csv, CsvSink, CsvSource};
#[cfg(feature = "json")]
pub use ends::{JsonLines, JsonLinesSink, JsonLinesSource};
pub use event_time::Watermarks;
pub use keyed::{AtEnd, KeyedStream};
pub use stream::{BoxedStream, Stream, Sunk};
pub use waits::{AsyncFunction, AsyncWait, OnFailure, call_fn};

pub use millstream_core::{
    Attempt, Clock, Data, Epoch, Failure, Key, KeyGroup, KeyGroups, KeyHash, Keyed, Moment, Place,
    Record, ReservedTimestamp, Stamped, TaskInfo, Timestamp, Volatile, Wake, codec,
};
pub use millstream_metrics::{
    CallNumbers, JobNumbers, Numbers, StageNumbers, TaskNumbers, TaskState,
};
pub use millstream_operators::async_wait::{CallError, Cause, DeadLetter, Retry};
pub use millstream_operators::process;
pub use millstream_operators::process::{
    CoContextOf, ContextOf, Fired, KeyedCoProcess, KeyedProcess, Missed, ProcessContext, Tick,
    Ticks, TimeToLive,
};
pub use millstream_operators::progress::{Bounded, Punctuated, WatermarkStrategy};
pub use millstream_operators::{
    Chain, Effects, Either, NoTimer, Operator, Piece, Restored, SideOutput, Snapshot, Timer,
    TimerDomain, TimerEdit, state, step, timers,
};
pub use millstream_plan::{Plan, PlanError, PlanFault, StageKind};
pub use millstream_runtime::{
    CallId, Completer, GraphError, GraphFault, Job, JobError, JobState, JobStatus, Offload, Read,
    ReadContext, Reader, Schedule, Settings, SettingsError, Sink, Source, StartError, SystemClock,
    TaskContext, TaskName, Workers, Writer, actix, actix_rt, call_id,
};

/// The program of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the book's page about calls.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/calls.md")]
struct Calls;

/// The program of the book's page about time.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/time.md")]
struct Time;
