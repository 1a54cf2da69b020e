//! What almost every program names: `use millstream::prelude::*;`.

#[cfg(any(feature = "csv", feature = "json"))]
pub use crate::BadRow;
#[cfg(feature = "csv")]
pub use crate::Csv;
#[cfg(feature = "json")]
pub use crate::JsonLines;
pub use crate::step::Chain;
pub use crate::{
    AsyncFunction, AsyncWait, Completer, Dataflow, Effects, Either, Failure, Generate, Items, Job,
    JobError, Keyed, NoTimer, OnFailure, Operator, Retry, Settings, SideOutput, Stamped,
    StartError, TaskInfo, Timestamp, Workers,
};
pub use crate::{KeyedStream, Stream};
