//! A value that can be stored but not read again does not go into a sink.

use millstream::prelude::*;
use serde::Serialize;

#[derive(Serialize)]
struct Flight(i32);

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(Flight).for_each("out", |_| {});
}
