//! The source files of the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Source;

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads every `.rs` file under `crates`, `examples` and `tests`, in the order of their paths.
///
/// # Errors
///
/// When a folder cannot be listed or a file is not readable text. A folder that does not exist is
/// no error.
pub fn read() -> io::Result<Vec<Source>> {
    let files = files(|name| name.ends_with(".rs"))?;
    let mut sources: Vec<Source> =
        files.into_iter().map(|(path, text)| Source::new(path, text)).collect();
    mark_test_files(&mut sources);
    Ok(sources)
}

/// Reads every file under the same folders that sets up cargo or clippy: its path and its text.
///
/// # Errors
///
/// As [`read`].
pub fn read_settings() -> io::Result<Vec<(String, String)>> {
    files(|name| matches!(name, "Cargo.toml" | "clippy.toml" | ".clippy.toml"))
}

/// The path and text of every file with a name that is asked for.
fn files(wanted: fn(&str) -> bool) -> io::Result<Vec<(String, String)>> {
    let root = root();
    let mut paths = BTreeSet::new();
    for folder in ["crates", "examples", "tests"] {
        collect(&root.join(folder), folder, wanted, &mut paths)?;
    }
    let mut files = Vec::new();
    for path in paths {
        let text = fs::read_to_string(root.join(&path))?;
        files.push((path, text));
    }
    Ok(files)
}

fn collect(
    folder: &Path,
    name: &str,
    wanted: fn(&str) -> bool,
    paths: &mut BTreeSet<String>,
) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{name}/{file}");
        if entry.file_type()?.is_dir() {
            if file != "target" && !file.starts_with('.') {
                collect(&entry.path(), &path, wanted, paths)?;
            }
        } else if wanted(&file) {
            paths.insert(path);
        }
    }
    Ok(())
}

/// Marks the files of modules that another file declares for tests only.
fn mark_test_files(sources: &mut [Source]) {
    let declared: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in sources {
        let stem = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let under = |module: &String| {
            stem.strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        source.test_code.whole |= declared.iter().any(under);
    }
}

/// The paths, without ending, of the modules that a file declares for tests only.
fn test_modules(source: &Source) -> Vec<String> {
    let stem = source.path.trim_end_matches(".rs");
    let folder = ["/mod", "/lib", "/main"].iter().find_map(|end| stem.strip_suffix(end));
    let folder = folder.unwrap_or(stem);
    source.test_code.modules.iter().map(|name| format!("{folder}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn a_module_declared_for_tests_makes_its_files_test_files() {
        let mut sources = [
            Source::new("crates/a/src/lib.rs", "#[cfg(test)]\nmod b;\nmod c;"),
            Source::new("crates/a/src/b/mod.rs", ""),
            Source::new("crates/a/src/b/d.rs", ""),
            Source::new("crates/a/src/bb.rs", ""),
            Source::new("crates/a/src/c.rs", "#[cfg(test)]\nmod tests;"),
            Source::new("crates/a/src/c/tests.rs", ""),
        ];
        mark_test_files(&mut sources);
        let places: Vec<Place> = sources.iter().map(Source::place).collect();
        use Place::{Library, Test};
        assert_eq!(places, [Library, Test, Test, Library, Library, Test]);
    }

    #[test]
    fn the_tree_is_found() {
        let sources = read().expect("the tree is readable");
        let has = |path: &str| sources.iter().any(|source| source.path == path);
        assert!(has("tests/src/tree.rs") && has("crates/xtask/src/main.rs"));
        assert!(!sources.iter().any(|source| source.path.contains("/target/")));
    }
}
