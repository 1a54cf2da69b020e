//! Keyed processing: what a process is told, what it says about timers, and what comes of it.

mod doing;
mod state;
mod timers;
