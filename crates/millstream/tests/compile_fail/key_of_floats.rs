//! A float is no key.

use millstream::prelude::*;

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from([1.5_f64, 2.5]));
    let _ = delays.key_by(|delay| *delay);
}
