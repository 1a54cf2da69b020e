//! Where a drain stands: which entries come next.
//!
//! A group has no list of its entries by appearance: such a list would cost a second place in
//! memory for every record, for the sake of the one time when the input ends. So the order is found
//! when it is asked for. Sorting a large table in one go would stop the task; instead each leaf is
//! sorted by itself, a run, and the runs are merged entry by entry. An entry is given out once all
//! leaves that reach into its group are sorted. The runs only name the entries, which stay in the
//! table until they are given out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec;

use millstream_core::KeyHash;

use super::line::Line;
use super::node::{Node, Span};

/// An entry's name: the index of its group, how many entries of that had appeared before it, and
/// its hash, by which it is found.
pub(super) type Name = (usize, u64, KeyHash);

pub(super) struct Drain {
    /// The leaf that is next to be sorted; nothing when all have been.
    point: Option<u64>,
    /// The names of a leaf's entries, sorted, without those that are in `heads` or given out.
    runs: Vec<vec::IntoIter<Name>>,
    /// The first entry of each run that is not empty, and the run.
    heads: BinaryHeap<Reverse<(Name, usize)>>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { point: Some(0), runs: Vec::new(), heads: BinaryHeap::new() }
    }
}

impl Drain {
    /// One step: sorts a leaf, or names the entry that is next. Takes what it costs, in entries,
    /// off `work`.
    ///
    /// After the last entry it begins again with the first leaf.
    pub(super) fn step<K, V>(
        &mut self,
        line: &Line,
        root: &Node<K, V>,
        work: &mut usize,
    ) -> Option<Name> {
        let next = self.heads.peek().map(|&Reverse(((group, ..), _))| group);
        if let Some(point) = self.point
            && next.is_none_or(|group| line.end_of(group).is_none_or(|end| point < end))
        {
            let (leaf, depth) = root.leaf(|| point);
            *work = work.saturating_sub(leaf.len().max(1));
            let names = leaf.origins().iter();
            let names = names.map(|from| (line.index_of(from.hash), from.order, from.hash));
            let mut run: Vec<_> = names.collect();
            run.sort_unstable();
            self.runs.push(run.into_iter());
            self.pull(self.runs.len() - 1);
            self.point = Span::new(point, depth).end();
            return None;
        }
        let Some(Reverse((name, run))) = self.heads.pop() else {
            *self = Self::default();
            return None;
        };
        *work -= 1;
        self.pull(run);
        Some(name)
    }

    /// Puts the next entry of a run, if it has one, among those that may be next.
    fn pull(&mut self, run: usize) {
        match self.runs[run].next() {
            Some(name) => self.heads.push(Reverse((name, run))),
            // Its memory is given back.
            None => self.runs[run] = Vec::new().into_iter(),
        }
    }
}
