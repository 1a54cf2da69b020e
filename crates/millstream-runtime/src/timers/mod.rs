//! The actor that keeps a task's timers, beside the task on its arbiter.
//!
//! ```text
//!          edits, once a turn, as mail            one wake-up, for the earliest
//!   task ─────────────────────────────▶ TimerActor ─────────────────────────────▶ clock
//!        ◀─────────────────────────────
//!          what is due, by a line that both share
//! ```
//!
//! It is started with the first timer and ends with its task. What both say to each other, and what
//! may cross, stands in [`millstream_operators::timers`].

mod actor;
mod line;
mod serving;

pub(crate) use actor::Keeper;
pub(crate) use serving::TimersOf;
