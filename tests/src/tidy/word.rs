//! What a text must begin with, which words it must not hold, and where it must lie.

use crate::token::{Token, closing};
use crate::{Place, Source};

/// Words that say that something is unfinished; written in halves, so that they do not stand here.
const LEFTOVERS: [&str; 3] = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];

/// Beginnings of paths that exist on somebody's machine only, and of one beside the repository.
const MACHINE_PATHS: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
    concat!("sha", "red/"),
];

pub(super) fn first_line(source: &Source) -> Vec<(usize, String)> {
    let first = source.text.lines().next().unwrap_or_default();
    let says_idea = first.strip_prefix("//!").is_some_and(|idea| !idea.trim().is_empty());
    let of_type = first.starts_with("/// ") && types_at_top(&source.tokens) == 1;
    if says_idea || of_type {
        return Vec::new();
    }
    vec![(1, "the first line must be `//!` and say the idea of the file".to_owned())]
}

/// How many types a file defines outside of any block.
fn types_at_top(tokens: &[Token]) -> usize {
    let mut count = 0;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            "struct" | "enum" | "trait" | "union" => count += 1,
            "{" | "(" | "[" => index = closing(tokens, index),
            _ => {}
        }
        index += 1;
    }
    count
}

pub(super) fn leftovers(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if let Some(word) = words.find(|word| LEFTOVERS.contains(word)) {
            found.push((index + 1, format!("`{word}` is left over")));
        }
    }
    found
}

pub(super) fn machine_paths(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let path = MACHINE_PATHS.iter().find(|path| begins_in(line, path));
        found.extend(path.map(|path| (index + 1, format!("`{path}` exists on one machine only"))));
    }
    found
}

/// Whether a path with this beginning stands in a line, not as the middle of another one.
fn begins_in(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '/'))
    })
}

/// Cargo finds the tests of the package `tests` in its folder `tests`, and nowhere else.
pub(super) fn lost_tests(source: &Source) -> Vec<(usize, String)> {
    let beside = source.path.strip_prefix("tests/").is_some_and(|name| !name.contains('/'));
    if source.place() != Place::Test || !beside {
        return Vec::new();
    }
    vec![(1, "cargo does not find this test: it belongs into `tests/tests`".to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("crates/millstream-core/src/a.rs", text)
    }

    #[test]
    fn a_file_begins_with_its_idea_or_with_its_one_type() {
        assert_eq!(first_line(&source("//! An idea.\n")), []);
        let one_type = "/// A.\npub struct A(u8);\n\nimpl A {}\nmod tests { struct B; }\n";
        assert_eq!(first_line(&source(one_type)), []);
        assert_eq!(first_line(&source("/// A.\nstruct A;\nenum B {}\n")).len(), 1);
        for text in ["", "//!\n", "// An idea.\n", "use std::fmt;\n", "\n//! An idea.\n"] {
            assert_eq!(first_line(&source(text)).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_leftover_is_a_whole_word() {
        assert_eq!(leftovers(&source(&format!("a\n// {}(me): b", LEFTOVERS[0]))).len(), 1);
        assert_eq!(leftovers(&source(&format!("const {}S: u8 = 1;", LEFTOVERS[1]))), []);
    }

    #[test]
    fn a_machine_path_is_a_path_and_not_a_word() {
        for path in MACHINE_PATHS {
            let found = machine_paths(&source(&format!("//! See `{path}/a.md`.")));
            assert_eq!(found.len(), 1, "{path}");
        }
        let innocent = format!("// {} is {}work/; target/{}a", "shared", "frame", "home/");
        assert_eq!(machine_paths(&source(&innocent)), []);
    }

    #[test]
    fn a_test_beside_the_manifest_is_lost() {
        assert_eq!(lost_tests(&Source::new("tests/order.rs", "")).len(), 1);
        assert_eq!(lost_tests(&Source::new("tests/tests/order.rs", "")), []);
        assert_eq!(lost_tests(&Source::new("tests/src/order.rs", "")), []);
    }
}
