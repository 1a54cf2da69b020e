//! Each task has its own copy of a function, so what the function holds must be `Clone`.

use millstream::prelude::*;

struct Table;

fn main() {
    let table = Table;
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(move |delay| (&table, delay).1);
}
