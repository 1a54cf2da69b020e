//! A serializer that keeps nothing but 64 bits: each part of a key is mixed in as it passes.

use std::fmt::{self, Write};

use serde::Serialize;
use serde::ser;

use super::KeyError;

const SEED: u64 = 0x243F_6A88_85A3_08D3;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const LAST: u64 = 0xA409_3822_299F_31D1;
const SKIPPED: u64 = 0x1319_8A2E_0370_7344;

/// The two halves of a 128-bit product, one laid over the other.
#[inline]
pub(super) const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The state of the hash, between two words of the key.
pub(super) struct Words(u64);

impl Words {
    pub(super) const fn new() -> Self {
        Self(SEED)
    }

    /// One more folded product: each bit of the result depends on each bit of the key.
    #[inline]
    pub(super) const fn finish(&self) -> u64 {
        fold(self.0, LAST)
    }

    #[inline]
    const fn word(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, MULTIPLIER);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.word(last_word(bytes, rest));
        }
    }
}

/// `rest`, one to seven bytes, as a zero-filled word, read with as few loads as there can be.
#[inline]
fn last_word(bytes: &[u8], rest: &[u8]) -> u64 {
    if let Some(end) = bytes.last_chunk::<8>() {
        // These eight bytes end with the rest; what stands before it is shifted out.
        return u64::from_le_bytes(*end) >> (64 - 8 * rest.len());
    }
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // The two may overlap, and then agree where they do.
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (rest.len() - 4));
    }
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Counts the bytes of a text.
struct Length(u64);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len() as u64;
        Ok(())
    }
}

/// Mixes in a text that comes in pieces, as if it had come in one.
struct Pieces<'a> {
    words: &'a mut Words,
    word: u64,
    filled: u64,
}

impl Write for Pieces<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.word |= u64::from(byte) << (8 * (self.filled % 8));
            self.filled += 1;
            if self.filled.is_multiple_of(8) {
                self.words.word(self.word);
                self.word = 0;
            }
        }
        Ok(())
    }
}

macro_rules! integers {
    ($($name:ident($type:ty))*) => {$(
        #[inline]
        fn $name(self, value: $type) -> Result<(), KeyError> {
            self.word(value as u64);
            Ok(())
        }
    )*};
}

macro_rules! floats {
    ($($name:ident($type:ty))*) => {$(
        fn $name(self, _: $type) -> Result<(), KeyError> {
            Err(KeyError::Float(stringify!($type)))
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Words {
    type Ok = ();
    type Error = KeyError;
    type SerializeSeq = Elements<'a>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), KeyError>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    // A cast to `u64` extends the sign of a signed integer, which is what the table asks for.
    integers! {
        serialize_bool(bool) serialize_char(char)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
    }

    floats! { serialize_f32(f32) serialize_f64(f64) }

    fn serialize_i128(self, value: i128) -> Result<(), KeyError> {
        self.serialize_u128(value as u128)
    }

    fn serialize_u128(self, value: u128) -> Result<(), KeyError> {
        self.word(value as u64);
        self.word((value >> 64) as u64);
        Ok(())
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), KeyError> {
        self.bytes(value.as_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), KeyError> {
        self.bytes(value);
        Ok(())
    }

    /// The words of the text's `serialize_str`. The length stands first, so the text passes twice:
    /// that is dearer than keeping it once, but nothing is allocated.
    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), KeyError> {
        let refused = |_| KeyError::Refused("its `Display` fails".to_owned());
        let mut length = Length(0);
        write!(length, "{value}").map_err(refused)?;
        self.word(length.0);
        let mut pieces = Pieces { words: self, word: 0, filled: 0 };
        write!(pieces, "{value}").map_err(refused)?;
        let Pieces { words, word, filled } = pieces;
        if filled != length.0 {
            return Err(KeyError::WrongLength { said: length.0, given: filled });
        }
        if !filled.is_multiple_of(8) {
            words.word(word);
        }
        Ok(())
    }

    fn serialize_none(self) -> Result<(), KeyError> {
        self.word(0);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), KeyError> {
        self.word(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), KeyError> {
        self.word(0);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), KeyError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), KeyError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), KeyError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), KeyError> {
        self.bytes(variant.as_bytes());
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements<'a>, KeyError> {
        let said = length.ok_or(KeyError::UnknownLength)? as u64;
        self.word(said);
        Ok(Elements { words: self, said, given: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, KeyError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, KeyError> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, KeyError> {
        self.bytes(variant.as_bytes());
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, KeyError> {
        Err(KeyError::Map)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, KeyError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self, KeyError> {
        self.bytes(variant.as_bytes());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The elements of a sequence, counted: the length that was mixed in must be the right one.
pub(super) struct Elements<'a> {
    words: &'a mut Words,
    said: u64,
    given: u64,
}

impl ser::SerializeSeq for Elements<'_> {
    type Ok = ();
    type Error = KeyError;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), KeyError> {
        self.given += 1;
        value.serialize(&mut *self.words)
    }

    #[inline]
    fn end(self) -> Result<(), KeyError> {
        let Self { said, given, .. } = self;
        if said == given { Ok(()) } else { Err(KeyError::WrongLength { said, given }) }
    }
}

macro_rules! fields {
    ($($trait:ident $method:ident)*) => {$(
        impl ser::$trait for &mut Words {
            type Ok = ();
            type Error = KeyError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), KeyError> {
                value.serialize(&mut **self)
            }

            #[inline]
            fn end(self) -> Result<(), KeyError> {
                Ok(())
            }
        }
    )*};
}

macro_rules! named_fields {
    ($($trait:ident)*) => {$(
        impl ser::$trait for &mut Words {
            type Ok = ();
            type Error = KeyError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Result<(), KeyError> {
                value.serialize(&mut **self)
            }

            fn skip_field(&mut self, _: &'static str) -> Result<(), KeyError> {
                self.word(SKIPPED);
                Ok(())
            }

            #[inline]
            fn end(self) -> Result<(), KeyError> {
                Ok(())
            }
        }
    )*};
}

fields! {
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

named_fields! { SerializeStruct SerializeStructVariant }
