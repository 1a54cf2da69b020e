//! The place of a key that was looked up for writing, filled or free.

use millstream_core::{Key, KeyHash};

use super::capture::Capture;
use super::entry::Entry;
use super::line::Line;
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
    pub(super) depth: u32,
    pub(super) hash: KeyHash,
    pub(super) key: &'k K,
    pub(super) books: &'t mut Books<K, V>,
}

/// What a table knows about its entries as a whole.
pub(super) struct Books<K, V> {
    pub(super) line: Line,
    pub(super) len: usize,
    /// How many entries have appeared so far, by group.
    pub(super) appeared: Vec<u64>,
    /// The stamp of the newest capture: an entry with another one is not part of it yet.
    pub(super) stamp: u32,
    pub(super) capture: Option<Capture<K, V>>,
    /// With how many entries a full leaf is split.
    pub(super) leaf_entries: usize,
    /// A leaf that is to be split before anything is put in: a point of it.
    pub(super) overfull: Option<u64>,
}

impl<K: Clone, V: Clone> Books<K, V> {
    /// Before an entry changes that the newest capture has not seen: saves it if that is open.
    #[cold]
    pub(super) fn save(&mut self, entry: &mut Entry<K, V>) {
        if let Some(capture) = &mut self.capture {
            capture.save(entry);
        }
        entry.stamp = self.stamp;
    }

    /// Kept out of the way of the look-ups, most of which find their key.
    #[cold]
    #[inline(never)]
    fn insert<'t>(
        &mut self,
        leaf: &'t mut Leaf<K, V>,
        depth: u32,
        entry: Entry<K, V>,
    ) -> &'t mut V {
        let span = Span::new(self.line.point(entry.hash), depth);
        if leaf.len() == leaf.capacity() {
            self.before_moving(leaf, span);
        }
        let appeared = &mut self.appeared[self.line.index_of(entry.hash)];
        *appeared = (*appeared).max(entry.order.saturating_add(1));
        self.len += 1;
        if leaf.len() + 1 >= self.leaf_entries && span.can_split() {
            self.overfull = Some(span.start());
        }
        &mut leaf.insert_unique(entry.table_hash(), entry, Entry::table_hash).into_mut().value
    }

    /// Before a leaf rearranges its entries.
    pub(super) fn before_moving(&mut self, leaf: &mut Leaf<K, V>, span: Span) {
        if let Some(capture) = &mut self.capture {
            capture.before_moving(leaf, span);
        }
    }
}

impl<'t, K: Key, V: Clone> FreeSlot<'t, '_, K, V> {
    /// Puts the key's first value in. The key appears now.
    #[inline(always)]
    pub fn insert(self, value: V) -> &'t mut V {
        let order = self.books.appeared[self.books.line.index_of(self.hash)];
        self.insert_as(order, value)
    }

    #[inline(always)]
    pub(super) fn insert_as(self, order: u64, value: V) -> &'t mut V {
        debug_assert_eq!(KeyHash::of(self.key), Ok(self.hash), "a key with another key's hash");
        let Self { leaf, depth, hash, key, books } = self;
        // The key is doubled here so that only its double leaves this place: a key that is in a
        // register need not be put into memory for the sake of the few that are new.
        let entry = Entry { hash, order, stamp: books.stamp, key: key.clone(), value };
        books.insert(leaf, depth, entry)
    }
}
