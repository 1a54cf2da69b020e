//! What the table promises, case by case; the property test is in `model`.

mod model;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use millstream_core::{Epoch, KeyError, KeyGroup, KeyGroups, KeyHash, Volatile, codec};

use super::*;

fn hash(key: u32) -> KeyHash {
    KeyHash::of(&key).unwrap()
}

/// A table of all of the job's `groups` groups, with a value for the keys below `keys`.
fn filled(groups: u32, keys: u32) -> KeyedTable<u32, u64> {
    let mut table = KeyedTable::new(KeyGroups::new(groups).unwrap(), 0..groups);
    for key in 0..keys {
        *table.entry(hash(key), &key).unwrap() = u64::from(key);
    }
    table
}

/// Sweeps to the end; everything captured, by group and order.
fn finish<K: millstream_core::Key, V: Clone>(
    table: &mut KeyedTable<K, V>,
) -> Vec<(KeyGroup, Stored<K, V>)> {
    while table.sweep(64) {}
    let pieces = table.take_captured().into_iter();
    let mut all: Vec<_> =
        pieces.flat_map(|piece| piece.entries.into_iter().map(move |e| (piece.group, e))).collect();
    all.sort_by_key(|(group, entry)| (*group, entry.order));
    all
}

#[test]
fn the_first_value_is_made_once_and_one_look_up_serves_both_cases() {
    let mut table = filled(1, 0);
    assert_eq!(*table.entry_with(hash(7), &7, || 70).unwrap(), 70);
    assert_eq!(*table.entry_with(hash(7), &7, || unreachable!()).unwrap(), 70);
    *table.entry_with(hash(8), &8, || 80).unwrap() += 1;
    assert_eq!(table.len(), 2);
    assert_eq!(table.get(hash(8), &8), Ok(Some(&81)));
    assert_eq!(table.get(hash(9), &9), Ok(None));
    assert_eq!(table.remove(hash(8), &8), Ok(Some(81)));
    assert_eq!(table.remove(hash(8), &8), Ok(None));
}

#[test]
fn a_key_of_a_group_that_is_not_ours_is_refused_by_every_access() {
    let groups = KeyGroups::new(8).unwrap();
    let mut table: KeyedTable<u32, u64> = KeyedTable::new(groups, 2..4);
    for key in 0..1_000 {
        let group = groups.of(hash(key));
        let ours = (2..4).contains(&group.get());
        let refused = NotOurs { group, first: 2, end: 4 };
        assert_eq!(table.get(hash(key), &key).err(), (!ours).then_some(refused));
        assert_eq!(table.get_mut(hash(key), &key).err(), (!ours).then_some(refused));
        assert_eq!(table.remove(hash(key), &key).err(), (!ours).then_some(refused));
        assert_eq!(table.entry(hash(key), &key).err(), (!ours).then_some(refused));
        let stored = Stored { order: 0, key, value: 0 };
        let restored = table.restore(group, stored).unwrap_err();
        assert_eq!(matches!(restored, RestoreError::NotOurs(error) if error == refused), !ours);
    }
}

#[test]
#[should_panic(expected = "a key with another key's hash")]
#[cfg(debug_assertions)]
fn a_key_with_the_hash_of_another_is_found_out_when_it_appears() {
    let _ = filled(1, 0).entry(hash(1), &2);
}

#[test]
fn a_restored_key_must_hash_into_its_group_and_come_once() {
    let groups = KeyGroups::new(128).unwrap();
    let mut table: KeyedTable<u32, u64> = KeyedTable::new(groups, 0..128);
    let own = groups.of(hash(1));
    let stored = KeyGroup::new((own.get() + 1) % 128);
    let entry = Stored { order: 0, key: 1, value: 0 };
    assert_eq!(
        table.restore(stored, entry.clone()),
        Err(RestoreError::WrongGroup { key: "1".to_owned(), stored, own })
    );
    assert!(table.is_empty());
    table.restore(own, entry.clone()).unwrap();
    let twice = RestoreError::Twice { key: "1".to_owned(), group: own };
    assert_eq!(table.restore(own, entry), Err(twice));
    let mut table: KeyedTable<Volatile<u8>, u64> = KeyedTable::new(groups, 0..128);
    let entry = Stored { order: 0, key: Volatile(1), value: 0 };
    assert!(matches!(table.restore(own, entry), Err(RestoreError::Key(KeyError::Refused(_)))));
}

#[test]
fn one_capture_at_a_time_until_it_is_swept_and_taken_or_abandoned() {
    let mut table = filled(4, 100);
    let [one, two, three] = [1, 2, 3].map(Epoch::new);
    let refused = Err(CaptureOpen { open: one, asked: two });
    assert!(!table.sweep(64));
    table.begin_capture(one).unwrap();
    assert_eq!(table.begin_capture(two), refused);
    while table.sweep(64) {}
    assert_eq!((table.capturing(), table.captured_entries()), (Some(one), 100));
    assert_eq!(table.begin_capture(two), refused);
    assert_eq!(table.take_captured().iter().map(|piece| piece.entries.len()).sum::<usize>(), 100);
    assert_eq!((table.capturing(), table.captured_entries()), (None, 0));
    table.begin_capture(two).unwrap();
    table.sweep(10);
    *table.entry(hash(99), &99).unwrap() = 0;
    let saved: usize = table.abandon_capture().iter().map(|piece| piece.entries.len()).sum();
    assert!((10..=11).contains(&saved), "{saved}");
    assert!(table.take_captured().is_empty());
    // What the abandoned one had saved is part of the next one, as it is by then.
    table.begin_capture(three).unwrap();
    let all = finish(&mut table);
    assert_eq!(all.len(), 100);
    assert!(all.iter().all(|(_, e)| e.value == if e.key == 99 { 0 } else { u64::from(e.key) }));
}

#[test]
fn an_empty_table_is_captured_with_the_first_sweeps() {
    let mut table = filled(128, 0);
    table.begin_capture(Epoch::new(1)).unwrap();
    while table.sweep(1) {}
    assert_eq!(table.capturing(), None);
}

#[test]
fn groups_are_handed_out_in_order_and_large_ones_in_pieces() {
    let mut table = filled(2, 60_000);
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut pieces = Vec::new();
    while table.sweep(256) {
        let taken = table.take_captured();
        assert!(taken.len() <= 2);
        pieces.extend(taken);
    }
    pieces.extend(table.take_captured());
    assert!(pieces.is_sorted_by_key(|piece| piece.group) && pieces.len() > 8);
    let last_of_group = |at: usize| pieces.get(at + 1).is_none_or(|n| n.group != pieces[at].group);
    for (at, piece) in pieces.iter().enumerate() {
        let size = piece.entries.len();
        assert!(size < CAPTURED_PIECE + LEAF_ENTRIES, "{size}");
        assert!(size >= CAPTURED_PIECE || last_of_group(at), "{size}");
    }
    let keys = pieces.iter().flat_map(|piece| &piece.entries).map(|entry| entry.key);
    assert_eq!(keys.collect::<BTreeSet<_>>().len(), 60_000);
}

#[test]
fn a_sweep_costs_the_same_in_a_full_table_and_in_an_emptied_one() {
    let calls = |table: &mut KeyedTable<u32, u64>| {
        table.begin_capture(Epoch::new(1)).unwrap();
        let mut calls = 1;
        while table.sweep(64) {
            calls += 1;
        }
        table.take_captured();
        calls
    };
    // At most a copy in every second place, as leaves are that full when they have just grown.
    let mut table = filled(16, 50_000);
    assert!((780..=1_600).contains(&calls(&mut table)));
    // What has been emptied has given its memory back, however full it was.
    for (groups, keys) in [(16, 50_000), (1, 3_583)] {
        let mut table = filled(groups, keys);
        for key in 10..keys {
            table.remove(hash(key), &key).unwrap();
        }
        assert!(calls(&mut table) < 20);
    }
}

#[test]
fn a_sweep_of_an_emptied_table_goes_a_few_leaves_at_a_time() {
    let mut table = filled(16, 100_000);
    for key in 0..100_000 {
        table.remove(hash(key), &key).unwrap();
    }
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut calls = 1;
    while table.sweep(1) {
        calls += 1;
    }
    // 64 leaves.
    assert_eq!(calls, 8);
    assert_eq!(table.capturing(), None);
}

#[test]
fn a_sweep_ends_however_much_comes_and_goes_meanwhile() {
    let mut table = filled(1, 3_000);
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut calls = 1;
    while table.sweep(8) {
        calls += 1;
        // Each round makes the only leaf put its entries in order anew.
        for key in 10_000..14_000 {
            *table.entry(hash(key), &key).unwrap() = 0;
        }
        for key in 10_000..14_000 {
            table.remove(hash(key), &key).unwrap();
        }
    }
    assert!(calls <= 3_000 / 8 * 4, "{calls}");
    let all = finish(&mut table);
    assert!(all.iter().map(|(_, entry)| entry.value).eq(0..3_000));
}

#[test]
fn a_sweep_within_a_leaf_misses_nothing_when_the_leaf_splits_or_shrinks() {
    type Change = fn(&mut KeyedTable<u32, u64>);
    let split: Change = |table| {
        for key in 10_000..11_000 {
            *table.entry(hash(key), &key).unwrap() = 0;
        }
    };
    let shrink: Change = |table| {
        for key in (0..3_583).filter(|key| key % 20 > 0) {
            table.remove(hash(key), &key).unwrap();
        }
    };
    for (change, swept) in [(split, 1), (split, 2_000), (shrink, 1), (shrink, 2_000)] {
        let mut table = filled(1, 3_583);
        table.begin_capture(Epoch::new(1)).unwrap();
        table.sweep(swept);
        change(&mut table);
        let mut keys: Vec<_> = finish(&mut table).iter().map(|(_, entry)| entry.key).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..3_583));
    }
}

#[test]
fn a_table_restored_in_any_order_drains_as_the_captured_one_does() {
    let mut table = filled(4, 20_000);
    for key in (0..20_000).step_by(3) {
        let value = table.remove(hash(key), &key).unwrap().unwrap();
        *table.entry(hash(key), &key).unwrap() = value;
    }
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut captured = finish(&mut table);
    captured.sort_by_key(|(_, entry)| entry.key.reverse_bits());
    let mut restored = filled(4, 0);
    for (group, stored) in captured {
        let stored: Vec<u8> = codec::encode(&stored).unwrap();
        restored.restore(group, codec::decode(&stored).unwrap()).unwrap();
    }
    // Keys that are new to both come behind all others in both.
    let [one, other] = [&mut table, &mut restored].map(|table| {
        for key in 20_000..20_100 {
            *table.entry(hash(key), &key).unwrap() = 1;
        }
        let mut results = Vec::new();
        while table.drain_in_order(100, &mut results) {}
        results
    });
    assert_eq!(one.len(), 20_100);
    assert_eq!(one, other);
}

#[test]
fn a_drain_tells_entries_of_two_groups_apart_that_look_alike() {
    // Groups 13 and 127: both are the first of their group, and their slots hold the same bits.
    let (low, high) = (7_843_u32, 46_740_u32);
    let mut table = filled(128, 0);
    for key in [high, low] {
        *table.entry(hash(key), &key).unwrap() = 1;
    }
    let mut results = Vec::new();
    while table.drain_in_order(100, &mut results) {}
    assert_eq!(results, [(low, 1), (high, 1)]);
}

#[test]
fn a_drain_gives_out_no_more_than_it_is_asked_for() {
    let mut table = filled(4, 10_000);
    let (mut results, mut before) = (Vec::new(), 0);
    while table.drain_in_order(10, &mut results) {
        assert!(results.len() <= before + 10);
        before = results.len();
        assert_eq!(table.len(), 10_000 - before);
    }
    assert_eq!(results.len(), 10_000);
    assert!(!table.drain_in_order(10, &mut results));
}

#[test]
fn a_capture_begun_in_the_middle_of_a_drain_has_what_is_left() {
    let mut table = filled(2, 1_000);
    let mut results = Vec::new();
    while results.is_empty() {
        table.drain_in_order(50, &mut results);
    }
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut rest = Vec::new();
    while table.drain_in_order(50, &mut rest) {}
    let captured: Vec<_> =
        finish(&mut table).into_iter().map(|(_, entry)| (entry.key, entry.value)).collect();
    assert_eq!(captured, rest);
    assert_eq!(results.len() + rest.len(), 1_000);
}

thread_local! {
    /// How many more clones go well.
    static CLONES_LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fragile(u64);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        CLONES_LEFT.set(CLONES_LEFT.get().checked_sub(1).expect("a clone that fails on purpose"));
        Self(self.0)
    }
}

#[test]
fn after_a_panic_in_a_users_clone_the_table_still_answers_and_can_be_dropped() {
    let mut table: KeyedTable<u32, Fragile> = KeyedTable::new(KeyGroups::new(2).unwrap(), 0..2);
    for key in 0..500 {
        table.entry(hash(key), &key).unwrap().0 = 1;
    }
    table.begin_capture(Epoch::new(1)).unwrap();
    let mut results = Vec::new();
    for allowed in 0..30 {
        CLONES_LEFT.set(allowed);
        let key = allowed;
        let _ = catch_unwind(AssertUnwindSafe(|| while table.sweep(7) {}));
        let _ = catch_unwind(AssertUnwindSafe(|| table.entry(hash(key), &key).map(|v| v.0 += 1)));
        let _ = catch_unwind(AssertUnwindSafe(|| table.remove(hash(key + 100), &(key + 100))));
        let _ = catch_unwind(AssertUnwindSafe(|| table.drain_in_order(3, &mut results)));
    }
    CLONES_LEFT.set(u32::MAX);
    let found = (0..500).filter(|key| table.get(hash(*key), key).unwrap().is_some()).count();
    assert_eq!(found, table.len());
    while table.sweep(64) {}
    while table.drain_in_order(64, &mut results) {}
    assert!(table.is_empty());
}
