//! What the table refuses, by operation.

use millstream_core::{Epoch, KeyError, KeyGroup};

/// A key came to a task that does not own its group: whoever routed it and the task disagree about
/// the number of key groups or tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of group {group} came to the owner of groups {first}..{end}: its route was computed for \
     another parallelism or number of key groups"
)]
pub struct NotOurs {
    /// The key's group.
    pub group: KeyGroup,
    /// The first group that the task owns.
    pub first: u32,
    /// The first group behind those that it owns.
    pub end: u32,
}

/// A capture was begun while another one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the capture for epoch {asked} was begun while that for epoch {open} is open: finish or \
     abandon it first"
)]
pub struct CaptureOpen {
    /// The epoch of the capture that is open.
    pub open: Epoch,
    /// The epoch of the one that was refused.
    pub asked: Epoch,
}

/// A stored entry cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The piece belongs to another task.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// The key can no longer be hashed.
    #[error("a restored key cannot be hashed: {0}")]
    Key(#[from] KeyError),
    /// The key hashes into another group than the one that it was stored in.
    #[error(
        "key {key} was stored in group {stored} and now hashes into group {own}: the state was \
         written with another number of key groups, another version of the key hash, or a key \
         whose fields have changed since"
    )]
    WrongGroup {
        /// The key.
        key: String,
        /// The group that it was stored in.
        stored: KeyGroup,
        /// The group that it hashes into.
        own: KeyGroup,
    },
    /// The key is there already.
    #[error("key {key} of group {group} was restored twice: a piece was given back twice")]
    Twice {
        /// The key.
        key: String,
        /// Its group.
        group: KeyGroup,
    },
}
