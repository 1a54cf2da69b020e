//! A user's type some of whose traits panic or fail, and jobs that are run to see what becomes of
//! it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use millstream::prelude::*;
use millstream::{JobState, KeyGroups, KeyHash};
use millstream_testkit::{SimulatedClock, run, run_on_threads};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

pub(crate) const RECORDS: u64 = 1_000;
/// The number in the middle that has the mine.
pub(crate) const AT: u64 = 499;

/// What does not work, and what it is that panics; a `Refusal` is a `Serialize` that returns an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mine {
    Hash,
    Eq,
    Clone,
    /// Of this value and not of its clones, so that one fault is one panic.
    Drop,
    Serialize,
    Refusal,
}

/// A number, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Mined {
    pub(crate) n: u64,
    mines: [Option<Mine>; 2],
}

impl Mined {
    /// Nothing is wrong with it.
    pub(crate) fn sound(n: u64) -> Self {
        Self { n, mines: [None; 2] }
    }

    /// Number `at` has the mine, the others have none.
    pub(crate) fn at(at: u64, n: u64, mine: Mine) -> Self {
        Self::sound(n).and(mine, n == at)
    }

    /// One mine more, if so.
    pub(crate) fn and(mut self, mine: Mine, really: bool) -> Self {
        let free = self.mines.iter_mut().find(|place| place.is_none());
        if let (Some(free), true) = (free, really) {
            *free = Some(mine);
        }
        self
    }

    fn tread(&self, on: Mine) {
        assert!(!self.mines.contains(&Some(on)), "no {on:?} of {}", self.n);
    }
}

impl Clone for Mined {
    fn clone(&self) -> Self {
        self.tread(Mine::Clone);
        Self { n: self.n, mines: self.mines.map(|mine| mine.filter(|it| *it != Mine::Drop)) }
    }
}

impl Drop for Mined {
    fn drop(&mut self) {
        self.tread(Mine::Drop);
    }
}

impl PartialEq for Mined {
    fn eq(&self, other: &Self) -> bool {
        self.tread(Mine::Eq);
        other.tread(Mine::Eq);
        self.n == other.n
    }
}

impl Eq for Mined {}

impl Hash for Mined {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tread(Mine::Hash);
        self.n.hash(state);
    }
}

impl Serialize for Mined {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tread(Mine::Serialize);
        if self.mines.contains(&Some(Mine::Refusal)) {
            return Err(ser::Error::custom(format_args!("no Refusal of {}", self.n)));
        }
        serializer.serialize_u64(self.n)
    }
}

impl<'de> Deserialize<'de> for Mined {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::sound)
    }
}

/// Where a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// One task a stage, on simulated time: what hangs fails at once.
    One,
    /// Two tasks a stage, on simulated time.
    Two,
    /// Two tasks a stage, on two threads.
    Threads,
}

pub(crate) const PLACES: [Where; 3] = [Where::One, Where::Two, Where::Threads];

impl Where {
    pub(crate) fn tasks(self) -> usize {
        if self == Self::One { 1 } else { 2 }
    }

    /// Which task of a keyed stage has the key of this number.
    pub(crate) fn owner(self, n: u64) -> usize {
        KeyGroups::default_for(self.tasks()).owner_of(KeyHash::of(&n).unwrap(), self.tasks())
    }

    /// Runs a job to its end, whatever that is. No task outlives it: else this panics.
    pub(crate) fn run<T>(self, build: impl FnOnce(&Dataflow) -> T) -> (T, Result<(), JobError>) {
        self.run_with(Settings::new(), build)
    }

    /// The same with other limits.
    pub(crate) fn run_with<T>(
        self,
        settings: Settings,
        build: impl FnOnce(&Dataflow) -> T,
    ) -> (T, Result<(), JobError>) {
        let body = |settings: Settings| async move {
            let flow = Dataflow::new("mined");
            let built = build(&flow);
            let job = flow.start(settings).await.unwrap();
            let outcome = job.finished().await;
            let status = job.status();
            assert_eq!(matches!(status.state, JobState::Failed(_)), outcome.is_err());
            for task in &status.numbers.tasks {
                assert!(task.state.is_over(), "{} {} is left", task.stage, task.subtask);
            }
            (built, outcome)
        };
        let settings = settings.parallelism(self.tasks());
        if self == Self::Threads {
            return run_on_threads(body(settings.workers(Workers::Own(2.try_into().unwrap()))));
        }
        run(async move { body(settings.clock(Arc::new(SimulatedClock::new()))).await })
    }
}

/// The job has failed, of this task and for what is wrong with this number.
pub(crate) fn assert_blames(
    outcome: &Result<(), JobError>,
    task: (&str, usize),
    mine: Mine,
    n: u64,
) {
    let words = format!("no {mine:?} of {n}");
    let error = outcome.as_ref().expect_err("the job has a fault");
    let blamed = error.task().map(|task| (&*task.job, &*task.stage, task.subtask));
    assert_eq!(blamed, Some(("mined", task.0, task.1)), "{error}");
    match (error, mine) {
        (JobError::Panicked { message, .. }, _) if mine != Mine::Refusal => {
            assert_eq!(*message, words);
        }
        (JobError::Failed { failure, .. }, Mine::Refusal) => assert_eq!(
            (failure.to_string(), failure.record()),
            (
                format!("the key refuses to be serialised: {words}; a key must be storable"),
                Some(&*format!("<cannot be shown: {words}>")),
            ),
        ),
        (error, mine) => panic!("{mine:?}: {error:?}"),
    }
}
