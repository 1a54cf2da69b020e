//! Look-ups in two steps, so that the keys of several records are looked for at once.

use millstream_core::{Key, KeyHash};

use super::entry::Entry;
use super::error::NotOurs;
use super::node::{Leaf, Node};
use super::slot::Slot;
use super::table::KeyedTable;

/// Where a key of a [`KeyedTable`] seems to be.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    hash: KeyHash,
    place: usize,
}

impl Hint {
    /// A hint before it is given.
    pub const NONE: Self = Self { hash: KeyHash::from_raw(0), place: usize::MAX };
}

impl<K: Key, V: Clone> KeyedTable<K, V> {
    /// Looks for the keys with these hashes, as many as there is room for in `hints`: their places
    /// are then fetched from memory at once, and not one behind the other. Returns how many hints
    /// were given, for [`change`](Self::change).
    ///
    /// # Errors
    ///
    /// [`NotOurs`] behind the hints that were given, when another subtask owns the next key.
    #[inline]
    pub fn look_ahead(
        &self,
        hashes: impl Iterator<Item = KeyHash>,
        hints: &mut [Hint],
    ) -> (usize, Result<(), NotOurs>) {
        match &self.root {
            Node::Leaf(leaf) => self.look_in(hashes, hints, |_| leaf),
            root @ Node::Branch(_) => {
                self.look_in(hashes, hints, |hash| root.leaf(self.books.line.point(hash)).0)
            }
        }
    }

    #[inline]
    fn look_in<'t>(
        &self,
        hashes: impl Iterator<Item = KeyHash>,
        hints: &mut [Hint],
        leaf_of: impl Fn(KeyHash) -> &'t Leaf<K, V>,
    ) -> (usize, Result<(), NotOurs>)
    where
        Self: 't,
    {
        let mut given = 0;
        for (hint, hash) in hints.iter_mut().zip(hashes) {
            // Two keys with the same hash are told apart when the hint is used. A key that is here
            // is ours.
            let same = |entry: &Entry<K, V>| entry.hash == hash;
            let place = match leaf_of(hash).find_bucket_index(hash.table_hash(), same) {
                Some(place) => place,
                None => match self.books.line.check(hash) {
                    Ok(()) => usize::MAX,
                    Err(not_ours) => return (given, Err(not_ours)),
                },
            };
            *hint = Hint { hash, place };
            given += 1;
        }
        (given, Ok(()))
    }

    /// Changes the value of the key that was looked for; it is made by `first` if the key has none
    /// yet. A hint that is no longer right, because the key was not there or has moved since, only
    /// costs time.
    ///
    /// # Panics
    ///
    /// With a hint of another table.
    #[inline]
    pub fn change<R>(
        &mut self,
        hint: &Hint,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R {
        let Hint { hash, place } = *hint;
        let leaf = self.root.leaf_mut(|| self.books.line.point(hash)).0;
        let value = match leaf.get_bucket_mut(place) {
            Some(entry) if entry.hash == hash && entry.key == *key => {
                if entry.stamp != self.books.stamp {
                    self.books.save(entry);
                }
                &mut entry.value
            }
            // Only a double of the key leaves this place: see `FreeSlot::insert_as`.
            _ => self.without_hint(hash, &key.clone(), first),
        };
        change(value)
    }

    #[cold]
    #[inline(never)]
    fn without_hint(&mut self, hash: KeyHash, key: &K, first: impl FnOnce() -> V) -> &mut V {
        match self.place(hash, key) {
            Slot::Filled(value) => value,
            Slot::Free(slot) => slot.insert(first()),
        }
    }
}
