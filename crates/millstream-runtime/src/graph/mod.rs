//! A graph with its types: what the plan cannot hold, the closures that make tasks and wire them.
//!
//! Stages are added from the sources to the sinks and started the other way round, so that a task
//! knows everything behind it when it is made and nothing is ever half wired. What a stage's output
//! leads to is gathered at its [`Port`] as [`Node`]s: a tree for each output, whose leaves are the
//! edges of the plan. The tree is walked twice in the same order, once for the plan and once for
//! each task, so the n-th leaf is the n-th edge of its stage both times.

mod build;
mod node;
mod stage;
mod start;
mod wiring;

pub use build::{Graph, Sides, StageKey};
pub use node::{
    ByKeyOf, Connect, EdgeNode, ForkNode, InTurn, Natural, Port, RouteOf, SharedNode, StepNode,
    TimeNode,
};
pub use start::{Opening, Prepared, RunKey};
pub use wiring::{Inlets, Node, Wiring};
