//! Calls to outside systems from a dataflow: hundreds in flight, results in order or not.

mod caller;
mod function;
mod settings;
mod stream;

pub use function::{AsyncFunction, call_fn};
pub use settings::{AsyncWait, OnFailure};
