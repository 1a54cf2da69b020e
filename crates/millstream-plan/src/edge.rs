//! A way from one stage to another, and how its records find their task.

use std::fmt;

use millstream_core::StageId;

/// How the records of an edge are dealt out to the tasks it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// Each task sends to the task of its own number; both stages have as many tasks.
    Forward,
    /// Each record goes to the task that owns its key.
    ByKey,
    /// Records are dealt out in turn, so that each task gets as many.
    Rebalance,
    /// Each record goes to every task.
    Broadcast,
}

impl Route {
    /// How many channels an edge of this route has between so many tasks and so many.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream_plan::Route;
    ///
    /// assert_eq!(Route::Forward.channels(3, 3), 3);
    /// assert_eq!(Route::ByKey.channels(3, 4), 12);
    /// ```
    pub const fn channels(self, upstream: usize, downstream: usize) -> usize {
        match self {
            Self::Forward => upstream,
            Self::ByKey | Self::Rebalance | Self::Broadcast => upstream.saturating_mul(downstream),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::ByKey => "by key",
            Self::Rebalance => "rebalance",
            Self::Broadcast => "broadcast",
        })
    }
}

/// One edge of a plan. Two edges may be equal: a plan is a multigraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The stage it leaves.
    pub from: StageId,
    /// The stage it leads to.
    pub to: StageId,
    /// The input of that stage: 0, or 1 for the second one of an operator with two.
    pub port: u32,
    /// How its records find their task.
    pub route: Route,
    /// The side output it leaves by; `None` for the main one.
    pub output: Option<String>,
    /// The steps fused into the tasks that it leaves, in order.
    pub steps: Vec<String>,
}

impl Edge {
    /// An edge from the main output of one stage to input 0 of another, without steps.
    pub const fn new(from: StageId, to: StageId, route: Route) -> Self {
        Self { from, to, port: 0, route, output: None, steps: Vec::new() }
    }

    /// The same edge, leading to this input.
    #[must_use]
    pub const fn port(mut self, port: u32) -> Self {
        self.port = port;
        self
    }

    /// The same edge, leaving by the side output of this name.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.output = Some(name.into());
        self
    }

    /// The same edge with these steps on the way.
    #[must_use]
    pub fn steps<S: Into<String>>(mut self, steps: impl IntoIterator<Item = S>) -> Self {
        self.steps = steps.into_iter().map(Into::into).collect();
        self
    }
}
