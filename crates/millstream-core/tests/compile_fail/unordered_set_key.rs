//! A `HashSet` is no key: two equal sets may list their elements in two orders.

use std::collections::HashSet;

fn key_by<K: millstream_core::Key>(_: K) {}

fn main() {
    key_by(HashSet::<u32>::new());
}
