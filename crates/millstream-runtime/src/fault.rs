//! What can be wrong with a graph and does not show in its plan.

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
}
