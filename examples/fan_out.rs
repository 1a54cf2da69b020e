//! One stream becomes several, and several become one: side outputs, `fork` and `union`.
//!
//! An operator writes what it cannot read to a side output, a second way out with its own type.
//! `fork` gives every record to two streams. `union` joins streams of one type into one.
//!
//! Run it: `cargo run --release --example fan_out`

use std::error::Error;

use millstream::prelude::*;

/// Degrees from which on an oven is too hot.
const HOT: i32 = 250;

/// Reads `oven degrees`; lines that are nothing of the kind go to the side output.
struct Parse {
    unreadable: SideOutput<String>,
}

impl Operator for Parse {
    type In = String;
    type Out = (String, i32);
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<String>,
        out: &mut Effects<(String, i32)>,
    ) -> Result<(), Failure> {
        let words = record.value.split_once(' ');
        match words.and_then(|(oven, degrees)| Some((oven.to_owned(), degrees.parse().ok()?))) {
            Some(reading) => out.emit(record.with(reading)),
            None => out.side(&self.unreadable, record),
        }
        Ok(())
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("fan-out");
    let unreadable: SideOutput<String> = SideOutput::new("unreadable");
    let lines = ["a 180", "b 240", "a 265", "c", "b 250", "a hot"].map(str::to_owned);

    let readings = flow.source("lines", Items::from(lines)).operator("parse", {
        let unreadable = unreadable.clone();
        move |_| Parse { unreadable: unreadable.clone() }
    });
    let noise = readings.side_output(&unreadable).map(|line| format!("cannot read {line:?}"));

    // What stands before a fork runs once; what follows runs for each of its streams.
    let [all, hot] = readings.fork();
    let means = all
        .key_by(|(oven, _)| oven.clone())
        .at_end()
        .fold("sum", (0, 0), |(sum, n), (_, degrees)| {
            *sum += degrees;
            *n += 1;
        })
        .map(|(oven, (sum, n))| format!("{oven}: {} degrees on average", sum / n))
        .collect("means");
    let alarms = hot
        .filter(|(_, degrees)| *degrees >= HOT)
        .map(|(oven, degrees)| format!("{oven} is at {degrees} degrees"))
        .union(noise)
        .collect("alarms");

    flow.start(Settings::new()).await?.finished().await?;
    for (title, mut lines) in [("means", means.take()), ("alarms", alarms.take())] {
        // Nothing is promised about the order between the streams of a union, or between keys.
        lines.sort();
        println!("{title}\n  {}", lines.join("\n  "));
    }
    Ok(())
}
