//! Makes rows of records: one of each, and a header of the names of the first one's fields.

use serde::ser::{Error, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::cell::Cell;
use crate::ends::file::Unwritable;

/// The rows of a file, and what they have in common.
pub(super) struct Table {
    delimiter: u8,
    /// The names of the first record's fields: the header.
    names: Vec<String>,
    headed: bool,
    row: Vec<u8>,
    /// How many fields the row has so far.
    column: usize,
    cell: String,
}

impl Table {
    pub(super) const fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            names: Vec::new(),
            headed: false,
            row: Vec::new(),
            column: 0,
            cell: String::new(),
        }
    }

    /// The next field of the row.
    fn add<V: Serialize + ?Sized>(&mut self, name: &str, value: &V) -> Result<(), Unwritable> {
        match self.names.get(self.column) {
            Some(first) if first == name => {}
            None if !self.headed => self.names.push(name.to_owned()),
            first => return Err(self.misfit(name, first.map(String::as_str))),
        }
        self.cell.clear();
        let put = value.serialize(Cell(&mut self.cell));
        put.map_err(|why| why.in_column(name))?;
        put_cell(&self.cell, self.column, self.delimiter, &mut self.row);
        self.column += 1;
        Ok(())
    }

    fn misfit(&self, name: &str, first: Option<&str>) -> Unwritable {
        let expected = first.map_or("no more fields".to_owned(), |name| format!("{name:?}"));
        let why = format_args!("it has a field {name:?} where the first record has {expected}");
        Unwritable::custom(why).in_column(name)
    }

    /// All fields of the row were added.
    fn complete(&self) -> Result<(), Unwritable> {
        if self.column == 0 {
            return Err(nameless());
        }
        match self.names.get(self.column) {
            Some(name) => {
                let why = format_args!("it has no field {name:?}, and the first record has one");
                Err(Unwritable::custom(why).in_column(name))
            }
            None => Ok(()),
        }
    }

    /// Adds the row that is complete to a page, and before the first one the header.
    pub(super) fn end_line(&mut self, page: &mut Vec<u8>) {
        if !self.headed {
            self.headed = true;
            let mut header = Vec::new();
            for (column, name) in self.names.iter().enumerate() {
                put_cell(name, column, self.delimiter, &mut header);
            }
            put_line(&header, page);
        }
        put_line(&self.row, page);
    }
}

fn put_cell(cell: &str, column: usize, delimiter: u8, row: &mut Vec<u8>) {
    if column > 0 {
        row.push(delimiter);
    }
    let special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
    // At the head of a file this character would be taken for a byte-order mark.
    if !cell.as_bytes().iter().any(special) && !cell.starts_with('\u{feff}') {
        row.extend_from_slice(cell.as_bytes());
        return;
    }
    row.push(b'"');
    for part in cell.split_inclusive('"') {
        row.extend_from_slice(part.as_bytes());
        if part.ends_with('"') {
            row.push(b'"');
        }
    }
    row.push(b'"');
}

fn put_line(row: &[u8], page: &mut Vec<u8>) {
    // A line of nothing is no row.
    page.extend_from_slice(if row.is_empty() { b"\"\"" } else { row });
    page.push(b'\n');
}

fn nameless() -> Unwritable {
    Unwritable::custom("its fields have no names, so there is no header: make a struct of it first")
}

/// The row of a record.
pub(super) struct Line<'a> {
    table: &'a mut Table,
    /// The name of the field whose value comes next.
    name: String,
}

impl<'a> Line<'a> {
    pub(super) fn begin(table: &'a mut Table) -> Self {
        table.row.clear();
        table.column = 0;
        Self { table, name: String::new() }
    }
}

impl SerializeStruct for Line<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &V,
    ) -> Result<(), Unwritable> {
        self.table.add(name, value)
    }

    fn end(self) -> Result<(), Unwritable> {
        self.table.complete()
    }
}

impl SerializeMap for Line<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Unwritable> {
        self.name.clear();
        key.serialize(Cell(&mut self.name))
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Unwritable> {
        self.table.add(&self.name, value)
    }

    fn end(self) -> Result<(), Unwritable> {
        self.table.complete()
    }
}

/// Values without names.
macro_rules! nameless {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, _: $type) -> Result<(), Unwritable> {
            Err(nameless())
        }
    )*};
}

impl Serializer for Line<'_> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Impossible<(), Unwritable>;
    type SerializeTuple = Impossible<(), Unwritable>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Unwritable>;

    nameless! {
        serialize_bool bool, serialize_char char, serialize_str &str, serialize_bytes &[u8],
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_i128 i128, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32,
        serialize_u64 u64, serialize_u128 u128, serialize_f32 f32, serialize_f64 f64,
        serialize_unit_struct &'static str
    }

    fn serialize_none(self) -> Result<(), Unwritable> {
        Err(nameless())
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unwritable> {
        Err(nameless())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), Unwritable> {
        Err(nameless())
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
        Err(nameless())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Unwritable> {
        Err(nameless())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unwritable> {
        Err(nameless())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unwritable> {
        Err(nameless())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritable> {
        Err(nameless())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritable> {
        Err(nameless())
    }
}
