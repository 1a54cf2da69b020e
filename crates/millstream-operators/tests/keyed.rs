//! Proves that keyed operators do what a map of states does, at any parallelism, also when their
//! state goes through a snapshot taken in pieces, with records in between, and comes back
//! elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_core::{
    Attempt, Epoch, Failure, KeyGroup, KeyGroups, KeyHash, Keyed, StageId, Stamped, TaskInfo,
    Timestamp,
};
use millstream_operators::keyed::{
    Emit, Fold, KeyedOperator, LastWithState, Reduce, Rule, WithState,
};
use millstream_operators::state::{CaptureOpen, NotOurs, RestoreError};
use millstream_operators::{
    Effects, Operator, Records, Restored, SideBuffers, Snapshot, SnapshotError,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Few groups, so that keys meet in them, and no power of two.
const GROUPS: u32 = 11;

type Row = (u16, i64);
type Stored = Vec<(Option<KeyGroup>, Vec<u8>)>;

fn task(subtask: usize, parallelism: usize) -> Result<TaskInfo, Failure> {
    Ok(TaskInfo {
        job: Arc::from("keyed"),
        stage: Arc::from("stage"),
        id: StageId::new(0),
        subtask,
        parallelism,
        attempt: Attempt::new(0),
        key_groups: KeyGroups::new(GROUPS)?.checked_for(parallelism)?,
    })
}

fn stamp<T>(value: T, millis: i64) -> Stamped<T> {
    match Timestamp::from_millis(millis) {
        Ok(timestamp) => Stamped::at(value, timestamp),
        Err(_) => Stamped::new(value),
    }
}

/// The tasks of a keyed stage, each with what it has written.
struct Stage<R: Rule> {
    tasks: Vec<(TaskInfo, KeyedOperator<R>, Effects<R::Out>)>,
}

impl<R: Rule<Key = u16, Value = Row>> Stage<R> {
    fn new(parallelism: usize, emit: Emit, rule: impl Fn() -> R) -> Result<Self, Failure> {
        let mut tasks = Vec::new();
        for subtask in 0..parallelism {
            let info = task(subtask, parallelism)?;
            let mut operator = KeyedOperator::new(&info, emit, rule());
            operator.open(&info)?;
            tasks.push((info, operator, Effects::new(SideBuffers::default(), 1_024)));
        }
        Ok(Self { tasks })
    }

    /// Gives a row to the task that owns its key.
    fn record(&mut self, row: Row, millis: i64) -> Result<(), Failure> {
        let hash = KeyHash::of(&row.0)?;
        let owner = KeyGroups::new(GROUPS)?.owner_of(hash, self.tasks.len());
        let (_, operator, out) = &mut self.tasks[owner];
        operator.on_record(stamp(Keyed { hash, key: row.0, value: row }, millis), out)
    }

    /// What each task has given out since this was last asked.
    fn take(&mut self) -> Vec<Vec<Stamped<R::Out>>> {
        self.tasks.iter_mut().map(|(_, _, out)| std::mem::take(out.records())).collect()
    }

    /// The end of the input, and all work that is left by then.
    fn end(&mut self) -> Result<(), Failure> {
        for (_, operator, out) in &mut self.tasks {
            operator.on_end(out)?;
            while out.take_more() {
                operator.more(out)?;
            }
            operator.close()?;
        }
        Ok(())
    }

    fn restore(&mut self, stored: &Stored) -> Result<(), Failure> {
        for (group, bytes) in stored {
            let group = group.ok_or_else(|| Failure::new("a piece without a group"))?;
            let owner = KeyGroups::new(GROUPS)?.owner(group, self.tasks.len());
            self.tasks[owner].1.restore(&Restored::new(Some(group), bytes))?;
        }
        Ok(())
    }

    /// A snapshot of each task, `entries` a piece, with one of the rows behind every piece.
    fn snapshot(
        &mut self,
        epoch: Epoch,
        entries: usize,
        rows: &mut impl Iterator<Item = (Row, i64)>,
    ) -> Result<Stored, Failure> {
        for (_, operator, _) in &mut self.tasks {
            operator.freeze(epoch)?;
        }
        let mut stored = Stored::new();
        for task in 0..self.tasks.len() {
            loop {
                let mut pieces = Snapshot::default();
                let all = self.tasks[task].1.snapshot(entries, &mut pieces)?;
                for piece in pieces.into_pieces() {
                    let group = piece.group;
                    stored.push((group, piece.encode()?));
                }
                if all {
                    break;
                }
                if let Some((row, millis)) = rows.next() {
                    self.record(row, millis)?;
                }
            }
        }
        Ok(stored)
    }
}

/// The same as a map of states: each key's state, and when the key appeared.
struct Naive<S> {
    states: BTreeMap<u16, (usize, S)>,
}

impl<S: Clone> Naive<S> {
    fn new() -> Self {
        Self { states: BTreeMap::new() }
    }

    fn add<U>(&mut self, row: Row, first: &S, update: impl FnOnce(&mut S) -> U) -> U {
        let appeared = self.states.len();
        let (_, state) = self.states.entry(row.0).or_insert_with(|| (appeared, first.clone()));
        update(state)
    }

    /// The keys by group, then by appearance, with their states.
    fn in_order(&self) -> Result<Vec<(u16, S)>, Failure> {
        let groups = KeyGroups::new(GROUPS)?;
        let mut all = Vec::new();
        for (key, (appeared, state)) in &self.states {
            all.push((groups.of(KeyHash::of(key)?), *appeared, *key, state.clone()));
        }
        all.sort_by_key(|(group, appeared, ..)| (*group, *appeared));
        Ok(all.into_iter().map(|(_, _, key, state)| (key, state)).collect())
    }
}

fn rows() -> impl Strategy<Value = Vec<(Row, i64)>> {
    let key = prop_oneof![3 => 0..8_u16, 1 => any::<u16>()];
    let millis = prop_oneof![1 => Just(i64::MIN), 3 => -9..9_i64];
    vec(((key, -99..99_i64), millis), 0..120)
}

/// Not commutative, so that the order of a key's values shows.
fn fold_in(sum: &mut i64, row: &Row) {
    *sum = sum.wrapping_mul(31).wrapping_add(row.1);
}

fn label(key: u16, seen: &mut u32, row: &Row) -> String {
    *seen += 1;
    format!("{key}: {} is the {seen}.", row.1)
}

fn fold() -> impl Rule<Key = u16, Value = Row, State = i64, Out = (u16, i64)> {
    Fold::new(7, |sum: &mut i64, row: Row| fold_in(sum, &row))
}

fn reduce() -> impl Rule<Key = u16, Value = Row, Out = (u16, Row)> {
    Reduce::new(|all: &mut Row, row: Row| fold_in(&mut all.1, &row))
}

fn with_state() -> impl Rule<Key = u16, Value = Row, State = u32, Out = String> {
    WithState::new(|key: &u16, seen: &mut u32, row: Row| label(*key, seen, &row))
}

fn last_with_state() -> impl Rule<Key = u16, Value = Row, Out = String> {
    LastWithState::new(|key: &u16, seen: &mut u32, row: Row| label(*key, seen, &row))
}

/// What a stage gives out for each record, record by record.
fn each_record<R: Rule<Key = u16, Value = Row>>(
    rows: &[(Row, i64)],
    parallelism: usize,
    rule: impl Fn() -> R,
) -> Result<Vec<Stamped<R::Out>>, Failure> {
    let mut stage = Stage::new(parallelism, Emit::EachRecord, rule)?;
    let mut made = Vec::new();
    for (row, millis) in rows {
        stage.record(*row, *millis)?;
        let mut of_row: Vec<_> = stage.take().into_iter().flatten().collect();
        assert_eq!(of_row.len(), 1, "one result a record, at once");
        made.append(&mut of_row);
    }
    stage.end()?;
    assert!(stage.take().iter().all(Vec::is_empty), "nothing is left for the end");
    Ok(made)
}

/// What a stage gives out at the end, its tasks one behind the other.
fn at_end<R: Rule<Key = u16, Value = Row>>(
    rows: &[(Row, i64)],
    parallelism: usize,
    rule: impl Fn() -> R,
) -> Result<Vec<Stamped<R::Out>>, Failure> {
    let mut stage = Stage::new(parallelism, Emit::AtEnd, rule)?;
    for (row, millis) in rows {
        stage.record(*row, *millis)?;
    }
    assert!(stage.take().iter().all(Vec::is_empty), "nothing before the end");
    stage.end()?;
    Ok(stage.take().into_iter().flatten().collect())
}

fn bare<T>(values: impl IntoIterator<Item = T>) -> Vec<Stamped<T>> {
    values.into_iter().map(Stamped::new).collect()
}

proptest! {
    #[test]
    fn each_record_has_the_result_that_a_map_of_states_gives(
        rows in rows(),
        parallelism in 1..=GROUPS as usize,
    ) {
        let (mut folded, mut reduced, mut labelled) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sums, mut all, mut seen) = (Naive::new(), Naive::new(), Naive::new());
        for (row, millis) in &rows {
            let (key, millis) = (row.0, *millis);
            let sum = sums.add(*row, &7, |sum| { fold_in(sum, row); *sum });
            folded.push(stamp((key, sum), millis));
            let sum = all.add(*row, &None, |all: &mut Option<Row>| match all {
                Some(all) => { fold_in(&mut all.1, row); *all }
                None => *all.insert(*row),
            });
            reduced.push(stamp((key, sum), millis));
            let text = seen.add(*row, &0, |seen| label(key, seen, row));
            labelled.push(stamp(text, millis));
        }
        prop_assert_eq!(each_record(&rows, parallelism, fold).unwrap(), folded);
        prop_assert_eq!(each_record(&rows, parallelism, reduce).unwrap(), reduced);
        prop_assert_eq!(each_record(&rows, parallelism, with_state).unwrap(), labelled.clone());
        prop_assert_eq!(each_record(&rows, parallelism, last_with_state).unwrap(), labelled);
    }

    #[test]
    fn records_that_come_together_are_taken_until_there_is_enough(
        rows in rows(),
        together in 1_usize..50,
        enough in 1_usize..20,
    ) {
        let info = task(0, 1).unwrap();
        let mut operator = KeyedOperator::new(&info, Emit::EachRecord, fold());
        let mut out = Effects::new(SideBuffers::default(), enough);
        let keyed = rows.iter().map(|(row, millis)| {
            let hash = KeyHash::of(&row.0).unwrap();
            stamp(Keyed { hash, key: row.0, value: *row }, *millis)
        });
        let (mut batch, mut made) = (keyed.collect::<Vec<_>>(), Vec::new());
        let mut left = batch.drain(..);
        while left.len() > 0 {
            let before = left.len();
            operator.on_records(&mut Records::new(&mut left, together), &mut out).unwrap();
            let piece = std::mem::take(out.records());
            prop_assert_eq!(piece.len(), before - left.len(), "one result a record");
            prop_assert_eq!(piece.len(), before.min(together).min(enough));
            made.extend(piece);
        }
        prop_assert_eq!(made, each_record(&rows, 1, fold).unwrap());
    }

    #[test]
    fn at_the_end_the_keys_come_by_group_and_first_appearance(
        rows in rows(),
        parallelism in 1..=GROUPS as usize,
    ) {
        let (mut sums, mut all, mut texts) = (Naive::new(), Naive::new(), Naive::new());
        for (row, _) in &rows {
            sums.add(*row, &7, |sum| fold_in(sum, row));
            all.add(*row, &None, |all: &mut Option<Row>| match all {
                Some(all) => fold_in(&mut all.1, row),
                None => *all = Some(*row),
            });
            texts.add(*row, &(0, String::new()), |(seen, text)| *text = label(row.0, seen, row));
        }
        let expected = bare(sums.in_order().unwrap());
        prop_assert_eq!(at_end(&rows, parallelism, fold).unwrap(), expected);
        let reduced = all.in_order().unwrap().into_iter();
        let expected = bare(reduced.filter_map(|(key, all)| all.map(|all| (key, all))));
        prop_assert_eq!(at_end(&rows, parallelism, reduce).unwrap(), expected);
        let expected = bare(texts.in_order().unwrap().into_iter().map(|(_, (_, text))| text));
        prop_assert_eq!(at_end(&rows, parallelism, last_with_state).unwrap(), expected);
        // What has given out each result has none left.
        prop_assert_eq!(at_end(&rows, parallelism, with_state).unwrap(), []);
    }

    /// One life at one parallelism with a snapshot somewhere, and from it a second life at another:
    /// the second goes on as if nothing had happened since the barrier, and the first too.
    #[test]
    fn a_snapshot_in_pieces_holds_the_state_of_its_barrier_at_any_parallelism(
        rows in rows(),
        barrier in any::<Index>(),
        entries in 1..9_usize,
        parallelism in 1..=GROUPS as usize,
        others in vec(1..=GROUPS as usize, 1..3),
        given_up in any::<bool>(),
    ) {
        let straight = at_end(&rows, 1, last_with_state).unwrap();
        let barrier = barrier.index(rows.len() + 1);
        let (before, after) = rows.split_at(barrier);

        let mut first = Stage::new(parallelism, Emit::AtEnd, last_with_state).unwrap();
        for (row, millis) in before {
            first.record(*row, *millis).unwrap();
        }
        if given_up {
            // An epoch that is given up in the middle leaves no trace.
            for (_, operator, _) in &mut first.tasks {
                operator.freeze(Epoch::new(1)).unwrap();
                operator.snapshot(entries, &mut Snapshot::default()).unwrap();
                operator.abandon(Epoch::new(1));
            }
        }
        let mut behind = after.iter().copied();
        let stored = first.snapshot(Epoch::new(2), entries, &mut behind).unwrap();
        for (row, millis) in behind {
            first.record(row, millis).unwrap();
        }
        first.end().unwrap();
        let made: Vec<_> = first.take().into_iter().flatten().collect();
        prop_assert_eq!(&made, &straight, "whoever was looked at goes on unchanged");

        for other in others {
            let mut second = Stage::new(other, Emit::AtEnd, last_with_state).unwrap();
            second.restore(&stored).unwrap();
            for (row, millis) in after {
                second.record(*row, *millis).unwrap();
            }
            second.end().unwrap();
            let made: Vec<_> = second.take().into_iter().flatten().collect();
            prop_assert_eq!(&made, &straight, "restored with {} tasks", other);
        }
    }
}

/// A stage of one task with three keys in it, and its stored state.
fn three_keys() -> Result<(Stage<impl Rule<Key = u16, Value = Row>>, Stored), Failure> {
    let mut stage = Stage::new(1, Emit::AtEnd, fold)?;
    for key in 0..3 {
        stage.record((key, 1), 0)?;
    }
    let stored = stage.snapshot(Epoch::new(1), 64, &mut std::iter::empty())?;
    Ok((stage, stored))
}

fn refusal<E: std::error::Error + Clone + 'static>(result: Result<(), Failure>) -> Option<E> {
    result.err()?.cause().downcast_ref::<E>().cloned()
}

#[test]
fn a_piece_that_comes_to_another_owner_is_refused() {
    let (_, stored) = three_keys().unwrap();
    let groups = KeyGroups::new(GROUPS).unwrap();
    let mut refused = 0;
    for (group, bytes) in &stored {
        let group = group.unwrap();
        for subtask in (0..3).filter(|subtask| *subtask != groups.owner(group, 3)) {
            let info = task(subtask, 3).unwrap();
            let mut operator = KeyedOperator::new(&info, Emit::AtEnd, fold());
            let error = refusal(operator.restore(&Restored::new(Some(group), bytes)));
            let range = groups.range(subtask, 3);
            let not_ours = NotOurs { group, first: range.start, end: range.end };
            assert_eq!(error, Some(RestoreError::NotOurs(not_ours)));
            refused += 1;
        }
    }
    assert!(!stored.is_empty());
    assert_eq!(refused, stored.len() * 2);
}

#[test]
fn a_piece_of_another_group_comes_twice_or_is_no_piece_of_keys_and_is_refused() {
    let (mut stage, stored) = three_keys().unwrap();
    let (Some(group), bytes) = &stored[0] else { panic!("state of keys has a group") };
    let operator = &mut stage.tasks[0].1;
    let twice = refusal(operator.restore(&Restored::new(Some(*group), bytes)));
    assert!(matches!(twice, Some(RestoreError::Twice { group: of, .. }) if of == *group));

    let other = KeyGroup::new((group.get() + 1) % GROUPS);
    let wrong = refusal(operator.restore(&Restored::new(Some(other), bytes)));
    let RestoreError::WrongGroup { stored, own, .. } = wrong.unwrap() else { panic!() };
    assert_eq!((stored, own), (other, *group));

    let whole = operator.restore(&Restored::new(None, bytes)).unwrap_err();
    assert!(matches!(whole.cause().downcast_ref(), Some(SnapshotError::Kind { .. })));
    operator.restore(&Restored::new(Some(*group), &[1, 2, 3])).unwrap_err();
}

#[test]
fn a_record_that_comes_to_another_owner_is_refused() {
    let groups = KeyGroups::new(GROUPS).unwrap();
    let hash = KeyHash::of(&3_u16).unwrap();
    let owner = groups.owner_of(hash, 2);
    let info = task(1 - owner, 2).unwrap();
    let mut operator = KeyedOperator::new(&info, Emit::EachRecord, fold());
    let mut out = Effects::new(SideBuffers::default(), 1_024);
    let record = Stamped::new(Keyed { hash, key: 3, value: (3, 1) });
    let error: NotOurs = refusal(operator.on_record(record, &mut out)).unwrap();
    assert_eq!(error.group, groups.of(hash));
    assert!(out.records().is_empty());
}

#[test]
fn a_second_freeze_is_refused_until_the_first_is_taken_or_given_up() {
    let mut stage = three_keys().unwrap().0;
    let operator = &mut stage.tasks[0].1;
    operator.freeze(Epoch::new(2)).unwrap();
    let open: CaptureOpen = refusal(operator.freeze(Epoch::new(3))).unwrap();
    assert_eq!((open.open, open.asked), (Epoch::new(2), Epoch::new(3)));
    operator.abandon(Epoch::new(1));
    operator.freeze(Epoch::new(3)).unwrap_err();
    operator.abandon(Epoch::new(2));
    operator.freeze(Epoch::new(3)).unwrap();
}

#[test]
fn many_results_at_the_end_come_in_pieces() {
    const KEYS: u16 = 5_000;
    let info = task(0, 1).unwrap();
    let mut operator = KeyedOperator::new(&info, Emit::AtEnd, fold());
    let mut out = Effects::new(SideBuffers::default(), 1_024);
    for key in 0..KEYS {
        let hash = KeyHash::of(&key).unwrap();
        let record = Stamped::new(Keyed { hash, key, value: (key, 1) });
        operator.on_record(record, &mut out).unwrap();
    }
    operator.on_end(&mut out).unwrap();
    assert!(out.records().is_empty(), "the end itself only announces");
    let (mut calls, mut made) = (0, 0);
    while out.take_more() {
        operator.more(&mut out).unwrap();
        let piece = std::mem::take(out.records()).len();
        assert!(piece <= 1_024, "{piece} results at once");
        calls += 1;
        made += piece;
    }
    assert_eq!(made, usize::from(KEYS));
    assert!(calls >= 5, "{calls} calls");
}
