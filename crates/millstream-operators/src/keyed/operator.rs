//! The operator behind every rule: one table of states, results for each record or at the end.

use millstream_core::{Epoch, Failure, Keyed, Stamped, TaskInfo};

use super::Rule;
use crate::state::{Change, KeyedTable, Next, Stored};
use crate::{Effects, NoTimer, Operator, Records, Restored, Snapshot, SnapshotError, drained};

/// When results go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// One for each record, at its time.
    EachRecord,
    /// One for each key when the input ends, without a timestamp; by key group, and within a group
    /// in the order in which the keys appeared.
    AtEnd,
}

/// Results given out between two looks of the task at its room.
const RESULTS_PIECE: usize = 1_024;

/// Keeps a state for each key and applies a [`Rule`] to it.
///
/// # Ordering
///
/// Results of one key keep the order of its records.
///
/// # On recovery
///
/// The states of all keys come back, with the order in which they appeared.
pub struct KeyedOperator<R: Rule> {
    rule: R,
    emit: Emit,
    table: KeyedTable<R::Key, R::State>,
    results: Vec<(R::Key, R::State)>,
}

impl<R: Rule> KeyedOperator<R> {
    /// An operator for the keys that a task owns.
    pub fn new(task: &TaskInfo, emit: Emit, rule: R) -> Self {
        let range = task.key_groups.range(task.subtask, task.parallelism);
        let table = KeyedTable::new(task.key_groups, range);
        Self { rule, emit, table, results: Vec::new() }
    }
}

/// Applies a rule to records whose states have been looked for.
#[inline(always)]
fn work_off<R: Rule>(
    rule: &R,
    emit: Emit,
    mut states: impl Change<R::Key, R::State>,
    records: impl Iterator<Item = Stamped<Keyed<R::Key, R::Value>>>,
    out: &mut Effects<R::Out>,
) {
    match emit {
        Emit::EachRecord => out.extend(records.map(|record| {
            let at = record.with(());
            let Keyed { hash, key, value } = record.value;
            let update = |state: &mut R::State| rule.update(&key, state, value);
            at.with(states.change(hash, &key, || rule.first(), update))
        })),
        Emit::AtEnd => records.for_each(|record| {
            let Keyed { hash, key, value } = record.value;
            let absorb = |state: &mut R::State| rule.absorb(&key, state, value);
            states.change(hash, &key, || rule.first(), absorb);
        }),
    }
}

impl<R: Rule> Operator for KeyedOperator<R> {
    type In = Keyed<R::Key, R::Value>;
    type Out = R::Out;
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<Self::In>,
        out: &mut Effects<R::Out>,
    ) -> Result<(), Failure> {
        self.on_records(&mut Records::new(&mut vec![record].drain(..), 1), out)
    }

    #[inline]
    fn on_records(
        &mut self,
        records: &mut Records<'_, '_, Self::In>,
        out: &mut Effects<R::Out>,
    ) -> Result<(), Failure> {
        let Self { rule, emit, table, .. } = self;
        while let [next, ..] = records.ahead() {
            table.check(next.value.hash)?;
            // Each record makes one at most.
            let most = out.room().max(1);
            let keys = records.ahead().iter().map(|record| (record.value.hash, &record.value.key));
            let (ours, next) = table.look_ahead(keys.take(most));
            let ours = records.take_some(ours);
            match next {
                Next::InLeaf(states) => work_off(rule, *emit, states, ours, out),
                Next::InTree(states) => work_off(rule, *emit, states, ours, out),
            }
            if out.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn on_end(&mut self, out: &mut Effects<R::Out>) -> Result<(), Failure> {
        if self.emit == Emit::AtEnd {
            out.more();
        }
        Ok(())
    }

    fn more(&mut self, out: &mut Effects<R::Out>) -> Result<(), Failure> {
        if self.table.drain_in_order(RESULTS_PIECE, &mut self.results) {
            out.more();
        }
        let rule = &self.rule;
        drained(&mut self.results, |results| {
            let results = results.filter_map(|(key, state)| rule.result(key, state));
            out.extend(results.map(Stamped::new));
        });
        Ok(())
    }

    fn freeze(&mut self, epoch: Epoch) -> Result<(), Failure> {
        Ok(self.table.begin_capture(epoch)?)
    }

    fn snapshot(&mut self, entries: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        let left = self.table.sweep(entries);
        for captured in self.table.take_captured() {
            snapshot.keyed(captured.group, captured.entries);
        }
        Ok(!left)
    }

    fn abandon(&mut self, epoch: Epoch) {
        if self.table.capturing().is_some_and(|open| open <= epoch) {
            drop(self.table.abandon_capture());
        }
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        let group = piece
            .group
            .ok_or(SnapshotError::Kind { found: "a whole operator", expected: "key groups" })?;
        for stored in piece.read::<Vec<Stored<R::Key, R::State>>>()? {
            self.table.restore(group, stored)?;
        }
        Ok(())
    }
}
