//! A sink into a JSON Lines file.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use millstream_core::{Data, Failure};
use millstream_runtime::{Sink, TaskContext};
use serde::Serialize;
use serde::ser::Error;

use crate::ends::file::{FileTransaction, FileWriter, Format, Unwritable};

/// Writes each record as a line of JSON into a file; made by
/// [`JsonLines::to`](super::JsonLines::to). One task, so that the order in which records arrive is
/// kept. Folders that are missing are made.
///
/// A float that is `NaN` or infinite is written as `null`, without an error, since JSON has no
/// number for it.
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
/// ([`FileError`](crate::FileError)); when a record cannot be written as JSON
/// ([`RowError`](crate::RowError)), which is told with the record.
pub struct JsonLinesSink<T> {
    path: PathBuf,
    types: PhantomData<fn(T)>,
}

impl<T> JsonLinesSink<T> {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, types: PhantomData }
    }
}

impl<T> Clone for JsonLinesSink<T> {
    fn clone(&self) -> Self {
        Self { path: self.path.clone(), types: PhantomData }
    }
}

impl<T> fmt::Debug for JsonLinesSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLinesSink").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<T: Data + Serialize> Sink for JsonLinesSink<T> {
    type In = T;
    type Transaction = FileTransaction;
    type Writer = FileWriter<JsonFormat<T>>;

    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    async fn open(
        &self,
        task: &TaskContext,
        restored: Vec<FileTransaction>,
    ) -> Result<Self::Writer, Failure> {
        FileWriter::open(self.path.clone(), JsonFormat(PhantomData), task, restored).await
    }
}

/// One line a record.
pub struct JsonFormat<T>(PhantomData<fn(T)>);

impl<T: Data + Serialize> Format for JsonFormat<T> {
    type Value = T;

    fn put(&mut self, value: &T, page: &mut Vec<u8>) -> Result<(), Unwritable> {
        serde_json::to_writer(&mut *page, value).map_err(Unwritable::custom)?;
        page.push(b'\n');
        Ok(())
    }
}
