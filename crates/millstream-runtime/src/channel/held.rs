//! What a branch has taken and not worked off.

use millstream_core::{Mark, Stamped};
use millstream_operators::let_go_all;

/// Input that a branch has taken and not worked off, because the channels were full in the middle:
/// the records in reverse order, then marks.
pub(super) struct Held<T> {
    pub(super) records: Vec<Stamped<T>>,
    pub(super) marks: Vec<Mark>,
}

impl<T> Held<T> {
    pub(super) const fn new() -> Self {
        Self { records: Vec::new(), marks: Vec::new() }
    }

    pub(super) fn put(&mut self, records: &mut Vec<Stamped<T>>) {
        debug_assert!(self.records.is_empty(), "a branch that is blocked is given no records");
        std::mem::swap(&mut self.records, records);
        self.records.reverse();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.records.is_empty() && self.marks.is_empty()
    }

    /// A step has failed: what stands behind the record that it failed at is given up.
    pub(super) fn give_up(&mut self) {
        let_go_all(&mut self.records);
        self.marks.clear();
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        let_go_all(&mut self.records);
    }
}
