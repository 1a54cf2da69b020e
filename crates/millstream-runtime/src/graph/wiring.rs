//! How the channels of one task are made: what a node asks, and what it is told.

use std::sync::{Arc, Mutex, PoisonError};

use actix::{Recipient, WeakRecipient};

use millstream_core::{Data, TaskInfo};
use millstream_metrics::TaskMetrics;
use millstream_plan::Route as RouteKind;

use super::build::StageKey;
use crate::channel::{Branch, Deliver, Link, Outlet, OutletOf, Outlets, Resume};
use crate::settings::Limits;

/// The least that a batch is divided to when a route has many channels.
const BATCH_RECORDS_LEAST: usize = 64;

/// A leaf of an output's tree: an edge of the plan.
pub struct Leaf {
    pub(crate) to: StageKey,
    pub(crate) port: u32,
    /// None where the number of tasks decides between forward and rebalance.
    pub(crate) route: Option<RouteKind>,
    pub(crate) labels: Vec<&'static str>,
}

/// Where the records of an output go: a part of the tree behind a [`Port`](super::Port).
pub trait Node<T>: Send {
    /// Adds the leaves, in order, each with the steps in front of it.
    #[doc(hidden)]
    fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>);

    /// Makes the branch for one task.
    #[doc(hidden)]
    fn build(&self, wiring: &mut Wiring) -> Box<dyn Branch<T>>;
}

/// A task's receiving end, as those in front of it need to know it.
pub(crate) struct Inlet<T: Send + 'static> {
    pub(crate) to: Recipient<Deliver<T>>,
    pub(crate) worker: usize,
    pub(crate) metrics: Arc<TaskMetrics>,
}

/// Which start of a graph this is, so that two of them do not mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run(pub(crate) u64);

/// The receiving ends of all tasks of a stage, for each start of the graph until its tasks are
/// open.
pub struct Inlets<T: Send + 'static>(Arc<Mutex<Vec<RunInlets<T>>>>);

/// The receiving ends of all tasks of a stage, of one start.
type RunInlets<T> = (Run, Vec<Inlet<T>>);

impl<T: Send + 'static> Clone for Inlets<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Data> Inlets<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn fill(&self, run: Run, inlets: Vec<Inlet<T>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((run, inlets));
    }

    /// From here on nothing holds the tasks of a run but those in front of them.
    pub(crate) fn forget(&self, run: Run) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|(other, _)| *other != run);
    }
}

/// An edge of the plan as one stage in front of it sees it.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// One channel to the task of the same number, in place of one to each.
    pub(crate) forward: bool,
    /// The receivers' number of this edge's first channel.
    pub(crate) base: usize,
}

/// What a task's outputs are wired with.
pub struct Wiring {
    pub(crate) info: TaskInfo,
    pub(crate) run: Run,
    pub(crate) worker: usize,
    pub(crate) limits: Limits,
    pub(crate) resume: WeakRecipient<Resume>,
    /// The stage's edges, in the order of the leaves.
    pub(crate) ways: std::vec::IntoIter<Way>,
}

impl Wiring {
    /// The sending ends of the next edge.
    pub(crate) fn outlets<T: Data>(&mut self, inlets: &Inlets<T>) -> Outlets<T> {
        // The plan was made by the same walk, so there is one; an edge without channels would be
        // found by the first record.
        let Some(way) = self.ways.next() else { return Outlets(Vec::new()) };
        let runs = inlets.0.lock().unwrap_or_else(PoisonError::into_inner);
        let run = runs.iter().find(|(run, _)| *run == self.run);
        let inlets = run.map_or(&[][..], |(_, inlets)| inlets);
        let subtask = self.info.subtask;
        if way.forward {
            let inlet = inlets.get(subtask).into_iter();
            return Outlets(inlet.map(|inlet| self.outlet(inlet, way.base, 1)).collect());
        }
        let channel = way.base + subtask;
        let channels = inlets.len();
        Outlets(inlets.iter().map(|inlet| self.outlet(inlet, channel, channels)).collect())
    }

    fn outlet<T: Data>(&self, inlet: &Inlet<T>, channel: usize, channels: usize) -> Outlet<T> {
        let limits = &self.limits;
        let across = inlet.worker != self.worker;
        let credits = if across { limits.credits_across } else { limits.credits_within };
        let divided = limits.batch_records / channels.max(1);
        Outlet::new(OutletOf {
            to: inlet.to.clone(),
            channel,
            attempt: self.info.attempt,
            link: Link::new(credits, self.resume.clone(), inlet.metrics.clone()),
            batch_records: divided.max(BATCH_RECORDS_LEAST.min(limits.batch_records)),
        })
    }
}
