//! A value that cannot be stored does not go from task to task.

use millstream::prelude::*;

struct Flight(i32);

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(Flight).rebalance("spread");
}
