//! Taking the state of a stage of calls, and putting it back, also among other tasks.

use std::collections::{BTreeMap, VecDeque};

use millstream_core::{Failure, KeyGroup, Mark, Record};

use super::policy::Handlers;
use super::queue::{Order, Unemitted};
use super::stored::{Stored, StoredElement};
use super::wait::{AsyncWait, Parked};
use crate::{Restored, Snapshot};

/// Elements of one piece. What is not stored by key group is dealt out by piece when the number of
/// tasks has changed, so pieces are small.
const PIECE: usize = 64;

/// What is being stored and what has come back.
#[derive(Debug)]
pub(super) struct State<I> {
    frozen: VecDeque<(Option<KeyGroup>, Stored<I>)>,
    restored: Vec<Stored<I>>,
}

impl<I> Default for State<I> {
    fn default() -> Self {
        Self { frozen: VecDeque::new(), restored: Vec::new() }
    }
}

impl<I: Record + Clone, R> AsyncWait<I, R> {
    /// Copies what has not gone out: it is the state. Changes nothing.
    ///
    /// # Errors
    ///
    /// When inputs are not kept.
    pub fn freeze(&mut self, handlers: &impl Handlers<I, R>) -> Result<(), Failure> {
        let elements = self.elements()?.into_elements();
        self.state.frozen.clear();
        if matches!(self.limits.order, Order::KeyOrdered { .. }) {
            self.freeze_by_group(elements, handlers);
            return Ok(());
        }
        // One piece at least, which says how far this task had come.
        let mut rest = elements.peekable();
        loop {
            let piece = self.stored(rest.by_ref().take(PIECE).collect());
            self.state.frozen.push_back((None, piece));
            if rest.peek().is_none() {
                return Ok(());
            }
        }
    }

    fn freeze_by_group(
        &mut self,
        elements: impl Iterator<Item = (u64, StoredElement<I>)>,
        handlers: &impl Handlers<I, R>,
    ) {
        let mut groups: BTreeMap<KeyGroup, Vec<_>> = BTreeMap::new();
        let mut marks = Vec::new();
        for element in elements {
            let hash = match &element.1 {
                StoredElement::Record(_, record) => handlers.key(&record.value),
                StoredElement::Watermark(_) => None,
            };
            match hash.map(|hash| self.key_groups.of(hash)) {
                Some(group) => groups.entry(group).or_default().push(element),
                None => marks.push(element),
            }
        }
        let marks = (None, self.stored(marks));
        let groups = groups.into_iter().map(|(group, of)| (Some(group), self.stored(of)));
        self.state.frozen = std::iter::once(marks).chain(groups).collect();
    }

    fn stored(&self, elements: Vec<(u64, StoredElement<I>)>) -> Stored<I> {
        let Self { subtask, parallelism, watermark, .. } = *self;
        Stored { subtask, parallelism, watermark, elements }
    }

    /// What has not gone out, in the order of the input.
    fn elements(&self) -> Result<Stored<I>, Failure> {
        let mut stored = self.stored(Vec::new());
        for unemitted in self.queue.unemitted() {
            match unemitted {
                Unemitted::Record(_, call) => {
                    let Some(input) = call.input.clone() else {
                        return Err(Failure::new("a snapshot is asked for, and no input is kept"));
                    };
                    stored.push(StoredElement::Record(call.admission, call.at.with(input)));
                }
                Unemitted::Mark(_, Mark::Watermark(watermark)) => {
                    stored.push(StoredElement::Watermark(watermark));
                }
                // Whether a channel is idle is found out anew.
                Unemitted::Mark(..) => {}
            }
        }
        for parked in &self.parked {
            match parked {
                Parked::Record(admission, record) => {
                    stored.push(StoredElement::Record(*admission, record.clone()));
                }
                Parked::Mark(Mark::Watermark(watermark)) => {
                    stored.push(StoredElement::Watermark(*watermark));
                }
                Parked::Mark(_) => {}
            }
        }
        Ok(stored)
    }

    /// Puts at most so many pieces of the frozen state into `snapshot`; whether that was all.
    pub fn snapshot(&mut self, pieces: usize, snapshot: &mut Snapshot) -> bool {
        for (group, piece) in self.state.frozen.drain(..pieces.min(self.state.frozen.len())) {
            match group {
                Some(group) => snapshot.keyed(group, piece),
                None => snapshot.operator(piece),
            }
        }
        self.state.frozen.is_empty()
    }

    /// The frozen state is not needed any more.
    pub fn abandon(&mut self) {
        self.state.frozen.clear();
    }

    /// A piece of the stored state comes back. [`resume`](Self::resume) follows the last one.
    ///
    /// # Errors
    ///
    /// When the bytes are those of something else.
    pub fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.state.restored.push(piece.read()?);
        Ok(())
    }

    /// Every piece has come back: what they hold is called again, in order, before new input.
    ///
    /// If the pieces are those of this very task, watermarks come back to their places. Otherwise
    /// records of several tasks stand together here, and one watermark stands behind all of them:
    /// the least of the tasks' newest ones.
    pub fn resume(&mut self) {
        let pieces = std::mem::take(&mut self.state.restored);
        let own = |piece: &Stored<I>| {
            (piece.subtask, piece.parallelism) == (self.subtask, self.parallelism)
        };
        let same = pieces.iter().all(own);
        let watermark = pieces.iter().map(|piece| piece.watermark).min().flatten();
        self.watermark = watermark;
        let by_place = |piece: Stored<I>| {
            let subtask = piece.subtask;
            let elements = piece.into_elements();
            elements.map(move |(place, element)| ((subtask, place), element))
        };
        let mut elements: Vec<_> = pieces.into_iter().flat_map(by_place).collect();
        elements.sort_by_key(|(place, _)| *place);
        let parked = elements.into_iter().map(|(_, element)| match element {
            StoredElement::Record(admission, record) => Parked::Record(admission, record),
            StoredElement::Watermark(watermark) => Parked::Mark(Mark::Watermark(watermark)),
        });
        self.parked = if same {
            parked.collect()
        } else {
            let records = parked.filter(|it| matches!(it, Parked::Record(..)));
            let behind = watermark.map(|it| Parked::Mark(Mark::Watermark(it)));
            records.chain(behind).collect()
        };
    }
}
