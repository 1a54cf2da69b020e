//! The key-ordered queue of calls beside its model. The bytes say how many calls a key may have.

#![no_main]

use libfuzzer_sys::fuzz_target;
use millstream_core::{KeyHash, Mark, Timestamp};
use millstream_operators::async_wait::{Order, Popped, Queue, Room, Ticket, Unemitted};

// The model and the way from bytes to operations are those of the tests of the crate.
#[path = "../../crates/millstream-operators/src/async_wait/tests/queue_model.rs"]
mod queue_model;

fuzz_target!(|bytes: &[u8]| {
    queue_model::compare(Order::KeyOrdered { per_key: 1 }, bytes);
    queue_model::compare_eagerly(Order::KeyOrdered { per_key: 1 }, bytes);
});
