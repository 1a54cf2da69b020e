//! Proves that the oracle says what the operators do, in order.

use millstream_core::{Key, Keyed};
use millstream_operators::Operator;
use millstream_operators::keyed::{
    Emit, Fold, KeyedOperator, LastWithState, Reduce, Rule, WithState,
};
use millstream_testkit::compare::assert_in_order;
use millstream_testkit::{Chance, Harness, KeyedOracle, Oracle, keyed, task};

type Row = (String, u64);

/// Few keys and many values, from a seed.
fn rows(seed: u64) -> Vec<Row> {
    let mut chance = Chance::of(seed);
    (0..500).map(|_| (format!("key {}", chance.below(40)), chance.number() % 1_000)).collect()
}

fn oracle(rows: &[Row]) -> KeyedOracle<String, Row, fn(&Row) -> String> {
    Oracle::of(rows.iter().cloned()).key_by(|row| row.0.clone())
}

/// What an operator of this rule gives for these rows.
fn operated<R: Rule<Key = String, Value = Row>>(rows: &[Row], emit: Emit, rule: R) -> Vec<R::Out> {
    let mut harness = Harness::made_for(task(0, 1), |task| KeyedOperator::new(task, emit, rule));
    for row in rows {
        harness.record(keyed(row.0.clone(), row.clone()));
    }
    harness.end().take()
}

#[expect(clippy::needless_pass_by_value, reason = "a fold is given its values")]
fn add(sum: &mut u64, row: Row) {
    *sum = sum.wrapping_mul(31).wrapping_add(row.1);
}

fn longest(known: &mut Row, row: Row) {
    if row.1 > known.1 {
        *known = row;
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a map is given its values")]
fn label(key: &String, seen: &mut u32, row: Row) -> String {
    *seen += 1;
    format!("{key} for the {seen}th time: {}", row.1)
}

#[test]
fn the_oracle_of_a_keyed_stream_says_what_its_operator_does() {
    for seed in 0..5 {
        let rows = rows(seed);
        let groups = task(0, 1).key_groups;
        for emit in [Emit::EachRecord, Emit::AtEnd] {
            let at_end = || oracle(&rows).at_end(groups);
            let (fold, reduce) = match emit {
                Emit::EachRecord => (oracle(&rows).fold(7, add), oracle(&rows).reduce(longest)),
                Emit::AtEnd => (at_end().fold(7, add), at_end().reduce(longest)),
            };
            assert_in_order(&operated(&rows, emit, Fold::new(7, add)), fold.values());
            assert_in_order(&operated(&rows, emit, Reduce::new(longest)), reduce.values());
        }
        let each = operated(&rows, Emit::EachRecord, WithState::new(label));
        assert_in_order(&each, oracle(&rows).map_with_state(label).values());
        let last = operated(&rows, Emit::AtEnd, LastWithState::new(label));
        assert_in_order(&last, oracle(&rows).at_end(groups).map_with_state(label).values());
    }
}

#[test]
fn counts_count() {
    let numbers = || Oracle::of(0..10_u64).key_by(|n| n % 3);
    let last = numbers().count().values()[9];
    assert_eq!(last, (0, 4));
    let mut counts = numbers().at_end(task(0, 1).key_groups).count().into_values();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 4), (1, 3), (2, 3)]);
}

#[test]
fn streams_split_and_meet() {
    let [one, two] = Oracle::of(1..=3_u64).fork();
    let (left, right) = one.clone().connect(two.map(|n| n.to_string())).split();
    assert_eq!(left, one);
    assert_eq!(right.values(), ["1", "2", "3"]);
    let union = one.clone().union(one.filter(|n| n % 2 == 1)).filter_map(|n| n.checked_sub(1));
    assert_eq!(union.broadcast(2).values(), [0, 0, 1, 1, 2, 2, 0, 0, 2, 2]);
}

// Named so that the compiler checks the bounds that users will have to write.
fn _nameable<K: Key, O: Operator<In = Keyed<K, u64>>>(harness: &mut Harness<O>, key: K) {
    harness.record(keyed(key, 1));
}
