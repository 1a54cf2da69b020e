//! Numbers that must not be mistaken for each other, and the card that names a task.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::KeyGroups;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($inner);

        impl $name {
            /// The number as one of these.
            pub const fn new(number: $inner) -> Self {
                Self(number)
            }

            /// The plain number.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// A checkpoint's number, from 1; 0 is before the first.
    Epoch(u64)
}

number! {
    /// Which life of a job's tasks this is, from 0. Messages of another attempt are dropped.
    Attempt(u32)
}

number! {
    /// A stage's place in its plan.
    StageId(u32)
}

/// Which task this is. Factories of operators, sources and sinks are given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// The dataflow's name.
    pub job: Arc<str>,
    /// The stage's name, chosen by the user.
    pub stage: Arc<str>,
    /// The stage's place in the plan.
    pub id: StageId,
    /// Which of the stage's tasks, from 0.
    pub subtask: usize,
    /// How many tasks the stage has.
    pub parallelism: usize,
    /// Which life of the job's tasks.
    pub attempt: Attempt,
    /// The key groups of the job.
    pub key_groups: KeyGroups,
}

impl fmt::Display for TaskInfo {
    /// `task 0 of "totals"`, the way errors name a task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} of \"{}\"", self.subtask, self.stage)
    }
}
