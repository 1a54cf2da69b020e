//! Timers by key: what is kept of them, and how a task and the actor that keeps them agree.
//!
//! # Two halves
//!
//! A task's timers are kept by an actor of their own, so that a million of them neither stand in
//! the way of records nor of barriers. Each half is a state machine: the [`TimerClient`] in the
//! task, the [`TimerService`] in the actor. Between them go [lists of edits](Edits) and [lists of
//! timers that are due](Firings), each in order, and any number of both may cross.
//!
//! ```text
//!            set, delete, handled, step, freeze
//!   task ───────────────────────────────────────▶ service
//!  client                                          queue
//!        ◀───────────────────────────────────────
//!            what is due, the earliest first
//! ```
//!
//! # What may cross
//!
//! *Event timers* are sent only at a [step](Edit::Step): the client asks at a watermark, and takes
//! no input until the step is over. So between the question and the answer nothing is said about
//! event timers, and the answer knows everything. It is only in the midst of a list that a callback
//! may delete what the list still holds, or set what is due before its last one: that is settled
//! in the hand of the client.
//!
//! *Processing timers* are sent when the clock says so. The task may have deleted one that is on
//! its way; so the client keeps what it has deleted until the service [knows](Firings::knows), and
//! takes it out of a list that did not.
//!
//! For both: a timer that is out is still kept. *Set* makes no second one of it, *delete* takes it
//! away, *handled* lets it go. As these stand in the order in which they happened, a timer that is
//! set before it is handled is the same one and fires once, and one that is set in its own callback
//! is a new one.
//!
//! # On recovery
//!
//! A snapshot is taken by the service between two edits: what is kept there, including what is out
//! and not handled. If a step is open, the task stores its watermark, and finishes it before any
//! input once it is [restored](TimerClient::restored).

mod bucket;
mod client;
mod error;
mod hand;
mod heap;
mod listed;
mod protocol;
mod queue;
mod run;
mod service;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

pub use client::{Next, TimerClient};
pub use error::{Crossed, WrongGroup};
pub use heap::TimerHeap;
pub use protocol::{Edit, Edits, Firings};
pub use queue::TimerQueue;
pub use service::TimerService;
