//! What stored timers are refused for.

use millstream_core::KeyGroup;

/// A timer lies in another key group than its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a timer whose key is of group {own} was stored in {}: the state was written with another \
     number of key groups, or a piece of it was given to another stage",
    shown(.stored)
)]
pub struct WrongGroup {
    /// The group of its key.
    pub own: KeyGroup,
    /// The group that it was stored in; none for state of a task as a whole.
    pub stored: Option<KeyGroup>,
}

fn shown(group: &Option<KeyGroup>) -> String {
    group.map_or_else(|| "no group".to_owned(), |group| format!("group {group}"))
}

/// Edits of timers came out of their order: some are missing, or come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{known} edits of timers are known, and here are those behind {before}")]
pub struct Crossed {
    /// How many have come.
    pub known: u64,
    /// How many there were before those that came now.
    pub before: u64,
}
