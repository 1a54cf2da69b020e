//! A function is sent to the thread of its task, so what it holds must be `Send`.

use std::rc::Rc;

use millstream::prelude::*;

fn main() {
    let offset = Rc::new(7);
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.map(move |delay| delay + *offset);
}
