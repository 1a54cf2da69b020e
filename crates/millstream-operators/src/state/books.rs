//! What a table knows about its entries as a whole.

use super::capture::Capture;
use super::leaf::Leaf;
use super::line::Line;

/// What a table knows about its entries as a whole.
pub(super) struct Books<K, V> {
    pub(super) line: Line,
    pub(super) len: usize,
    /// How many entries have appeared so far, by group.
    pub(super) appeared: Vec<u64>,
    /// The stamp of the newest capture: an entry with another one is not part of it yet.
    pub(super) stamp: u32,
    pub(super) capture: Option<Capture<K, V>>,
    /// With how many entries a full leaf is split.
    pub(super) leaf_entries: usize,
}

impl<K: Clone, V: Clone> Books<K, V> {
    /// Before an entry of another stamp changes or goes: saves it, if a capture is open that has not.
    #[cold]
    pub(super) fn before_change(&mut self, leaf: &mut Leaf<K, V>, index: usize) {
        if let Some(capture) = &mut self.capture {
            capture.save(leaf, index);
        }
        leaf.set_stamp(index, self.stamp);
    }
}
