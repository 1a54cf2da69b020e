//! Keyed processing: a function with a state and timers for each key.
//!
//! A [`KeyedProcess`] is told of the records of a key, one by one, with the key's state in hand,
//! and of the key's timers when they are due. It writes what it wants done to a [`ProcessContext`].
//! [`ProcessOperator`] is the operator behind it; [`KeyedCoProcess`] is the same with two inputs
//! that share the state, and [`ProcessFn`] is the same as two closures.
//!
//! # Timers
//!
//! A timer belongs to its key, has a time, goes by the watermark or by the clock on the wall, and
//! carries a value of the process's own type, which tells one kind of timer of a key from another.
//! Set twice it is one timer. A timer that is [put in place](ProcessContext::replace_event_timer)
//! of the one before is one for each key and value: for a time-out that each record moves.
//!
//! # Order
//!
//! Records of a key come in their order. At a watermark its timers fire by time, those too that are
//! set meanwhile, and what they emit goes out in front of it.

mod closures;
mod context;
mod keyed;
mod operator;
mod periodic;
mod slot;
mod ttl;
mod two;

pub use closures::ProcessFn;
pub use context::{KeyTimer, KeyTimerFor, ProcessContext};
pub use keyed::{ContextOf, Fired, KeyedProcess};
pub use operator::ProcessOperator;
pub use periodic::{Missed, Tick, Ticks};

pub use ttl::{TimeToLive, TimeToLiveError};
pub use two::{CoContextOf, CoProcess, KeyedCoProcess};
