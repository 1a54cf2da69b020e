//! The text of a file, plain or out of gzip, from its beginning or from some byte on.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::FileError;

/// How much is read from a file at once.
const BUFFER: usize = 64 * 1024;

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Whether a file of this name is compressed.
pub(super) fn is_gzip(path: &Path) -> Result<bool, FileError> {
    let gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    if gzip && !cfg!(feature = "gzip") {
        return Err(FileError::GzipFeature);
    }
    Ok(gzip)
}

/// The text of a file, behind what was read of it.
pub(super) struct Text {
    input: Box<dyn BufRead + Send>,
    gzip: bool,
}

impl Text {
    /// Opens a file at a byte of its text. At 0 a byte-order mark is skipped; also returned is
    /// where the text stands then.
    pub(super) fn open(path: &Path, from: u64) -> Result<(Self, u64), FileError> {
        let gzip = is_gzip(path)?;
        let mut file = File::open(path).map_err(FileError::Open)?;
        let about = file.metadata().map_err(FileError::Open)?;
        if about.is_dir() {
            return Err(FileError::IsFolder);
        }
        if !gzip && from > 0 {
            if about.len() < from {
                return Err(FileError::Shorter { bytes: from });
            }
            file.seek(SeekFrom::Start(from)).map_err(FileError::Read)?;
        }
        let mut text = Self { input: if gzip { gunzip(file) } else { plain(file) }, gzip };
        if from == 0 {
            let skipped = text.skip_mark()?;
            return Ok((text, skipped));
        }
        if gzip {
            text.skip(from)?;
        }
        Ok((text, from))
    }

    /// What is at hand, at least a byte unless the text has ended.
    pub(super) fn fill(&mut self) -> Result<&[u8], FileError> {
        while let Err(error) = self.input.fill_buf() {
            if error.kind() != ErrorKind::Interrupted {
                return Err(self.fault(error));
            }
        }
        let gzip = self.gzip;
        self.input.fill_buf().map_err(|error| fault(gzip, error))
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
    }

    fn skip_mark(&mut self) -> Result<u64, FileError> {
        let mut head = Vec::new();
        let marks = BYTE_ORDER_MARK.len() as u64;
        let read = self.input.by_ref().take(marks).read_to_end(&mut head);
        read.map_err(|error| self.fault(error))?;
        if head == BYTE_ORDER_MARK {
            return Ok(marks);
        }
        let rest = std::mem::replace(&mut self.input, Box::new(io::empty()));
        self.input = Box::new(Cursor::new(head).chain(rest));
        Ok(0)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), FileError> {
        let skipped = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped < bytes => Err(FileError::Shorter { bytes }),
            Ok(_) => Ok(()),
            Err(error) => Err(self.fault(error)),
        }
    }

    fn fault(&self, error: io::Error) -> FileError {
        fault(self.gzip, error)
    }
}

fn fault(gzip: bool, error: io::Error) -> FileError {
    match error.kind() {
        _ if !gzip || error.raw_os_error().is_some() => FileError::Read(error),
        ErrorKind::UnexpectedEof => FileError::GzipCut,
        _ => FileError::Gzip(error),
    }
}

fn plain(file: File) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER, file))
}

/// All members of a gzip file, one after another.
#[cfg(feature = "gzip")]
fn gunzip(file: File) -> Box<dyn BufRead + Send> {
    let file = BufReader::with_capacity(BUFFER, file);
    let text = flate2::bufread::MultiGzDecoder::new(file);
    Box::new(BufReader::with_capacity(BUFFER, text))
}

/// Never called: without the feature no name is one of a gzip file.
#[cfg(not(feature = "gzip"))]
fn gunzip(file: File) -> Box<dyn BufRead + Send> {
    plain(file)
}
