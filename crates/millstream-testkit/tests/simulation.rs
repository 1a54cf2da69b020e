//! Proves that one seed is one run, that two seeds are two runs with one result, and that a job
//! which stops moving, fails or does not start is told with its seed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use millstream::prelude::*;
use millstream_core::Data;
use millstream_runtime::JobError;
use millstream_testkit::compare::assert_in_any_order;
use millstream_testkit::{Checker, Oracle, Simulated, Simulation, simulate};

type Sums = millstream::Collected<(u64, u64)>;

fn tight() -> Settings {
    Settings::new().credits(1).batch_records(2).parallelism(3)
}

/// Numbers go two ways of different length and meet again by key.
fn diamond(flow: &Dataflow) -> Sums {
    let [short, long] = flow.source("numbers", Items::from(0..50_u64)).fork();
    let long = long.rebalance("far").flat_map(|n| [n, n]).operator("check", |_| Checker::new());
    short.union(long).key_by(|n| n % 7).at_end().fold("sum", 0, |sum, n| *sum += n).collect("out")
}

fn sums(seed: u64) -> Simulated<Sums> {
    let simulated = Simulation::of(seed).settings(tight()).run(diamond);
    assert!(simulated.outcome.is_ok(), "seed {seed}: {:?}", simulated.outcome);
    simulated
}

fn expected() -> Vec<(u64, u64)> {
    let [short, long] = Oracle::of(0..50_u64).fork();
    let all = short.union(long.flat_map(|n| [n, n]));
    all.key_by(|n| n % 7)
        .at_end(millstream_core::KeyGroups::default_for(3))
        .fold(0, |sum, n| *sum += n)
        .into_values()
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..20 {
        let (one, two) = (sums(seed), sums(seed));
        assert_eq!(one.trace, two.trace, "seed {seed}");
        assert_eq!(one.numbers, two.numbers, "seed {seed}");
        assert_eq!(one.built.take(), two.built.take(), "seed {seed}");
    }
}

#[test]
fn two_seeds_are_two_runs_with_one_result() {
    let mut traces = BTreeSet::new();
    let mut orders = BTreeSet::new();
    for seed in 0..50 {
        let one = sums(seed);
        assert!(traces.insert(one.trace.hash()), "seed {seed} is like one before");
        let came = one.built.take();
        assert_in_any_order(&came, &expected());
        orders.insert(came);
    }
    assert!(orders.len() > 3, "the sums came in {} orders", orders.len());
}

#[test]
fn time_passes_without_waiting() {
    let run = simulate(1, |flow| {
        let days = Generate::new(|n| n).records(1_000).per_second(1.try_into().unwrap());
        flow.source("days", days).collect("out")
    });
    assert_eq!(run.built.len(), 1_000);
    assert_eq!(run.took, Duration::from_secs(1_000));
}

/// Waits for ever after its first record.
struct Deaf<T>(std::marker::PhantomData<T>);

impl<T: Data> Operator for Deaf<T> {
    type In = T;
    type Out = T;
    type Timer = NoTimer;

    fn on_record(&mut self, _: Stamped<T>, _: &mut Effects<T>) -> Result<(), Failure> {
        Err(Failure::new("it has heard something"))
    }
}

/// The words of a panic; none if there is none.
fn said(call: impl FnOnce()) -> String {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(()) => String::new(),
        Err(words) => words.downcast::<String>().map(|words| *words).unwrap_or_default(),
    }
}

#[test]
fn how_a_job_fails_is_told() {
    let deaf = |flow: &Dataflow| {
        let numbers = flow.source("numbers", Items::from(0..9_u64));
        numbers.operator("deaf", |_| Deaf(std::marker::PhantomData)).collect("out")
    };
    let run = Simulation::of(1).run(deaf);
    assert!(matches!(run.outcome, Err(JobError::Failed { .. })), "{:?}", run.outcome);
    let said = said(|| _ = simulate(77, deaf));
    assert!(said.starts_with("seed 77: task 0 of \"deaf\""), "{said}");
}

#[test]
fn a_job_that_does_not_start_is_told() {
    let said = said(|| _ = simulate(78, |_| ()));
    assert!(said.starts_with("seed 78: the job does not start"), "{said}");
}

/// A source that says that it will wake its task, and never does.
#[derive(Clone)]
struct Asleep;

impl millstream::Source for Asleep {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(
        &self,
        _: &str,
        _: Option<u64>,
        _: &millstream::TaskContext,
    ) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl millstream::Reader for Asleep {
    type Out = u64;
    type Position = u64;

    fn read(
        &mut self,
        _: &mut millstream::ReadContext<'_, '_, u64>,
    ) -> Result<millstream::Read, Failure> {
        Ok(millstream::Read::Later)
    }

    fn position(&self) -> u64 {
        0
    }
}

#[test]
fn a_job_that_stops_moving_is_told_with_its_seed_and_its_tasks() {
    let said = said(|| _ = simulate(79, |flow| flow.source("asleep", Asleep).collect("out")));
    assert!(said.starts_with("seed 79: the body has not ended"), "{said}");
    assert!(said.contains("\"asleep\"") && said.contains("\"out\""), "{said}");
}
