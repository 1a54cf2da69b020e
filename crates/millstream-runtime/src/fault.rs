//! What can be wrong with a graph and does not show in its plan.

use std::fmt;
use std::sync::Arc;

use millstream_operators::async_wait::SettingError;
use millstream_plan::{PlanError, PlanFault};

/// A fault of a graph that its plan cannot show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphFault {
    /// A side output is read twice, and its records cannot be in two places.
    #[error("side output {output:?} of stage {stage:?} is read twice; fork what is read once")]
    SideOutputReadTwice {
        /// The stage.
        stage: String,
        /// The side output.
        output: String,
    },
    /// A number of tasks was given to a stream that no single stage makes.
    #[error("a parallelism of {asked} is given to a union, which is no stage; give it to a stage")]
    ParallelismOfUnion {
        /// The number.
        asked: usize,
    },
    /// Streams of two dataflows were joined, which nothing can run together. Both are told.
    #[error(
        "`{call}` joins a stream of dataflow {left:?} and one of dataflow {right:?}, which run \
         apart: make both streams in one dataflow"
    )]
    TwoDataflows {
        /// What was to join them.
        call: &'static str,
        /// The name of the first stream's dataflow.
        left: String,
        /// The name of the other stream's dataflow.
        right: String,
    },
    /// A source has fewer splits, or a sink takes fewer tasks, than it is told to have.
    #[error("stage {stage:?} has a parallelism of {asked} and can have {max} at most")]
    TooParallel {
        /// The stage.
        stage: String,
        /// The number that was asked for.
        asked: usize,
        /// The most that its source or sink can have.
        max: usize,
    },
    /// A stage of calls has settings that cannot be meant.
    #[error("stage {stage:?}: {setting}")]
    Calls {
        /// The stage.
        stage: String,
        /// What is wrong.
        setting: SettingError,
    },
    /// Event time begins with a setting of no time at all.
    #[error("`event_time`: `{setting}` is zero; it must be some time")]
    EventTime {
        /// The setting.
        setting: &'static str,
    },
    /// Calls are to be in the order of keys, and the stream has none.
    #[error("stage {stage:?} is key-ordered, and its stream has no keys: use `key_by` before it")]
    NoKeys {
        /// The stage.
        stage: String,
    },
}

/// A graph that cannot be started, with everything that is wrong with it: what its plan cannot
/// show, and what it can.
///
/// Its text is a line that names the graph and one more line for each fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError {
    graph: Arc<str>,
    faults: Vec<GraphFault>,
    plan: Option<PlanError>,
}

impl GraphError {
    pub(crate) fn new(graph: Arc<str>, faults: Vec<GraphFault>, plan: Option<PlanError>) -> Self {
        debug_assert!(!faults.is_empty(), "an error without a fault");
        Self { graph, faults, plan }
    }

    /// The graph's name, which is that of its jobs.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// Every fault that the plan cannot show; at least one.
    pub fn faults(&self) -> &[GraphFault] {
        &self.faults
    }

    /// Every fault of the plan; there may be none.
    pub fn plan_faults(&self) -> &[PlanFault] {
        self.plan.as_ref().map_or(&[], PlanError::faults)
    }
}

impl std::error::Error for GraphError {}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.faults.len() + self.plan_faults().len();
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "graph {:?} has {count} fault{plural}:", self.graph)?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))?;
        self.plan_faults().iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}
