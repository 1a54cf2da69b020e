//! However often a stage of calls dies and comes back, the same goes out: nothing lost, nothing
//! twice, and only what had not gone out is called again, in order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use millstream_core::{Attempt, KeyGroups, KeyHash, TaskInfo};

use super::super::{Admission, Limits, Order};
use super::notation::{Stone, stored};
use super::rig::Rig;
use super::settings::{limits, task};
use super::user::{Gives, KEYS, answer, rules};

#[derive(Clone, Copy, Debug)]
enum Op {
    Feed,
    Watermark,
    /// One of the open calls answers.
    Answer(usize),
    /// The task dies behind a barrier and another one takes its place.
    Die,
}

fn op(deaths: u32) -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => Just(Op::Feed),
        4 => Just(Op::Watermark),
        12 => any::<usize>().prop_map(Op::Answer),
        deaths => Just(Op::Die),
    ]
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Ordered),
        Just(Order::Unordered),
        (1_usize..3).prop_map(|per_key| Order::KeyOrdered { per_key }),
    ]
}

/// The outside gives the same to the same value, in each life.
const fn gives(value: i64) -> Gives {
    match value % 6 {
        0 => Gives::Nothing,
        1 => Gives::Error,
        2 => Gives::Panic,
        _ => Gives::Results,
    }
}

/// A task whose every other life may be told to end.
struct Life {
    limits: Limits,
    rig: Rig,
    /// Whether it dies when it is told to.
    mortal: bool,
    /// Values and times of the records that have come: each is at its own time.
    fed: i64,
    /// What is to be called in this life.
    due: Vec<i64>,
    names: BTreeMap<i64, Admission>,
    /// How many lives there were before.
    lives: u32,
    sent: Vec<String>,
}

fn rig(limits: &Limits, life: u32) -> Rig {
    let info = TaskInfo { attempt: Attempt::new(life), ..task(0, 1) };
    let mut rig = Rig::of(limits.clone(), rules(), &info);
    rig.at_once = |value, _| (value % 7 == 3).then(|| answer(value, gives(value)));
    rig
}

impl Life {
    fn new(limits: Limits, mortal: bool) -> Self {
        let rig = rig(&limits, 0);
        let (due, names, sent) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { rig, limits, mortal, fed: 0, due, names, lives: 0, sent }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Feed => {
                self.fed += 1;
                self.due.push(self.fed);
                self.rig.feed(&format!("{0}@{0}", self.fed));
            }
            Op::Watermark => self.rig.feed(&format!("W{}", self.fed)),
            Op::Answer(which) => {
                let open = self.rig.open();
                let Some(which) = which.checked_rem(open.len()) else { return };
                self.rig.report(open[which], answer(open[which], gives(open[which])));
                self.rig.turn();
            }
            Op::Die => {
                let state = self.rig.barrier(1);
                if self.mortal {
                    self.come_back(&state);
                }
            }
        }
        self.assert_called_in_order();
        assert!(self.rig.failure.is_none());
        // A record has one name in all lives, and no other has it.
        for call in &self.rig.calls {
            assert_eq!(*self.names.entry(call.value).or_insert(call.admission), call.admission);
        }
        let names: BTreeSet<_> = self.names.values().collect();
        assert_eq!(names.len(), self.names.len());
    }

    fn come_back(&mut self, state: &[Stone]) {
        self.sent.extend(self.rig.sent());
        self.lives += 1;
        self.rig = rig(&self.limits, self.lives);
        self.rig.restore(state);
        self.due = records(&stored(state));
        // Nothing is forgotten: only what has gone out since is missing.
        let state = stored(&self.rig.snapshot());
        assert!(records(&state).iter().all(|value| self.due.contains(value)));
    }

    /// The calls of this life are those for what it began with, then those for what came, in order.
    fn assert_called_in_order(&self) {
        let called = self.rig.called();
        match self.limits.order {
            Order::KeyOrdered { .. } => {
                for key in 0..KEYS {
                    let of_key = |values: &[i64]| -> Vec<i64> {
                        values.iter().filter(|value| *value % KEYS == key).copied().collect()
                    };
                    assert!(of_key(&self.due).starts_with(&of_key(&called)));
                }
            }
            _ => assert!(self.due.starts_with(&called)),
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.rig.end();
        while let Some(value) = self.rig.open().first().copied() {
            self.rig.report(value, answer(value, gives(value)));
            self.rig.turn();
        }
        assert!(self.rig.is_done() && self.rig.failure.is_none());
        self.assert_called_in_order();
        assert_eq!(self.rig.calls.len(), self.due.len());
        self.sent.extend(self.rig.sent());
        self.sent.retain(|sent| !sent.starts_with('B'));
        self.sent
    }
}

fn records(state: &[String]) -> Vec<i64> {
    let value = |text: &String| Some(text.split_once('@')?.0.parse().unwrap());
    state.iter().filter_map(value).collect()
}

fn is_watermark(sent: &&String) -> bool {
    sent.starts_with('W')
}

/// At the time of which input something goes out.
fn input(sent: &str) -> i64 {
    sent.split_once('@').unwrap().1.split(' ').next().unwrap().parse().unwrap()
}

/// What an order promises of what goes out, and nothing else.
fn promised(order: Order, sent: &[String]) -> Vec<Vec<String>> {
    match order {
        Order::Ordered => vec![sent.to_vec()],
        Order::Unordered => {
            let mut segments: Vec<Vec<String>> =
                sent.split_inclusive(|sent| is_watermark(&sent)).map(<[String]>::to_vec).collect();
            for segment in &mut segments {
                let watermark = segment.pop_if(|last| is_watermark(&&*last));
                // Results of one input keep their order.
                segment.sort_by_key(|sent| input(sent));
                segment.extend(watermark);
            }
            segments
        }
        Order::KeyOrdered { .. } => {
            let of = |key: i64| {
                let is_of = |sent: &&String| is_watermark(sent) || input(sent) % KEYS == key;
                sent.iter().filter(is_of).cloned().collect()
            };
            (0..KEYS).map(of).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_dies_and_comes_back_the_same_goes_out(
        order in any_order(),
        capacity in 1_usize..12,
        ops in prop::collection::vec(op(2), 0..150),
    ) {
        let limits = limits(order, capacity);
        let [straight, undisturbed, mortal] = [None, Some(false), Some(true)].map(|mortal| {
            let mut life = Life::new(limits.clone(), mortal == Some(true));
            for op in &ops {
                if mortal.is_some() || !matches!(op, Op::Die) {
                    life.step(*op);
                }
            }
            life.finish()
        });
        let promise = promised(order, &straight);
        assert_eq!(promise, promised(order, &undisturbed), "taking the state changes something");
        assert_eq!(promise, promised(order, &mortal));
    }
}

/// The least of the newest watermarks of those that a task got something of.
type Newest = BTreeMap<usize, Option<i64>>;

/// One of two tasks, used by chance, and its state.
fn part(subtask: usize, limits: &Limits, ops: &[Op]) -> (Vec<Stone>, Option<i64>) {
    let mut rig = Rig::of(limits.clone(), rules(), &task(subtask, 2));
    let (mut value, mut newest) = (i64::try_from(subtask).unwrap() * 100_000, None);
    for op in ops {
        match op {
            Op::Feed => {
                value += 1;
                // A key belongs to one task.
                if group_owner(value, 2) == subtask || !is_keyed(limits) {
                    rig.feed(&format!("{value}@{value}"));
                }
            }
            Op::Watermark => {
                newest = Some(value);
                rig.feed(&format!("W{value}"));
            }
            Op::Answer(which) => {
                let open = rig.open();
                if let Some(which) = which.checked_rem(open.len()) {
                    rig.report(open[which], answer(open[which], Gives::Results));
                    rig.turn();
                }
            }
            Op::Die => {}
        }
    }
    (rig.barrier(1), newest)
}

const fn is_keyed(limits: &Limits) -> bool {
    matches!(limits.order, Order::KeyOrdered { .. })
}

fn group_owner(value: i64, parallelism: usize) -> usize {
    let groups = KeyGroups::new(128).unwrap();
    groups.owner(groups.of(KeyHash::of(&(value % KEYS)).unwrap()), parallelism)
}

/// Deals two parts to so many tasks; gives what each of them was given, and of whom.
fn deal(parts: &[(Vec<Stone>, Option<i64>); 2], tasks: usize) -> Vec<(Vec<Stone>, Newest)> {
    let groups = KeyGroups::new(128).unwrap();
    let mut dealt = vec![(Vec::new(), Newest::new()); tasks];
    let mut turn = 0;
    for (of, (stones, newest)) in parts.iter().enumerate() {
        for stone in stones {
            let to = match stone.0 {
                Some(group) => groups.owner(group, tasks),
                None => {
                    turn += 1;
                    turn % tasks
                }
            };
            dealt[to].0.push(stone.clone());
            dealt[to].1.insert(of, *newest);
        }
    }
    dealt
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_parts_of_two_tasks_come_back_in_three_and_in_one(
        order in any_order(),
        capacity in 1_usize..200,
        one in prop::collection::vec(op(0), 0..300),
        two in prop::collection::vec(op(0), 0..300),
    ) {
        let limits = limits(order, capacity);
        let parts = [part(0, &limits, &one), part(1, &limits, &two)];
        let mut unemitted: Vec<i64> =
            parts.iter().flat_map(|(stones, _)| records(&stored(stones))).collect();
        unemitted.sort_unstable();
        for tasks in [1, 3] {
            let mut called = Vec::new();
            for (subtask, (stones, newest)) in deal(&parts, tasks).into_iter().enumerate() {
                let mut rig = Rig::of(limits.clone(), rules(), &task(subtask, tasks));
                rig.at_once = |value, _| Some(answer(value, Gives::Results));
                rig.restore(&stones);
                assert!(rig.wait.is_empty());
                assert_in_order(&rig.called(), is_keyed(&limits));
                let sent = rig.sent();
                let watermarks: Vec<_> = sent.iter().filter(is_watermark).cloned().collect();
                let least = newest.values().min().copied().flatten();
                let expected = least.map(|it| format!("W{it}"));
                assert_eq!(watermarks, expected.into_iter().collect::<Vec<_>>());
                assert!(least.is_none() || is_watermark(&sent.last().unwrap()));
                called.extend(rig.called());
            }
            called.sort_unstable();
            assert_eq!(called, unemitted);
        }
    }
}

/// What stays together keeps its order: the values of a task rise.
fn assert_in_order(called: &[i64], is_keyed: bool) {
    for of in [0, 1] {
        let of_one = called.iter().filter(|value| **value / 100_000 == of);
        if is_keyed {
            for key in 0..KEYS {
                assert!(of_one.clone().filter(|value| *value % KEYS == key).is_sorted());
            }
        } else {
            assert!(of_one.is_sorted());
        }
    }
}
