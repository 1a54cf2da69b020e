//! The tree of a table: leaves that hold entries, branches of eight.

use std::array;

use super::leaf::Leaf;
use super::line::Line;

/// How many entries a leaf has when it becomes a branch of eight leaves.
pub const LEAF_ENTRIES: usize = 4_096;

/// How many times a leaf can be split on the way to a key. Ten levels have room for a thousand
/// million leaves.
pub const MAX_DEPTH: u32 = 10;

const FAN_OUT: usize = 1 << DIGIT_BITS;
const DIGIT_BITS: u32 = 3;

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
        Self::Leaf(Leaf::with_room(0))
    }

    /// The leaf that has a point, and its depth. The point is asked for only if there is a choice:
    /// a small table is one leaf.
    #[inline]
    pub(super) fn leaf(&self, point: impl FnOnce() -> u64) -> (&Leaf<K, V>, u32) {
        let mut parts = match self {
            Self::Leaf(leaf) => return (leaf, 0),
            Self::Branch(parts) => parts,
        };
        let (point, mut depth) = (point(), 0);
        loop {
            let node = &parts[digit(point, depth)];
            depth += 1;
            match node {
                Self::Leaf(leaf) => return (leaf, depth),
                Self::Branch(further) => parts = further,
            }
        }
    }

    /// The same, to be changed.
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

    /// The leaf that has a point. If it has `most` entries it is split first, so that one can be
    /// put in: once, since keys that share most of their hashes would be split ten times at once,
    /// and stay together.
    pub(super) fn with_room(&mut self, line: &Line, point: u64, most: usize) -> &mut Leaf<K, V> {
        let (leaf, depth) = self.leaf_mut(|| point);
        if leaf.len() >= most && Span::new(point, depth).can_split() {
            self.split(line, point);
        }
        self.leaf_mut(|| point).0
    }

    /// Turns the leaf that has a point into a branch of eight.
    pub(super) fn split(&mut self, line: &Line, point: u64) {
        let (mut node, mut depth) = (self, 0);
        while let Self::Branch(parts) = node {
            node = &mut parts[digit(point, depth)];
            depth += 1;
        }
        if let Self::Leaf(leaf) = node {
            *node = Self::parted(line, leaf, depth);
        }
    }

    fn parted(line: &Line, leaf: &mut Leaf<K, V>, depth: u32) -> Self {
        // An eighth each, and enough above it that few of them must grow at once.
        let share = leaf.len() / FAN_OUT;
        let mut parts: [_; FAN_OUT] = array::from_fn(|_| Leaf::with_room(share + share / 4));
        for (origin, entry) in leaf.take_all() {
            parts[digit(line.point(origin.hash), depth)].push(origin, entry);
        }
        Self::Branch(Box::new(parts.map(Self::Leaf)))
    }
}

#[cfg(test)]
mod tests {
    use millstream_core::{KeyGroups, KeyHash};

    use super::super::leaf::{Entry, Origin};
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
    fn a_split_moves_the_entries_of_one_leaf_and_keeps_their_order() {
        fn walk(node: &Node<u32, ()>, leaves: &mut Vec<Vec<u32>>) {
            match node {
                Node::Leaf(leaf) => {
                    let keys = (0..leaf.len()).map(|index| leaf.entry(index).unwrap().key);
                    leaves.push(keys.collect());
                }
                Node::Branch(parts) => parts.iter().for_each(|part| walk(part, leaves)),
            }
        }
        let line = Line::new(KeyGroups::new(128).unwrap(), 0..128);
        let mut node = Node::new();
        for key in 0..200_000_u32 {
            let hash = KeyHash::of(&key).unwrap();
            let point = line.point(hash);
            if node.leaf_mut(|| point).0.len() == LEAF_ENTRIES {
                node.split(&line, point);
            }
            let origin = Origin { hash, order: 0 };
            node.leaf_mut(|| point).0.push(origin, Entry { stamp: 0, key, value: () });
        }
        let mut leaves = Vec::new();
        walk(&node, &mut leaves);
        assert!(leaves.len() >= 64);
        assert!(leaves.iter().all(|keys| keys.len() <= LEAF_ENTRIES && keys.is_sorted()));
        let mut keys = leaves.concat();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..200_000));
    }
}
