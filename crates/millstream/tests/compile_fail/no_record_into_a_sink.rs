//! A value that cannot be stored does not go into a sink.

use millstream::prelude::*;

struct Flight(i32);

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(Flight).for_each("out", |_| {});
}
