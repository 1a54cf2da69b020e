//! What a stage of calls stores of itself: inputs and watermarks in order, never results.

use serde::{Deserialize, Serialize};

use millstream_core::{Stamped, Timestamp};

/// Which call this is, for the outside: equal for the same record before and after a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Admission {
    /// The task that admitted the record first.
    pub subtask: u32,
    /// The number of the record among all that this task has admitted.
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
    /// The number of the next record.
    pub(super) next_number: u64,
    /// The newest watermark that had come.
    pub(super) watermark: Option<Timestamp>,
    /// With their places among all that the task stored.
    pub(super) elements: Vec<(u64, StoredElement<I>)>,
}
