//! A stage of calls does what plain lists do, whatever comes, answers, fails and is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use millstream_core::Histogram;

use super::super::{Limits, Order, Retry};
use super::notation::{moment, stored};
use super::rig::Rig;
use super::settings::{limits, ms};
use super::user::{Gives, KEYS, answer, at_once, rules, weight_of};
use super::wait_model::{Fed, Naive, shown};

#[derive(Clone, Copy, Debug)]
enum Op {
    Feed,
    Watermark,
    /// One of the open calls answers.
    Answer(usize, Gives),
    /// One of all calls answers, be it open or not.
    Stray(usize, Gives),
    /// Two answers are there before the task looks.
    Two(usize, Gives, Gives),
    Clock(u64),
    Barrier,
    End,
}

fn gives() -> impl Strategy<Value = Gives> {
    prop_oneof![
        6 => Just(Gives::Results),
        2 => Just(Gives::Nothing),
        4 => Just(Gives::Again),
        2 => Just(Gives::Error),
        1 => Just(Gives::Panic),
        1 => Just(Gives::PanicAgain),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => Just(Op::Feed),
        3 => Just(Op::Watermark),
        10 => (any::<usize>(), gives()).prop_map(|(which, gives)| Op::Answer(which, gives)),
        2 => (any::<usize>(), gives()).prop_map(|(which, gives)| Op::Stray(which, gives)),
        2 => (any::<usize>(), gives(), gives()).prop_map(|(it, one, two)| Op::Two(it, one, two)),
        6 => (0_u64..12).prop_map(Op::Clock),
        1 => Just(Op::Barrier),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let end = prop::collection::vec(op(), 0..20);
    (prop::collection::vec(op(), 0..100), end).prop_map(|(mut ops, mut behind)| {
        behind.retain(|op| !matches!(op, Op::Feed | Op::Watermark | Op::Barrier));
        ops.push(Op::End);
        ops.append(&mut behind);
        ops
    })
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let order = prop_oneof![
        Just(Order::Ordered),
        Just(Order::Unordered),
        (1_usize..4).prop_map(|per_key| Order::KeyOrdered { per_key }),
    ];
    let retry = prop_oneof![
        Just(None),
        (1_u64..15, 1_u32..4).prop_map(|(by, most)| Some(Retry::fixed(ms(by)).max_retries(most))),
        (1_u64..4, 1_u32..5).prop_map(|(by, most)| {
            Some(Retry::exponential(ms(by)).jitter(0.5, 7).max_retries(most))
        }),
    ];
    let timeout = prop::option::weighted(0.8, 4_u64..30);
    (order, 1_usize..7, prop::option::of(1_usize..8), timeout, retry).prop_map(
        |(order, capacity, weight, timeout, retry)| Limits {
            weight,
            timeout: timeout.map(ms),
            retry,
            ..limits(order, capacity)
        },
    )
}

/// The machine and the lists, of which the same is asked.
struct Pair {
    rig: Rig,
    latency: Arc<Histogram>,
    naive: Naive,
    limits: Limits,
    fed: i64,
    time: i64,
    sent: Vec<String>,
    /// Calls that had been made when the input ended.
    before_end: Option<usize>,
    /// More was taken than there was room for.
    forced: bool,
}

impl Pair {
    fn new(limits: Limits) -> Self {
        let mut rig = Rig::new(limits.clone(), rules());
        rig.at_once = |value, attempt| Some(answer(value, at_once(value, attempt)?));
        let latency = Arc::new(Histogram::new());
        rig.wait.measure(latency.clone());
        let naive = Naive::new(limits.clone());
        Self {
            rig,
            latency,
            naive,
            limits,
            fed: 0,
            time: 0,
            sent: Vec::new(),
            before_end: None,
            forced: false,
        }
    }

    fn feed(&mut self, fed: Fed) {
        self.naive.offered.push_back(fed);
        match fed {
            Fed::End => self.rig.end(),
            fed => self.rig.feed(&shown(&fed)),
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Feed => {
                self.fed += 1;
                self.time += 1;
                self.feed(Fed::Record(self.fed, self.time));
            }
            Op::Watermark => self.feed(Fed::Watermark(self.time)),
            Op::Answer(which, gives) => self.answer(which, &[gives]),
            Op::Two(which, one, two) => self.answer(which, &[one, two]),
            Op::Stray(which, gives) => {
                if let Some(call) = which.checked_rem(self.rig.calls.len()) {
                    let call = self.rig.calls[call];
                    self.rig.report_to(call, answer(call.value, gives));
                    self.naive.report(call.value, call.attempt, gives);
                }
            }
            Op::Clock(by) => {
                self.naive.now += by;
                self.rig.now += by;
            }
            Op::Barrier => {
                self.forced |= self.naive.offered.iter().any(|it| matches!(it, Fed::Watermark(_)));
                self.naive.barrier();
                let state = stored(&self.rig.barrier(1));
                assert_eq!(state, self.naive.unemitted());
            }
            Op::End => self.feed(Fed::End),
        }
        self.naive.turn();
        self.rig.turn();
        self.check();
    }

    fn answer(&mut self, which: usize, with: &[Gives]) {
        let open = self.rig.open();
        let Some(which) = which.checked_rem(open.len()) else { return };
        let call = *self.rig.calls.iter().rfind(|call| call.value == open[which]).unwrap();
        for gives in with {
            self.rig.report_to(call, answer(call.value, *gives));
            self.naive.report(call.value, call.attempt, *gives);
        }
    }

    fn check(&mut self) {
        let Self { rig, naive, .. } = self;
        assert!(rig.failure.is_none());
        let calls = rig.calls.iter();
        let calls = calls.map(|call| (call.value, call.attempt, call.at, call.admission.number));
        assert_eq!(calls.collect::<Vec<_>>(), naive.calls);
        self.sent.extend(rig.sent());
        assert_eq!(self.sent, naive.sent);
        assert_eq!((rig.waiting(), rig.ended), (naive.offered.len(), naive.ended));
        assert_eq!(rig.wait.next_due(), naive.next_due().map(moment));
        self.check_limits();
        self.check_calls();
    }

    fn check_limits(&mut self) {
        let queue = &self.rig.wait.queue;
        let counted = match self.limits.order {
            Order::KeyOrdered { .. } => queue.records().max(queue.marks()),
            _ => queue.records() + queue.marks(),
        };
        // A watermark in front of a barrier is taken for which there is no room.
        self.forced &= counted > self.limits.capacity;
        assert!(counted <= self.limits.capacity || self.forced);
        assert!(queue.records() <= self.limits.capacity);
        let heavy = |weight: usize| weight <= self.limits.weight.unwrap_or(usize::MAX);
        let alone = || (1..=self.fed).any(|value| weight_of(value) == self.naive.weight());
        assert!(heavy(self.naive.weight()) || alone());
        if let Order::KeyOrdered { per_key } = self.limits.order {
            for key in 0..KEYS {
                let of_key = self.rig.open().iter().filter(|value| *value % KEYS == key).count();
                assert!(of_key <= per_key);
            }
        }
        let open = self.rig.open().len();
        let seen = self.rig.seen();
        assert!(open <= seen.in_flight && seen.in_flight <= seen.queued);
        let over = seen.completed + seen.dropped + seen.dead_letters;
        assert!(over + seen.queued as u64 <= self.fed.unsigned_abs());
    }

    /// No call begins at or after the deadline, nor twice after the end.
    fn check_calls(&mut self) {
        let mut first: BTreeMap<i64, u64> = BTreeMap::new();
        for call in &self.rig.calls {
            let began = *first.entry(call.value).or_insert(call.at);
            if let Some(timeout) = self.limits.timeout {
                assert!(call.attempt == 1 || ms(call.at - began) < timeout);
            }
            let most = self.limits.retry.as_ref().map_or(1, |it| if it.allows(4) { 5 } else { 4 });
            assert!(call.attempt <= most);
        }
        if self.before_end.is_none() && self.rig.ended {
            self.before_end = Some(self.rig.calls.len());
            return;
        }
        let Some(before) = self.before_end else { return };
        let mut behind: Vec<_> = self.rig.calls[before..].iter().map(|call| call.value).collect();
        behind.sort_unstable();
        assert!(behind.is_sorted_by(|a, b| a < b), "called twice after the end");
    }

    fn finish(mut self) {
        for _ in 0..self.fed + 1 {
            self.step(Op::Answer(0, Gives::Results));
            self.step(Op::Clock(20));
        }
        assert!(self.rig.is_done(), "everything has gone out: {:?}", self.rig.open());
        assert_eq!(self.rig.wait.next_due(), None);
        let seen = self.rig.seen();
        let over = seen.completed + seen.dropped + seen.dead_letters;
        assert_eq!((over, seen.queued), (self.fed.unsigned_abs(), 0), "one outcome each");
        assert_eq!(seen.attempts, self.naive.calls.len() as u64);
        let measured = self.latency.view().count() + seen.at_once;
        assert_eq!(measured, self.fed.unsigned_abs(), "one latency each");
        let mut called: Vec<_> = self.rig.called();
        called.sort_unstable();
        called.dedup();
        assert_eq!(called, (1..=self.fed).collect::<Vec<_>>(), "each was called");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_stage_of_calls_does_what_plain_lists_do(limits in any_limits(), ops in ops()) {
        let mut pair = Pair::new(limits);
        for op in ops {
            pair.step(op);
        }
        pair.finish();
    }
}
