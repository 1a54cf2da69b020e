//! Keys, and a value that travels with its key.

use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::{KeyHash, Record};

/// What a stream can be keyed by: storable, comparable, kept and doubled.
///
/// Implemented for every type that qualifies. Its [`KeyHash`] is made from its `Serialize`, not
/// from its `Hash`, which differs from build to build; `Hash` and `Eq` only serve tables in memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "this type must be `Clone + Eq + Hash` and storable",
    note = "derive `Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize` for it; \
            floats cannot be keys"
)]
pub trait Key: Record + Clone + Eq + Hash {}

impl<T: Record + Clone + Eq + Hash> Key for T {}

/// A value with its key and the key's hash, as it travels behind a `key_by`.
///
/// The hash is computed once, where the record enters the exchange, and never again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed<K, V> {
    /// The key's hash.
    pub hash: KeyHash,
    /// The key.
    pub key: K,
    /// What it is the key of.
    pub value: V,
}
