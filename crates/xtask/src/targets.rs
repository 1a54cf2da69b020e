//! The integration tests of the workspace, sorted by the part that runs them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Names of integration tests, as `cargo test --test NAME` takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Those that need a real component: their names begin with `real_`.
    pub(crate) real: BTreeSet<String>,
    /// Those that run many seeds: their names begin with `simulat`.
    pub(crate) simulation: BTreeSet<String>,
    /// Those of the package `examples`.
    pub(crate) examples: BTreeSet<String>,
    /// All others.
    pub(crate) rest: BTreeSet<String>,
}

/// Run by parts of their own, before all others.
const CHECKS: [&str; 2] = ["layering", "tidy"];

impl Targets {
    /// Finds the tests of every member under `root`.
    ///
    /// # Errors
    ///
    /// When a folder cannot be listed or a manifest cannot be read.
    pub(crate) fn find(root: &Path) -> io::Result<Self> {
        let mut targets = Self::default();
        for member in members(root)? {
            let names = member_tests(&member)?;
            if member.ends_with("examples") {
                targets.examples.extend(names);
            } else {
                names.into_iter().for_each(|name| targets.add(name));
            }
        }
        Ok(targets)
    }

    fn add(&mut self, name: String) {
        if name.starts_with("real_") {
            self.real.insert(name);
        } else if name.starts_with("simulat") {
            self.simulation.insert(name);
        } else if !CHECKS.contains(&name.as_str()) {
            self.rest.insert(name);
        }
    }
}

/// The folders of the members: of `crates`, what a crate there keeps inside it, and the other two.
fn members(root: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut members = vec![root.join("examples"), root.join("tests")];
    let mut crates = folders(&root.join("crates"))?;
    for one in &crates {
        members.extend(folders(one)?);
    }
    members.append(&mut crates);
    members.retain(|folder| folder.join("Cargo.toml").is_file());
    Ok(members)
}

fn folders(parent: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    if parent.is_dir() {
        for entry in fs::read_dir(parent)? {
            let path = entry?.path();
            if path.is_dir() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// What cargo finds in a member's folder `tests`, and what its manifest names besides.
fn member_tests(member: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = named_in(&fs::read_to_string(member.join("Cargo.toml"))?);
    let folder = member.join("tests");
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_test =
                path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file();
            if let Some(name) = path.file_stem().filter(|_| is_test) {
                names.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    Ok(names)
}

/// The names under `[[test]]` in a manifest.
fn named_in(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_test = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_test = line == "[[test]]";
        } else if in_test
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            names.insert(value.trim().trim_matches('"').to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_part_runs_a_test() {
        let mut targets = Targets::default();
        for name in ["order", "real_redis", "simulate", "tidy", "layering"] {
            targets.add(name.to_owned());
        }
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        assert_eq!(targets.rest, set("order"));
        assert_eq!(targets.real, set("real_redis"));
        assert_eq!(targets.simulation, set("simulate"));
    }

    #[test]
    fn a_manifest_may_name_tests_too() {
        let manifest = "[[bin]]\nname = \"a\"\n[[test]]\nname = \"b\"\npath = \"c.rs\"\n[features]";
        assert_eq!(named_in(manifest), BTreeSet::from(["b".to_owned()]));
    }
}
