//! The rows that are read.

use serde::{Deserialize, Serialize};

/// A flight; of its columns those that the tables need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flight {
    year: i32,
    month: u32,
    day: u32,
    /// The clock at departure, as a number. A flight that has none was cancelled.
    dep_time: Option<u32>,
    /// Whole minutes, negative for a flight that left early.
    dep_delay: Option<i64>,
    pub(crate) carrier: String,
    pub(crate) origin: String,
}

/// A carrier's code and name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Airline {
    pub(crate) carrier: String,
    pub(crate) name: String,
}

impl Flight {
    /// Whether it did not leave.
    pub(crate) const fn is_cancelled(&self) -> bool {
        self.dep_time.is_none()
    }

    /// How late it left, if it did and this is known.
    pub(crate) fn delay(&self) -> Option<i64> {
        self.dep_time.and(self.dep_delay)
    }

    /// The day for which it was scheduled at its origin, such that days sort by their text.
    pub(crate) fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}
