//! The two clocks of tests: one that moves only when told, one that jumps when nothing is left to
//! do.
//!
//! | | [`ManualClock`] | [`SimulatedClock`] |
//! |---|---|---|
//! | moves | when the test says so | to the next deadline, whenever its runtime is idle |
//! | threads | any number, also several arbiters | one arbiter on a paused tokio runtime |
//! | for | what happens at which instant | whole jobs, in a run that can be repeated |

mod manual;
mod simulated;

pub use manual::ManualClock;
pub use simulated::SimulatedClock;
pub(crate) use simulated::a_moment;
