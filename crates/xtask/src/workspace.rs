//! Where everything is: the root of the workspace, cargo, and the folder it builds into.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The workspace that this program was started for.
pub(crate) struct Workspace {
    /// The folder with the manifest of all members.
    pub(crate) root: PathBuf,
    /// The cargo that started this program.
    pub(crate) cargo: OsString,
    /// The folder that all parts build into, so that nothing is built twice.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Reads what cargo said when it started this program.
    ///
    /// # Errors
    ///
    /// When the place of this program cannot be told.
    pub(crate) fn here() -> io::Result<Self> {
        let own = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&own).join("../..").canonicalize()?;
        let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
        // The program lies in a folder named for the profile, inside the folder that is asked for.
        let program = env::current_exe()?;
        let target = program.ancestors().nth(2).map_or(root.join("target"), Path::to_owned);
        Ok(Self { root, cargo, target })
    }
}
