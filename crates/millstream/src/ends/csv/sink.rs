//! A sink into a CSV file.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use millstream_core::{Data, Failure};
use millstream_runtime::{Sink, TaskContext};
use serde::Serialize;

use super::source::check_delimiter;
use super::table::{Line, Table};
use crate::ends::file::{FileTransaction, FileWriter, Format, Unwritable};

/// Writes each record as a row into a CSV file; made by [`Csv::to`](super::Csv::to). One task, so
/// that the order in which records arrive is kept. Folders that are missing are made.
///
/// The names of the record's fields become the header, so a record is a struct or a map with
/// names; its fields are numbers, texts, variants without contents, or `Option`s of these. All
/// records have the same fields. `None` and an empty text are both written as an empty field: in a
/// CSV file a missing value and an empty text are the same. Without a record there is no header:
/// the file is empty.
///
/// What is written stands under a temporary name, that of the file with `.part` added, in the same
/// folder: **a file that has this name is written over**. When the job ends it is synced and
/// renamed, and replaces a file that had the name before; until then nothing of it is visible. A
/// job that fails takes the `.part` file away, a process that is killed leaves it, and the next run
/// writes over it.
///
/// A symbolic link is followed: the file that it leads to is replaced, with the `.part` file beside
/// it, and the link stays. Only a regular file is replaced or written over; where the path leads to
/// a device, a pipe or a socket, or where anything but a regular file has the temporary name, the
/// job is refused at the start.
///
/// # Errors
///
/// When the file cannot be created, which is known when the job starts; when writing fails
/// ([`FileError`](crate::FileError)); when a record cannot be written as a row
/// ([`RowError`](crate::RowError)), which is told with the record.
pub struct CsvSink<T> {
    path: PathBuf,
    delimiter: u8,
    types: PhantomData<fn(T)>,
}

impl<T> CsvSink<T> {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, delimiter: b',', types: PhantomData }
    }

    /// The byte between two columns; a comma by default.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }
}

impl<T> Clone for CsvSink<T> {
    fn clone(&self) -> Self {
        Self { path: self.path.clone(), ..*self }
    }
}

impl<T> fmt::Debug for CsvSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvSink").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T: Data + Serialize> Sink for CsvSink<T> {
    type In = T;
    type Transaction = FileTransaction;
    type Writer = FileWriter<CsvFormat<T>>;

    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    async fn open(
        &self,
        task: &TaskContext,
        restored: Vec<FileTransaction>,
    ) -> Result<Self::Writer, Failure> {
        check_delimiter(self.delimiter, &self.path)?;
        let format = CsvFormat { table: Table::new(self.delimiter), types: PhantomData };
        FileWriter::open(self.path.clone(), format, task, restored).await
    }
}

/// One row a record, and the header in front of the first.
pub struct CsvFormat<T> {
    table: Table,
    types: PhantomData<fn(T)>,
}

impl<T: Data + Serialize> Format for CsvFormat<T> {
    type Value = T;

    fn put(&mut self, value: &T, page: &mut Vec<u8>) -> Result<(), Unwritable> {
        value.serialize(Line::begin(&mut self.table))?;
        self.table.end_line(page);
        Ok(())
    }
}
