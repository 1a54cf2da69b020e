//! How long the state of a key lives without being used.

use std::time::Duration;

use millstream_core::Timestamp;

/// How long the state of a key lives without being used, by the clock on the wall.
///
/// A state that is older is never seen again: a record that comes finds a new one. It is removed by
/// a timer of its own, whether or not anything comes, with those timers of the key that were put in
/// place of others; and it is not stored. Time in which the job does not run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeToLive {
    pub(super) after: Duration,
    pub(super) timers_use: bool,
}

impl TimeToLive {
    /// So long after the last record of the key, in whole milliseconds.
    pub const fn since_record(after: Duration) -> Self {
        Self { after, timers_use: false }
    }

    /// So long after the last record or timer of the key, in whole milliseconds.
    pub const fn since_use(after: Duration) -> Self {
        Self { after, timers_use: true }
    }

    /// When a state is over that was last used then.
    pub(super) fn end(self, used: Timestamp) -> Timestamp {
        used.plus(self.after)
    }
}

/// A process that cannot work as it says, or was given what it cannot have stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeToLiveError {
    /// A state that is over at once.
    #[error("the time to live of a key's state is less than a millisecond")]
    Zero,
    /// The stored states have a time at which they were last used, or need one.
    #[error(
        "the state was stored {}, and the process now runs {}",
        with(*.stored),
        with(!*.stored)
    )]
    Changed {
        /// Whether the stored states have a time to live.
        stored: bool,
    },
}

const fn with(time_to_live: bool) -> &'static str {
    if time_to_live { "with a time to live" } else { "without a time to live" }
}
