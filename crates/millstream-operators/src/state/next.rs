//! The entries of the keys that come next, looked for together.

use std::hint::black_box;

use millstream_core::{Key, KeyHash};

use super::books::Books;
use super::leaf::Leaf;
use super::node::Node;
use super::table::KeyedTable;

/// How many keys of a large table are looked for together.
const AHEAD: usize = 16;

/// Where the keys that come next are to be changed, one after another.
pub enum Next<'t, K, V> {
    /// The table is one leaf.
    InLeaf(InLeaf<'t, K, V>),
    /// The table has many.
    InTree(InTree<'t, K, V>),
}

/// What both of [`Next`] can do. Loops over records are made for each: in the smaller table the
/// processor then does nothing but find, compare and change.
pub trait Change<K, V> {
    /// Changes the value of the next key; it is made by `first` if the key has none yet.
    ///
    /// # Panics
    ///
    /// With a key of another subtask, which [`KeyedTable::look_ahead`] has not counted.
    fn change<R>(
        &mut self,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R;
}

/// The next keys in the only leaf of a table.
pub struct InLeaf<'t, K, V> {
    leaf: &'t mut Leaf<K, V>,
    books: &'t mut Books<K, V>,
}

/// The next keys in a table of many leaves, which have been looked for.
pub struct InTree<'t, K, V> {
    root: &'t mut Node<K, V>,
    books: &'t mut Books<K, V>,
    /// The indices at which they most likely are. A wrong one only costs time.
    likely: [usize; AHEAD],
    changed: usize,
}

impl<K: Key, V: Clone> KeyedTable<K, V> {
    /// How many of these keys, from the first one on, may be changed next, and where: those up to
    /// the first that another subtask owns, and no more than it takes to find them well. In a large
    /// table a few are looked for at once, so that one need not wait for what another reads from
    /// memory; in a small one that would only be more to do.
    #[inline]
    pub fn look_ahead<'k>(
        &mut self,
        keys: impl ExactSizeIterator<Item = (KeyHash, &'k K)>,
    ) -> (usize, Next<'_, K, V>) {
        let Self { root, books, .. } = self;
        let line = &books.line;
        if let Node::Leaf(leaf) = &*root
            && leaf.len() >= books.leaf_entries
        {
            root.split(line, 0);
        }
        let is_ours = |(hash, _): &(KeyHash, &K)| line.check(*hash).is_ok();
        match root {
            Node::Leaf(leaf) => {
                let keys = keys.take((books.leaf_entries - leaf.len()).max(AHEAD));
                let ours =
                    if line.is_all() { keys.len() } else { keys.take_while(is_ours).count() };
                (ours, Next::InLeaf(InLeaf { leaf, books }))
            }
            root @ Node::Branch(_) => {
                let (mut likely, mut ours) = ([0; AHEAD], 0);
                for (likely, (hash, key)) in likely.iter_mut().zip(keys.take_while(is_ours)) {
                    let (leaf, _) = root.leaf(|| line.point(hash));
                    *likely = leaf.look(hash);
                    // Whatever this says, what it reads is near from now on.
                    black_box(leaf.entry(*likely).is_some_and(|entry| entry.key == *key));
                    ours += 1;
                }
                (ours, Next::InTree(InTree { root, books, likely, changed: 0 }))
            }
        }
    }
}

impl<K: Key, V: Clone> Change<K, V> for InLeaf<'_, K, V> {
    #[inline(always)]
    fn change<R>(
        &mut self,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R {
        let Self { leaf, books } = self;
        let likely = leaf.look(hash);
        change(match leaf.value_if(likely, key, books.stamp) {
            Some(value) => value,
            None => books.search(leaf, hash, key, first),
        })
    }
}

impl<K: Key, V: Clone> Change<K, V> for InTree<'_, K, V> {
    #[inline(always)]
    fn change<R>(
        &mut self,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R {
        let likely = self.likely.get(self.changed).copied().unwrap_or(usize::MAX);
        self.changed += 1;
        let Self { root, books, .. } = self;
        let (leaf, _) = root.leaf_mut(|| books.line.point(hash));
        change(match leaf.value_if(likely, key, books.stamp) {
            Some(value) => value,
            None => books.search_all(root, hash, key, first),
        })
    }
}
