//! Makes a value of one field, and says why if it cannot.

use std::any::type_name;
use std::fmt;
use std::str::FromStr;

use millstream_core::describe;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error, Visitor};

/// Why a type takes no value of a row, and of which column, if it is one.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) kind: Kind,
    pub(super) column: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// What is there does not fit.
    Value(String),
    /// There is no column for a field.
    Missing(String),
    /// There are two columns for a field.
    Duplicate(String),
    /// There is no field for a column, and the type wants one.
    Unknown(String),
}

impl Refusal {
    /// What was refused was the value of a column: whatever was found missing, is so within it.
    pub(super) fn in_column(self, column: usize) -> Self {
        let kind = match self.kind {
            kind @ Kind::Value(_) => kind,
            kind => Kind::Value(kind.to_string()),
        };
        Self { kind, column: Some(column) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(text) => f.write_str(text),
            Self::Missing(name) => write!(f, "{name:?} is missing"),
            Self::Duplicate(name) => write!(f, "{name:?} is there twice"),
            Self::Unknown(name) => write!(f, "{name:?} is unknown"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for Refusal {}

impl From<Kind> for Refusal {
    fn from(kind: Kind) -> Self {
        Self { kind, column: None }
    }
}

impl Error for Refusal {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Kind::Value(text.to_string()).into()
    }

    fn missing_field(field: &'static str) -> Self {
        Kind::Missing(field.to_owned()).into()
    }

    fn duplicate_field(field: &'static str) -> Self {
        Kind::Duplicate(field.to_owned()).into()
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Kind::Unknown(field.to_owned()).into()
    }
}

/// One field.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    text: &'a str,
}

impl<'a> Field<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text }
    }

    fn parse<T: FromStr<Err: fmt::Display>>(self) -> Result<T, Refusal> {
        self.text.parse().map_err(|error| {
            Error::custom(format_args!(
                "{} is no {}: {error}",
                describe(self.text),
                type_name::<T>()
            ))
        })
    }

    fn nested<T>(self, what: &str) -> Result<T, Refusal> {
        Err(Error::custom(format_args!("a {what} cannot be read from one column")))
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            visitor.$visit(self.parse()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Refusal;

    /// Guesses, for what is held in between without a type: as a flattened struct is.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let text = self.text;
        if text.is_empty() {
            visitor.visit_none()
        } else if let Ok(value) = text.parse() {
            visitor.visit_bool(value)
        } else if let Ok(value) = text.parse() {
            visitor.visit_u64(value)
        } else if let Ok(value) = text.parse() {
            visitor.visit_i64(value)
        } else if let Ok(value) = text.parse() {
            visitor.visit_f64(value)
        } else {
            visitor.visit_borrowed_str(text)
        }
    }

    parsed! {
        deserialize_bool visit_bool
        deserialize_i8 visit_i8
        deserialize_i16 visit_i16
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
        deserialize_i128 visit_i128
        deserialize_u8 visit_u8
        deserialize_u16 visit_u16
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
        deserialize_u128 visit_u128
        deserialize_f32 visit_f32
        deserialize_f64 visit_f64
        deserialize_char visit_char
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_bytes(self.text.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_bytes(self.text.as_bytes())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if self.text.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if self.text.is_empty() {
            return visitor.visit_unit();
        }
        Err(Error::custom(format_args!("{} is not empty", describe(self.text))))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    /// The name of a variant without contents.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.text))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        self.nested("sequence")
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Refusal> {
        self.nested("tuple")
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        _: V,
    ) -> Result<V::Value, Refusal> {
        self.nested("tuple")
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        self.nested("map")
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Refusal> {
        self.nested("struct")
    }
}
