//! One source file, read once for all checks.

use crate::function::{Function, functions};
use crate::mask::{Kind, mask};
use crate::test_code::{self, TestCode};
use crate::token::{Token, tokens};

/// What a file is for; the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The source of a crate that users depend on.
    Library,
    /// The source of a program for this workspace: checks, benchmarks.
    Tool,
    /// A program for readers.
    Example,
    /// Compiled only for tests.
    Test,
}

/// A file and all that the checks ask about it.
pub struct Source {
    /// From the root of the workspace, with `/`.
    pub path: String,
    /// As it stands in the file.
    pub text: String,
    /// The kind of each line.
    pub kinds: Vec<Kind>,
    /// Its functions.
    pub functions: Vec<Function>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) test_code: TestCode,
}

const TOOLS: [&str; 2] = ["millstream-bench", "xtask"];

impl Source {
    /// Reads a text as the file at `path`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let masked = mask(&text);
        let tokens = tokens(&masked.code);
        let functions = functions(&tokens);
        let test_code = test_code::find(&tokens);
        Self { path, text, kinds: masked.kinds, functions, tokens, test_code }
    }

    /// What the file is for.
    pub fn place(&self) -> Place {
        let parts: Vec<&str> = self.path.split('/').collect();
        match parts[..] {
            _ if self.test_code.whole => Place::Test,
            ["tests", "src", ..] => Place::Tool,
            _ if parts.contains(&"tests") => Place::Test,
            ["crates", name, ..] if TOOLS.contains(&name) => Place::Tool,
            ["crates", _, "src", ..] => Place::Library,
            ["crates", ..] => Place::Tool,
            _ => Place::Example,
        }
    }

    /// The crate whose source the file is part of, if it lies in `crates/NAME/src`.
    pub fn crate_name(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/").then_some(name)
    }

    /// Whether a line, counted from 1, is test code.
    pub fn is_test(&self, line: usize) -> bool {
        let inside = |&(first, last): &(usize, usize)| (first..=last).contains(&line);
        self.place() == Place::Test || self.test_code.spans.iter().any(inside)
    }

    /// Where the file stands among the modules of its crate: `src/a/b.rs` is `["a", "b"]`.
    ///
    /// `None` for a file that is no module: outside `src`, or a program under `src/bin`.
    pub(crate) fn module(&self) -> Option<Vec<&str>> {
        let (_, inside) = self.path.split_once("/src/")?;
        let mut parts: Vec<&str> = inside.strip_suffix(".rs")?.split('/').collect();
        if parts.first() == Some(&"bin") {
            return None;
        }
        if parts.last() == Some(&"mod") || matches!(parts[..], ["lib"] | ["main"]) {
            parts.pop();
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        Source::new(path, "").place()
    }

    #[test]
    fn a_path_says_what_a_file_is_for() {
        assert_eq!(place("crates/millstream-core/src/key.rs"), Place::Library);
        assert_eq!(place("crates/millstream-core/tests/key.rs"), Place::Test);
        assert_eq!(place("crates/millstream-bench/workload/tests/a.rs"), Place::Test);
        assert_eq!(place("crates/xtask/src/main.rs"), Place::Tool);
        assert_eq!(place("crates/millstream-bench/peers/a/src/main.rs"), Place::Tool);
        assert_eq!(place("examples/hello.rs"), Place::Example);
        assert_eq!(place("examples/tests/all.rs"), Place::Test);
        assert_eq!(place("tests/tests/tidy.rs"), Place::Test);
        assert_eq!(place("tests/src/lib.rs"), Place::Tool);
    }

    #[test]
    fn a_path_says_which_module_a_file_is() {
        let module = |path: &str| {
            let source = Source::new(path, "");
            source.module().map(|parts| parts.join("::"))
        };
        assert_eq!(module("crates/a/src/lib.rs").as_deref(), Some(""));
        assert_eq!(module("crates/a/src/b.rs").as_deref(), Some("b"));
        assert_eq!(module("crates/a/src/b/mod.rs").as_deref(), Some("b"));
        assert_eq!(module("crates/a/src/b/c.rs").as_deref(), Some("b::c"));
        assert_eq!(module("crates/a/src/bin/c.rs"), None);
        assert_eq!(module("crates/a/tests/c.rs"), None);
    }

    #[test]
    fn lines_of_a_test_module_are_test_code() {
        let source = Source::new("crates/a/src/b.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n}\n");
        assert!(!source.is_test(1));
        assert!(source.is_test(2) && source.is_test(4));
        assert!(Source::new("tests/tests/a.rs", "fn a() {}").is_test(1));
    }
}
