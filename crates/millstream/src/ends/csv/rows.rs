//! Splits CSV into rows and fields, and makes values of them by the header.

use std::marker::PhantomData;
use std::str;

use csv_core::{ReadRecordResult, ReaderBuilder};
use millstream_core::Data;
use serde::de::DeserializeOwned;

use super::field::{Kind, Refusal};
use super::typed::{Columns, Typed};
use crate::ends::file::{Fault, FileError, RowError, Rows};

/// The rows of a CSV file.
pub struct CsvRows<T> {
    core: Box<csv_core::Reader>,
    /// Nothing of the next row was taken yet.
    fresh: bool,
    fields: Fields,
    header: Option<Vec<String>>,
    /// A name that the header has twice.
    duplicate: Option<String>,
    null: Option<String>,
    /// Whether it is still to be looked at whether optional columns are there.
    look_for_missing: bool,
    types: PhantomData<fn() -> T>,
}

/// The memory for a row's text that is kept for the next one, whatever the row.
const LARGE_ROW: usize = 1024 * 1024;

/// The fields of a row: one text, and where in it each field ends.
struct Fields {
    text: Vec<u8>,
    length: usize,
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn ends(&self) -> &[usize] {
        &self.ends[..self.count]
    }

    /// The text, if that of each field is valid; else the number of the first that is not.
    fn text(&self) -> Result<&str, usize> {
        let of_byte = |byte| self.ends().partition_point(|end| *end <= byte);
        let text = str::from_utf8(&self.text[..self.length]);
        let text = text.map_err(|error| of_byte(error.valid_up_to()))?;
        // Two fields may be valid together and invalid alone.
        match self.ends().iter().position(|end| !text.is_char_boundary(*end)) {
            Some(column) => Err(column),
            None => Ok(text),
        }
    }
}

impl<T> CsvRows<T> {
    pub(super) fn new(delimiter: u8, null: Option<String>, allow_missing: bool) -> Self {
        let core = ReaderBuilder::new().delimiter(delimiter).build();
        let fields = Fields { text: vec![0; 1024], length: 0, ends: vec![0; 64], count: 0 };
        Self {
            core: Box::new(core),
            fresh: true,
            fields,
            header: None,
            duplicate: None,
            null,
            look_for_missing: !allow_missing,
            types: PhantomData,
        }
    }

    pub(super) fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Feeds the parser; it takes all of the bytes or up to the end of the row.
    fn feed(&mut self, bytes: &[u8]) -> (usize, bool) {
        let Fields { text, length, ends, count } = &mut self.fields;
        let mut taken = 0;
        loop {
            let (result, read, written, ended) =
                self.core.read_record(&bytes[taken..], &mut text[*length..], &mut ends[*count..]);
            taken += read;
            *length += written;
            *count += ended;
            match result {
                ReadRecordResult::InputEmpty => return (taken, false),
                ReadRecordResult::OutputFull => text.resize(text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => return (taken, true),
            }
        }
    }

    /// The name of a column, or its number from 1.
    fn name(&self, column: usize) -> String {
        let name = self.header.as_ref().and_then(|header| header.get(column)).cloned();
        name.unwrap_or_else(|| (column + 1).to_string())
    }

    /// What a refusal of the type means. All but a value that does not fit lie in the header.
    fn fault(&self, Refusal { kind, column }: Refusal) -> Fault {
        Fault::File(match kind {
            Kind::Value(text) => {
                return Fault::value(&text, column.map(|column| self.name(column)));
            }
            Kind::Missing(column) => self.missing(column),
            Kind::Duplicate(column) => FileError::DuplicateColumn { column },
            Kind::Unknown(column) => FileError::UnknownColumn { column },
        })
    }

    fn missing(&self, column: impl Into<String>) -> FileError {
        let columns = self.header.clone().unwrap_or_default();
        FileError::MissingColumn { column: column.into(), columns }
    }
}

impl<T: DeserializeOwned> CsvRows<T> {
    /// An optional field that has no column, if there is one.
    fn missing_option(&self, typed: &Typed<'_>) -> Option<&'static str> {
        let columns = typed.columns;
        let is_there = |field: &&str| columns.header.iter().any(|column| column == field);
        let mut fields = typed.fields().iter().filter(|field| !is_there(field));
        fields.find(|field| Typed::asks_for_option::<T>(columns, field)).copied()
    }
}

impl<T: Data + DeserializeOwned> Rows for CsvRows<T> {
    type Value = T;

    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        if self.fresh && matches!(bytes, [b'\n' | b'\r', ..]) {
            return (1, true);
        }
        let (taken, complete) = self.feed(bytes);
        self.fresh = complete;
        (taken, complete)
    }

    fn end(&mut self) -> Result<(), RowError> {
        // A line break ends the row, unless it is within quotes.
        let (_, complete) = self.feed(b"\n");
        self.fresh = true;
        if complete { Ok(()) } else { Err(RowError::OpenQuote) }
    }

    fn value(&mut self, _: &[u8]) -> Result<Option<T>, Fault> {
        if self.fields.count == 0 {
            return Ok(None);
        }
        let text = self.fields.text();
        let Some(header) = &self.header else {
            let text = text.map_err(|_| Fault::File(FileError::HeaderUtf8))?;
            let header: Vec<_> = fields(text, self.fields.ends()).map(str::to_owned).collect();
            let mut sorted: Vec<&String> = header.iter().collect();
            sorted.sort();
            let twice = sorted.windows(2).find(|two| two[0] == two[1]);
            self.duplicate = twice.map(|two| two[0].clone());
            self.header = Some(header);
            return Ok(None);
        };
        let text = text.map_err(|column| Fault::Row(RowError::Utf8, Some(self.name(column))))?;
        let (expected, found) = (header.len(), self.fields.count);
        if expected != found {
            let column = self.name(expected.min(found));
            return Err(Fault::Row(RowError::Columns { expected, found }, Some(column)));
        }
        let (ends, null) = (self.fields.ends(), self.null.as_deref());
        let duplicate = self.duplicate.as_deref();
        let columns = Columns { header, duplicate, text, ends, null };
        let mut typed = Typed::new(columns);
        let value = typed.read().map_err(|refusal| self.fault(refusal))?;
        if self.look_for_missing {
            if let Some(column) = self.missing_option(&typed) {
                return Err(Fault::File(self.missing(column)));
            }
            self.look_for_missing = false;
        }
        Ok(Some(value))
    }

    fn forget(&mut self) {
        self.fields.length = 0;
        self.fields.count = 0;
        // One giant is no reason to hold on to its memory.
        self.fields.text.truncate(LARGE_ROW);
        self.fields.text.shrink_to(LARGE_ROW);
    }

    fn bad(&self, error: RowError) -> Fault {
        match self.header {
            Some(_) => error.into(),
            None => Fault::File(FileError::Header(error)),
        }
    }
}

/// Each field in turn.
fn fields<'a>(text: &'a str, ends: &'a [usize]) -> impl Iterator<Item = &'a str> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| &text[start..*end])
}
