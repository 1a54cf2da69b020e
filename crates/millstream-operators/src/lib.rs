//! What happens to records, as state machines.
//!
//! Nothing here knows an actor, a clock, a future or a file, so everything here can be tested by
//! calling it. An [`Operator`] is told what happened and writes what it wants done to its
//! [`Effects`]; a [`Step`] is a stateless operator that fuses into the task in front of it;
//! [`Lanes`] says what a task's turn serves next; [`Frontier`] and [`Alignment`] merge the marks of
//! several channels. Whoever runs them is in the runtime crate.

pub mod async_wait;
pub mod keyed;
pub mod process;
pub mod progress;
pub mod state;
pub mod step;
pub mod timers;

mod effects;
mod lanes;
mod operator;
mod records;
mod side;
mod snapshot;
mod timer;

pub use effects::Effects;
pub use lanes::{Lane, Lanes, LanesError, Serve};
pub use operator::{Either, Operator};
pub use progress::{Aligned, Alignment, Frontier, Progress};
pub use records::{Records, drained, drop_all, holding, let_go, let_go_all};
pub use side::{SideBuffer, SideBuffers, SideOutput};
pub use snapshot::{Piece, Restored, Snapshot, SnapshotError};
pub use step::{Chain, Collect, Step};
pub use timer::{NoTimer, Timer, TimerDomain, TimerEdit};
