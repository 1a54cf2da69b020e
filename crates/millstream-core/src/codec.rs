//! The bytes of everything that is stored: MessagePack with field names.
//!
//! With names a struct may gain a field that has a default, and its fields may be reordered, and
//! old bytes are still read rightly. Without names a reordered struct would be read wrongly and
//! silently.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::Record;

/// A value could not be turned into bytes, or bytes into a value.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The value refuses to be stored, as a [`Volatile`](crate::Volatile) does.
    #[error("cannot encode a {type_name}: {cause}")]
    Encode {
        /// The Rust type.
        type_name: &'static str,
        /// What the encoder says.
        #[source]
        cause: rmp_serde::encode::Error,
    },
    /// The bytes are not those of such a value.
    #[error("cannot decode a {type_name}: {cause}")]
    Decode {
        /// The Rust type.
        type_name: &'static str,
        /// What the decoder says.
        #[source]
        cause: rmp_serde::decode::Error,
    },
    /// A value was read and bytes are left behind it.
    #[error("{left} bytes are left behind a {type_name}")]
    Trailing {
        /// The Rust type.
        type_name: &'static str,
        /// How many.
        left: usize,
    },
}

/// The bytes of a value.
///
/// # Errors
///
/// [`CodecError::Encode`] when the value's own `Serialize` refuses.
///
/// # Examples
///
/// ```
/// use millstream_core::codec;
///
/// let bytes = codec::encode(&("EWR".to_owned(), 305_u32))?;
/// assert_eq!(codec::decode::<(String, u32)>(&bytes)?, ("EWR".to_owned(), 305));
/// # Ok::<(), codec::CodecError>(())
/// ```
pub fn encode<T: Record>(value: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    encode_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends the bytes of a value.
///
/// # Errors
///
/// [`CodecError::Encode`] when the value's own `Serialize` refuses; then `bytes` is as it was.
pub fn encode_into<T: Record>(value: &T, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = bytes.len();
    rmp_serde::encode::write_named(bytes, value).map_err(|cause| {
        bytes.truncate(before);
        CodecError::Encode { type_name: std::any::type_name::<T>(), cause }
    })
}

/// The value that these bytes, all of them, stand for.
///
/// # Errors
///
/// [`CodecError::Decode`] for bytes of something else, [`CodecError::Trailing`] for bytes of more.
pub fn decode<T: Record>(bytes: &[u8]) -> Result<T, CodecError> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    let value = T::deserialize(&mut reader).map_err(refused::<T>)?;
    if at_end(&mut reader) {
        return Ok(value);
    }
    // Reading from a slice is a third faster, but only a stream says how far it has got.
    let mut rest = bytes;
    decode_next::<T>(&mut rest)?;
    Err(CodecError::Trailing { type_name: std::any::type_name::<T>(), left: rest.len() })
}

/// The value at the front of `bytes`, which moves on behind it.
///
/// # Errors
///
/// [`CodecError::Decode`] for bytes of something else; then `bytes` is as it was.
pub fn decode_next<T: Record>(bytes: &mut &[u8]) -> Result<T, CodecError> {
    let mut rest = *bytes;
    let mut reader = rmp_serde::Deserializer::new(&mut rest);
    let value = T::deserialize(&mut reader).map_err(refused::<T>)?;
    *bytes = rest;
    Ok(value)
}

fn refused<T>(cause: rmp_serde::decode::Error) -> CodecError {
    CodecError::Decode { type_name: std::any::type_name::<T>(), cause }
}

/// Whether not even the first byte of another value is there.
fn at_end<'de>(reader: impl Deserializer<'de, Error = rmp_serde::decode::Error>) -> bool {
    use rmp_serde::decode::Error::InvalidMarkerRead;
    matches!(IgnoredAny::deserialize(reader), Err(InvalidMarkerRead(_)))
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Old {
        a: u32,
        b: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct New {
        b: String,
        a: u32,
        #[serde(default)]
        c: Option<u8>,
    }

    #[test]
    fn a_struct_may_gain_a_field_and_reorder_the_others() {
        let bytes = encode(&Old { a: 1, b: "x".into() }).unwrap();
        assert_eq!(decode::<New>(&bytes).unwrap(), New { b: "x".into(), a: 1, c: None });
    }

    #[test]
    fn several_values_stand_behind_each_other_and_nothing_may_be_left() {
        let mut bytes = encode(&1_u64).unwrap();
        encode_into(&"two".to_owned(), &mut bytes).unwrap();
        let mut rest = &bytes[..];
        assert_eq!(decode_next::<u64>(&mut rest).unwrap(), 1);
        assert_eq!(decode_next::<String>(&mut rest).unwrap(), "two");
        assert!(rest.is_empty());
        assert!(matches!(decode::<u64>(&bytes), Err(CodecError::Trailing { left: 4, .. })));
        assert!(matches!(decode::<u64>(&bytes[..0]), Err(CodecError::Decode { .. })));
        let mut text = &bytes[1..];
        assert!(matches!(decode_next::<u64>(&mut text), Err(CodecError::Decode { .. })));
        assert_eq!(text.len(), 4);
    }

    #[test]
    fn a_value_that_refuses_leaves_nothing_behind() {
        let mut bytes = vec![1];
        let refused = (7_u8, crate::Volatile(()));
        assert!(matches!(encode_into(&refused, &mut bytes), Err(CodecError::Encode { .. })));
        assert_eq!(bytes, [1]);
    }
}
