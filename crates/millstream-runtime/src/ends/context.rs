//! What a source or a sink is given when it is opened.

use std::sync::Arc;

use millstream_core::{Clock, TaskInfo};

use crate::offload::Offload;

/// Which task opens an end of the graph, and what it may use of the outside.
#[derive(Clone)]
pub struct TaskContext {
    /// Which task.
    pub info: TaskInfo,
    /// The job's clock, the only source of time.
    pub clock: Arc<dyn Clock>,
    /// Where blocking work goes: opening, syncing, renaming, closing.
    pub offload: Offload,
}
