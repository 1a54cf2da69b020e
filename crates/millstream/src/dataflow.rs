//! A graph under construction, and its start.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millstream_operators::step::Identity;
use millstream_plan::Plan;
use millstream_runtime::{Graph, GraphFault, Job, Settings, Source, StartError};

use crate::Stream;
use crate::stream::Made;

/// The graph that the streams of one dataflow share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Graph>>);

impl Shared {
    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are one graph, so that a call may join streams of them. If they are not, each
    /// remembers that as its fault.
    pub(crate) fn may_join(&self, other: &Self, call: &'static str) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        // One at a time, so that two threads cannot wait for one another.
        let left = self.graph().name().to_owned();
        let right = other.graph().name().to_owned();
        let fault = GraphFault::TwoDataflows { call, left, right };
        self.graph().fault(fault.clone());
        other.graph().fault(fault);
        false
    }
}

/// A dataflow under construction.
///
/// Sources are added to it, streams come from them and end in sinks, and [`start`](Self::start)
/// makes a running job of it all. Nothing runs before, and everything that can be known to be wrong
/// is told before anything runs.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
///
/// let flow = Dataflow::new("evens");
/// let _ = flow.source("numbers", Items::from(0..10_u64)).filter(|n| n % 2 == 0).collect("out");
/// assert!(flow.plan(&Settings::new()).to_mermaid().starts_with("flowchart LR"));
/// ```
pub struct Dataflow {
    shared: Shared,
}

impl Dataflow {
    /// An empty dataflow. The name is that of its jobs, in errors and in metrics.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { shared: Shared(Arc::new(Mutex::new(Graph::new(name)))) }
    }

    /// Tasks of a stage that names no number of its own; the settings' number goes before it.
    #[must_use]
    pub fn parallelism(self, parallelism: NonZeroUsize) -> Self {
        self.shared.graph().set_default_parallelism(parallelism.get());
        self
    }

    /// Adds a source.
    pub fn source<S: Source>(&self, name: &str, source: S) -> Stream<Identity<S::Out>> {
        let (key, port, sides) = self.shared.graph().source(name, source);
        Stream::of(self.shared.clone(), vec![Box::new(port)], Some(Made { key, sides }))
    }

    /// The graph as data, with the numbers of tasks that these settings lead to. It prints, also as
    /// a Mermaid chart.
    pub fn plan(&self, settings: &Settings) -> Plan {
        self.shared.graph().plan(settings)
    }

    /// Checks the graph and starts it; resolves when every task is open. A graph can be started
    /// more than once; the jobs know nothing of each other.
    ///
    /// With the default workers this must be called inside an actix system; see
    /// [`Workers`](crate::Workers) for the other ways.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then nothing of the job is left.
    pub async fn start(&self, settings: Settings) -> Result<Job, StartError> {
        let prepared = self.shared.graph().prepare(settings)?;
        prepared.muster().await?;
        let opening = self.shared.graph().launch(prepared)?;
        let run = opening.run();
        let opened = opening.opened().await;
        self.shared.graph().forget(run);
        opened
    }
}
