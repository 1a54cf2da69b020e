//! What flows on a channel: records, marks between them, and batches of both.
//!
//! The grammar of a channel, kept by every sender and relied on by every receiver:
//!
//! ```text
//! (Record | Watermark | Idle | Active | Barrier)* End
//! ```
//!
//! Watermarks only rise, nothing overtakes, nothing follows `End`. [`Grammar`](crate::Grammar)
//! checks it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Epoch, Timestamp};

/// A value with its timestamp, or with none; the timestamp takes eight bytes either way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamped<T> {
    /// What the user's code sees.
    pub value: T,
    millis: i64,
}

const NO_TIMESTAMP: i64 = i64::MIN;

impl<T> Stamped<T> {
    /// A value without a timestamp.
    pub const fn new(value: T) -> Self {
        Self { value, millis: NO_TIMESTAMP }
    }

    /// A value at a point in event time.
    pub const fn at(value: T, timestamp: Timestamp) -> Self {
        Self { value, millis: timestamp.millis() }
    }

    /// When it happened, if that is known.
    pub const fn timestamp(&self) -> Option<Timestamp> {
        if self.millis == NO_TIMESTAMP { None } else { Some(Timestamp::trusted(self.millis)) }
    }

    /// Another value at the time of this one.
    pub fn with<U>(&self, value: U) -> Stamped<U> {
        Stamped { value, millis: self.millis }
    }

    /// The same time, the value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Stamped<U> {
        Stamped { value: change(self.value), millis: self.millis }
    }
}

impl<T: fmt::Debug> fmt::Debug for Stamped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)?;
        match self.timestamp() {
            Some(timestamp) => write!(f, "@{}", timestamp.millis()),
            None => Ok(()),
        }
    }
}

/// What stands between records: everything on a channel that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// No record at or before this time follows, except late ones.
    Watermark(Timestamp),
    /// Nothing is to be expected for a while: do not wait for this channel's watermark.
    Idle,
    /// The channel counts again.
    Active,
    /// What stands before belongs to the checkpoint of this epoch, what follows does not.
    Barrier(Epoch),
    /// Nothing follows. Stands for the barrier of every later epoch.
    End,
}

/// One message of the data plane: records in order, then at most one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<T> {
    /// The records, first to last.
    pub records: Vec<Stamped<T>>,
    /// The mark that ended the batch, if one did.
    pub mark: Option<Mark>,
}

impl<T> Batch<T> {
    /// A batch of records that no mark ended.
    pub const fn of(records: Vec<Stamped<T>>) -> Self {
        Self { records, mark: None }
    }

    /// A mark by itself.
    pub const fn mark(mark: Mark) -> Self {
        Self { records: Vec::new(), mark: Some(mark) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_costs_eight_bytes_and_none_costs_nothing_more() {
        assert_eq!(size_of::<Stamped<u64>>(), 16);
        assert_eq!(Stamped::new(1).timestamp(), None);
        assert_eq!(Stamped::at(1, Timestamp::MIN).timestamp(), Some(Timestamp::MIN));
        assert_eq!(format!("{:?}", Stamped::at(1, Timestamp::MAX)), "1@9223372036854775807");
        assert_eq!(format!("{:?}", Stamped::new("a")), "\"a\"");
    }
}
