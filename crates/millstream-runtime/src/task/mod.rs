//! Tasks: the actors that run sources, operators and sinks.
//!
//! There is one actor, [`Task`]: mailbox, inbox, lanes, panic border, death told. What it runs is a
//! [`Logic`]: a source, an operator or a sink, each a loop over its contract that knows no actor.

mod budget;
mod calls;
mod guard;
mod heartbeat;
mod logic;
mod marks;
mod operator;
mod shell;
mod sink;
mod source;
mod timers;

#[cfg(not(loom))]
#[cfg(test)]
mod barrier_tests;
#[cfg(not(loom))]
#[cfg(test)]
mod call_tests;
#[cfg(not(loom))]
#[cfg(test)]
mod mailbox_tests;
#[cfg(not(loom))]
#[cfg(test)]
mod timer_tests;

pub(crate) use budget::Budget;
pub use calls::CallsByHand;
pub(crate) use calls::{CallsLogic, CallsOf};
pub(crate) use guard::{Departure, Event, Guard, Report};
pub(crate) use heartbeat::Heartbeat;
pub(crate) use logic::{After, Logic, Turn};
pub(crate) use operator::{OperatorLogic, OperatorOf};
pub(crate) use shell::{Command, Order, Task, TaskOf};
pub(crate) use sink::SinkLogic;
pub(crate) use source::SourceLogic;
pub(crate) use timers::TaskTimersOf;
