//! Calls in flight: the futures of one task, driven by its actor.

mod caller;
mod completer;
mod current;
mod slots;
mod woken;

pub use caller::Caller;
pub use completer::{Answered, Completer};
pub(crate) use current::CurrentTask;
pub use current::{CallId, call_id};
pub(crate) use slots::{Calls, Polled};
pub(crate) use woken::InTurn;
