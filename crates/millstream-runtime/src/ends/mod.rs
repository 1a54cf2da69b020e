//! What users implement at the two ends of a graph: where records come from and where they go.

mod context;
mod sink;
mod source;

pub use context::TaskContext;
pub use sink::{Sink, Writer};
pub use source::{Read, ReadContext, Reader, Source};
