//! Timers beside plain sets.

mod pair;
