//! All numbers of one job, by stage and subtask.

use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use dashmap::DashMap;
use millstream_core::Moment;

use crate::{JobNumbers, TaskMetrics, TaskNumbers};

/// The numbers of one job, shared by the threads of its tasks and those who read them.
///
/// A clone is another handle to the same numbers.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    job: String,
    /// The place of each stage in the plan.
    places: BTreeMap<String, usize>,
    /// Not hashed with a seed of the thread's, so that nothing here differs from run to run.
    tasks: DashMap<(String, usize), Arc<TaskMetrics>, BuildHasherDefault<DefaultHasher>>,
}

impl Registry {
    /// A registry for the job of this name, whose stages are shown in this order.
    pub fn new<S: Into<String>>(
        job: impl Into<String>,
        stages: impl IntoIterator<Item = S>,
    ) -> Self {
        let places = stages.into_iter().enumerate().map(|(place, stage)| (stage.into(), place));
        let (job, places) = (job.into(), places.collect());
        Self(Arc::new(Inner { job, places, tasks: DashMap::default() }))
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.0.job
    }

    /// The numbers of a task, which is known from the first time that it is asked for.
    pub fn task(&self, stage: &str, subtask: usize) -> Arc<TaskMetrics> {
        self.0.tasks.entry((stage.to_owned(), subtask)).or_default().clone()
    }

    /// All numbers as they are now, in the order of the plan; stages that the plan does not name
    /// come last, by name.
    ///
    /// `now` is the present moment of the job's clock: what a task is doing is counted until then.
    /// No task is kept waiting, so the numbers are not all of the same instant.
    pub fn numbers(&self, now: Moment) -> JobNumbers {
        let known = self.0.tasks.iter().map(|entry| {
            let (stage, subtask) = entry.key().clone();
            let place = self.0.places.get(&stage).copied().unwrap_or(usize::MAX);
            ((place, stage, subtask), Arc::clone(entry.value()))
        });
        // Sorted into a map first: nothing is read while a part of the registry is locked.
        let known: BTreeMap<_, _> = known.collect();
        let tasks = known.into_iter().map(|((_, stage, subtask), metrics)| {
            // The state first: a task that is seen to be over is seen with its last numbers.
            let state = metrics.state();
            TaskNumbers { stage, subtask, state, numbers: metrics.numbers(now) }
        });
        JobNumbers::of(self.0.job.clone(), tasks.collect())
    }
}
