//! For tests of dataflows, of this workspace and of its users.
//!
//! | to test | there is |
//! |---|---|
//! | one operator, by hand | [`Harness`]: records, watermarks, timers, snapshots, restores |
//! | a stage of calls, by hand | [`CallHarness`]: records, time, snapshots, restores |
//! | what comes in, by hand | [`Feed`], a source that a test gives records to |
//! | what happens when | [`ManualClock`], which moves when told |
//! | a job, without waiting | [`run`] on a [`SimulatedClock`], which jumps to the next deadline |
//! | a job, on threads | [`run_on_threads`] |
//! | a job, in every order of events | [`simulate`]: a seed decides who goes first |
//! | what comes out | [`Oracle`], the same program over vectors, and the [`compare`] functions |
//! | what passes at a place of a graph | [`Checker`], an operator that knows a channel's grammar |
//!
//! Whatever runs a job here fails the test when an actor of the job outlives it. These are tools
//! for tests: what goes against a contract ends the test with a panic that says so.

pub mod compare;

mod calls;
mod chance;
mod checker;
mod clock;
mod feed;
mod harness;
mod oracle;
mod refuse;
mod run;
mod seeded;
mod simulation;

pub use calls::CallHarness;
pub use chance::Chance;
pub use checker::Checker;
pub use clock::{ManualClock, SimulatedClock};
pub use feed::Feed;
pub use harness::{Element, Harness, Stored, StoredPiece, keyed, task};
pub use oracle::{AtEndOracle, KeyedOracle, Oracle};
pub use run::{RUN_TIME, RUN_TIME_ON_THREADS, run, run_on_threads, run_within, until};
pub use seeded::{Decision, Seeded, Trace};
pub use simulation::{Simulated, Simulation, simulate};
