//! What can be wrong with a file as a whole.

use std::io;

/// What is wrong with a file that a source reads or a sink writes. The [`Failure`](crate::Failure)
/// that it causes names the file.
///
/// # Examples
///
/// ```
/// use millstream::{FileError, prelude::*};
///
/// # #[actix::main]
/// # async fn main() {
/// let flow = Dataflow::new("lines");
/// let _ = flow.source("in", JsonLines::open("no/such.jsonl")).map(|n: u64| n).collect("out");
/// let Err(StartError::Failed(JobError::Failed { failure, .. })) =
///     flow.start(Settings::new()).await
/// else {
///     panic!("there is no such file");
/// };
/// assert_eq!(failure.place().unwrap().file.to_str(), Some("no/such.jsonl"));
/// assert!(matches!(failure.cause().downcast_ref(), Some(FileError::Open(_))));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is missing, or may not be read.
    #[error("the file cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// A folder stands where a file is expected.
    #[error("this is a folder, and a file is expected")]
    IsFolder,
    /// It is named as a gzip file, and this program cannot read or write gzip.
    #[error("a name in .gz needs the feature `gzip` of the crate `millstream`, which is off")]
    GzipFeature,
    /// Reading failed.
    #[error("the file cannot be read on: {0}")]
    Read(#[source] io::Error),
    /// The gzip data ends too early.
    #[error("the gzip data is cut short: the file is incomplete")]
    GzipCut,
    /// The file holds something else than gzip data, or is damaged.
    #[error("the gzip data is damaged: {0}")]
    Gzip(#[source] io::Error),
    /// The file ends before the position at which it is to be read on.
    #[error("the file ends before byte {bytes}, behind which it is to be read on: it has changed")]
    Shorter {
        /// The position.
        bytes: u64,
    },
    /// The header is no valid UTF-8.
    #[error("the header is no valid UTF-8")]
    HeaderUtf8,
    /// The header is longer than a line may be, or a quoted name in it is never closed.
    #[error("the header cannot be read: {0}")]
    Header(#[source] super::RowError),
    /// A column that the type needs is not there.
    #[error("the header has no column {column:?}; it has {}", .columns.join(", "))]
    MissingColumn {
        /// The column.
        column: String,
        /// The columns that are there.
        columns: Vec<String>,
    },
    /// Two columns are for the same field.
    #[error("the header has column {column:?} twice")]
    DuplicateColumn {
        /// The column.
        column: String,
    },
    /// A column that the type refuses to know.
    #[error("the header has a column {column:?}, which the type does not allow")]
    UnknownColumn {
        /// The column.
        column: String,
    },
    /// The delimiter would not tell columns apart.
    #[error("{:?} cannot delimit columns: take a byte of ASCII other than quote and line break",
        char::from(*.delimiter))]
    Delimiter {
        /// The byte.
        delimiter: u8,
    },
    /// The path of an output has no file name.
    #[error("the path has no file name")]
    NoName,
    /// A device, a pipe, a socket stands where an output is to be put.
    #[error(
        "the path leads to {found}, which the finished file would replace: name a regular file, \
         or one that is not there yet"
    )]
    NotRegular {
        /// What stands there.
        found: &'static str,
    },
    /// Something else than a regular file has the temporary name of an output.
    #[error(
        "the file is written as {temporary}, and that is {found}: take it away, or name another \
         file"
    )]
    TemporaryTaken {
        /// The temporary name.
        temporary: String,
        /// What has it.
        found: &'static str,
    },
    /// The folder that is to hold an output cannot be made.
    #[error("its folder cannot be made: {0}")]
    Folder(#[source] io::Error),
    /// An output cannot be created.
    #[error("the file cannot be created: {0}")]
    Create(#[source] io::Error),
    /// Another sink, here or in another process, writes the same file.
    #[error("the file is being written by another sink")]
    InUse,
    /// Writing failed.
    #[error("the file cannot be written: {0}")]
    Write(#[source] io::Error),
    /// What was written cannot be made durable.
    #[error("the file cannot be synced: {0}")]
    Sync(#[source] io::Error),
    /// The finished file cannot be given its name.
    #[error("the file cannot be given its name: {0}")]
    Rename(#[source] io::Error),
    /// Somebody took the finished file away before it got its name.
    #[error("the finished file is gone: {temporary} is not as it was left")]
    Gone {
        /// Its temporary name.
        temporary: String,
    },
    /// The file was finished, be it in an earlier life of the job, and more records came.
    #[error("the file was complete already, and more records came")]
    Complete,
}
