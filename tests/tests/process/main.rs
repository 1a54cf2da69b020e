//! Keyed processing: what a process is told, what it says about timers, and what comes of it.

mod doing;
mod random;
mod state;
mod timers;
mod ttl;
