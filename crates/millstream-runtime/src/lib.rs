//! The actors of Millstream, and the only crate that knows actix.
//!
//! ```text
//!               ┌───────────── supervisor ◀── opened, departed ──┐
//!               │ open, run, drain, settle, cancel               │
//!               ▼                                                │
//!  reader ─▶ source task ─ steps ─ route ─ credits ─▶ inbox ─ operator task ─ … ─ sink task
//!               │                                                │
//!               └───────────▶ counters in the registry ◀─────────┘
//! ```
//!
//! One rule stands above all others: **an actor never waits**. What it cannot send yet it keeps in
//! its outbox, what it cannot take yet stays in its inbox; both are bounded by credits, which
//! travel with the batches and return when a batch is dropped. The mailbox is always open, so an
//! order is never stuck behind data.

mod alarm;
mod calls;
mod census;
mod channel;
mod clock;
mod ends;
mod fault;
mod graph;
mod job;
mod offload;
mod panic;
mod schedule;
mod settings;
mod task;
mod timers;
mod turner;

#[cfg(test)]
mod simulation;

pub use actix;
pub use actix_rt;

pub use calls::{Answered, CallId, Caller, Completer, call_id};
pub use census::census;
#[doc(hidden)]
pub use channel::{Branch, Outlets};
pub use channel::{Broadcast, ByKey, Rebalance, Route};
pub use clock::SystemClock;
pub use ends::{Read, ReadContext, Reader, Sink, Source, TaskContext, Writer};
pub use fault::{GraphError, GraphFault};
pub use graph::{
    ByKeyOf, Connect, EdgeNode, ForkNode, Graph, InTurn, Inlets, Natural, Node, Opening, Port,
    Prepared, RouteOf, RunKey, SharedNode, Sides, StageKey, StepNode, TimeNode, Wiring,
};
pub use job::{Job, JobError, JobState, JobStatus, StartError, TaskName};
pub use offload::Offload;
pub use schedule::Schedule;
pub use settings::{Settings, SettingsError, Workers};
pub use task::CallsByHand;
