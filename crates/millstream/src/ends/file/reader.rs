//! Reads a text row by row: counts lines and bytes, keeps limits, deals with bad rows.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use millstream_core::{Data, Failure, Stamped};
use millstream_operators::SideOutput;
use millstream_runtime::{Read, ReadContext, Reader};
use serde::{Deserialize, Serialize};

use super::row::{Bad, Fault, failure};
use super::text::Text;
use super::{BadRow, FileError, RowError};

/// How much text a call may go through, so that it takes about as long as a turn may.
const CALL_BYTES: usize = 16 * 1024;

/// How long a row may be, unless something else is said.
const LINE_BYTES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(16 * 1024 * 1024 - 1);

/// What is kept of a row that is too long.
const KEPT_BYTES: usize = 1024;

/// The bytes of a line break.
const BREAK_BYTES: usize = 2;

/// How far a file has been read: everything up to here has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    /// Bytes of the text; of a gzip file, of what is in it.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// How the rows of a text are told apart, and what they mean.
pub trait Rows: Send + 'static {
    /// What a row gives.
    type Value: Data;

    /// Takes bytes (at least one) up to the end of the row at most; how many, and whether the row
    /// is complete now.
    fn take(&mut self, bytes: &[u8]) -> (usize, bool);

    /// The text ends within a row, which is complete by that.
    fn end(&mut self) -> Result<(), RowError>;

    /// The value of the complete row, whose bytes are given without the line break; nothing if it
    /// is blank.
    fn value(&mut self, row: &[u8]) -> Result<Option<Self::Value>, Fault>;

    /// What was taken of the row so far is of no use any more.
    fn forget(&mut self);

    /// What it means that the row is bad before its value was asked for.
    fn bad(&self, error: RowError) -> Fault {
        error.into()
    }
}

/// What all kinds of rows have in common.
#[derive(Clone, Debug)]
pub(crate) struct RowOptions {
    pub(crate) path: PathBuf,
    pub(crate) line_bytes: NonZeroUsize,
    pub(crate) bad_rows: Option<SideOutput<BadRow>>,
}

impl RowOptions {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, line_bytes: LINE_BYTES, bad_rows: None }
    }
}

/// Reads the rows of a file.
pub struct RowReader<R> {
    rows: R,
    text: Text,
    options: RowOptions,
    row: Row,
    /// Behind the last row that was given.
    position: FilePosition,
    /// The line of what stands at the head of the file, if something does.
    head: Option<u64>,
}

/// What was read behind the position.
#[derive(Default)]
struct Row {
    /// The bytes; of a row that is too long, the first ones.
    bytes: Vec<u8>,
    /// How much of the text it is.
    length: u64,
    breaks: u64,
    too_long: bool,
    complete: bool,
    error: Option<RowError>,
}

impl Row {
    fn add(&mut self, bytes: &[u8], limit: usize) {
        self.length += bytes.len() as u64;
        self.breaks += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if self.too_long {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > limit + BREAK_BYTES {
            self.too_long = true;
            self.bytes.truncate(KEPT_BYTES);
        }
    }

    /// The bytes that are kept, without the line break.
    fn kept(&self) -> &[u8] {
        let kept = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        kept.strip_suffix(b"\r").unwrap_or(kept)
    }

    /// As [`kept`](Self::kept), if that is all of the row and not too much.
    fn content(&self, limit: usize) -> Result<&[u8], RowError> {
        let content = self.kept();
        if self.too_long || content.len() > limit {
            return Err(RowError::TooLong { limit });
        }
        Ok(content)
    }

    fn clear(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        // One giant is no reason to hold on to its memory.
        bytes.shrink_to(CALL_BYTES);
        *self = Self { bytes, ..Self::default() };
    }
}

/// What reading on has come to.
enum Found {
    /// A complete row.
    Row,
    /// As much as a call may read, and no complete row.
    Part,
    /// The end of the text.
    End,
}

enum Given<T> {
    Value(T),
    Bad(BadRow),
    Blank,
}

impl<R: Rows> RowReader<R> {
    /// Opens a file at its beginning.
    pub(crate) fn open(options: RowOptions, rows: R) -> Result<Self, Failure> {
        let opened = Text::open(&options.path, 0);
        let (text, bytes) = opened.map_err(|error| failure(error, &options.path, None))?;
        let position = FilePosition { bytes, lines: 0 };
        Ok(Self { rows, text, options, row: Row::default(), position, head: None })
    }

    /// Goes to a position.
    pub(crate) fn move_to(&mut self, position: FilePosition) -> Result<(), Failure> {
        let opened = Text::open(&self.options.path, position.bytes);
        let (text, bytes) = opened.map_err(|error| failure(error, &self.options.path, None))?;
        self.text = text;
        self.row.clear();
        self.rows.forget();
        self.position = FilePosition { bytes, ..position };
        Ok(())
    }

    fn failure(&self, error: FileError) -> Failure {
        failure(error, &self.options.path, Some(self.position.lines + 1))
    }

    /// What no row of the file can make good lies in its head, whichever row shows it.
    fn head_failure(&self, error: FileError) -> Failure {
        failure(error, &self.options.path, self.head.or(Some(self.position.lines + 1)))
    }

    /// Reads on to the end of a row, at most so many bytes.
    fn find(&mut self, left: &mut usize) -> Result<Found, Failure> {
        let limit = self.options.line_bytes.get();
        while !self.row.complete {
            if *left == 0 {
                return Ok(Found::Part);
            }
            let filled = self.text.fill();
            let bytes = match filled {
                Ok(bytes) => &bytes[..bytes.len().min(*left)],
                Err(error) => return Err(self.failure(error)),
            };
            if bytes.is_empty() {
                if self.row.length == 0 {
                    return Ok(Found::End);
                }
                self.row.error = self.rows.end().err();
                self.row.complete = true;
                break;
            }
            let (taken, complete) = self.rows.take(bytes);
            self.row.add(&bytes[..taken], limit);
            let ends_in_return = complete && bytes[..taken].ends_with(b"\r");
            *left -= taken;
            self.text.consume(taken);
            self.row.complete = complete;
            if ends_in_return {
                self.end_line();
            }
            if self.row.too_long {
                self.rows.forget();
                // Nothing is read behind a fault that ends everything.
                self.row.complete |= self.options.bad_rows.is_none();
            }
        }
        Ok(Found::Row)
    }

    /// The row ends in a carriage return. A line feed behind it belongs to the same line break;
    /// what else may be wrong behind it is no matter of this row.
    fn end_line(&mut self) {
        if let Ok([b'\n', ..]) = self.text.fill() {
            self.text.consume(1);
            self.row.add(b"\n", self.options.line_bytes.get());
        } else {
            self.row.breaks += 1;
        }
    }

    /// What the complete row gives; the position is behind it then.
    fn give(&mut self) -> Result<Given<R::Value>, Failure> {
        let value = match self.row.error.take() {
            Some(error) => Err(self.rows.bad(error)),
            None => match self.row.content(self.options.line_bytes.get()) {
                Ok(content) => self.rows.value(content),
                Err(error) => Err(self.rows.bad(error)),
            },
        };
        let given = match value {
            Ok(Some(value)) => Given::Value(value),
            Ok(None) => Given::Blank,
            Err(Fault::File(error)) => return Err(self.head_failure(error)),
            Err(Fault::Row(error, column)) => {
                let (file, line) = (&self.options.path, self.position.lines + 1);
                let bad = Bad { file, line, column, error, row: self.row.kept() };
                if self.options.bad_rows.is_none() {
                    return Err(bad.into_failure());
                }
                Given::Bad(bad.into_record())
            }
        };
        self.position.bytes += self.row.length;
        self.position.lines += self.row.breaks;
        self.row.clear();
        self.rows.forget();
        Ok(given)
    }
}

/// For formats that have something at the head of a file.
#[cfg(feature = "csv")]
impl<R: Rows> RowReader<R> {
    /// Reads on until the rows have given what was waited for, or the text ends. Whatever comes to
    /// be given before is none: this is for what stands at the head of a file.
    pub(crate) fn read_until(&mut self, done: impl Fn(&R) -> bool) -> Result<(), Failure> {
        let mut all = usize::MAX;
        while !done(&self.rows) {
            match self.find(&mut all)? {
                Found::Row => {
                    self.head = Some(self.position.lines + 1);
                    drop(self.give()?);
                }
                Found::Part => {}
                Found::End => break,
            }
        }
        Ok(())
    }

    /// Looks at the next row, without giving it, for a fault that every row would have.
    pub(crate) fn peek(&mut self) -> Result<(), Failure> {
        let mut all = usize::MAX;
        loop {
            match self.find(&mut all)? {
                Found::End => return Ok(()),
                Found::Part => continue,
                Found::Row => {}
            }
            let content = self.row.content(self.options.line_bytes.get());
            let (Ok(content), None) = (content, &self.row.error) else { return Ok(()) };
            match self.rows.value(content) {
                Ok(None) => drop(self.give()?),
                Err(Fault::File(error)) => return Err(self.head_failure(error)),
                Ok(Some(_)) | Err(Fault::Row(..)) => return Ok(()),
            }
        }
    }
}

impl<R: Rows> Reader for RowReader<R> {
    type Out = R::Value;
    type Position = FilePosition;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, R::Value>) -> Result<Read, Failure> {
        let mut left = CALL_BYTES;
        let mut rows = cx.budget();
        while rows > 0 {
            match self.find(&mut left)? {
                Found::Row => {}
                Found::Part => return Ok(Read::Ready),
                Found::End => return Ok(Read::Ended),
            }
            match (self.give()?, &self.options.bad_rows) {
                (Given::Value(value), _) => cx.emit(Stamped::new(value)),
                (Given::Bad(row), Some(output)) => cx.side(output, Stamped::new(row)),
                (Given::Bad(_), None) | (Given::Blank, _) => continue,
            }
            rows -= 1;
        }
        Ok(Read::Ready)
    }

    fn position(&self) -> FilePosition {
        self.position
    }
}
