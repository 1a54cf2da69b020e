//! A source of the rows of a CSV file.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use millstream_core::{Data, Failure};
use millstream_operators::SideOutput;
use millstream_runtime::{Source, TaskContext};
use serde::de::DeserializeOwned;

use super::rows::CsvRows;
use crate::ends::file::{BadRow, FileError, FilePosition, RowOptions, RowReader, failure};

/// Reads the rows of a CSV file into values whose fields are named as the columns; made by
/// [`Csv::open`](super::Csv::open). One split, the file.
///
/// Columns that the type has no field for are passed over. A field whose column is missing is an
/// error at the start of the job, also if it is an `Option`, since a misspelt name would otherwise
/// make all of its values `None`; [`allow_missing_columns`](Self::allow_missing_columns) asks for
/// less. An `Option` is `None` where its field is empty. A type without field names (a tuple, a
/// vector, a number) is read in the order of the columns. Lines without a single character are
/// passed over, and an empty file has no rows.
///
/// The file is read in the turns of the task: it should be one on a disk, since a pipe would hold
/// up all that is on the same arbiter.
///
/// # Errors
///
/// A bad row fails the job, naming file, line, column and cause ([`RowError`](crate::RowError)),
/// unless there is a [side output](Self::bad_rows_to) for it. What is wrong with the file as a
/// whole ([`FileError`]) fails the job in any case. The rows in front of a fault are delivered.
///
/// # On recovery
///
/// The position is a byte of the file and the number of its line; reading goes on there. In a gzip
/// file everything up to there is read again and dropped.
pub struct CsvSource<T> {
    options: RowOptions,
    delimiter: u8,
    null: Option<String>,
    allow_missing: bool,
    types: PhantomData<fn() -> T>,
}

impl<T> CsvSource<T> {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            options: RowOptions::new(path),
            delimiter: b',',
            null: None,
            allow_missing: false,
            types: PhantomData,
        }
    }

    /// The byte between two columns; a comma by default.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// A field that is exactly this text is read as an empty one, so that an `Option` is `None`.
    #[must_use]
    pub fn null(mut self, text: impl Into<String>) -> Self {
        self.null = Some(text.into());
        self
    }

    /// A field that is an `Option`, or that has a default, may be without a column.
    #[must_use]
    pub fn allow_missing_columns(mut self) -> Self {
        self.allow_missing = true;
        self
    }

    /// Bad rows go to this side output instead of failing the job.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("numbers.csv");
    /// std::fs::write(&path, "n\n1\ntwo\n3\n")?;
    ///
    /// let bad = SideOutput::<BadRow>::new("bad");
    /// let flow = Dataflow::new("numbers");
    /// let numbers = flow.source("numbers", Csv::open(&path).bad_rows_to(&bad));
    /// let bad = numbers.side_output(&bad).collect("bad");
    /// let good = numbers.map(|n: u64| n).collect("good");
    /// flow.start(Settings::new()).await?.finished().await?;
    ///
    /// assert_eq!(good.take(), [1, 3]);
    /// let BadRow { line, column, text, .. } = &bad.take()[0];
    /// assert_eq!((*line, column.as_deref(), text.as_str()), (3, Some("n"), "two"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bad_rows_to(mut self, output: &SideOutput<BadRow>) -> Self {
        self.options.bad_rows = Some(output.clone());
        self
    }

    /// How long a row may be, without its line break; 16 MiB by default. A longer one is bad.
    #[must_use]
    pub fn line_bytes(mut self, line_bytes: NonZeroUsize) -> Self {
        self.options.line_bytes = line_bytes;
        self
    }
}

impl<T> Clone for CsvSource<T> {
    fn clone(&self) -> Self {
        Self { options: self.options.clone(), null: self.null.clone(), ..*self }
    }
}

impl<T> fmt::Debug for CsvSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvSource").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<T: Data + DeserializeOwned> CsvSource<T> {
    /// Opens the file and reads what stands at its head. Blocks.
    fn open_now(self, position: Option<FilePosition>) -> Result<RowReader<CsvRows<T>>, Failure> {
        check_delimiter(self.delimiter, &self.options.path)?;
        let rows = CsvRows::new(self.delimiter, self.null, self.allow_missing);
        let mut reader = RowReader::open(self.options, rows)?;
        reader.read_until(CsvRows::has_header)?;
        if let Some(position) = position {
            reader.move_to(position)?;
        }
        reader.peek()?;
        Ok(reader)
    }
}

impl<T: Data + DeserializeOwned> Source for CsvSource<T> {
    type Out = T;
    type Position = FilePosition;
    type Reader = RowReader<CsvRows<T>>;

    async fn open(
        &self,
        _: &str,
        position: Option<FilePosition>,
        task: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        let source = self.clone();
        task.offload.run(move || source.open_now(position)).await
    }
}

/// Refuses what would not tell columns apart.
pub(super) fn check_delimiter(delimiter: u8, file: &Path) -> Result<(), Failure> {
    if delimiter.is_ascii() && !matches!(delimiter, b'"' | b'\r' | b'\n' | 0) {
        return Ok(());
    }
    Err(failure(FileError::Delimiter { delimiter }, file, None))
}
