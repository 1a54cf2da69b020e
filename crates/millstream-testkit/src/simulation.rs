//! Whole jobs on one arbiter and on simulated time, with a seed that decides who goes first.

use std::sync::Arc;
use std::time::Duration;

use millstream::{Dataflow, Workers};
use millstream_core::Clock;
use millstream_metrics::JobNumbers;
use millstream_runtime::{JobError, Settings};

use crate::clock::SimulatedClock;
use crate::refuse::refuse;
use crate::run::{RUN_TIME, simulated};
use crate::seeded::{Seeded, Trace};

/// A job that has been simulated.
#[derive(Debug)]
pub struct Simulated<T> {
    /// What the closure returned that built the graph.
    pub built: T,
    /// How the job ended.
    pub outcome: Result<(), JobError>,
    /// Who went first, all the way.
    pub trace: Trace,
    /// The numbers of its tasks at the end.
    pub numbers: JobNumbers,
    /// The simulated time from the start to the end.
    pub took: Duration,
}

/// A simulation that can be set up before it runs.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::Simulation;
///
/// let tight = Settings::new().credits(1).batch_records(1);
/// let run = Simulation::of(7).settings(tight).run(|flow| {
///     flow.source("numbers", Items::from(0..5_u64)).collect("out")
/// });
/// assert!(run.outcome.is_ok());
/// assert_eq!(run.built.take(), [0, 1, 2, 3, 4]);
/// ```
pub struct Simulation {
    seed: u64,
    settings: Settings,
}

impl Simulation {
    /// The simulation of this seed, with the default limits.
    pub fn of(seed: u64) -> Self {
        Self { seed, settings: Settings::new() }
    }

    /// The job's settings. Workers, clock and schedule are those of the simulation.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Builds a graph, starts it and runs it to its end, whatever that is.
    ///
    /// # Panics
    ///
    /// When the job does not start; when it stops moving; when an actor outlives it. The seed is
    /// told.
    #[track_caller]
    pub fn run<T>(self, build: impl FnOnce(&Dataflow) -> T) -> Simulated<T> {
        let Self { seed, settings } = self;
        let schedule = Arc::new(Seeded::of(seed));
        let theirs = schedule.clone();
        let ended = simulated(RUN_TIME, async move {
            let flow = Dataflow::new("simulation");
            let built = build(&flow);
            let clock = Arc::new(SimulatedClock::new());
            let began = clock.monotonic();
            let settings = settings.workers(Workers::Current).clock(clock.clone()).schedule(theirs);
            let job = flow.start(settings).await?;
            let outcome = job.finished().await;
            let took = clock.monotonic().since(began);
            Ok((built, outcome, job.status().numbers, took))
        });
        let trace = schedule.trace();
        match ended {
            Ok(Ok((built, outcome, numbers, took))) => {
                Simulated { built, outcome, trace, numbers, took }
            }
            Ok(Err(error)) => {
                let error: millstream_runtime::StartError = error;
                refuse(format!("seed {seed}: the job does not start: {error}"))
            }
            Err(hung) => refuse(format!("seed {seed}: {}; after {trace}", hung.words())),
        }
    }
}

/// Builds a graph and runs it to its good end, on one arbiter and on simulated time.
///
/// Same seed, same run; another seed, another run, and the same result if the result depends on no
/// chance.
///
/// # Panics
///
/// As [`Simulation::run`], and when the job fails.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::simulate;
///
/// let sum = |seed| {
///     let run = simulate(seed, |flow| {
///         let [one, two] = flow.source("numbers", Items::from(0..100_u64)).fork();
///         one.union(two).key_by(|_| ()).at_end().fold("sum", 0, |sum, n| *sum += n).collect("out")
///     });
///     (run.built.take(), run.trace)
/// };
/// let (one, two) = (sum(1), sum(2));
/// assert_eq!(one.0, [((), 9_900)]);
/// assert_eq!(one.0, two.0);
/// assert_ne!(one.1, two.1);
/// assert_eq!(one, sum(1));
/// ```
#[track_caller]
pub fn simulate<T>(seed: u64, build: impl FnOnce(&Dataflow) -> T) -> Simulated<T> {
    let simulated = Simulation::of(seed).run(build);
    match &simulated.outcome {
        Ok(()) => simulated,
        Err(error) => refuse(format!("seed {seed}: {error}; after {}", simulated.trace)),
    }
}
