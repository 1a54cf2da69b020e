//! Writes records into a file that becomes visible at the end of the job.

use std::fmt;
use std::path::{Path, PathBuf};

use millstream_core::{Data, Epoch, Failure, Place, Stamped};
use millstream_operators::drained;
use millstream_runtime::{Offload, TaskContext, Writer};
use serde::Serialize;

use super::output::{Output, publish};
use super::row::failure;
use super::{FileError, FileTransaction, RowError};

/// How much is gathered before it is written to the file.
const PAGE_BYTES: usize = 64 * 1024;

/// Makes text of records.
pub trait Format: 'static {
    /// What it takes.
    type Value: Data + Serialize;

    /// Adds a record to a page. After an error the page is not used any more.
    fn put(&mut self, value: &Self::Value, page: &mut Vec<u8>) -> Result<(), Unwritable>;
}

/// Why a record cannot be written, and in which column that shows.
#[derive(Debug)]
pub struct Unwritable {
    column: Option<String>,
    text: String,
}

#[cfg(feature = "csv")]
impl Unwritable {
    pub(crate) fn in_column(self, column: &str) -> Self {
        Self { column: Some(column.to_owned()), ..self }
    }
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self { column: None, text: text.to_string() }
    }
}

/// Writes one file.
pub struct FileWriter<F> {
    path: PathBuf,
    format: F,
    page: Vec<u8>,
    /// Away while work on it is offloaded, and none once the file is complete.
    output: Option<Output>,
    offload: Offload,
}

impl<F: Format> FileWriter<F> {
    /// Creates the file, or gives it its name if it was complete in an earlier life of the job.
    pub(crate) async fn open(
        path: PathBuf,
        format: F,
        task: &TaskContext,
        restored: Vec<FileTransaction>,
    ) -> Result<Self, Failure> {
        let offload = task.offload.clone();
        let mut writer = Self { path, format, page: Vec::new(), output: None, offload };
        if restored.is_empty() {
            let target = writer.path.clone();
            writer.output = Some(writer.away(move || Output::create(&target)).await?);
        }
        for transaction in restored {
            writer.away(move || publish(&transaction)).await?;
        }
        Ok(writer)
    }

    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, Failure> {
        let path = self.path.clone();
        self.offload.run(move || work().map_err(|error| failure(error, &path, None))).await
    }

    /// What was gathered goes to the file.
    fn spill(&mut self) -> Result<(), Failure> {
        let output = self.output.as_mut().ok_or(FileError::Complete);
        let written = output.and_then(|output| output.write(&self.page));
        self.page.clear();
        written.map_err(|error| failure(error, &self.path, None))
    }

    /// Writes what was gathered, and more, away from the actor.
    async fn conclude<T: Send + 'static>(
        &mut self,
        last: impl FnOnce(&mut Output) -> Result<T, FileError> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let Some(mut output) = self.output.take() else { return Ok(None) };
        let page = std::mem::take(&mut self.page);
        let work = move || {
            output.write(&page)?;
            Ok((last(&mut output)?, output))
        };
        let (done, output) = self.away(work).await?;
        self.output = Some(output);
        Ok(Some(done))
    }
}

impl<F: Format> Writer for FileWriter<F> {
    type In = F::Value;
    type Transaction = FileTransaction;

    fn write(&mut self, batch: &mut Vec<Stamped<F::Value>>) -> Result<(), Failure> {
        drained(batch, |records| {
            records.try_for_each(|record| {
                let put = self.format.put(&record.value, &mut self.page);
                put.map_err(|why| refuse(why, &self.path).about(&record.value))?;
                if self.page.len() >= PAGE_BYTES || self.output.is_none() {
                    self.spill()?;
                }
                Ok(())
            })
        })
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.conclude(Output::sync).await.map(drop)
    }

    async fn prepare(&mut self, _: Epoch) -> Result<Option<FileTransaction>, Failure> {
        self.conclude(Output::finish).await
    }

    async fn commit(&mut self, transaction: FileTransaction) -> Result<(), Failure> {
        // Held on to until then, so that nobody else writes under the temporary name.
        let output = self.output.take();
        self.away(move || {
            let published = publish(&transaction);
            drop(output);
            published
        })
        .await
    }
}

fn refuse(Unwritable { column, text }: Unwritable, path: &Path) -> Failure {
    let place = Place { file: path.to_owned(), line: None, column };
    Failure::new(RowError::Unwritable(text)).at(place)
}
