//! What is kept of a key: its state, and those of its timers that it must know.

use serde::{Deserialize, Serialize};

use millstream_core::Timestamp;

use crate::TimerDomain;

/// What is kept of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Slot<S, T> {
    pub(super) state: S,
    /// One pointer for a key that has none.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) own: Option<Box<Own<T>>>,
    /// When it was last used, if it has a time to live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<Timestamp>,
    /// Given up by the callback before, and nothing has come since.
    #[serde(skip)]
    pub(super) cleared: bool,
}

impl<S: Default, T> Default for Slot<S, T> {
    fn default() -> Self {
        Self { state: S::default(), own: None, used: None, cleared: false }
    }
}

/// Timers of a key that it must know: to delete them when another is put in their place, or when
/// the key is cleared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own<T>(Vec<Owned<T>>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Owned<T> {
    pub(super) domain: TimerDomain,
    pub(super) at: Timestamp,
    pub(super) timer: T,
    /// Put in place of the one before; at most one for each domain and value.
    pub(super) single: bool,
}

impl<T: PartialEq> Own<T> {
    pub(super) fn add(own: &mut Option<Box<Self>>, owned: Owned<T>) {
        let own = own.get_or_insert_with(|| Box::new(Self(Vec::new())));
        if !own.0.contains(&owned) {
            own.0.push(owned);
        }
    }

    /// Takes out the first that `is_it` knows.
    pub(super) fn take(
        own: &mut Option<Box<Self>>,
        is_it: impl Fn(&Owned<T>) -> bool,
    ) -> Option<Owned<T>> {
        let list = &mut own.as_mut()?.0;
        let at = list.iter().position(is_it)?;
        let taken = list.swap_remove(at);
        if list.is_empty() {
            *own = None;
        }
        Some(taken)
    }

    pub(super) fn take_all(own: &mut Option<Box<Self>>) -> Vec<Owned<T>> {
        own.take().map_or_else(Vec::new, |own| own.0)
    }
}
