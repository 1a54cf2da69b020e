//! The table does what a list of lists does, whatever happens in whatever order.

use std::cell::Cell;
use std::ops::Range;

use proptest::prelude::*;
use serde::{Deserialize, Serialize, Serializer};

use super::*;

/// A key that shares its whole hash with up to 2^`SHARED` others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
struct Name<const SHARED: u32>(u32);

impl<const SHARED: u32> Serialize for Name<SHARED> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.0 >> SHARED).serialize(serializer)
    }
}

thread_local! {
    static CLONES: Cell<usize> = const { Cell::new(0) };
}

/// A value that counts how often it is doubled.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counted(u64);

impl Clone for Counted {
    fn clone(&self) -> Self {
        CLONES.set(CLONES.get() + 1);
        Self(self.0)
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Add(u32),
    AddMany(u32, u32),
    /// The keys are looked for together before the first of them is added.
    AddTogether(u32, u32),
    Change(u32),
    Remove(u32),
    RemoveMany(u32, u32),
    /// Keys come and go, so that places are freed and used again.
    Churn(u32),
    Begin,
    Sweep(usize),
    Take,
    Abandon,
    Drain(usize),
}

const KEYS: u32 = 1_000;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0..KEYS).prop_map(Op::Add),
        2 => (0..KEYS, 1_u32..200).prop_map(|(from, count)| Op::AddMany(from, count)),
        2 => (0..KEYS, 1_u32..200).prop_map(|(from, count)| Op::AddTogether(from, count)),
        4 => (0..KEYS).prop_map(Op::Change),
        4 => (0..KEYS).prop_map(Op::Remove),
        1 => (0..KEYS, 1_u32..500).prop_map(|(from, count)| Op::RemoveMany(from, count)),
        1 => (1_u32..200).prop_map(Op::Churn),
        4 => Just(Op::Begin),
        8 => (1_usize..40).prop_map(Op::Sweep),
        2 => (100_usize..2_000).prop_map(Op::Sweep),
        2 => Just(Op::Take),
        1 => Just(Op::Abandon),
        1 => (1_usize..20).prop_map(Op::Drain),
    ];
    prop::collection::vec(op, 1..100)
}

fn add_to_each<K>(mut states: impl Change<K, Counted>, keys: &[(KeyHash, K)]) {
    for (hash, key) in keys {
        states.change(*hash, key, Counted::default, |value| value.0 += 1);
    }
}

type Entries<const SHARED: u32> = Vec<(KeyGroup, Stored<Name<SHARED>, Counted>)>;

/// The table and the list of lists, side by side. Of eight groups four are ours.
struct Pair<const SHARED: u32> {
    groups: KeyGroups,
    table: KeyedTable<Name<SHARED>, Counted>,
    /// By group, in order of appearance.
    model: Vec<Vec<(u64, u32, u64)>>,
    appeared: Vec<u64>,
    /// What the open capture must give out, and what it has given out.
    expected: Option<Entries<SHARED>>,
    captured: Entries<SHARED>,
    epoch: u64,
    /// Whether a drain has been left in the middle.
    drained: bool,
}

impl<const SHARED: u32> Pair<SHARED> {
    const FIRST: u32 = 3;
    const OURS: u32 = 4;

    fn new(leaf_entries: usize) -> Self {
        let groups = KeyGroups::new(8).unwrap();
        let range = Self::FIRST..Self::FIRST + Self::OURS;
        Self {
            groups,
            table: KeyedTable::with_leaf_entries(groups, range, leaf_entries),
            model: vec![Vec::new(); Self::OURS as usize],
            appeared: vec![0; Self::OURS as usize],
            expected: None,
            captured: Vec::new(),
            epoch: 0,
            drained: false,
        }
    }

    /// The key's hash and the index of its group, if that is ours.
    fn place(&self, key: u32) -> (KeyHash, Option<usize>) {
        let hash = KeyHash::of(&Name::<SHARED>(key)).unwrap();
        let group = self.groups.of(hash).get();
        let ours = (Self::FIRST..Self::FIRST + Self::OURS).contains(&group);
        (hash, ours.then(|| (group - Self::FIRST) as usize))
    }

    fn in_order(&self) -> Entries<SHARED> {
        let groups = (Self::FIRST..).map(KeyGroup::new).zip(&self.model);
        let entries = groups.flat_map(|(group, list)| list.iter().map(move |e| (group, e)));
        entries
            .map(|(group, &(order, key, value))| {
                (group, Stored { order, key: Name(key), value: Counted(value) })
            })
            .collect()
    }

    fn add(&mut self, key: u32) {
        let hash = self.place(key).0;
        let added = self.table.entry(hash, &Name(key)).map(|value| value.0 += 1);
        self.added(key, added.is_ok());
    }

    /// Those of the keys that are ours, and one behind them that is not.
    fn add_together(&mut self, keys: Range<u32>) {
        let (ours, foreign): (Vec<u32>, Vec<u32>) =
            keys.partition(|key| self.place(*key).1.is_some());
        let all: Vec<_> = ours.iter().chain(foreign.first()).collect();
        let all: Vec<_> = all.iter().map(|key| (self.place(**key).0, Name(**key))).collect();
        let mut done = 0;
        while done < ours.len() {
            let keys = all[done..].iter().map(|(hash, key)| (*hash, key));
            let (found, next) = self.table.look_ahead(keys);
            assert!(found > 0 && found <= ours.len() - done);
            let keys = &all[done..done + found];
            match next {
                Next::InLeaf(states) => add_to_each(states, keys),
                Next::InTree(states) => add_to_each(states, keys),
            }
            done += found;
        }
        ours.iter().for_each(|key| self.added(*key, true));
        let keys = all[done..].iter().map(|(hash, key)| (*hash, key));
        assert_eq!(self.table.look_ahead(keys).0, 0);
    }

    /// What adding to a key does to the list of lists.
    fn added(&mut self, key: u32, added: bool) {
        let ((hash, index), name) = (self.place(key), Name::<SHARED>(key));
        assert_eq!(added, index.is_some());
        let Some(index) = index else { return };
        let list = &mut self.model[index];
        match list.iter_mut().find(|(_, known, _)| *known == key) {
            Some((_, _, value)) => *value += 1,
            None => {
                list.push((self.appeared[index], key, 1));
                self.appeared[index] += 1;
            }
        }
        assert_eq!(
            self.table.get(hash, &name).unwrap().map(|value| value.0),
            self.model[index].iter().find(|(_, known, _)| *known == key).map(|(.., value)| *value)
        );
    }

    fn change(&mut self, key: u32) {
        let (hash, index) = self.place(key);
        let Some(index) = index else { return };
        let found = self.table.get_mut(hash, &Name(key)).unwrap();
        let expected = self.model[index].iter_mut().find(|(_, known, _)| *known == key);
        assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some((.., expected))) = (found, expected) {
            (found.0, *expected) = (found.0 * 3, *expected * 3);
            assert_eq!(found.0, *expected);
        }
    }

    fn remove(&mut self, key: u32) {
        let (hash, index) = self.place(key);
        let Some(index) = index else { return };
        let list = &mut self.model[index];
        let at = list.iter().position(|(_, known, _)| *known == key);
        let expected = at.map(|at| list.remove(at).2);
        let removed = self.table.remove(hash, &Name(key)).unwrap();
        assert_eq!(removed.map(|value| value.0), expected);
    }

    fn begin(&mut self) {
        self.epoch += 1;
        let begun = self.table.begin_capture(Epoch::new(self.epoch));
        assert_eq!(begun.is_err(), self.expected.is_some());
        if begun.is_ok() {
            self.expected = Some(self.in_order());
        }
    }

    fn sweep(&mut self, entries: usize) -> bool {
        let before = CLONES.get();
        let left = self.table.sweep(entries);
        assert!(CLONES.get() - before <= entries);
        self.take_if_over();
        left
    }

    fn take(&mut self) {
        let ready = self.table.captured_entries();
        let pieces = self.table.take_captured();
        assert_eq!(pieces.iter().map(|piece| piece.entries.len()).sum::<usize>(), ready);
        for piece in pieces {
            assert!(self.captured.last().is_none_or(|(group, _)| *group <= piece.group));
            self.captured.extend(piece.entries.into_iter().map(|entry| (piece.group, entry)));
        }
        self.take_if_over();
    }

    /// A capture that is over has given out the state as it was when it began.
    fn take_if_over(&mut self) {
        if self.table.capturing().is_none()
            && let Some(expected) = self.expected.take()
        {
            let mut captured = std::mem::take(&mut self.captured);
            captured.sort_by_key(|(group, entry)| (*group, entry.order));
            assert_eq!(captured, expected);
        }
    }

    fn abandon(&mut self) {
        let saved = self.table.abandon_capture();
        assert!(self.expected.is_some() || saved.is_empty());
        assert_eq!(self.table.capturing(), None);
        self.expected = None;
        self.captured.clear();
    }

    fn drain(&mut self, limit: usize) {
        let mut results = Vec::new();
        self.drained = self.table.drain_in_order(limit, &mut results);
        assert!(results.len() <= limit);
        for (key, value) in results {
            let index = self.place(key.0).1.unwrap();
            let list = &mut self.model[index];
            let at = list.iter().position(|(_, known, _)| *known == key.0).unwrap();
            assert_eq!(list.remove(at).2, value.0);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Add(key) => self.add(key),
            Op::AddMany(from, count) => (from..from + count).for_each(|key| self.add(key)),
            Op::AddTogether(from, count) => self.add_together(from..from + count),
            Op::Change(key) => self.change(key),
            Op::Remove(key) => self.remove(key),
            Op::RemoveMany(from, count) => (from..from + count).for_each(|key| self.remove(key)),
            Op::Churn(count) => (KEYS * 2..KEYS * 2 + count).for_each(|key| {
                self.add(key);
                self.remove(key);
            }),
            Op::Begin => self.begin(),
            Op::Sweep(entries) => drop(self.sweep(entries)),
            Op::Take => self.take(),
            Op::Abandon => self.abandon(),
            Op::Drain(limit) => self.drain(limit),
        }
        assert_eq!(self.table.len(), self.model.iter().map(Vec::len).sum::<usize>());
    }

    /// The open capture is right, and so is a table made from a capture of the end.
    fn end(mut self) {
        while self.sweep(32) {}
        self.take();
        assert_eq!(self.expected, None);
        self.begin();
        while self.table.sweep(32) {}
        let mut stored = self.table.take_captured();
        let expected = self.in_order();
        let mut restored = Self::new(3);
        stored.reverse();
        for piece in stored {
            piece.entries.into_iter().rev().for_each(|entry| {
                restored.table.restore(piece.group, entry).unwrap();
            });
        }
        drains_to(&mut restored.table, &expected);
        if !self.drained {
            drains_to(&mut self.table, &expected);
        }
    }
}

fn drains_to<const SHARED: u32>(
    table: &mut KeyedTable<Name<SHARED>, Counted>,
    expected: &Entries<SHARED>,
) {
    let mut results = Vec::new();
    while table.drain_in_order(7, &mut results) {}
    let expected: Vec<_> = expected.iter().map(|(_, e)| (e.key.clone(), e.value.clone())).collect();
    assert_eq!(results, expected);
    assert!(table.is_empty());
}

fn same<const SHARED: u32>(leaf_entries: usize, ops: Vec<Op>) {
    let mut pair = Pair::<SHARED>::new(leaf_entries);
    ops.into_iter().for_each(|op| pair.apply(op));
    pair.end();
}

proptest! {
    #[test]
    fn it_does_what_a_list_of_lists_does(
        leaf_entries in prop::sample::select(vec![1_usize, 7, 20, 60, LEAF_ENTRIES]),
        ops in ops(),
    ) {
        same::<0>(leaf_entries, ops);
    }

    #[test]
    fn it_does_so_when_keys_share_their_hashes(
        leaf_entries in prop::sample::select(vec![1_usize, 7, 60]),
        shared in 0..3,
        ops in ops(),
    ) {
        match shared {
            0 => same::<2>(leaf_entries, ops),
            1 => same::<6>(leaf_entries, ops),
            // All keys have the hash of zero, whose group is 6 and so is ours.
            _ => same::<31>(leaf_entries, ops),
        }
    }
}
