//! The table itself: look-ups by key, captures, restore.

use std::ops::Range;

use millstream_core::{Epoch, Key, KeyGroup, KeyGroups, KeyHash, describe};

use super::books::Books;
use super::capture::{Capture, Captured};
use super::drain::Drain;
use super::error::{CaptureOpen, NotOurs, RestoreError};
use super::leaf::{Leaf, Origin};
use super::line::Line;
use super::node::{LEAF_ENTRIES, Node};
use super::stored::Stored;

/// A value for each key, for the key groups of one subtask.
///
/// See the [module](super) for how it grows and how it is captured. Every access takes the key's
/// hash, which travels with the record, and is refused with [`NotOurs`] if its group is another
/// subtask's.
///
/// # Ordering
///
/// [`drain_in_order`](Self::drain_in_order) gives the entries group by group, within a group in the
/// order in which the keys first appeared; a key that was removed and came back has appeared anew.
///
/// # On recovery
///
/// What a capture gave out is given back by [`restore`](Self::restore), in any order of entries;
/// the restored table drains in the same order as the captured one.
///
/// # Examples
///
/// ```
/// use millstream_core::{Epoch, KeyGroups, KeyHash};
/// use millstream_operators::state::KeyedTable;
///
/// let groups = KeyGroups::new(1)?;
/// let mut flights: KeyedTable<String, u64> = KeyedTable::new(groups, 0..1);
/// for origin in ["EWR", "JFK", "EWR"] {
///     let key = origin.to_owned();
///     *flights.entry(KeyHash::of(&key)?, &key)? += 1;
/// }
///
/// // A capture sees the table as it was when the capture began.
/// flights.begin_capture(Epoch::new(1))?;
/// let newark = "EWR".to_owned();
/// *flights.entry(KeyHash::of(&newark)?, &newark)? += 100;
/// while flights.sweep(64) {}
/// let mut captured = flights.take_captured().remove(0).entries;
/// captured.sort_by_key(|entry| entry.order);
/// assert_eq!((captured[0].key.as_str(), captured[0].value), ("EWR", 2));
///
/// let mut results = Vec::new();
/// while flights.drain_in_order(1_024, &mut results) {}
/// assert_eq!(results, [("EWR".to_owned(), 102), ("JFK".to_owned(), 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyedTable<K, V> {
    groups: KeyGroups,
    pub(super) root: Node<K, V>,
    drain: Drain,
    pub(super) books: Books<K, V>,
}

impl<K: Key, V: Clone> KeyedTable<K, V> {
    /// An empty table for the groups in `range`, out of all the job's `groups`.
    pub fn new(groups: KeyGroups, range: Range<u32>) -> Self {
        Self::with_leaf_entries(groups, range, LEAF_ENTRIES)
    }

    /// A table whose leaves split earlier, so that a test sees many splits.
    pub(super) fn with_leaf_entries(
        groups: KeyGroups,
        range: Range<u32>,
        leaf_entries: usize,
    ) -> Self {
        Self {
            groups,
            root: Node::new(),
            drain: Drain::default(),
            books: Books {
                line: Line::new(groups, range.clone()),
                len: 0,
                appeared: range.map(|_| 0).collect(),
                stamp: 0,
                capture: None,
                leaf_entries,
            },
        }
    }

    /// How many keys have a value.
    pub const fn len(&self) -> usize {
        self.books.len
    }

    /// Whether no key has one.
    pub const fn is_empty(&self) -> bool {
        self.books.len == 0
    }

    /// The value of a key, to be changed; made by `Default` if the key has none yet.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    #[inline]
    pub fn entry(&mut self, hash: KeyHash, key: &K) -> Result<&mut V, NotOurs>
    where
        V: Default,
    {
        self.entry_with(hash, key, V::default)
    }

    /// The value of a key, to be changed; made by `first` if the key has none yet.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    #[inline]
    pub fn entry_with(
        &mut self,
        hash: KeyHash,
        key: &K,
        first: impl FnOnce() -> V,
    ) -> Result<&mut V, NotOurs> {
        self.books.line.check(hash)?;
        Ok(self.books.search_all(&mut self.root, hash, key, first))
    }

    /// Whether a key is ours.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns it.
    pub fn check(&self, hash: KeyHash) -> Result<(), NotOurs> {
        self.books.line.check(hash)
    }

    /// The value of a key, if it has one.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    #[inline]
    pub fn get(&self, hash: KeyHash, key: &K) -> Result<Option<&V>, NotOurs> {
        self.books.line.check(hash)?;
        let (leaf, _) = self.root.leaf(|| self.books.line.point(hash));
        Ok(leaf.find_key(hash, key).map(|index| leaf.value(index)))
    }

    /// The value of a key, to be changed, if it has one.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    #[inline]
    pub fn get_mut(&mut self, hash: KeyHash, key: &K) -> Result<Option<&mut V>, NotOurs> {
        self.books.line.check(hash)?;
        let (leaf, _) = self.root.leaf_mut(|| self.books.line.point(hash));
        Ok(leaf.find_key(hash, key).map(|index| self.books.changing(leaf, index)))
    }

    /// Takes a key's value out, if it has one.
    ///
    /// # Errors
    ///
    /// [`NotOurs`] when another subtask owns the key.
    pub fn remove(&mut self, hash: KeyHash, key: &K) -> Result<Option<V>, NotOurs> {
        self.books.line.check(hash)?;
        Ok(self.take_out(hash, |leaf, index| leaf.key(index) == key).map(|(_, value)| value))
    }

    /// Takes out the entry with this hash that `same` knows, if there is one.
    fn take_out(
        &mut self,
        hash: KeyHash,
        same: impl Fn(&Leaf<K, V>, usize) -> bool,
    ) -> Option<(K, V)> {
        let (leaf, _) = self.root.leaf_mut(|| self.books.line.point(hash));
        let index = leaf.find(hash, |index| same(leaf, index))?;
        self.books.changing(leaf, index);
        let entry = leaf.remove(index);
        self.books.len -= 1;
        if leaf.is_sparse() {
            leaf.shrink();
        }
        Some(entry)
    }

    /// Gives out entries in order and forgets them: group by group, within a group by first
    /// appearance. At most `limit` of them are added to `results`; whether to call again is
    /// returned. A call may add none: it looks at about `limit` entries, and must look at a
    /// leaf before it can give out the first of it.
    ///
    /// The table stays usable in between: what is not given out yet can be looked up, changed,
    /// captured. Entries that appear meanwhile are given out too, if need be after all others.
    pub fn drain_in_order(&mut self, limit: usize, results: &mut Vec<(K, V)>) -> bool {
        let mut work = limit.max(1);
        while work > 0 && self.books.len > 0 {
            let next = self.drain.step(&self.books.line, &self.root, &mut work);
            if let Some((_, order, hash)) = next {
                let same = |leaf: &Leaf<K, V>, index| leaf.origin(index) == Origin { hash, order };
                results.extend(self.take_out(hash, same));
            }
        }
        if self.books.len == 0 {
            self.drain = Drain::default();
        }
        self.books.len > 0
    }

    /// From here on changes no longer belong to what is captured.
    ///
    /// Takes no longer for a big table than for a small one. Until the capture is over, the first
    /// change to an entry copies it.
    ///
    /// # Errors
    ///
    /// [`CaptureOpen`] while an earlier capture is not swept, taken or abandoned.
    pub fn begin_capture(&mut self, epoch: Epoch) -> Result<(), CaptureOpen> {
        if let Some(open) = &self.books.capture {
            return Err(CaptureOpen { open: open.epoch, asked: epoch });
        }
        // It could only meet an entry with the stamp of four thousand million captures ago if all
        // of them had been abandoned: a finished one stamps every entry.
        self.books.stamp = self.books.stamp.wrapping_add(1);
        self.books.capture = Some(Capture::new(epoch, self.books.stamp, self.books.line));
        Ok(())
    }

    /// Copies at most `entries` further entries of the open capture. Whether some may be left to
    /// copy is returned; `false` if no capture is open.
    ///
    /// A call costs a bounded time, whatever the size of the table: beside copying it looks at no
    /// more than a few times `entries` places.
    pub fn sweep(&mut self, entries: usize) -> bool {
        let Some(capture) = &mut self.books.capture else { return false };
        capture.sweep(&mut self.root, entries.max(1));
        let left = !capture.is_swept();
        self.close_if_over();
        left
    }

    /// The epoch of the capture that is open: begun, and not yet swept and taken.
    pub fn capturing(&self) -> Option<Epoch> {
        self.books.capture.as_ref().map(|capture| capture.epoch)
    }

    /// How many entries [`take_captured`](Self::take_captured) would give out now.
    pub fn captured_entries(&self) -> usize {
        self.books.capture.as_ref().map_or(0, Capture::ready_entries)
    }

    /// What has been captured so far of the groups that the sweep is through with, in rising order
    /// of groups, each piece once. A large group comes in several pieces, one after another.
    ///
    /// The capture is over when the sweep is done and this has been called after it.
    pub fn take_captured(&mut self) -> Vec<Captured<K, V>> {
        let taken = self.books.capture.as_mut().map_or_else(Vec::new, Capture::take);
        self.close_if_over();
        taken
    }

    /// Gives the open capture up. What it had copied is returned so that it can be dropped where
    /// nobody waits for it: to drop a million strings takes a while.
    pub fn abandon_capture(&mut self) -> Vec<Captured<K, V>> {
        self.books.capture.take().map_or_else(Vec::new, Capture::into_saved)
    }

    /// Takes a stored entry back.
    ///
    /// # Errors
    ///
    /// [`RestoreError`] when the key does not hash into `group`, is there already, or belongs to
    /// another subtask. The table is as it was.
    pub fn restore(&mut self, group: KeyGroup, stored: Stored<K, V>) -> Result<(), RestoreError> {
        let Stored { order, key, value } = stored;
        let hash = KeyHash::of(&key)?;
        let own = self.groups.of(hash);
        if own != group {
            return Err(RestoreError::WrongGroup { key: describe(&key), stored: group, own });
        }
        self.books.line.check(hash)?;
        let leaf = self.books.leaf(&mut self.root, hash);
        if leaf.find_key(hash, &key).is_some() {
            return Err(RestoreError::Twice { key: describe(&key), group });
        }
        self.books.insert(leaf, Origin { hash, order }, key, value);
        Ok(())
    }

    fn close_if_over(&mut self) {
        self.books.capture = self.books.capture.take().filter(|capture| !capture.is_over());
    }
}
