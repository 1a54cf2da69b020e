//! A file that becomes visible when it is complete: written under another name, synced, renamed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::FileError;
use super::target::{check_temporary, resolve};
use super::text::is_gzip;

/// A file that is complete and has not got its name yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTransaction {
    /// The name that it is to have.
    pub target: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// A file that is being written; dropped before it is [finished](Self::finish) it goes away.
pub(super) struct Output {
    stream: Stream,
    target: PathBuf,
    finished: bool,
}

enum Stream {
    Plain(File),
    #[cfg(feature = "gzip")]
    Gzip(flate2::write::GzEncoder<File>),
}

impl Output {
    /// Creates the file under its temporary name, and the folders that are missing.
    pub(super) fn create(target: &Path) -> Result<Self, FileError> {
        let gzip = is_gzip(target)?;
        let target = resolve(target)?;
        make_folder(folder(&target)).map_err(FileError::Folder)?;
        let file = take_possession(&temporary(&target))?;
        let stream = if gzip { compressed(file) } else { Stream::Plain(file) };
        Ok(Self { stream, target, finished: false })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if self.finished && !bytes.is_empty() {
            return Err(FileError::Complete);
        }
        let written = match &mut self.stream {
            Stream::Plain(file) => file.write_all(bytes),
            #[cfg(feature = "gzip")]
            Stream::Gzip(encoder) => encoder.write_all(bytes),
        };
        written.map_err(FileError::Write)
    }

    /// Everything written so far is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), FileError> {
        let file = match &mut self.stream {
            Stream::Plain(file) => &*file,
            #[cfg(feature = "gzip")]
            Stream::Gzip(encoder) => {
                encoder.flush().map_err(FileError::Write)?;
                encoder.get_ref()
            }
        };
        file.sync_data().map_err(FileError::Sync)
    }

    /// The file is complete and on the disk, and lacks only its name.
    pub(super) fn finish(&mut self) -> Result<FileTransaction, FileError> {
        let file = match &mut self.stream {
            Stream::Plain(file) => &*file,
            #[cfg(feature = "gzip")]
            Stream::Gzip(encoder) => {
                encoder.try_finish().map_err(FileError::Write)?;
                encoder.get_ref()
            }
        };
        file.sync_all().map_err(FileError::Sync)?;
        let bytes = file.metadata().map_err(FileError::Sync)?.len();
        self.finished = true;
        Ok(FileTransaction { target: self.target.clone(), bytes })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // When this fails the next run writes over it.
            let _ = fs::remove_file(temporary(&self.target));
        }
    }
}

#[cfg(feature = "gzip")]
fn compressed(file: File) -> Stream {
    Stream::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
}

/// Never called: without the feature no name is one of a gzip file.
#[cfg(not(feature = "gzip"))]
fn compressed(file: File) -> Stream {
    Stream::Plain(file)
}

/// Gives a complete file its name; does nothing if it has it already.
pub(super) fn publish(transaction: &FileTransaction) -> Result<(), FileError> {
    let FileTransaction { target, bytes } = transaction;
    let temporary = temporary(target);
    if length(&temporary)? == Some(*bytes) {
        fs::rename(&temporary, target).map_err(FileError::Rename)?;
    } else if length(target)? != Some(*bytes) {
        return Err(FileError::Gone { temporary: temporary.display().to_string() });
    }
    sync_folder(folder(target)).map_err(FileError::Sync)
}

/// The name while the file is written: always the same, so that no crash leaves a second one.
fn temporary(target: &Path) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(".part");
    PathBuf::from(name)
}

fn folder(target: &Path) -> &Path {
    target.parent().unwrap_or(target)
}

fn length(path: &Path) -> Result<Option<u64>, FileError> {
    match fs::metadata(path) {
        Ok(about) => Ok(Some(about.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::Rename(error)),
    }
}

/// Creates or empties a file that nobody else writes.
fn take_possession(path: &Path) -> Result<File, FileError> {
    // Opening a pipe would wait for somebody who reads it.
    check_temporary(path)?;
    let mut options = OpenOptions::new();
    // What may be another's is emptied only once it is known to be ours.
    options.write(true).create(true).truncate(false);
    let file = options.open(path).map_err(FileError::Create)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(FileError::InUse),
        // Not every file system has locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // Between opening and locking the other may have finished, and then this is its file.
    if !is_same(&file, path).map_err(FileError::Create)? {
        return Err(FileError::InUse);
    }
    file.set_len(0).map_err(FileError::Create)?;
    Ok(file)
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((opened.dev(), opened.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Makes a folder and those above it, so that they outlast a crash.
fn make_folder(folder: &Path) -> io::Result<()> {
    let missing = folder.ancestors().take_while(|folder| !folder.exists());
    let above: Vec<&Path> = missing.filter_map(Path::parent).collect();
    fs::create_dir_all(folder)?;
    above.into_iter().try_for_each(sync_folder)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Only Unix has folders that can be synced.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
