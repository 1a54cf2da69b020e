//! A source of the lines of a JSON Lines file.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use millstream_core::{Data, Failure};
use millstream_operators::SideOutput;
use millstream_runtime::{Source, TaskContext};
use serde::de::DeserializeOwned;

use super::rows::JsonRows;
use crate::ends::file::{BadRow, FilePosition, RowOptions, RowReader};

/// Reads the lines of a JSON Lines file into values; made by
/// [`JsonLines::open`](super::JsonLines::open). One split, the file.
///
/// The file is read in the turns of the task: it should be one on a disk, since a pipe would hold
/// up all that is on the same arbiter.
///
/// # Errors
///
/// A bad line fails the job, naming file, line, place in the line and cause
/// ([`RowError`](crate::RowError)), unless there is a [side output](Self::bad_rows_to) for it.
/// What is wrong with the file as a whole ([`FileError`](crate::FileError)) fails the job in any
/// case. The lines in front of a fault are delivered.
///
/// # On recovery
///
/// The position is a byte of the file and the number of its line; reading goes on there. In a gzip
/// file everything up to there is read again and dropped.
pub struct JsonLinesSource<T> {
    options: RowOptions,
    types: PhantomData<fn() -> T>,
}

impl<T> JsonLinesSource<T> {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { options: RowOptions::new(path), types: PhantomData }
    }

    /// Bad lines go to this side output instead of failing the job.
    #[must_use]
    pub fn bad_rows_to(mut self, output: &SideOutput<BadRow>) -> Self {
        self.options.bad_rows = Some(output.clone());
        self
    }

    /// How long a line may be, without its line break; 16 MiB by default. A longer one is bad.
    #[must_use]
    pub fn line_bytes(mut self, line_bytes: NonZeroUsize) -> Self {
        self.options.line_bytes = line_bytes;
        self
    }
}

impl<T> Clone for JsonLinesSource<T> {
    fn clone(&self) -> Self {
        Self { options: self.options.clone(), types: PhantomData }
    }
}

impl<T> fmt::Debug for JsonLinesSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLinesSource").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<T: Data + DeserializeOwned> Source for JsonLinesSource<T> {
    type Out = T;
    type Position = FilePosition;
    type Reader = RowReader<JsonRows<T>>;

    async fn open(
        &self,
        _: &str,
        position: Option<FilePosition>,
        task: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        let options = self.options.clone();
        let open = move || {
            let mut reader = RowReader::open(options, JsonRows::new())?;
            position.map_or(Ok(()), |position| reader.move_to(position))?;
            Ok::<_, Failure>(reader)
        };
        task.offload.run(open).await
    }
}
