//! A capture that is open: what has been saved so far, and how far the sweep has come.

use std::mem;

use millstream_core::{Epoch, KeyGroup};

use super::entry::{Entry, Stored};
use super::node::{Leaf, Node, Span};

/// A group with more entries than this is handed out in several pieces.
pub const CAPTURED_PIECE: usize = 4_096;

/// For each entry that a sweep may copy it looks at so many places, most of which are empty or have
/// been saved already.
const PLACES_PER_COPY: usize = 8;

/// Saved entries of one key group: all of them, or a piece if there are many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured<K, V> {
    /// The group.
    pub group: KeyGroup,
    /// The entries, in no order; each knows its own.
    pub entries: Vec<Stored<K, V>>,
}

pub(super) struct Capture<K, V> {
    pub(super) epoch: Epoch,
    /// What the entries that have been saved are stamped with.
    stamp: u32,
    /// The table's first group.
    first: u32,
    /// What has been saved of each group that the sweep has not left.
    lists: Vec<Vec<Stored<K, V>>>,
    /// What can be taken, group by group.
    ready: Vec<Captured<K, V>>,
    /// Where the sweep stands: in which group, in the leaf at which point, at which place of it.
    group: usize,
    point: u64,
    place: usize,
}

impl<K: Clone, V: Clone> Capture<K, V> {
    pub(super) fn new(epoch: Epoch, stamp: u32, first: u32, groups: usize) -> Self {
        Self {
            epoch,
            stamp,
            first,
            lists: (0..groups).map(|_| Vec::new()).collect(),
            ready: Vec::new(),
            group: 0,
            point: 0,
            place: 0,
        }
    }

    /// Whether everything has been saved.
    pub(super) const fn is_swept(&self) -> bool {
        self.group == self.lists.len()
    }

    /// Whether everything has been saved and taken.
    pub(super) const fn is_over(&self) -> bool {
        self.is_swept() && self.ready.is_empty()
    }

    /// Saves an entry as it is, unless that has been done. Its group is the `index`-th of the
    /// table.
    pub(super) fn save(&mut self, index: usize, entry: &mut Entry<K, V>) {
        if entry.stamp != self.stamp {
            self.lists[index].push(entry.store());
            entry.stamp = self.stamp;
        }
    }

    /// Called before a leaf rearranges its entries: if the sweep is within it, it finishes it.
    pub(super) fn before_moving(&mut self, index: usize, leaf: &mut Leaf<K, V>, span: Span) {
        if index == self.group && span.start() == self.point && self.place > 0 {
            leaf.iter_mut().for_each(|entry| self.save(index, entry));
            self.leave(span);
        }
    }

    /// Saves at most `entries` further entries.
    pub(super) fn sweep(&mut self, nodes: &mut [Node<K, V>], entries: usize) {
        let (mut copies, mut looks) = (entries, entries.saturating_mul(PLACES_PER_COPY));
        while let Some(node) = nodes.get_mut(self.group) {
            let (leaf, span) = node.leaf_mut(self.point);
            while self.place < leaf.num_buckets() {
                if copies == 0 || looks == 0 {
                    return;
                }
                looks -= 1;
                if let Some(entry) = leaf.get_bucket_mut(self.place)
                    && entry.stamp != self.stamp
                {
                    self.save(self.group, entry);
                    copies -= 1;
                }
                self.place += 1;
            }
            self.leave(span);
        }
    }

    /// Goes on to the next leaf; what was saved of a group that is left, or a piece of it that is
    /// large enough, can be taken from now on.
    fn leave(&mut self, span: Span) {
        self.place = 0;
        let end = span.end();
        self.point = end.unwrap_or(0);
        let list = &mut self.lists[self.group];
        if list.len() >= CAPTURED_PIECE || (end.is_none() && !list.is_empty()) {
            let group = KeyGroup::new(self.first + self.group as u32);
            self.ready.push(Captured { group, entries: mem::take(list) });
        }
        if end.is_none() {
            self.group += 1;
        }
    }

    pub(super) fn ready_entries(&self) -> usize {
        self.ready.iter().map(|piece| piece.entries.len()).sum()
    }

    pub(super) fn take(&mut self) -> Vec<Captured<K, V>> {
        mem::take(&mut self.ready)
    }

    /// Everything that has been saved, to be thrown away.
    pub(super) fn into_saved(self) -> Vec<Captured<K, V>> {
        let rest = self.lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
        let rest = rest.map(|(index, entries)| Captured {
            group: KeyGroup::new(self.first + index as u32),
            entries,
        });
        self.ready.into_iter().chain(rest).collect()
    }
}
