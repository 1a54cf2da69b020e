//! The state of a new key is its default.

use millstream::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Seen(u64);

fn main() {
    let flow = Dataflow::new("flights");
    let delays = flow.source("delays", Items::from(0..9));
    let _ = delays.key_by(|delay| *delay).map_with_state("count", |_, seen: &mut Seen, _| seen.0);
}
