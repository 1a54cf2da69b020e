//! The place of a key that was looked up for writing, filled or free.

use millstream_core::{Key, KeyHash};

use super::capture::Capture;
use super::entry::Entry;
use super::node::{Leaf, Span};

/// The place of a key that was looked up for writing.
pub enum Slot<'t, 'k, K, V> {
    /// The key has a value.
    Filled(&'t mut V),
    /// The key has none yet.
    Free(FreeSlot<'t, 'k, K, V>),
}

/// The place for a key that is not there yet. Dropping it leaves the table as it was.
pub struct FreeSlot<'t, 'k, K, V> {
    pub(super) leaf: &'t mut Leaf<K, V>,
    pub(super) span: Span,
    pub(super) index: usize,
    pub(super) hash: KeyHash,
    pub(super) key: &'k K,
    pub(super) books: &'t mut Books<K, V>,
}

/// What a table knows about its entries as a whole.
pub(super) struct Books<K, V> {
    pub(super) len: usize,
    /// How many entries have appeared so far, by group.
    pub(super) appeared: Vec<u64>,
    /// The stamp of the newest capture: an entry with another one is not part of it yet.
    pub(super) stamp: u32,
    pub(super) capture: Option<Capture<K, V>>,
    /// With how many entries a full leaf is split.
    pub(super) leaf_entries: usize,
    /// A leaf that is to be split before anything is put in: its group and a point of it.
    pub(super) overfull: Option<(usize, u64)>,
}

impl<K: Clone, V: Clone> Books<K, V> {
    /// Before an entry changes that the newest capture has not seen: saves it if that is open.
    #[cold]
    pub(super) fn save(&mut self, index: usize, entry: &mut Entry<K, V>) {
        if let Some(capture) = &mut self.capture {
            capture.save(index, entry);
        }
        entry.stamp = self.stamp;
    }

    /// Before a leaf rearranges its entries.
    pub(super) fn before_moving(&mut self, index: usize, leaf: &mut Leaf<K, V>, span: Span) {
        if let Some(capture) = &mut self.capture {
            capture.before_moving(index, leaf, span);
        }
    }
}

impl<'t, K: Key, V: Clone> FreeSlot<'t, '_, K, V> {
    /// Puts the key's first value in. The key appears now.
    pub fn insert(self, value: V) -> &'t mut V {
        let order = self.books.appeared[self.index];
        self.insert_as(order, value)
    }

    /// Kept out of the way of the look-ups, most of which find their key.
    #[cold]
    #[inline(never)]
    pub(super) fn insert_as(self, order: u64, value: V) -> &'t mut V {
        debug_assert_eq!(KeyHash::of(self.key), Ok(self.hash), "a key with another key's hash");
        let Self { leaf, span, index, hash, key, books } = self;
        let entry = Entry { hash, order, stamp: books.stamp, key: key.clone(), value };
        if leaf.len() == leaf.capacity() {
            books.before_moving(index, leaf, span);
        }
        let appeared = &mut books.appeared[index];
        *appeared = (*appeared).max(order.saturating_add(1));
        books.len += 1;
        if leaf.len() + 1 >= books.leaf_entries && span.can_split() {
            books.overfull = Some((index, span.start()));
        }
        &mut leaf.insert_unique(hash.table_hash(), entry, Entry::table_hash).into_mut().value
    }
}
