//! A capture that is open: what has been saved so far, and how far the sweep has come.

use std::mem;

use millstream_core::{Epoch, KeyGroup};

use super::leaf::{Leaf, Origin};
use super::line::Line;
use super::node::{Node, Span};
use super::stored::Stored;

/// A group with more entries than this is handed out in several pieces.
pub const CAPTURED_PIECE: usize = 4_096;

/// For each entry that a sweep may copy it looks at so many, most of which have been saved already,
/// or at so many leaves.
const LOOKS_PER_COPY: usize = 8;

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
    /// The leaf in which the sweep stands, by a point; nothing behind the last leaf.
    point: Option<u64>,
    /// How many of its entries the sweep has not met, at most; nothing before the first of them.
    /// The part that has the point after a split has no more of them.
    left: Option<usize>,
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
            left: None,
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

    /// Saves an entry as it is, unless that has been done. Returns whether it had to be.
    pub(super) fn save(&mut self, leaf: &mut Leaf<K, V>, index: usize) -> bool {
        let entry = match leaf.entry(index) {
            Some(entry) if entry.stamp != self.stamp => entry,
            _ => return false,
        };
        let Origin { hash, order } = leaf.origin(index);
        let stored = Stored { order, key: entry.key.clone(), value: entry.value.clone() };
        self.lists[self.line.index_of(hash)].push(stored);
        leaf.set_stamp(index, self.stamp);
        true
    }

    /// Saves at most `entries` further entries: leaf by leaf, in each from the last one to the
    /// first.
    pub(super) fn sweep(&mut self, root: &mut Node<K, V>, entries: usize) {
        let (mut copies, mut looks) = (entries, entries.saturating_mul(LOOKS_PER_COPY));
        while let Some(point) = self.point {
            let (leaf, depth) = root.leaf_mut(|| point);
            let mut left = self.left.unwrap_or(usize::MAX).min(leaf.len());
            while left > 0 {
                if copies == 0 || looks == 0 {
                    self.left = Some(left);
                    return;
                }
                copies -= usize::from(self.save(leaf, left - 1));
                looks -= 1;
                left -= 1;
            }
            self.leave(Span::new(point, depth));
            // An emptied table may have many leaves.
            looks = looks.saturating_sub(1);
            if looks == 0 {
                return;
            }
        }
    }

    /// Goes on to the next leaf; what was saved of the groups that are left with this one, or a
    /// piece of a group that is large enough, can be taken from now on.
    fn leave(&mut self, span: Span) {
        self.left = None;
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
