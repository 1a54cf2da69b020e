//! Where a drain stands: which entries of the current group come next.
//!
//! A group has no list of its entries by appearance: such a list would cost a second place in
//! memory for every record, for the sake of the one time when the input ends. So the order is found
//! when it is asked for. Sorting a large group in one go would stop the task; instead each leaf is
//! sorted by itself, a run, and the runs are merged entry by entry. The runs only name the entries,
//! which stay in the table until they are given out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec;

use super::node::Node;

/// The order and the table hash of each entry of a leaf, by order.
type Run = vec::IntoIter<(u64, u64)>;

pub(super) struct Drain {
    /// The group that is being given out.
    group: usize,
    /// The leaf that is next to be sorted; nothing when all have been.
    point: Option<u64>,
    runs: Vec<Run>,
    /// The first entry of each run that is not empty: order, table hash, run.
    heads: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { group: 0, point: Some(0), runs: Vec::new(), heads: BinaryHeap::new() }
    }
}

impl Drain {
    /// One step: sorts a leaf, goes on to the next group, or names the group, the order and the
    /// table hash of the entry that is next. Takes what it costs, in entries, off `work`.
    ///
    /// After the last group it begins again with the first.
    pub(super) fn step<K, V>(
        &mut self,
        nodes: &[Node<K, V>],
        work: &mut usize,
    ) -> Option<(usize, u64, u64)> {
        let Some(node) = nodes.get(self.group) else {
            *self = Self::default();
            return None;
        };
        if let Some(point) = self.point {
            let (leaf, span) = node.leaf(point);
            *work = work.saturating_sub(leaf.len().max(1));
            let entries = leaf.iter().map(|entry| (entry.order, entry.table_hash()));
            let mut run: Vec<_> = entries.collect();
            run.sort_unstable();
            self.runs.push(run.into_iter());
            self.pull(self.runs.len() - 1);
            self.point = span.end();
            return None;
        }
        let Some(Reverse((order, hash, run))) = self.heads.pop() else {
            *self = Self { group: self.group + 1, ..Self::default() };
            return None;
        };
        *work -= 1;
        self.pull(run);
        Some((self.group, order, hash))
    }

    /// Puts the next entry of a run, if it has one, among those that may be next.
    fn pull(&mut self, run: usize) {
        if let Some((order, hash)) = self.runs[run].next() {
            self.heads.push(Reverse((order, hash, run)));
        }
    }
}
