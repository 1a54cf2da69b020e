//! Where a task is in its life.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::Serialize;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It is known, but its actor has not begun.
    #[default]
    Created,
    /// It opens what it needs.
    Opening,
    /// It takes and makes records.
    Running,
    /// It has come to the end of its input and closed.
    Ended,
    /// Its code returned an error or panicked.
    Failed,
    /// It was stopped before its end.
    Cancelled,
}

impl TaskState {
    const ALL: [Self; 6] =
        [Self::Created, Self::Opening, Self::Running, Self::Ended, Self::Failed, Self::Cancelled];

    /// Whether this life of the task is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Created => "created",
            Self::Opening => "opening",
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// A state that one thread writes and others read.
///
/// Who reads a state also sees every number that the task wrote before it.
#[derive(Debug, Default)]
pub(crate) struct StateCell(AtomicU8);

impl StateCell {
    pub(crate) fn set(&self, state: TaskState) {
        self.0.store(state as u8, Ordering::Release);
    }

    pub(crate) fn get(&self) -> TaskState {
        let number = usize::from(self.0.load(Ordering::Acquire));
        TaskState::ALL.get(number).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_gives_back_every_state_and_begins_with_the_first() {
        let cell = StateCell::default();
        assert_eq!(cell.get(), TaskState::Created);
        for state in TaskState::ALL {
            cell.set(state);
            assert_eq!(cell.get(), state);
        }
    }
}
