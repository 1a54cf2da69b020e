//! What a table knows about its entries as a whole.

use millstream_core::{Key, KeyHash};

use super::capture::Capture;
use super::leaf::{Entry, Leaf, Origin};
use super::line::Line;
use super::node::Node;

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
}

impl<K: Clone, V: Clone> Books<K, V> {
    #[cold]
    fn before_change(&mut self, leaf: &mut Leaf<K, V>, index: usize) {
        if let Some(capture) = &mut self.capture {
            capture.save(leaf, index);
        }
        leaf.set_stamp(index, self.stamp);
    }

    /// The value of an entry that is about to change or to go: it is saved, if a capture is open
    /// that has not done so.
    pub(super) fn changing<'t>(&mut self, leaf: &'t mut Leaf<K, V>, index: usize) -> &'t mut V {
        if leaf.stamp(index) != self.stamp {
            self.before_change(leaf, index);
        }
        leaf.value_mut(index)
    }

    /// The leaf of a key of ours, with room for it.
    pub(super) fn leaf<'n>(&self, root: &'n mut Node<K, V>, hash: KeyHash) -> &'n mut Leaf<K, V> {
        root.with_room(&self.line, self.line.point(hash), self.leaf_entries)
    }

    /// The value of a key of ours, wherever it belongs.
    #[inline(never)]
    pub(super) fn search_all<'n>(
        &mut self,
        root: &'n mut Node<K, V>,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
    ) -> &'n mut V
    where
        K: Key,
    {
        let leaf = self.leaf(root, hash);
        self.search(leaf, hash, key, first)
    }

    /// The value of a key of ours that belongs into this leaf; it is made by `first` if the key has
    /// none yet.
    #[inline(never)]
    pub(super) fn search<'t>(
        &mut self,
        leaf: &'t mut Leaf<K, V>,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
    ) -> &'t mut V
    where
        K: Key,
    {
        if let Some(index) = leaf.find_key(hash, key) {
            return self.changing(leaf, index);
        }
        debug_assert_eq!(KeyHash::of(key), Ok(hash), "a key with another key's hash");
        let order = self.appeared[self.line.index_of(hash)];
        self.insert(leaf, Origin { hash, order }, key.clone(), first())
    }

    /// Puts a key in that is not there.
    #[cold]
    pub(super) fn insert<'t>(
        &mut self,
        leaf: &'t mut Leaf<K, V>,
        origin: Origin,
        key: K,
        value: V,
    ) -> &'t mut V {
        let appeared = &mut self.appeared[self.line.index_of(origin.hash)];
        *appeared = (*appeared).max(origin.order.saturating_add(1));
        self.len += 1;
        &mut leaf.push(origin, Entry { stamp: self.stamp, key, value }).value
    }
}
