//! The machines of calls, each beside a list that is searched from its front, and by example.

use millstream_core::{KeyHash, Mark, Timestamp};

use super::{Order, Popped, Queue, Room, Ticket, Unemitted};

mod capacity;
mod completing;
mod deadlines;
mod drops;
mod end;
mod keyed;
mod lives;
mod notation;
mod ordered;
mod policy;
mod retry;
mod rig;
mod settings;
mod snapshot;
mod timeout;
mod unordered;

mod queue;
mod queue_model;
mod user;
mod wait;
mod wait_model;
