//! What a task and its timer service say to each other.

use millstream_core::{Epoch, Timestamp};

use crate::{Timer, TimerDomain};

/// Something that has happened in a task, for its timer service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit<P> {
    /// Fire it when it is due. Of a timer that is out and not handled it is the same timer.
    Set(Timer<P>),
    /// Forget it, also if it is out.
    Delete(Timer<P>),
    /// So many timers of this list have been handled.
    Handled {
        /// Whose list.
        domain: TimerDomain,
        /// Which list.
        list: u64,
        /// How many timers of it, from its beginning.
        timers: usize,
    },
    /// Give out the event timers that are due at this watermark: one list, which may be empty.
    Step(Timestamp),
    /// A snapshot of this epoch is what is there now.
    Freeze(Epoch),
    /// The input has ended. The processing timers that are set are given out, whatever the clock
    /// says, or dropped; what is set from here on is dropped.
    End {
        /// Whether they are given out.
        fire: bool,
    },
}

/// A list of edits, in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edits<P> {
    /// How many edits there were before.
    pub before: u64,
    /// The edits.
    pub edits: Vec<Edit<P>>,
}

/// Timers that are due, the earliest first.
///
/// At most one list of each domain is out: the next one follows when all of it has been handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firings<P> {
    /// By which time they are due.
    pub domain: TimerDomain,
    /// The number of this list in its domain.
    pub list: u64,
    /// How many edits the service knew of.
    pub knows: u64,
    /// The timers.
    pub timers: Vec<Timer<P>>,
    /// Nothing further was due.
    pub last: bool,
    /// When the next event timer is due that is not among these; none if there is none.
    pub next: Option<Timestamp>,
    /// The input has ended and no timer is left, after so many were dropped.
    pub dropped: Option<usize>,
}
