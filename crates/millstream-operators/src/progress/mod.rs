//! Marks of several channels made into one: watermarks and status ([`Frontier`]), barriers
//! ([`Alignment`]).

mod alignment;
mod frontier;

pub use alignment::{Aligned, Alignment};
pub use frontier::{Frontier, Progress};
