//! What an operator says about timers, and what it is told when one fires.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use millstream_core::{KeyHash, Timestamp};

/// Which time a timer goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TimerDomain {
    /// The watermark: fires when no earlier record is to be expected.
    Event,
    /// The clock on the wall.
    Processing,
}

/// One timer. At most one of these equals another: setting it twice is setting it once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timer<P> {
    /// When it is due.
    pub time: Timestamp,
    /// By which time.
    pub domain: TimerDomain,
    /// The hash of the key it belongs to; decides which task holds it.
    pub hash: KeyHash,
    /// What the operator wants to be told: at least the key.
    pub payload: P,
}

/// A wish of an operator about one timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerEdit<P> {
    /// Fire it when it is due.
    Set(Timer<P>),
    /// Forget it; nothing happens if there is none.
    Delete(Timer<P>),
}

/// The timer payload of operators that set no timers. It has no value, so they cannot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoTimer {}

impl fmt::Debug for NoTimer {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Serialize for NoTimer {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

impl<'de> Deserialize<'de> for NoTimer {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("an operator without timers has a stored timer"))
    }
}
