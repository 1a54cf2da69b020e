//! A place in the graph that becomes tasks.

use std::fmt;

/// What a stage is in the graph, which says which sides of it are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKind {
    /// Where records come from; it has no input.
    Source,
    /// What takes records and makes others; it has one input or two, and at least one way out.
    Operator,
    /// Where records leave the job; it has one input and no way out.
    Sink,
}

impl StageKind {
    /// How many inputs a stage of this kind can have; they are numbered from 0.
    pub const fn ports_max(self) -> u32 {
        match self {
            Self::Source => 0,
            Self::Operator => 2,
            Self::Sink => 1,
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Operator => "operator",
            Self::Sink => "sink",
        })
    }
}

/// One stage of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name a person chose for it, the only one of its kind in the plan.
    pub name: String,
    /// What it is in the graph.
    pub kind: StageKind,
    /// How many tasks it becomes, after defaults are resolved.
    pub parallelism: usize,
    /// The steps that run once in its tasks, before its outputs part, in order.
    pub steps: Vec<String>,
}

impl Stage {
    /// A source without steps of its own.
    pub fn source(name: impl Into<String>, parallelism: usize) -> Self {
        Self::new(name.into(), StageKind::Source, parallelism)
    }

    /// An operator without steps of its own.
    pub fn operator(name: impl Into<String>, parallelism: usize) -> Self {
        Self::new(name.into(), StageKind::Operator, parallelism)
    }

    /// A sink without steps of its own.
    pub fn sink(name: impl Into<String>, parallelism: usize) -> Self {
        Self::new(name.into(), StageKind::Sink, parallelism)
    }

    const fn new(name: String, kind: StageKind, parallelism: usize) -> Self {
        Self { name, kind, parallelism, steps: Vec::new() }
    }

    /// The same stage with these steps.
    #[must_use]
    pub fn steps<S: Into<String>>(mut self, steps: impl IntoIterator<Item = S>) -> Self {
        self.steps = steps.into_iter().map(Into::into).collect();
        self
    }
}
