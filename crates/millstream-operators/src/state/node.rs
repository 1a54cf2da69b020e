//! The tree of a table: leaves that hold entries, branches of eight.

use std::array;

use hashbrown::HashTable;

use super::entry::Entry;
use super::line::Line;

/// How many entries a leaf has when it becomes a branch of eight leaves: those that fit into 4,096
/// places.
pub const LEAF_ENTRIES: usize = 3_584;

/// How many times a leaf can be split on the way to a key. Ten levels have room for a thousand
/// million leaves.
pub const MAX_DEPTH: u32 = 10;

/// A removal leaves at least one place in so many in use, once there are `SHRINK_ABOVE` places.
const SPARSE: usize = 8;
const SHRINK_ABOVE: usize = 64;

const FAN_OUT: usize = 1 << DIGIT_BITS;
const DIGIT_BITS: u32 = 3;

pub(super) type Leaf<K, V> = HashTable<Entry<K, V>>;

pub(super) enum Node<K, V> {
    Leaf(Leaf<K, V>),
    Branch(Box<[Self; FAN_OUT]>),
}

/// The part of the line that a leaf covers: an eighth of its parent's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Any point of it. Where it starts is rarely asked for.
    point: u64,
    depth: u32,
}

/// Which of the eight parts of a branch at this depth a point lies in.
#[inline]
const fn digit(point: u64, depth: u32) -> usize {
    (point << (depth * DIGIT_BITS) >> (u64::BITS - DIGIT_BITS)) as usize
}

impl Span {
    /// The span at this depth that has a point.
    pub(super) const fn new(point: u64, depth: u32) -> Self {
        Self { point, depth }
    }

    /// Its first point.
    pub(super) const fn start(self) -> u64 {
        match u64::MAX.checked_shl(u64::BITS - DIGIT_BITS * self.depth) {
            Some(mask) => self.point & mask,
            None => 0,
        }
    }

    /// Whether a leaf with this span may become a branch.
    pub(super) const fn can_split(self) -> bool {
        self.depth < MAX_DEPTH
    }

    /// Where the next span starts; nothing if this one reaches to the end of the line.
    pub(super) const fn end(self) -> Option<u64> {
        match 1_u64.checked_shl(u64::BITS - DIGIT_BITS * self.depth) {
            Some(width) => self.start().checked_add(width),
            None => None,
        }
    }
}

impl<K, V> Node<K, V> {
    pub(super) fn new() -> Self {
        Self::Leaf(HashTable::new())
    }

    /// The leaf that has a point, and its span.
    pub(super) fn leaf(&self, point: u64) -> (&Leaf<K, V>, Span) {
        let (mut node, mut depth) = (self, 0);
        loop {
            match node {
                Self::Leaf(leaf) => return (leaf, Span { point, depth }),
                Self::Branch(parts) => node = &parts[digit(point, depth)],
            }
            depth += 1;
        }
    }

    /// The leaf that has a point, and its depth. The point is asked for only if there is a choice:
    /// a small table is one leaf.
    #[inline]
    pub(super) fn leaf_mut(&mut self, point: impl FnOnce() -> u64) -> (&mut Leaf<K, V>, u32) {
        let mut parts = match self {
            Self::Leaf(leaf) => return (leaf, 0),
            Self::Branch(parts) => parts,
        };
        let (point, mut depth) = (point(), 0);
        loop {
            let node = &mut parts[digit(point, depth)];
            depth += 1;
            match node {
                Self::Leaf(leaf) => return (leaf, depth),
                Self::Branch(further) => parts = further,
            }
        }
    }

    /// Turns the leaf that has a point into a branch of eight. Before that, `prepare` sees it.
    pub(super) fn split(
        &mut self,
        line: &Line,
        point: u64,
        prepare: impl FnOnce(&mut Leaf<K, V>, Span),
    ) {
        let (mut node, mut depth) = (self, 0);
        while let Self::Branch(parts) = node {
            node = &mut parts[digit(point, depth)];
            depth += 1;
        }
        if let Self::Leaf(leaf) = node {
            prepare(leaf, Span { point, depth });
            *node = Self::parted(line, leaf, depth);
        }
    }

    fn parted(line: &Line, leaf: &mut Leaf<K, V>, depth: u32) -> Self {
        // An eighth each, and enough above it that few of them must grow at once.
        let share = leaf.len() / FAN_OUT;
        let room = share + share / 4;
        let mut parts: [_; FAN_OUT] = array::from_fn(|_| HashTable::with_capacity(room));
        for entry in leaf.drain() {
            let part = &mut parts[digit(line.point(entry.hash), depth)];
            part.insert_unique(entry.table_hash(), entry, Entry::table_hash);
        }
        Self::Branch(Box::new(parts.map(Self::Leaf)))
    }
}

/// Whether a leaf is so empty that it should give memory back.
pub(super) fn is_sparse<K, V>(leaf: &Leaf<K, V>) -> bool {
    // Not its capacity, which falls with removals until the places are put in order again.
    leaf.num_buckets() > SHRINK_ABOVE && leaf.len() < leaf.num_buckets() / SPARSE
}

/// Gives memory back, leaving room to grow by as much again.
pub(super) fn shrink<K, V>(leaf: &mut Leaf<K, V>) {
    leaf.shrink_to(2 * leaf.len(), Entry::table_hash);
}

#[cfg(test)]
mod tests {
    use millstream_core::{KeyGroups, KeyHash};

    use super::*;

    #[test]
    fn spans_lie_side_by_side_from_one_end_of_the_line_to_the_other() {
        for depth in 0..4 {
            let mut next = Some(0);
            for number in 0..FAN_OUT.pow(depth) {
                let start = next.unwrap();
                let span = Span { point: start, depth };
                assert_eq!(span.start(), start);
                next = span.end();
                let last = next.map_or(u64::MAX, |end| end - 1);
                let same = Span { point: last, depth };
                assert_eq!((same.start(), same.end()), (start, next));
                if depth > 0 {
                    assert_eq!(digit(start, depth - 1), number % FAN_OUT);
                    assert_eq!(digit(last, depth - 1), number % FAN_OUT);
                }
            }
            assert_eq!(next, None);
        }
    }

    #[test]
    fn growing_never_moves_more_entries_than_a_leaf_has() {
        fn walk<K, V>(node: &Node<K, V>, leaves: &mut Vec<usize>) {
            match node {
                Node::Leaf(leaf) => leaves.push(leaf.capacity()),
                Node::Branch(parts) => parts.iter().for_each(|part| walk(part, leaves)),
            }
        }
        let line = Line::new(KeyGroups::new(128).unwrap(), 0..128);
        let mut node = Node::new();
        let (mut most, mut kept) = (0, 0);
        for key in 0..200_000_u32 {
            let hash = KeyHash::of(&key).unwrap();
            let point = line.point(hash);
            let (leaf, _) = node.leaf_mut(|| point);
            if leaf.len() == LEAF_ENTRIES {
                node.split(&line, point, |leaf, _| most = most.max(leaf.len()));
            }
            let (leaf, _) = node.leaf_mut(|| point);
            let entry = Entry { hash, order: 0, stamp: 0, key, value: () };
            leaf.insert_unique(hash.table_hash(), entry, Entry::table_hash);
            kept += 1;
        }
        let mut leaves = Vec::new();
        walk(&node, &mut leaves);
        assert_eq!(most, LEAF_ENTRIES);
        assert!(leaves.iter().all(|&capacity| capacity <= LEAF_ENTRIES), "{leaves:?}");
        assert!(leaves.len() >= 64, "{leaves:?}");
        // Half empty at worst, a leaf is never much larger than it need be.
        assert!(leaves.iter().sum::<usize>() < 3 * kept, "{leaves:?}");
    }
}
