//! What almost every program names: `use millstream::prelude::*;`.

pub use crate::{
    Dataflow, Effects, Either, Failure, Generate, Items, Job, JobError, Keyed, NoTimer, Operator,
    Settings, SideOutput, Stamped, StartError, TaskInfo, Timestamp, Workers,
};
pub use crate::{KeyedStream, Stream};
pub use crate::step::Chain;
