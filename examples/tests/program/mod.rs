//! The examples as programs: built by cargo, once a run, and started as a reader would.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// What a test returns, so that no helper has to panic.
pub(crate) type Checked = Result<(), Box<dyn Error>>;

/// How a program ended, and what it said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs an example in a folder.
pub(crate) fn run(name: &str, arguments: &[&OsStr], folder: &Path) -> Result<Said, Box<dyn Error>> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder_of_programs = BUILT.get_or_init(|| build().map_err(|error| error.to_string()));
    let program = folder_of_programs
        .as_ref()
        .map_err(String::clone)?
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    let Output { status, stdout, stderr } = output;
    let (out, err) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
    Ok(Said { code: status.code(), out, err })
}

/// An empty folder for one test.
pub(crate) fn empty_folder(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Has cargo build all examples as this test was built, and returns their folder.
///
/// A test cannot take for granted that they are there: which targets cargo builds before it runs a
/// test depends on how it was called, and a program left over from an earlier call would be tested
/// in place of the present one. `--workspace` because cargo chooses features by the packages it is
/// given: so what the checks have built is used again.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    // TARGET/PROFILE/deps/TEST, or TARGET/TRIPLE/PROFILE/deps/TEST.
    let test = env::current_exe()?;
    let profile_folder = test.ancestors().nth(2).ok_or("a test lies in a folder of its profile")?;
    let target_folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target")?;
    let profile = match profile_folder.file_name() {
        Some(name) if name == "debug" => OsStr::new("dev"),
        Some(name) => name,
        None => return Err("a profile has a name".into()),
    };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--quiet", "--workspace", "--examples", "--target-dir"]);
    cargo.arg(target_folder).arg("--profile").arg(profile);
    let triple = profile_folder.parent().filter(|parent| *parent != target_folder);
    if let Some(triple) = triple.and_then(Path::file_name) {
        cargo.arg("--target").arg(triple);
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output()?;
    if !built.status.success() {
        return Err(format!("cargo: {}", String::from_utf8_lossy(&built.stderr)).into());
    }
    Ok(profile_folder.join("examples"))
}
