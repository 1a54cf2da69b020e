//! The hash of a key: the same in every build, on every machine and in every process.
//!
//! Which task owns a key, and which part of a snapshot holds it, follows from this hash, so it may
//! never change by itself. It is fed by the key's own `Serialize`, not by its `Hash`: what a type
//! writes into a `Hasher` belongs to the compiler, what it serialises belongs to its author.
//!
//! # The algorithm, version 1
//!
//! The key is a sequence of 64-bit words. The state begins as `SEED`; each word `w` turns it into
//! `fold((state ^ w) * MULTIPLIER)`, where the product has 128 bits and `fold` is the exclusive or
//! of its halves, as in Wang Yi's wyhash. The hash is `fold(state * LAST)`. The words are:
//!
//! | part of a key | words |
//! |---|---|
//! | integer up to 64 bits | one, sign- or zero-extended, so that a field may be widened |
//! | 128-bit integer | two, the low one first |
//! | `bool`, `char`, unit | one: 0 or 1, the scalar value, 0 |
//! | string, bytes | the length in bytes, then words of eight bytes, little-endian, zero-filled |
//! | struct, tuple | its fields in their order, without names; a skipped field is `SKIPPED` |
//! | newtype struct | what is inside |
//! | sequence | its length, then its elements |
//! | `Option` | 0, or 1 and the value |
//! | enum | the variant's name as a string, then its fields: variants may be reordered |
//!
//! The serializer calls itself not human-readable, as the codec does: an address is bytes, not
//! text. A float is refused because `0.0 == -0.0` and `NaN != NaN`; a map because two equal maps
//! may list their entries differently. A `HashSet` has no `Hash` and so cannot be a key; an ordered
//! set is the sequence that it serialises as.

mod words;

use serde::{Deserialize, Serialize};

use words::Words;

/// A key cannot be hashed. Whoever asked adds the stage's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is a float in the key.
    #[error(
        "the key contains an {0}, and floats cannot be keys: round it to an integer, or take its \
         `to_bits()`"
    )]
    Float(&'static str),
    /// There is a map in the key.
    #[error(
        "the key contains a map, and maps cannot be keys: use a struct (without `serde(flatten)`, \
         which makes it a map) or a sorted list of pairs"
    )]
    Map,
    /// There is a sequence in the key that does not say its length in advance.
    #[error(
        "the key contains a sequence that does not say its length before its elements: collect \
         it into a `Vec` before it becomes part of the key"
    )]
    UnknownLength,
    /// There is a sequence or a text in the key of another length than it said.
    #[error(
        "the key contains a sequence or text that said its length is {said} and then gave {given}: \
         correct its `Serialize` or `Display`"
    )]
    WrongLength {
        /// The length it said.
        said: u64,
        /// The length it had.
        given: u64,
    },
    /// The key's own `Serialize` failed.
    #[error("the key refuses to be serialised: {0}; a key must be storable")]
    Refused(String),
}

impl serde::ser::Error for KeyError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Refused(message.to_string())
    }
}

/// The hash of a key: 64 well-mixed bits, the same wherever it is computed.
///
/// # Examples
///
/// ```
/// use millstream_core::KeyHash;
///
/// let owned = KeyHash::of(&("EWR".to_owned(), 1_u8))?;
/// let borrowed = KeyHash::of(&("EWR", 1_u64))?;
/// assert_eq!(owned, borrowed);
/// assert!(KeyHash::of(&1.5_f64).is_err());
/// # Ok::<(), millstream_core::KeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Which algorithm this is. Stored beside everything that was placed by it.
    pub const VERSION: u32 = 1;

    /// The hash of a key. Allocates nothing.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key has a part that cannot be hashed, or refuses to be serialised.
    #[inline]
    pub fn of<K: Serialize + ?Sized>(key: &K) -> Result<Self, KeyError> {
        let mut words = Words::new();
        key.serialize(&mut words)?;
        Ok(Self(words.finish()))
    }

    /// The plain number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// A hash that was computed before, from its plain number.
    pub const fn from_raw(number: u64) -> Self {
        Self(number)
    }
}

#[cfg(test)]
mod tests;
