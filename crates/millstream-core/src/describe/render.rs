//! A serializer that writes what `#[derive(Debug)]` would.

use std::fmt::{self, Write};

use serde::Serialize;
use serde::ser;

use super::{RECORD_IN_ERROR, Text};

/// Why rendering stopped early.
#[derive(Debug)]
pub(super) enum Halt {
    /// The text has all the characters that it may have.
    Full,
    /// The value's own `Serialize` failed.
    Refused(String),
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the text is full"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Halt {}

impl ser::Error for Halt {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let mut why = Text::default();
        // A reason that is too long is cut like everything else.
        let _ = write!(why, "{message}");
        Self::Refused(why.finish())
    }
}

impl From<fmt::Error> for Halt {
    fn from(_: fmt::Error) -> Self {
        Self::Full
    }
}

type Rendered = Result<(), Halt>;

/// Writes one value to the end of a text.
pub(super) struct Render<'a>(pub(super) &'a mut Text);

macro_rules! plain {
    ($($name:ident($type:ty))*) => {$(
        fn $name(self, value: $type) -> Rendered {
            Ok(write!(self.0, "{value:?}")?)
        }
    )*};
}

impl<'a> ser::Serializer for Render<'a> {
    type Ok = ();
    type Error = Halt;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    plain! {
        serialize_bool(bool) serialize_char(char) serialize_f32(f32) serialize_f64(f64)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_i128(i128) serialize_u128(u128)
    }

    fn serialize_str(self, value: &str) -> Rendered {
        // `Debug` looks for escapes in the whole string before it writes, so it is given no more
        // than can be shown. What is cut here is longer than that, so the `…` will be there.
        let end = value.char_indices().nth(RECORD_IN_ERROR + 1).map_or(value.len(), |(at, _)| at);
        Ok(write!(self.0, "{:?}", &value[..end])?)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Rendered {
        let mut text = Text::default();
        match write!(text, "{value}") {
            Err(_) if !text.full => Err(ser::Error::custom("its `Display` fails")),
            _ => self.serialize_str(&text.finish()),
        }
    }

    fn serialize_bytes(self, value: &[u8]) -> Rendered {
        let mut parts = Parts::open(self.0, "", "[", "]")?;
        value.iter().try_for_each(|byte| parts.part(byte))?;
        parts.close()
    }

    fn serialize_none(self) -> Rendered {
        Ok(self.0.write_str("None")?)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Rendered {
        self.serialize_newtype_struct("Some", value)
    }

    fn serialize_unit(self) -> Rendered {
        Ok(self.0.write_str("()")?)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Rendered {
        Ok(self.0.write_str(name)?)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Rendered {
        Ok(self.0.write_str(variant)?)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Rendered {
        let mut parts = Parts::open(self.0, name, "(", ")")?;
        parts.part(value)?;
        parts.close()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Rendered {
        self.serialize_newtype_struct(variant, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Halt> {
        Parts::open(self.0, "", "[", "]")
    }

    fn serialize_tuple(self, length: usize) -> Result<Parts<'a>, Halt> {
        Parts::open(self.0, "", "(", if length == 1 { ",)" } else { ")" })
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Halt> {
        Parts::open(self.0, name, "(", ")")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Halt> {
        Parts::open(self.0, variant, "(", ")")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Halt> {
        Parts::open(self.0, "", "{", "}")
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Parts<'a>, Halt> {
        if length == 0 { Parts::open(self.0, name, "", "") } else { Parts::named(self.0, name) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Parts<'a>, Halt> {
        self.serialize_struct(variant, length)
    }
}

/// The parts of a value that has some, between two brackets.
pub(super) struct Parts<'a> {
    text: &'a mut Text,
    first: bool,
    close: &'static str,
}

impl<'a> Parts<'a> {
    fn open(
        text: &'a mut Text,
        name: &'static str,
        open: &'static str,
        close: &'static str,
    ) -> Result<Self, Halt> {
        text.write_str(name)?;
        text.write_str(open)?;
        Ok(Self { text, first: true, close })
    }

    fn named(text: &'a mut Text, name: &'static str) -> Result<Self, Halt> {
        Self::open(text, name, " { ", " }")
    }

    fn next(&mut self) -> Rendered {
        if !self.first {
            self.text.write_str(", ")?;
        }
        self.first = false;
        Ok(())
    }

    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Rendered {
        self.next()?;
        value.serialize(Render(self.text))
    }

    fn named_part<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Rendered {
        self.next()?;
        write!(self.text, "{name}: ")?;
        value.serialize(Render(self.text))
    }

    fn close(self) -> Rendered {
        Ok(self.text.write_str(self.close)?)
    }
}

macro_rules! parts {
    ($($trait:ident $method:ident)*) => {$(
        impl ser::$trait for Parts<'_> {
            type Ok = ();
            type Error = Halt;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Rendered {
                self.part(value)
            }

            fn end(self) -> Rendered {
                self.close()
            }
        }
    )*};
}

macro_rules! named_parts {
    ($($trait:ident)*) => {$(
        impl ser::$trait for Parts<'_> {
            type Ok = ();
            type Error = Halt;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Rendered {
                self.named_part(name, value)
            }

            fn end(self) -> Rendered {
                self.close()
            }
        }
    )*};
}

parts! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

named_parts! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Halt;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Rendered {
        self.part(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Rendered {
        self.text.write_str(": ")?;
        value.serialize(Render(self.text))
    }

    fn end(self) -> Rendered {
        self.close()
    }
}
