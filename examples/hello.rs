//! The smallest dataflow.

fn main() {}
