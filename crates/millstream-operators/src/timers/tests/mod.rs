//! Timers beside plain sets.

mod chance;
mod heap;
mod pair;
mod queue;
