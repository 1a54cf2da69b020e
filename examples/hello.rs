//! A source, two steps and a sink: the smallest job there is.
//!
//! `source` and `for_each` become a task each, that is, an actix actor; the steps between them fuse
//! into the source's task and cost no message. Nothing runs before `start`.
//!
//! Run it: `cargo run --release --example hello`

use std::error::Error;

use millstream::prelude::*;

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("hello");
    let names = ["mill", "", "stream", "world"].map(str::to_owned);

    // The name of a stage is what the plan, the metrics and the errors call it.
    flow.source("names", Items::from(names))
        .filter(|name| !name.is_empty())
        .map(|name| format!("Hello, {name}!"))
        .for_each("greetings", |greeting| println!("{greeting}"));

    // Outside of an actix system this would be an error, and not a panic.
    let job = flow.start(Settings::new()).await?;

    // The job runs on its own. To wait for it is to learn how it ended.
    job.finished().await?;

    let numbers = job.status().numbers;
    let greeted = numbers.stage("greetings").map_or(0, |stage| stage.numbers.records_in);
    println!("{greeted} greetings by job {:?}", job.name());
    Ok(())
}
