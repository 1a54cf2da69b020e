//! Timers in whole jobs: by the clock on the wall and by the watermark, whatever else happens.

mod bed;
mod event;
mod processing;
#[path = "../../../examples/reminders/graph.rs"]
mod reminders;
