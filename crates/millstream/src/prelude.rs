//! What almost every program names: `use millstream::prelude::*;`.

#[cfg(any(feature = "csv", feature = "json"))]
pub use crate::BadRow;
#[cfg(feature = "csv")]
pub use crate::Csv;
#[cfg(feature = "json")]
pub use crate::JsonLines;
pub use crate::step::Chain;
pub use crate::{
    AsyncFunction, AsyncWait, CoContextOf, Completer, ContextOf, Dataflow, Effects, Either,
    Failure, Fired, Generate, Items, Job, JobError, Keyed, KeyedCoProcess, KeyedProcess, NoTimer,
    OnFailure, Operator, Retry, Settings, SideOutput, Stamped, StartError, TaskInfo, Timestamp,
    Watermarks, Workers,
};
pub use crate::{KeyedStream, Stream};
