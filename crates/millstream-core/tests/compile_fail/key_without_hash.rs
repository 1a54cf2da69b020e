//! A key must have `Hash` for the tables in memory.

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origin(String);

fn key_by<K: millstream_core::Key>(_: K) {}

fn main() {
    key_by(Origin("EWR".to_owned()));
}
