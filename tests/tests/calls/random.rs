//! Random stages of calls give what the same calls give one after another, whoever goes first, with
//! time-outs, failures, panics and retries by chance.
//!
//! `MILLSTREAM_SEEDS=5000` tries so many, `MILLSTREAM_SEED=17` tries one.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use millstream::prelude::*;
use millstream::{
    Cause, Clock, Collected, DeadLetter, Read, ReadContext, Reader, Source, TaskContext,
};
use millstream_testkit::compare::{Difference, in_any_order, in_order, in_order_by_key};
use millstream_testkit::{Chance, Checker, Simulated, SimulatedClock, Simulation};

use crate::desk::{Answer, letters, ms};

const SEEDS: u64 = 300;
/// The time-out of every stage that has one. What answers does so within half of it.
const TIMEOUT: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Ordered,
    Unordered,
    KeyOrdered,
}

/// What one call comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    /// To an answer, after so many milliseconds; none is at once.
    Answer(u64),
    Error(u64),
    Panic,
    Never,
}

/// What becomes of a record that has failed for good.
#[derive(Clone, Copy, Debug)]
enum Then {
    Drop,
    Fallback,
    Letter,
}

/// A stage, and the records that come to it.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    order: Order,
    tasks: usize,
    capacity: usize,
    retries: u32,
    keys: u64,
    records: u64,
    on_error: Then,
    on_timeout: Then,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let mut chance = Chance::of(seed);
        let then = [Then::Drop, Then::Fallback, Then::Letter];
        let orders = [Order::Ordered, Order::Unordered, Order::KeyOrdered];
        Self {
            seed,
            order: orders[chance.below(3)],
            tasks: chance.within(1..=3),
            capacity: [1, 2, 5, 100][chance.below(4)],
            retries: chance.below(3) as u32,
            keys: chance.within(1..=5) as u64,
            records: chance.below(60) as u64,
            on_error: then[chance.below(3)],
            on_timeout: then[chance.below(3)],
        }
    }

    /// What call number `attempt` about this record comes to.
    fn comes(&self, n: u64, attempt: u32) -> Comes {
        let mut chance = Chance::of(self.seed ^ (n << 8) ^ u64::from(attempt) ^ 0xCA11);
        let after = chance.below(3) as u64 * chance.below(100) as u64;
        match chance.below(10) {
            0..6 => Comes::Answer(after),
            6..8 => Comes::Error(after),
            8 => Comes::Panic,
            _ => Comes::Never,
        }
    }

    /// How many calls are made about a record, and what the last one comes to.
    fn ends(&self, n: u64) -> (u32, Comes) {
        let mut attempt = 1;
        loop {
            match self.comes(n, attempt) {
                Comes::Error(_) if attempt <= self.retries => attempt += 1,
                last => return (attempt, last),
            }
        }
    }

    /// What goes out for a record, and the dead letter about it.
    fn expected(&self, n: u64) -> (Option<u64>, Option<DeadLetter<u64>>) {
        let (attempts, last) = self.ends(n);
        let (then, cause) = match last {
            Comes::Answer(_) => return (Some(answer(n, attempts)), None),
            Comes::Error(_) => (self.on_error, Cause::Error(format!("no {n}"))),
            Comes::Panic => (self.on_error, Cause::Panic(format!("panic {n}"))),
            Comes::Never => (self.on_timeout, Cause::Timeout(ms(TIMEOUT))),
        };
        match then {
            Then::Drop => (None, None),
            Then::Fallback => (Some(fallback(n)), None),
            Then::Letter => (None, Some(DeadLetter { input: n, cause, attempts })),
        }
    }

    fn wait(&self) -> AsyncWait<u64, u64> {
        let wait = match self.order {
            Order::Ordered => AsyncWait::ordered(),
            Order::Unordered => AsyncWait::unordered(),
            Order::KeyOrdered => AsyncWait::key_ordered(),
        };
        let failure = |then| match then {
            Then::Drop => OnFailure::Drop,
            Then::Fallback => OnFailure::fallback(|n: &u64| fallback(*n)),
            Then::Letter => OnFailure::dead_letter(&letters()),
        };
        let wait = wait
            .capacity(self.capacity)
            .timeout(ms(TIMEOUT))
            .on_error(failure(self.on_error))
            .on_timeout(failure(self.on_timeout));
        match self.retries {
            0 => wait,
            most => wait.retry(Retry::exponential(ms(10)).jitter(0.5, self.seed).max_retries(most)),
        }
    }
}

/// Each record has answers of its own, by which its calls can be told apart.
fn answer(n: u64, attempt: u32) -> u64 {
    n * 100 + u64::from(attempt)
}

fn fallback(n: u64) -> u64 {
    n * 100 + 99
}

/// How often each record has been called, and how many calls are over.
#[derive(Clone, Default)]
struct Tally(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    made: BTreeMap<u64, u32>,
    over: u64,
    source: Option<Waker>,
}

/// A call is over when this is dropped.
struct Over(Tally);

impl Drop for Over {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock().unwrap();
        counts.over += 1;
        let source = counts.source.take();
        drop(counts);
        source.into_iter().for_each(Waker::wake);
    }
}

impl Tally {
    fn call(&self, plan: &Plan, n: u64) -> impl Future<Output = Answer<u64>> + use<> {
        let attempt = {
            let mut counts = self.0.lock().unwrap();
            let made = counts.made.entry(n).or_default();
            *made += 1;
            *made
        };
        let (over, comes, clock) =
            (Over(self.clone()), plan.comes(n, attempt), SimulatedClock::new());
        async move {
            let _over = over;
            let passes = |millis| {
                let due = clock.monotonic().plus(ms(millis));
                async move {
                    if millis > 0 {
                        clock.wake_at(due).await;
                    }
                }
            };
            match comes {
                Comes::Answer(after) => passes(after).await,
                Comes::Error(after) => {
                    passes(after).await;
                    return Err(Failure::new(format!("no {n}")));
                }
                Comes::Panic => panic!("panic {n}"),
                Comes::Never => std::future::pending().await,
            }
            Ok(answer(n, attempt))
        }
    }
}

/// Gives the numbers, and ends when so many calls are over: the end of the input would change what
/// is called again.
#[derive(Clone)]
struct Patient {
    records: u64,
    given: u64,
    calls: u64,
    tally: Tally,
}

impl Source for Patient {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Reader for Patient {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        let n = (self.records - self.given).min(cx.budget() as u64);
        let stamp = |n| Stamped::at(n, Timestamp::from_millis(n as i64).expect("a time"));
        cx.extend((self.given..self.given + n).map(stamp));
        self.given += n;
        let mut counts = self.tally.0.lock().expect("nobody panics with it");
        counts.source = Some(cx.waker().clone());
        Ok(match (self.given == self.records, counts.over == self.calls) {
            (true, true) => Read::Ended,
            (true, false) => Read::Later,
            (false, _) => Read::Ready,
        })
    }

    fn position(&self) -> u64 {
        self.given
    }
}

struct Outs {
    out: Collected<u64>,
    letters: Collected<DeadLetter<u64>>,
    tally: Tally,
}

fn build(flow: &Dataflow, plan: &Plan) -> Outs {
    let calls = (0..plan.records).map(|n| u64::from(plan.ends(n).0)).sum();
    let tally = Tally::default();
    let source = Patient { records: plan.records, given: 0, calls, tally: tally.clone() };
    let numbers = flow.source("numbers", source);
    let (theirs, of) = (tally.clone(), plan.clone());
    let call = move |n| theirs.call(&of, n);
    let keys = plan.keys;
    let called = match plan.order {
        Order::KeyOrdered => {
            numbers.key_by(move |n| n % keys).async_wait("call", plan.wait(), call)
        }
        _ => numbers.async_wait("call", plan.wait(), call),
    };
    let called = called.parallelism(plan.tasks);
    let letters = called.side_output(&letters()).collect("letters");
    let out = called.operator("check", |_| Checker::new()).parallelism(1).collect("out");
    Outs { out, letters, tally }
}

/// One run of the stage of one seed in the order of another.
fn run(plan: &Plan, schedule: u64) -> Simulated<Outs> {
    let mut chance = Chance::of(!plan.seed);
    let settings = Settings::new()
        .credits(chance.within(1..=3))
        .batch_records([1, 2, 1_024][chance.below(3)])
        .turn_records([1, 7, 1_024][chance.below(3)])
        .parallelism(1);
    Simulation::of(schedule).settings(settings).run(|flow| build(flow, plan))
}

fn difference(plan: &Plan, came: &[(u64, i64)]) -> Option<Difference> {
    let result = |n| plan.expected(n).0.map(|result| (result, n as i64));
    let expected: Vec<_> = (0..plan.records).filter_map(result).collect();
    match plan.order {
        Order::Ordered if plan.tasks == 1 => in_order(came, &expected),
        Order::KeyOrdered => in_order_by_key(came, &expected, |it| it.0 / 100 % plan.keys),
        _ => in_any_order(came, &expected),
    }
}

fn check(plan: &Plan, run: &Simulated<Outs>) {
    if let Err(error) = &run.outcome {
        panic!("{plan:?}: {error}");
    }
    let Outs { out, letters, tally } = &run.built;
    let stamp = |it: Stamped<u64>| (it.value, it.timestamp().expect("it has a time").millis());
    let came: Vec<_> = out.take_stamped().into_iter().map(stamp).collect();
    if let Some(difference) = difference(plan, &came) {
        panic!("{plan:?}\n{difference}");
    }
    let mut dead: Vec<_> = letters.take_stamped();
    dead.sort_by_key(|letter| letter.value.input);
    let stamp = |letter: DeadLetter<u64>| {
        let at = Timestamp::from_millis(letter.input as i64).expect("a time");
        Stamped::at(letter, at)
    };
    let expected: Vec<_> =
        (0..plan.records).filter_map(|n| plan.expected(n).1).map(stamp).collect();
    assert_eq!(dead, expected, "{plan:?}");
    let made = std::mem::take(&mut tally.0.lock().expect("nobody panics with it").made);
    let calls: BTreeMap<_, _> = (0..plan.records).map(|n| (n, plan.ends(n).0)).collect();
    assert_eq!(made, calls, "{plan:?}");
    assert_eq!(run.numbers.total().records_queued, 0, "{plan:?}");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seeds(usually: u64) -> std::ops::Range<u64> {
    match number("MILLSTREAM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MILLSTREAM_SEEDS").unwrap_or(usually),
    }
}

#[test]
fn random_calls_come_to_what_they_must_whoever_goes_first() {
    let mut records = 0;
    for seed in seeds(SEEDS) {
        let plan = Plan::of(seed);
        check(&plan, &run(&plan, seed));
        records += plan.records;
    }
    assert!(records > 0, "there was not one record");
}

#[test]
fn one_stage_of_calls_in_two_orders_is_two_runs_and_one_result() {
    for seed in seeds(SEEDS / 10) {
        let plan = Plan::of(seed);
        let (one, again, other) = (run(&plan, 1), run(&plan, 1), run(&plan, 2));
        assert_eq!(one.trace, again.trace, "{plan:?}");
        assert_eq!((&one.numbers, one.took), (&again.numbers, again.took), "{plan:?}");
        assert!(one.trace != other.trace || one.trace.decisions() < 100, "{plan:?}");
        check(&plan, &one);
        check(&plan, &other);
    }
}
