//! What a stage of calls stores of itself: inputs and watermarks in order, never results.

use std::vec::IntoIter;

use serde::{Deserialize, Serialize};

use millstream_core::{Attempt, Stamped, Timestamp};

use crate::drop_all;

/// Which record this is, for the outside: the same before and after a restore from a snapshot that
/// it is in, and no other's.
///
/// The life of the job is part of it, since the records that come after a restore need not be those
/// that came in the life before, nor in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Admission {
    /// The life of the job's tasks in which the record was admitted first.
    pub life: Attempt,
    /// The task that admitted it.
    pub subtask: u32,
    /// Its number among all that this task has admitted in that life.
    pub number: u64,
}

/// One element of what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredElement<I> {
    /// A record that has not gone out: it is called again after a restore.
    Record(Admission, Stamped<I>),
    /// A watermark that has not gone out.
    Watermark(Timestamp),
}

/// What one task stores, or a piece of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored<I> {
    pub(super) subtask: u32,
    pub(super) parallelism: u32,
    /// The newest watermark that had come.
    pub(super) watermark: Option<Timestamp>,
    /// With their places among all that the task stored.
    pub(super) elements: Vec<(u64, StoredElement<I>)>,
}

impl<I> Stored<I> {
    /// Stores an element behind the others.
    pub(super) fn push(&mut self, element: StoredElement<I>) {
        self.elements.push((self.elements.len() as u64, element));
    }

    pub(super) fn into_elements(mut self) -> IntoIter<(u64, StoredElement<I>)> {
        std::mem::take(&mut self.elements).into_iter()
    }
}

impl<I> Drop for Stored<I> {
    /// More than one input may panic.
    fn drop(&mut self) {
        drop_all(&mut self.elements);
    }
}
