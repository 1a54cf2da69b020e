//! A stream that ends in no sink leads nowhere.

#![deny(unused_must_use)]

use millstream::prelude::*;

fn main() {
    let flow = Dataflow::new("flights");
    flow.source("delays", Items::from(0..9)).map(|delay| delay + 1);
    flow.source("days", Items::from(0..9)).key_by(|day| *day);
}
