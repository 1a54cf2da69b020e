//! What can be wrong with a plan, each fault with what to do about it.

use std::fmt;

use millstream_core::StageId;

use crate::StageKind;

/// One fault of a plan.
///
/// Its text names the stages and says what to do. A stage without a name is called by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// There is nothing to run.
    #[error("the plan has no stages: begin with a source")]
    NoStages,
    /// The job has no name.
    #[error("the plan has no name: give the job one, its errors and numbers are called by it")]
    UnnamedPlan,
    /// A stage has no name, or one of blanks.
    #[error(
        "stage {stage}, {article} {kind}, has an empty name: give it one, its errors, numbers \
         and snapshots are called by it",
        article = article(*.kind)
    )]
    UnnamedStage {
        /// Which stage.
        stage: StageId,
        /// What it is.
        kind: StageKind,
    },
    /// Several stages have one name.
    #[error("{stages} stages are named {name:?}: give each a name of its own")]
    EqualNames {
        /// The name.
        name: String,
        /// How many stages have it.
        stages: usize,
    },
    /// A side output has no name, or one of blanks.
    #[error("a side output of {from:?} that leads to {to:?} has an empty name: give it one")]
    UnnamedOutput {
        /// The stage it leaves.
        from: String,
        /// The stage it leads to.
        to: String,
    },
    /// A source or an operator has no way out.
    #[error("nothing connected to the output of {kind} {stage:?}: end it in a sink or remove it")]
    NothingConnected {
        /// The stage.
        stage: String,
        /// What it is.
        kind: StageKind,
    },
    /// An operator or a sink has no way in.
    #[error("{kind} {stage:?} has no input: connect a stream to it or remove it")]
    NoInput {
        /// The stage.
        stage: String,
        /// What it is.
        kind: StageKind,
    },
    /// The second input of an operator is connected, the first one is not.
    #[error("input 1 of operator {stage:?} is connected, input 0 is not: connect both, or only 0")]
    OnlySecondInput {
        /// The stage.
        stage: String,
    },
    /// An edge leads to an input that a stage of this kind does not have.
    #[error(
        "{kind} {stage:?} has no input {port}: connect to an input below {}",
        .kind.ports_max()
    )]
    NoSuchInput {
        /// The stage.
        stage: String,
        /// What it is.
        kind: StageKind,
        /// The input that is not there.
        port: u32,
    },
    /// An edge leads to a source.
    #[error(
        "source {stage:?} has an input, from {from:?}: a source takes none, let the edge end \
             in an operator or a sink"
    )]
    SourceWithInput {
        /// The source.
        stage: String,
        /// The stage the edge leaves.
        from: String,
    },
    /// An edge leaves a sink.
    #[error(
        "sink {stage:?} has an output, to {to:?}: a sink has none, let the edge begin at the \
             stage before it"
    )]
    SinkWithOutput {
        /// The sink.
        stage: String,
        /// The stage the edge leads to.
        to: String,
    },
    /// A stage would have no task.
    #[error("{kind} {stage:?} has a parallelism of zero: give it at least one task")]
    NoTasks {
        /// The stage.
        stage: String,
        /// What it is.
        kind: StageKind,
    },
    /// A stage has more tasks than there can be key groups.
    #[error("{kind} {stage:?} has a parallelism of {parallelism}: give it at most {limit} tasks")]
    TooManyTasks {
        /// The stage.
        stage: String,
        /// What it is.
        kind: StageKind,
        /// How many tasks it has.
        parallelism: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The number of key groups that was asked for is none that can be.
    #[error("{key_groups} key groups were asked for: ask for 1 to {limit}")]
    KeyGroupsOutOfRange {
        /// The number asked for.
        key_groups: u32,
        /// The largest number there can be.
        limit: u32,
    },
    /// A stage has more tasks than the plan has key groups, so that some would own no key.
    #[error(
        "{key_groups} key groups are fewer than the {parallelism} tasks of {stage:?}: ask for \
             at least {parallelism} key groups, or give the stage fewer tasks"
    )]
    KeyGroupsTooFew {
        /// The number asked for.
        key_groups: u32,
        /// The first of the stages with the most tasks.
        stage: String,
        /// How many tasks it has.
        parallelism: usize,
    },
    /// A forward edge joins stages of different parallelism.
    #[error(
        "a forward edge leads from {upstream} tasks of {from:?} to {downstream} of {to:?}: \
             rebalance it, or give both stages as many tasks"
    )]
    UnevenForward {
        /// The stage it leaves.
        from: String,
        /// The stage it leads to.
        to: String,
        /// How many tasks the first one has.
        upstream: usize,
        /// How many tasks the second one has.
        downstream: usize,
    },
    /// An edge leads to a stage that is not in the plan.
    #[error(
        "an edge leads from {from:?} to stage {to}, which is not there: add the stage first \
             and connect by the id that this returns"
    )]
    EdgeToNowhere {
        /// The stage it leaves.
        from: String,
        /// The id that no stage has.
        to: StageId,
    },
    /// An edge leaves a stage that is not in the plan.
    #[error(
        "an edge leads to {to:?} from stage {from}, which is not there: add the stage first \
             and connect by the id that this returns"
    )]
    EdgeFromNowhere {
        /// The id that no stage has.
        from: StageId,
        /// The stage it leads to.
        to: String,
    },
    /// Neither end of an edge is in the plan.
    #[error(
        "an edge leads from stage {from} to stage {to}, which are not there: add the stages \
             first and connect by the ids that this returns"
    )]
    EdgeInNowhere {
        /// The id that no stage has.
        from: StageId,
        /// The other id that no stage has.
        to: StageId,
    },
    /// Stages lead back to themselves.
    #[error("the stages {} are a cycle: a stream cannot lead back to a stage before it, remove \
             one of these edges", path(.stages))]
    Cycle {
        /// The stages on it, each leading to the next and the last to the first.
        stages: Vec<String>,
    },
}

/// A plan that cannot be started, with everything that is wrong with it.
///
/// Its text is a line that names the plan and one more line for each fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    plan: String,
    faults: Vec<PlanFault>,
}

impl PlanError {
    pub(crate) fn new(plan: &str, faults: Vec<PlanFault>) -> Self {
        debug_assert!(!faults.is_empty(), "an error without a fault");
        Self { plan: plan.to_owned(), faults }
    }

    /// The plan's name.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// Every fault; at least one.
    pub fn faults(&self) -> &[PlanFault] {
        &self.faults
    }
}

impl std::error::Error for PlanError {}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.faults.len() == 1 { "" } else { "s" };
        write!(f, "plan {:?} has {} fault{plural}:", self.plan, self.faults.len())?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

const fn article(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Operator => "an",
        StageKind::Source | StageKind::Sink => "a",
    }
}

/// `"a" -> "b" -> "a"`.
fn path(stages: &[String]) -> String {
    let closed = stages.iter().chain(stages.first());
    closed.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" -> ")
}
