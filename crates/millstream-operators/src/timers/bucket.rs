//! The timers of one instant: a set without an order.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use millstream_core::{Key, KeyHash};

use crate::{let_go, let_go_all};

/// What is kept of a timer: its time and domain are those of where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held<P> {
    pub(super) hash: KeyHash,
    pub(super) payload: P,
}

/// Timers that are looked through one by one; more of them have an index.
const FEW: usize = 16;

/// The timers of one instant, each once. Most instants have one.
#[derive(Debug)]
pub(super) enum Bucket<P> {
    One(Held<P>),
    Many(Box<Many<P>>),
}

/// Side by side; one that leaves is replaced by the last.
#[derive(Debug)]
pub(super) struct Many<P> {
    held: Vec<Held<P>>,
    /// The places of all, by their hash; of nothing while there are few.
    index: HashTable<u32>,
}

/// What an entry in the index is found by. Keys of one instant may have many payloads, so the key's
/// hash alone would not do.
fn hash_of<P: Hash>(held: &Held<P>) -> u64 {
    FixedState::with_seed(0).hash_one((held.hash.get(), &held.payload))
}

impl<P> Default for Many<P> {
    fn default() -> Self {
        Self { held: Vec::new(), index: HashTable::new() }
    }
}

impl<P> Bucket<P> {
    /// Drops them, each by itself.
    pub(super) fn let_go(self) {
        match self {
            Self::One(held) => let_go(held),
            Self::Many(mut many) => let_go_all(&mut many.held),
        }
    }
}

impl<P: Key> Bucket<P> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.held.len(),
        }
    }

    /// The timers, each at its place.
    pub(super) fn as_slice(&self) -> &[Held<P>] {
        match self {
            Self::One(held) => std::slice::from_ref(held),
            Self::Many(many) => &many.held,
        }
    }

    pub(super) fn contains(&self, held: &Held<P>) -> bool {
        match self {
            Self::One(one) => one == held,
            Self::Many(many) => many.find(held).is_some(),
        }
    }

    /// Adds a timer; false if it was there.
    pub(super) fn insert(&mut self, held: Held<P>) -> bool {
        if self.contains(&held) {
            return false;
        }
        if let Self::Many(many) = self {
            many.push(held);
            return true;
        }
        let many = Many { held: vec![held], ..Many::default() };
        let before = std::mem::replace(self, Self::Many(Box::new(many)));
        if let (Self::One(one), Self::Many(many)) = (before, self) {
            many.held.insert(0, one);
        }
        true
    }

    /// Takes a timer out of many; gives its place, which the last one has now. None if it is not
    /// there. The only one of an instant is not taken out: its bucket is.
    pub(super) fn remove(&mut self, held: &Held<P>) -> Option<usize> {
        let Self::Many(many) = self else { return None };
        let at = many.find(held)?;
        many.take(at);
        Some(at)
    }

    /// Takes the last one out of several, and tells how many are left. None if there is one.
    pub(super) fn pop(&mut self) -> Option<(Held<P>, usize)> {
        match self {
            Self::Many(many) if many.held.len() > 1 => {
                let last = many.held.len() - 1;
                Some((many.take(last), last))
            }
            Self::One(_) | Self::Many(_) => None,
        }
    }

    /// The only timer left, whose bucket has gone.
    pub(super) fn into_last(self) -> Option<Held<P>> {
        match self {
            Self::One(held) => Some(held),
            Self::Many(mut many) => many.held.pop(),
        }
    }
}

impl<P: Key> Many<P> {
    fn find(&self, held: &Held<P>) -> Option<usize> {
        if self.index.is_empty() {
            return self.held.iter().position(|it| it == held);
        }
        let is_it = |at: &u32| self.held.get(*at as usize) == Some(held);
        self.index.find(hash_of(held), is_it).map(|at| *at as usize)
    }

    fn push(&mut self, held: Held<P>) {
        self.held.push(held);
        let Self { held, index } = self;
        // An index that there is stays until nothing is left in it.
        let from = match index.is_empty() {
            true if held.len() <= FEW => return,
            true => 0,
            false => held.len() - 1,
        };
        for at in from..held.len() {
            let hashed = |at: &u32| held.get(*at as usize).map_or(0, hash_of);
            index.insert_unique(hash_of(&held[at]), at as u32, hashed);
        }
    }

    fn take(&mut self, at: usize) -> Held<P> {
        let last = self.held.len() - 1;
        if !self.index.is_empty() {
            self.forget(at);
            if at != last {
                self.forget(last);
            }
        }
        let taken = self.held.swap_remove(at);
        let Self { held, index } = self;
        if !index.is_empty() && at != last {
            let hashed = |at: &u32| held.get(*at as usize).map_or(0, hash_of);
            index.insert_unique(hash_of(&held[at]), at as u32, hashed);
        }
        taken
    }

    fn forget(&mut self, at: usize) {
        let hash = hash_of(&self.held[at]);
        if let Ok(found) = self.index.find_entry(hash, |it| *it as usize == at) {
            found.remove();
        }
    }
}
