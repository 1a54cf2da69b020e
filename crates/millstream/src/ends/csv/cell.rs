//! Makes the text of one field.

use std::fmt::Write;

use serde::ser::{Error, Impossible, Serialize, Serializer};

use crate::ends::file::Unwritable;

/// Takes one value as text.
pub(super) struct Cell<'a>(pub(super) &'a mut String);

impl Cell<'_> {
    fn put(self, text: impl std::fmt::Display) -> Result<(), Unwritable> {
        write!(self.0, "{text}").map_err(Unwritable::custom)
    }
}

fn nested<T>(what: &str) -> Result<T, Unwritable> {
    Err(Unwritable::custom(format_args!("one column cannot hold a {what}")))
}

macro_rules! shown {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<(), Unwritable> {
            self.put(value)
        }
    )*};
}

impl Serializer for Cell<'_> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Impossible<(), Unwritable>;
    type SerializeTuple = Impossible<(), Unwritable>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Impossible<(), Unwritable>;
    type SerializeStruct = Impossible<(), Unwritable>;
    type SerializeStructVariant = Impossible<(), Unwritable>;

    shown! {
        serialize_bool bool, serialize_char char, serialize_str &str,
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32,
        serialize_u64 u64, serialize_u128 u128
    }

    /// The shortest text that is read as the same number; a large one with an exponent.
    fn serialize_f32(self, value: f32) -> Result<(), Unwritable> {
        self.put(format_args!("{value:?}"))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Unwritable> {
        self.put(format_args!("{value:?}"))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Unwritable> {
        self.put(std::str::from_utf8(value).map_err(Unwritable::custom)?)
    }

    fn serialize_none(self) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unwritable> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Unwritable> {
        self.put(variant)
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &V,
    ) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<(), Unwritable> {
        nested("variant with contents")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Unwritable> {
        nested("sequence")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unwritable> {
        nested("tuple")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unwritable> {
        nested("tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        nested("variant with contents")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unwritable> {
        nested("map")
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, Unwritable> {
        nested("struct")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        nested("variant with contents")
    }
}
