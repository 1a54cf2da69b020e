//! The machines of calls, each beside a list that is searched from its front, and by example.

use millstream_core::{KeyHash, Mark, Timestamp};

use super::{Order, Popped, Queue, Room, Ticket, Unemitted};

mod deadlines;
mod notation;
mod policy;
mod rig;
mod settings;

mod queue;
mod queue_model;
