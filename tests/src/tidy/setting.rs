//! Lints are set in one place: no library crate has its own.

use super::Fault;
use crate::{Place, Source};

/// Whether a manifest does not take its lints from the workspace.
pub fn lints_of_its_own(path: &str, text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let taken = lines.windows(2).any(|two| two == ["[lints]", "workspace = true"]);
    path.ends_with("/Cargo.toml") && !taken && !lines.contains(&"lints.workspace = true")
}

/// Manifests of library crates with lints of their own, and settings of clippy below the root.
pub fn setting_faults(settings: &[(String, String)]) -> Vec<Fault> {
    let mut found = Vec::new();
    for (path, text) in settings {
        let fault = |what: &str| Fault {
            rule: "own-lints",
            path: path.clone(),
            line: 1,
            what: what.to_owned(),
        };
        if path.ends_with("clippy.toml") {
            found.push(fault("it hides the `clippy.toml` of the root"));
        } else if is_of_library(path) && lints_of_its_own(path, text) {
            found.push(fault("a library crate takes its lints from the workspace"));
        }
    }
    found
}

fn is_of_library(manifest: &str) -> bool {
    let root_file = manifest.replace("/Cargo.toml", "/src/lib.rs");
    Source::new(root_file, "").place() == Place::Library
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: &str = "[package]\n[lints]\n\nworkspace = true\n";

    fn faults_of(path: &str, text: &str) -> usize {
        setting_faults(&[(path.to_owned(), text.to_owned())]).len()
    }

    #[test]
    fn a_library_crate_with_lints_of_its_own_is_reported() {
        assert_eq!(faults_of("crates/millstream-core/Cargo.toml", TAKEN), 0);
        assert_eq!(faults_of("crates/millstream-core/Cargo.toml", "[package]\n"), 1);
        let own = "[lints.clippy]\nunwrap_used = \"allow\"\n";
        assert_eq!(faults_of("crates/millstream-core/Cargo.toml", own), 1);
        assert_eq!(faults_of("crates/millstream-bench/workload/Cargo.toml", own), 0);
        assert_eq!(faults_of("tests/Cargo.toml", own), 0);
    }

    #[test]
    fn settings_of_clippy_below_the_root_are_reported() {
        assert_eq!(faults_of("crates/millstream-core/clippy.toml", ""), 1);
        assert_eq!(faults_of("crates/xtask/.clippy.toml", ""), 1);
    }
}
