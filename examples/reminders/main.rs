//! Reminders: timers by the clock on the wall, which fire although nothing comes in.
//!
//! Run it: `cargo run --release --example reminders`; it takes three seconds.

mod graph;

use std::error::Error;
use std::time::Duration;

use millstream::prelude::*;

use graph::{Say, reminders};

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("reminders");
    let things = ["open the gate", "close the gate"];
    let said = Generate::new(move |n| {
        let thing = things[usize::try_from(n).unwrap_or(0) % things.len()];
        let say = if n < 2 { Say::Remind(Duration::from_millis(500)) } else { Say::Done };
        (thing.to_owned(), say)
    });
    // One a second: both things are to be remembered, and by the third second both are done.
    let said = flow.source("said", said.records(4).per_second(1.try_into()?));
    let _ = reminders(said).for_each("print", |line| println!("{line}"));
    flow.start(Settings::new()).await?.finished().await?;
    Ok(())
}
