//! Makes a value of a row: by the names of the columns, or by their order.

use std::cell::Cell;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::field::{Field, Kind, Refusal};

/// The names and the fields of a row, as many of the one as of the other.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a> {
    pub(super) header: &'a [String],
    /// A name that is there twice.
    pub(super) duplicate: Option<&'a str>,
    pub(super) text: &'a str,
    pub(super) ends: &'a [usize],
    pub(super) null: Option<&'a str>,
}

impl<'a> Columns<'a> {
    #[inline]
    fn field(&self, column: usize) -> Option<Field<'a>> {
        let end = *self.ends.get(column)?;
        let start = column.checked_sub(1).map_or(0, |before| self.ends[before]);
        let text = &self.text[start..end];
        Some(Field::new(if self.null == Some(text) { "" } else { text }))
    }
}

/// A row that is being read into a type.
pub(super) struct Typed<'a> {
    pub(super) columns: Columns<'a>,
    next: usize,
    /// The fields that the type says it has.
    fields: &'static [&'static str],
    /// A further column of which it is only watched whether its value is asked for as an option.
    further: Option<&'a str>,
    asked: Cell<bool>,
}

impl<'a> Typed<'a> {
    pub(super) fn new(columns: Columns<'a>) -> Self {
        Self { columns, next: 0, fields: &[], further: None, asked: Cell::new(false) }
    }

    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        let value = T::deserialize(&mut *self)?;
        let (read, there) = (self.next, self.columns.ends.len());
        if read < there {
            let text = format!("the row has {there} columns, and the type takes {read} of them");
            return Err(Refusal { kind: Kind::Value(text), column: None });
        }
        Ok(value)
    }

    /// The fields that the type said it has, now that it was read.
    pub(super) const fn fields(&self) -> &'static [&'static str] {
        self.fields
    }

    /// Whether the type has an `Option` of this name, which is no column.
    pub(super) fn asks_for_option<T: DeserializeOwned>(columns: Columns<'a>, name: &str) -> bool {
        let mut typed = Typed { further: Some(name), ..Typed::new(columns) };
        let _ = T::deserialize(&mut typed);
        typed.asked.get()
    }

    /// The next field, for what takes columns in their order.
    #[inline]
    fn field(&mut self) -> Result<Field<'a>, Refusal> {
        let field = self.columns.field(self.next);
        self.next += 1;
        let there = self.columns.ends.len();
        let text = || format!("the row has {there} columns, and the type takes more");
        field.ok_or_else(|| Refusal { kind: Kind::Value(text()), column: None })
    }

    /// What the field that was taken last gives.
    fn in_column<V>(&self, value: Result<V, Refusal>) -> Result<V, Refusal> {
        value.map_err(|refusal| refusal.in_column(self.next - 1))
    }
}

/// A single value is that of the first column.
macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            let value = self.field()?.$method(visitor);
            self.in_column(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Typed<'de> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_map(visitor)
    }

    /// In a map the second of two equal names would take the place of the first.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.columns.duplicate {
            Some(name) => Err(Kind::Duplicate(name.to_owned()).into()),
            None => visitor.visit_map(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.fields = fields;
        visitor.visit_map(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_seq(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let value = self.field()?.deserialize_enum(name, variants, visitor);
        self.in_column(value)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let value = self.field()?.deserialize_unit_struct(name, visitor);
        self.in_column(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.next = self.columns.ends.len();
        visitor.visit_unit()
    }

    single! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option
        deserialize_unit deserialize_identifier
    }
}

impl<'de> MapAccess<'de> for Typed<'de> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refusal> {
        let name = match self.columns.header.get(self.next) {
            Some(name) => Some(name.as_str()),
            None => self.further.filter(|_| self.next == self.columns.header.len()),
        };
        name.map(|name| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        if self.next == self.columns.header.len() {
            self.next += 1;
            return seed.deserialize(Watch(&self.asked));
        }
        let value = seed.deserialize(self.field()?);
        self.in_column(value)
    }
}

impl<'de> SeqAccess<'de> for Typed<'de> {
    type Error = Refusal;

    fn next_element_seed<E: DeserializeSeed<'de>>(
        &mut self,
        seed: E,
    ) -> Result<Option<E::Value>, Refusal> {
        if self.next >= self.columns.ends.len() {
            return Ok(None);
        }
        let value = seed.deserialize(self.field()?);
        self.in_column(value).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.columns.ends.len() - self.next)
    }
}

/// No value, but it notices that an option was asked for.
struct Watch<'a>(&'a Cell<bool>);

impl<'de> Deserializer<'de> for Watch<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        Err(serde::de::Error::custom("there is no such column"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.0.set(true);
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
