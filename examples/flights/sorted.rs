//! An operator of one's own: the results of keys, put in the order of the keys.

use std::collections::BTreeMap;

use millstream::prelude::*;
use millstream::{Epoch, Key, Record, Restored, Snapshot};

/// Rows given out between two looks of the task at its room and at its mail.
const PIECE: usize = 1_024;

/// Keeps one value a key until the input ends, then passes all on in the order of the keys.
///
/// Every row goes to its place as it comes, so no turn has to sort them all. Meant for results, of
/// which there are few: a checkpoint copies them all at once.
pub(crate) struct Sorted<K, V> {
    rows: BTreeMap<K, V>,
    frozen: BTreeMap<K, V>,
}

impl<K, V> Sorted<K, V> {
    pub(crate) const fn new() -> Self {
        Self { rows: BTreeMap::new(), frozen: BTreeMap::new() }
    }
}

impl<K: Key + Ord, V: Record + Clone> Operator for Sorted<K, V> {
    type In = (K, V);
    type Out = (K, V);
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<(K, V)>,
        _: &mut Effects<(K, V)>,
    ) -> Result<(), Failure> {
        let (key, value) = record.value;
        self.rows.insert(key, value);
        Ok(())
    }

    fn on_end(&mut self, out: &mut Effects<(K, V)>) -> Result<(), Failure> {
        out.more();
        Ok(())
    }

    fn more(&mut self, out: &mut Effects<(K, V)>) -> Result<(), Failure> {
        for _ in 0..PIECE {
            let Some(row) = self.rows.pop_first() else { return Ok(()) };
            out.emit(Stamped::new(row));
        }
        out.more();
        Ok(())
    }

    fn freeze(&mut self, _: Epoch) -> Result<(), Failure> {
        self.frozen = self.rows.clone();
        Ok(())
    }

    fn snapshot(&mut self, entries: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        let pop = || self.frozen.pop_first();
        let piece: Vec<(K, V)> = std::iter::from_fn(pop).take(entries.max(1)).collect();
        snapshot.operator(piece);
        Ok(self.frozen.is_empty())
    }

    fn abandon(&mut self, _: Epoch) {
        self.frozen.clear();
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.rows.extend(piece.read::<Vec<(K, V)>>()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(rows: impl IntoIterator<Item = (u8, char)>) -> Sorted<u8, char> {
        Sorted { rows: rows.into_iter().collect(), frozen: BTreeMap::new() }
    }

    /// All that a snapshot in pieces of at most `entries` holds, restored into a new operator.
    fn restored(from: &mut Sorted<u8, char>, entries: usize) -> Sorted<u8, char> {
        let mut snapshot = Snapshot::default();
        while !from.snapshot(entries, &mut snapshot).unwrap() {}
        let mut to = sorted([]);
        for piece in snapshot.into_pieces() {
            let group = piece.group;
            to.restore(&Restored::new(group, &piece.encode().unwrap())).unwrap();
        }
        to
    }

    #[test]
    fn more_rows_than_fit_into_a_piece_come_out_once_each_and_in_order() {
        let rows = 3 * PIECE as u64 + 1;
        let flow = Dataflow::new("sorted");
        // Each number once, in an order that jumps about: 5 and 3,073 have no common factor.
        let collected = flow
            .source("jumble", Generate::new(move |n| (n * 5 % rows, n)).records(rows))
            .operator("sorted", |_| Sorted::new())
            .collect("out");
        let run = async { flow.start(Settings::new()).await.unwrap().finished().await };
        actix::System::new().block_on(run).unwrap();
        assert!(collected.take().into_iter().map(|(key, _)| key).eq(0..rows));
    }

    #[test]
    fn a_snapshot_holds_the_rows_of_the_moment_it_was_frozen() {
        let mut first = sorted([(3, 'c'), (1, 'a'), (2, 'b')]);
        first.freeze(Epoch::new(1)).unwrap();
        first.rows.insert(4, 'd');
        let second = restored(&mut first, 2);
        assert_eq!(second.rows, [(1, 'a'), (2, 'b'), (3, 'c')].into());
        assert_eq!(first.rows.len(), 4);
    }

    #[test]
    fn a_snapshot_that_is_given_up_leaves_nothing() {
        let mut first = sorted([(1, 'a')]);
        first.freeze(Epoch::new(1)).unwrap();
        first.abandon(Epoch::new(1));
        assert!(restored(&mut first, 1).rows.is_empty());
    }
}
