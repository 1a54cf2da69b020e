//! What the tests have in common: folders, jobs, and what is left of a job that failed.

use std::io::Write;
use std::path::{Path, PathBuf};

use millstream::prelude::*;
use millstream::{FileError, Record, RowError, Source};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// A row as most tests read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flight {
    pub(crate) carrier: String,
    pub(crate) flight: u32,
    pub(crate) dep_delay: Option<f64>,
}

pub(crate) fn flight(carrier: &str, flight: u32, dep_delay: Option<f64>) -> Flight {
    Flight { carrier: carrier.to_owned(), flight, dep_delay }
}

/// A folder that goes away with its files when the test ends.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The names in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// One member of a gzip file.
pub(crate) fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    std::io::copy(&mut flate2::read::MultiGzDecoder::new(bytes), &mut text).unwrap();
    text
}

/// Runs a job to its end, whether it fails at the start or later. No actor of it may be left.
pub(crate) async fn run(flow: &Dataflow, settings: Settings) -> Result<(), JobError> {
    let ended = match flow.start(settings).await {
        Ok(job) => job.finished().await,
        Err(StartError::Failed(error)) => Err(error),
        Err(error) => panic!("the job cannot start: {error}"),
    };
    assert_eq!(millstream_runtime::census(), []);
    ended
}

/// Everything that a source gives, and how the job ended.
pub(crate) async fn read<T: Record>(
    source: impl Source<Out = T>,
) -> (Vec<T>, Result<(), JobError>) {
    let flow = Dataflow::new("read");
    let out = flow.source("file", source).collect("out");
    let ended = run(&flow, Settings::new()).await;
    (out.take(), ended)
}

/// Everything that a source without a fault gives.
pub(crate) async fn read_all<T: Record>(source: impl Source<Out = T>) -> Vec<T> {
    let (out, ended) = read(source).await;
    ended.unwrap();
    out
}

/// What is known of a failed job.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) task: String,
    pub(crate) failure: Failure,
}

impl Failed {
    pub(crate) fn of(ended: Result<(), JobError>) -> Self {
        match ended {
            Err(JobError::Failed { task, failure }) => {
                Self { task: format!("{}/{}/{}", task.job, task.stage, task.subtask), failure }
            }
            other => panic!("the job did not fail in a task: {other:?}"),
        }
    }

    pub(crate) fn line(&self) -> Option<u64> {
        self.failure.place().unwrap().line
    }

    pub(crate) fn column(&self) -> Option<&str> {
        self.failure.place().unwrap().column.as_deref()
    }

    /// What is wrong with the file, if it is a matter of the file; which file is checked.
    pub(crate) fn file_error(&self, file: &Path) -> &FileError {
        assert_eq!(self.failure.place().unwrap().file, file);
        self.failure.cause().downcast_ref().expect("a FileError")
    }

    /// What is wrong with the row, if it is a matter of a row; which file is checked.
    pub(crate) fn row_error(&self, file: &Path) -> &RowError {
        assert_eq!(self.failure.place().unwrap().file, file);
        self.failure.cause().downcast_ref().expect("a RowError")
    }
}
