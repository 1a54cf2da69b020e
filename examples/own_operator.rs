//! An operator of one's own: runs of equal readings become one record each.
//!
//! An operator is a state machine. It is told what happened, writes what it wants done to its
//! `Effects`, and never waits, so that it can be tested without a job. What it remembers it also
//! gives to a snapshot: freeze first, hand over later, because records go on in between.
//!
//! Run it: `cargo run --release --example own_operator`

use std::error::Error;

use millstream::prelude::*;
use millstream::{Epoch, Restored, Snapshot};

/// Passes on a value and how often it came in a row, when another one follows or the input ends.
#[derive(Default)]
struct RunLength {
    run: Option<(i32, u64)>,
    frozen: Option<(i32, u64)>,
}

impl Operator for RunLength {
    type In = i32;
    type Out = (i32, u64);
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<i32>,
        out: &mut Effects<(i32, u64)>,
    ) -> Result<(), Failure> {
        let value = record.value;
        match &mut self.run {
            Some((same, times)) if *same == value => *times += 1,
            run => {
                if let Some(done) = run.replace((value, 1)) {
                    out.emit(record.with(done));
                }
            }
        }
        Ok(())
    }

    fn on_end(&mut self, out: &mut Effects<(i32, u64)>) -> Result<(), Failure> {
        if let Some(done) = self.run.take() {
            out.emit(Stamped::new(done));
        }
        Ok(())
    }

    fn freeze(&mut self, _: Epoch) -> Result<(), Failure> {
        self.frozen = self.run;
        Ok(())
    }

    fn snapshot(&mut self, _: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        snapshot.operator(self.frozen);
        Ok(true)
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.run = piece.read()?;
        Ok(())
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("own-operator");
    flow.source("water level", Items::from([3, 3, 3, 4, 4, 3, 5, 5, 5, 5]))
        .operator("runs", |_| RunLength::default())
        .for_each("print", |(level, times)| println!("level {level} for {times} readings"));
    flow.start(Settings::new()).await?.finished().await?;
    Ok(())
}
