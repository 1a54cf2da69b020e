//! Proves that steps, alone and in chains, are the same program over an iterator, record by record
//! and by whole batches.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use millstream_core::{Attempt, KeyGroups, StageId, Stamped, TaskInfo, Timestamp};
use millstream_operators::step::{
    Filter, FilterMap, FlatMap, Identity, Inspect, Map, MapWith, Then,
};
use millstream_operators::{Chain, Collect, Step};
use proptest::collection::vec;
use proptest::prelude::*;

type Records = Vec<Stamped<i64>>;

fn records() -> impl Strategy<Value = Records> {
    let at = |(value, millis)| match Timestamp::from_millis(millis) {
        Ok(timestamp) => Stamped::at(value, timestamp),
        Err(_) => Stamped::new(value),
    };
    let millis = prop_oneof![1 => Just(i64::MIN), 3 => -9..9_i64];
    vec((-50..50_i64, millis).prop_map(at), 0..40)
}

fn task(subtask: usize) -> TaskInfo {
    TaskInfo {
        job: Arc::from("steps"),
        stage: Arc::from("stage"),
        id: StageId::new(0),
        subtask,
        parallelism: 3,
        attempt: Attempt::new(0),
        key_groups: KeyGroups::default_for(3),
    }
}

/// Keeps what comes, and in which way.
#[derive(Default)]
struct Kept<T> {
    records: Vec<Stamped<T>>,
    /// Takes a vector by itself instead of its records one by one.
    whole: bool,
}

impl<T> Collect<T> for Kept<T> {
    fn push(&mut self, record: Stamped<T>) {
        self.records.push(record);
    }

    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        if self.whole && self.records.is_empty() {
            std::mem::swap(&mut self.records, records);
        } else {
            self.records.append(records);
        }
    }
}

/// What a chain makes of these records: one by one, and by batches of `piece`.
fn both<C: Chain<In = i64>>(
    chain: &C,
    records: &Records,
    piece: usize,
) -> [Vec<Stamped<C::Out>>; 2] {
    let mut one_by_one = Vec::new();
    let mut step = chain.make(&task(0));
    for record in records {
        step.apply(*record, &mut |record| one_by_one.push(record));
    }
    let mut kept = Kept { records: Vec::new(), whole: piece.is_multiple_of(2) };
    let mut step = chain.make(&task(0));
    for batch in records.chunks(piece) {
        let mut batch = batch.to_vec();
        step.apply_all(&mut batch, &mut kept);
        assert!(batch.is_empty(), "a batch is left empty");
    }
    [one_by_one, kept.records]
}

fn labels(chain: &impl Chain) -> Vec<&'static str> {
    let mut labels = Vec::new();
    chain.labels(&mut labels);
    labels
}

fn expands<C: Chain>(_: &C) -> bool {
    C::Step::EXPANDS
}

/// As many copies as the value says, at most five, each told apart.
fn copies(n: i64) -> Vec<i64> {
    (0..n.rem_euclid(6)).map(|copy| n * 10 + copy).collect()
}

proptest! {
    #[test]
    fn a_single_step_is_its_iterator(records in records(), piece in 1..9_usize, by in -3..4_i64) {
        let each = records.iter();

        let [one, all] = both(&Identity::new(), &records, piece);
        prop_assert_eq!((&one, &all), (&records, &records));

        let expected: Vec<_> =
            each.clone().map(|record| record.with((record.value * by).to_string())).collect();
        let [one, all] = both(&Map::new(move |n: i64| (n * by).to_string()), &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));

        let expected: Records = each.clone().filter(|record| record.value > by).copied().collect();
        let [one, all] = both(&Filter::new(move |n: &i64| *n > by), &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));

        let quotient = move |n: i64| n.checked_div(n % 3).map(|n| n + by);
        let expected: Records = each
            .clone()
            .filter_map(|record| quotient(record.value).map(|value| record.with(value)))
            .collect();
        let [one, all] = both(&FilterMap::new(quotient), &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));

        let expected: Records = each
            .flat_map(|record| copies(record.value).into_iter().map(|value| record.with(value)))
            .collect();
        let [one, all] = both(&FlatMap::new(copies), &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));
    }

    #[test]
    fn a_chain_of_all_steps_is_their_iterators_one_behind_the_other(
        records in records(),
        piece in 1..9_usize,
        by in -3..4_i64,
        least in -60..60_i64,
    ) {
        let half = |n: i64| (n % 2 == 0).then_some(n / 2);
        let expected: Records = records
            .iter()
            .map(|record| record.map(|n| n + by))
            .filter(|record| record.value >= least)
            .flat_map(|record| copies(record.value).into_iter().map(move |n| record.with(n)))
            .filter_map(|record| half(record.value).map(|n| record.with(n)))
            .map(|record| record.map(|n| n - by))
            .collect();

        let first = Then::new(Map::new(move |n: i64| n + by), Filter::new(move |n| *n >= least));
        let last = Then::new(FilterMap::new(half), Map::new(move |n: i64| n - by));
        let to_the_left = Then::new(Then::new(first.clone(), FlatMap::new(copies)), last.clone());
        let [one, all] = both(&to_the_left, &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));

        let to_the_right = Then::new(first, Then::new(FlatMap::new(copies), last));
        let [one, all] = both(&to_the_right, &records, piece);
        prop_assert_eq!((&one, &all), (&expected, &expected));
        prop_assert_eq!(labels(&to_the_left), labels(&to_the_right));
    }

    /// Whatever stands in front of it, `inspect` sees what passes, when it passes, and changes
    /// nothing.
    #[test]
    fn what_is_inspected_is_what_passes(records in records(), least in -60..60_i64) {
        let log = Rc::new(RefCell::new(Vec::new()));
        let (seen, passed) = (log.clone(), log.clone());
        let mut step = Then::new(
            Filter::new(move |n: &i64| *n >= least),
            Inspect::new(move |n: &i64| seen.borrow_mut().push(("seen", *n))),
        );
        for record in &records {
            step.apply(*record, &mut |record| passed.borrow_mut().push(("passed", record.value)));
        }
        let expected: Vec<_> = records
            .iter()
            .filter(|record| record.value >= least)
            .flat_map(|record| [("seen", record.value), ("passed", record.value)])
            .collect();
        prop_assert_eq!(&*log.borrow(), &expected);
    }
}

#[test]
fn only_a_chain_with_a_step_that_makes_many_of_one_expands() {
    let map = || Map::new(|n: i64| n + 1);
    let keep = || FilterMap::new(|n: i64| Some(n));
    let many = || FlatMap::new(copies);
    assert!(!expands(&Then::new(map(), Then::new(Filter::new(|_: &i64| true), keep()))));
    assert!(!expands(&Then::new(Identity::<i64>::new(), Inspect::new(|_: &i64| ()))));
    assert!(expands(&many()));
    assert!(expands(&Then::new(many(), map())));
    assert!(expands(&Then::new(map(), Then::new(many(), keep()))));
}

#[test]
fn a_function_made_for_each_task_is_told_which_task_it_is() {
    let chain = MapWith::new(|task: &TaskInfo| {
        let (subtask, calls) = (task.subtask, RefCell::new(0));
        move |n: i64| {
            *calls.borrow_mut() += 1;
            (subtask, *calls.borrow(), n)
        }
    });
    for subtask in 0..3 {
        let mut step = chain.make(&task(subtask));
        let mut made = Vec::new();
        for n in [7, 8] {
            step.apply(Stamped::new(n), &mut |record| made.push(record.value));
        }
        assert_eq!(made, [(subtask, 1, 7), (subtask, 2, 8)], "made anew for each task");
    }
}

#[test]
fn a_chain_names_its_steps_in_order() {
    let chain = Then::new(
        Then::new(Map::new(|n: i64| n), Filter::new(|_: &i64| true)),
        Then::new(
            Then::new(FlatMap::new(copies), FilterMap::new(|n: i64| Some(n))),
            Then::new(Inspect::new(|_: &i64| ()), MapWith::new(|_: &TaskInfo| |n: i64| n)),
        ),
    );
    assert_eq!(labels(&chain), ["map", "filter", "flat_map", "filter_map", "inspect", "map"]);
    assert_eq!(labels(&Identity::<i64>::new()), [""; 0]);
}
