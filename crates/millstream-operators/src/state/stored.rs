//! One key with its value, as it is stored.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An entry outside the table: saved by a capture, or on its way back.
///
/// It is written as a list of three, not as a map with names: there may be millions, and a change
/// to these three would be a new version of the state anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored<K, V> {
    /// How many entries of its key group had appeared before it.
    pub order: u64,
    /// The key.
    pub key: K,
    /// The value.
    pub value: V,
}

impl<K: Serialize, V: Serialize> Serialize for Stored<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.order, &self.key, &self.value).serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Stored<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (order, key, value) = Deserialize::deserialize(deserializer)?;
        Ok(Self { order, key, value })
    }
}
