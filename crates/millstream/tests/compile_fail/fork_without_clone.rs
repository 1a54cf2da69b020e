//! A fork doubles each record, so its type must be `Clone`.

use millstream::prelude::*;

struct Flight(i32);

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let [_, _] = delays.map(Flight).fork();
}
