//! Look-ups in two steps, so that the keys of several records are looked for at once.

use millstream_core::{Key, KeyHash};

use super::error::NotOurs;
use super::table::KeyedTable;

/// Where a key seems to be in a [`KeyedTable`].
#[derive(Clone, Copy, Debug)]
pub struct Hint(usize);

impl Hint {
    /// Nothing is known.
    pub const NONE: Self = Self(usize::MAX);
}

impl<K: Key, V: Clone> KeyedTable<K, V> {
    /// Where the key with this hash seems to be, for [`change`](Self::change).
    ///
    /// Asked for several keys before the first of them is changed: their places are then fetched
    /// from memory at once, and not one behind the other.
    #[inline]
    pub fn hint(&self, hash: KeyHash) -> Hint {
        let leaf = self.root.leaf_of(|| self.books.line.point(hash));
        // Two keys with the same hash are told apart when the hint is used.
        let place = leaf.find_bucket_index(hash.table_hash(), |entry| entry.hash == hash);
        place.map_or(Hint::NONE, Hint)
    }

    /// Changes the value of a key; it is made by `first` if the key has none yet. A hint that is
    /// not right, because the key is new or has moved since, only costs time.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    #[inline]
    pub fn change<R>(
        &mut self,
        hint: Hint,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> Result<R, NotOurs> {
        let leaf = self.root.leaf_mut(|| self.books.line.point(hash)).0;
        let value = match leaf.get_bucket_mut(hint.0) {
            // A key that is here is ours.
            Some(entry) if entry.hash == hash && entry.key == *key => {
                if entry.stamp != self.books.stamp {
                    self.books.save(entry);
                }
                &mut entry.value
            }
            // Only a double of the key leaves this place: see `FreeSlot::insert_as`.
            _ => self.entry_without_hint(hash, &key.clone(), first)?,
        };
        Ok(change(value))
    }

    #[cold]
    #[inline(never)]
    fn entry_without_hint(
        &mut self,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
    ) -> Result<&mut V, NotOurs> {
        self.entry_with(hash, key, first)
    }
}
