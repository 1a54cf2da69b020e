//! Calls to outside systems, in flight side by side: their order, their limits, their retries.
//!
//! State machines, none of which knows a future or a clock. [`Queue`] says which result may go out
//! next, in each of the three [orders](Order). [`Deadlines`] and [`Delays`] say which call is due
//! when. [`AsyncWait`] is what a task of such a stage is without its futures: it is given records
//! and answers, and says which call to start, what to send on and what to store.

mod chains;
mod deadlines;
mod delays;
mod line;
mod outcome;
mod policy;
mod queue;
mod restore;
mod seen;
mod segments;
mod settle;
mod slab;
mod stored;
mod time;
mod wait;

#[cfg(test)]
mod tests;

pub use deadlines::Deadlines;
pub use delays::Delays;
pub use outcome::{Answer, CallError, Cause, DeadLetter, Out, Start};
pub use policy::{Handlers, Limits, Retry, SettingError, Verdict};
pub use queue::{Order, Popped, Queue, Room, Ticket, Unemitted};
pub use seen::Seen;
pub use slab::grow;
pub use stored::{Admission, StoredElement};
pub use wait::{AsyncWait, Kept};
