//! Operators with a state for each key: what `reduce`, `fold`, `count` and `map_with_state` are.
//!
//! What differs is a [`Rule`]: the state of a new key, what a value does to it, and the result.
//! What is the same is one operator, [`KeyedOperator`], which gives out a result for each record or
//! only the last one of each key when the input ends.

mod operator;
mod rule;

pub use operator::{Emit, KeyedOperator};
pub use rule::{Fold, LastWithState, Reduce, Rule, WithState};
