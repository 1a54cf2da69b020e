//! The function of a stateless step must not keep a state that no checkpoint would see.

use millstream::prelude::*;

fn main() {
    let mut seen = 0;
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(move |delay| {
        seen += 1;
        delay + seen
    });
}
