//! Progress: marks of several channels made into one ([`Frontier`], [`Alignment`]), and how event
//! time begins: watermarks from the times of records ([`WatermarkStrategy`], [`Watermarker`]).

mod alignment;
mod frontier;
mod idleness;
mod strategy;
mod watermarker;

#[cfg(test)]
mod tests;

pub use alignment::{Aligned, Alignment};
pub use frontier::{Frontier, Progress};
pub use idleness::Idleness;
pub use strategy::{Bounded, Punctuated, WatermarkStrategy};
pub use watermarker::Watermarker;
