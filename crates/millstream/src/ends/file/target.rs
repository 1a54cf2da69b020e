//! What stands where a finished file is to go, and which names may not be taken.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::FileError;

/// More symbolic links one behind another than any system follows.
const LINKS_MAX: usize = 64;

/// The path that a finished file is to have: behind all symbolic links that end the given one, so
/// that the file is replaced and not the link to it.
pub(super) fn resolve(target: &Path) -> Result<PathBuf, FileError> {
    // The system is asked first: some links, such as those to an open pipe, only it can follow.
    check(target)?;
    if target.file_name().is_none() {
        return Err(FileError::NoName);
    }
    // The process may change its folder before the file gets its name.
    let mut path = std::path::absolute(target).map_err(FileError::Create)?;
    for _ in 0..LINKS_MAX {
        if !fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink()) {
            check(&path)?;
            return Ok(path);
        }
        let link = fs::read_link(&path).map_err(FileError::Create)?;
        path = path.parent().unwrap_or(&path).join(link);
    }
    let links = || io::Error::other("its symbolic links lead to no end");
    Err(FileError::Create(fs::metadata(target).err().unwrap_or_else(links)))
}

/// Refuses what a finished file may not replace.
fn check(target: &Path) -> Result<(), FileError> {
    // What cannot be looked at cannot be opened either, and opening says why.
    let Ok(about) = fs::metadata(target) else { return Ok(()) };
    match about.file_type() {
        kind if kind.is_dir() => Err(FileError::IsFolder),
        kind if !kind.is_file() => Err(FileError::NotRegular { found: called(kind) }),
        _ => Ok(()),
    }
}

/// Refuses a temporary name that anything but a regular file has. A link counts as such, whatever
/// it leads to: it would get the name in place of the file.
pub(super) fn check_temporary(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => Err(FileError::TemporaryTaken {
            temporary: path.display().to_string(),
            found: called(about.file_type()),
        }),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn called(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() => "a character device",
        _ if kind.is_block_device() => "a block device",
        _ => called_anywhere(kind),
    }
}

#[cfg(not(unix))]
fn called(kind: FileType) -> &'static str {
    called_anywhere(kind)
}

fn called_anywhere(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_symlink() => "a symbolic link",
        _ => "something that is no regular file",
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Only asked about, never written to: who may do everything would do harm by a fault.
    #[test]
    fn a_device_is_no_place_for_a_file() {
        for device in ["/dev/full", "/dev/null", "/dev/../dev/full"] {
            let refused = resolve(Path::new(device));
            assert!(
                matches!(refused, Err(FileError::NotRegular { found: "a character device" })),
                "{refused:?}"
            );
        }
    }
}
