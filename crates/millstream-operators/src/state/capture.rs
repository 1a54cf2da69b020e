//! A capture that is open: what has been saved so far, and how far the sweep has come.

use std::mem;

use millstream_core::{Epoch, KeyGroup};

use super::entry::{Entry, Stored};
use super::line::Line;
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
    line: Line,
    /// What has been saved of each group that the sweep has not left.
    lists: Vec<Vec<Stored<K, V>>>,
    /// What can be taken, group by group.
    ready: Vec<Captured<K, V>>,
    /// Where the sweep stands: the leaf at which point, at which place of it. No point behind the
    /// last leaf.
    point: Option<u64>,
    place: usize,
    /// The first group that the sweep is not through with.
    group: usize,
}

impl<K: Clone, V: Clone> Capture<K, V> {
    pub(super) fn new(epoch: Epoch, stamp: u32, line: Line) -> Self {
        Self {
            epoch,
            stamp,
            line,
            lists: (0..line.groups()).map(|_| Vec::new()).collect(),
            ready: Vec::new(),
            point: Some(0),
            place: 0,
            group: 0,
        }
    }

    /// Whether everything has been saved.
    pub(super) const fn is_swept(&self) -> bool {
        self.point.is_none()
    }

    /// Whether everything has been saved and taken.
    pub(super) const fn is_over(&self) -> bool {
        self.is_swept() && self.ready.is_empty()
    }

    /// Saves an entry as it is, unless that has been done.
    pub(super) fn save(&mut self, entry: &mut Entry<K, V>) {
        if entry.stamp != self.stamp {
            self.lists[self.line.index_of(entry.hash)].push(entry.store());
            entry.stamp = self.stamp;
        }
    }

    /// Called before a leaf rearranges its entries: if the sweep is within it, it finishes it.
    pub(super) fn before_moving(&mut self, leaf: &mut Leaf<K, V>, span: Span) {
        if Some(span.start()) == self.point && self.place > 0 {
            leaf.iter_mut().for_each(|entry| self.save(entry));
            self.leave(span);
        }
    }

    /// Saves at most `entries` further entries.
    pub(super) fn sweep(&mut self, root: &mut Node<K, V>, entries: usize) {
        let (mut copies, mut looks) = (entries, entries.saturating_mul(PLACES_PER_COPY));
        while let Some(point) = self.point {
            let (leaf, depth) = root.leaf_mut(|| point);
            while self.place < leaf.num_buckets() {
                if copies == 0 || looks == 0 {
                    return;
                }
                looks -= 1;
                if let Some(entry) = leaf.get_bucket_mut(self.place)
                    && entry.stamp != self.stamp
                {
                    self.save(entry);
                    copies -= 1;
                }
                self.place += 1;
            }
            self.leave(Span::new(point, depth));
        }
    }

    /// Goes on to the next leaf; what was saved of the groups that are left with this one, or a
    /// piece of a group that is large enough, can be taken from now on.
    fn leave(&mut self, span: Span) {
        self.place = 0;
        self.point = span.end();
        while self.group < self.lists.len() {
            let group_end = self.line.end_of(self.group);
            let through = self.point.is_none_or(|at| group_end.is_some_and(|end| end <= at));
            let list = &mut self.lists[self.group];
            if list.len() >= CAPTURED_PIECE || (through && !list.is_empty()) {
                let (group, entries) = (self.line.group(self.group), mem::take(list));
                self.ready.push(Captured { group, entries });
            }
            if !through {
                return;
            }
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
        let rest = rest.map(|(index, entries)| Captured { group: self.line.group(index), entries });
        self.ready.into_iter().chain(rest).collect()
    }
}
