//! One key with its value: as it stands in the table, and as it is stored.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use millstream_core::KeyHash;

/// An entry in its place in a leaf.
pub(super) struct Entry<K, V> {
    pub(super) hash: KeyHash,
    /// How many entries of its group had appeared before it.
    pub(super) order: u64,
    /// Which capture it was last saved in, or born after.
    pub(super) stamp: u32,
    pub(super) key: K,
    pub(super) value: V,
}

impl<K, V> Entry<K, V> {
    /// The hash that tables are given.
    #[inline]
    pub(super) const fn table_hash(&self) -> u64 {
        self.hash.table_hash()
    }
}

impl<K: Clone, V: Clone> Entry<K, V> {
    pub(super) fn store(&self) -> Stored<K, V> {
        Stored { order: self.order, key: self.key.clone(), value: self.value.clone() }
    }
}

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
