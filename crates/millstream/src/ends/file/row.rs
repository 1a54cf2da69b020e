//! What can be wrong with a row, and the record that is made of a bad one.

use std::path::{Path, PathBuf};

use millstream_core::{Failure, Place, RECORD_IN_ERROR};
use serde::{Deserialize, Serialize};

use super::FileError;

/// What is wrong with a row. The [`Failure`] that it causes names file, line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// It has too many or too few columns.
    #[error("the row has {found} columns, and the header has {expected}")]
    Columns {
        /// Columns of the header.
        expected: usize,
        /// Columns of the row.
        found: usize,
    },
    /// Its bytes are no text.
    #[error("the text is no valid UTF-8")]
    Utf8,
    /// A quoted field is never closed; it took in the rest of the file.
    #[error("a quoted field is not closed before the end of the file")]
    OpenQuote,
    /// It is longer than allowed.
    #[error("the row is longer than {limit} bytes, the limit `line_bytes`")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// Its text does not fit the type.
    #[error("{0}")]
    Value(String),
    /// A record cannot be written as a row of this kind of file.
    #[error("the record cannot be written: {0}")]
    Unwritable(String),
}

/// A row that could not be read, as a record: what a side output for bad rows receives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BadRow {
    /// The file.
    pub file: String,
    /// The line on which the row begins, from 1.
    pub line: u64,
    /// The column's name, or its number from 1; in a line of JSON the number of the byte.
    pub column: Option<String>,
    /// What is wrong.
    pub cause: String,
    /// The row as it stands in the file, without its line break. What is no valid UTF-8 is
    /// replaced, and a row that is longer than allowed is cut.
    pub text: String,
}

/// Why a row gives no value.
pub enum Fault {
    /// The row is bad; the next one may be good.
    Row(RowError, Option<String>),
    /// No row of this file can be good.
    File(FileError),
}

/// How many characters of a cause are told; it may repeat all of a value.
const CAUSE_CHARS: usize = 1_000;

impl Fault {
    /// What is there does not fit the type.
    pub(crate) fn value(cause: &str, column: Option<String>) -> Self {
        Self::Row(RowError::Value(cut(cause, CAUSE_CHARS)), column)
    }
}

impl From<RowError> for Fault {
    fn from(error: RowError) -> Self {
        Self::Row(error, None)
    }
}

/// The failure of a file, pointing at it.
pub(crate) fn failure(error: FileError, file: &Path, line: Option<u64>) -> Failure {
    Failure::new(error).at(Place { file: file.to_owned(), line, column: None })
}

/// A row that is bad, and where it stands.
pub(super) struct Bad<'a> {
    pub(super) file: &'a Path,
    pub(super) line: u64,
    pub(super) column: Option<String>,
    pub(super) error: RowError,
    pub(super) row: &'a [u8],
}

impl Bad<'_> {
    pub(super) fn into_failure(self) -> Failure {
        let place =
            Place { file: PathBuf::from(self.file), line: Some(self.line), column: self.column };
        let text = cut(&String::from_utf8_lossy(self.row), RECORD_IN_ERROR);
        Failure::new(self.error).at(place).about_text(text)
    }

    pub(super) fn into_record(self) -> BadRow {
        let text = String::from_utf8_lossy(self.row);
        let text = match self.error {
            RowError::TooLong { .. } => cut(&text, RECORD_IN_ERROR),
            _ => text.into_owned(),
        };
        BadRow {
            file: self.file.display().to_string(),
            line: self.line,
            column: self.column,
            cause: self.error.to_string(),
            text,
        }
    }
}

/// The beginning of a text.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
