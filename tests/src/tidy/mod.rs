//! The rules of style that a file must keep, each a function from a file to its faults.
//!
//! | rule | what it asks |
//! |---|---|
//! | `file-length` | at most 400 lines without test code, 600 with it |
//! | `function-length` | at most 60 lines, 100 in test code |
//! | `line-length` | at most 100 characters, unless the line holds an address |
//! | `first-line` | a `//!` that says the idea, or the doc comment of the file's one type |
//! | `leftover` | no word that says that something is unfinished |
//! | `machine-path` | no path of one machine |
//! | `banned-call` | library code does not unwrap, panic or print |
//! | `exception` | no lint is switched off |
//! | `biased-select` | a `select!` says in which order it looks |
//! | `random-map` | library code has no map or set of a random order |
//! | `test-name` | the name of a test is a sentence |
//! | `lost-test` | a test lies where cargo finds it |
//! | `own-lints` | a library crate keeps the lints of the workspace |
//! | `doc-share` | at least 15 % of a library crate's lines are documentation |
//!
//! What breaks a rule for a good reason stands in the list of [`Exception`]s of `tests/tidy.rs`.

mod code;
mod exception;
mod length;
mod setting;
mod share;
mod word;

use std::fmt;

use crate::Source;

pub use exception::{Exception, apply};
pub use setting::{lints_of_its_own, setting_faults};
pub use share::{Share, doc_faults, shares};

/// One place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the rule.
    pub rule: &'static str,
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.path, self.line, self.what, self.rule)
    }
}

/// A rule: its name, and what finds the lines of a file that break it.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    check: fn(&Source) -> Vec<(usize, String)>,
}

impl Rule {
    /// Every place of a file where this rule is broken.
    pub fn faults(&self, source: &Source) -> Vec<Fault> {
        let fault = |(line, what)| Fault { rule: self.name, path: source.path.clone(), line, what };
        (self.check)(source).into_iter().map(fault).collect()
    }
}

/// All rules about single files.
pub const RULES: [Rule; 12] = [
    Rule { name: "file-length", check: length::files },
    Rule { name: "function-length", check: length::functions },
    Rule { name: "line-length", check: length::lines },
    Rule { name: "first-line", check: word::first_line },
    Rule { name: "leftover", check: word::leftovers },
    Rule { name: "machine-path", check: word::machine_paths },
    Rule { name: "banned-call", check: code::banned_calls },
    Rule { name: "exception", check: code::lints_switched_off },
    Rule { name: "biased-select", check: code::unbiased_selects },
    Rule { name: "random-map", check: code::random_maps },
    Rule { name: "test-name", check: code::names_of_tests },
    Rule { name: "lost-test", check: word::lost_tests },
];

/// Every fault of every file under every rule about single files.
pub fn faults(sources: &[Source]) -> Vec<Fault> {
    let of_one = |source| RULES.iter().flat_map(move |rule| rule.faults(source));
    sources.iter().flat_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "//! An idea.\n\n/// A thing.\npub struct A;\n";

    /// A text for each rule that breaks it, once, and no other.
    fn planted(rule: &str) -> (&'static str, String) {
        let library = "crates/millstream-core/src/a.rs";
        let after_clean = |text: &str| (library, format!("{CLEAN}{text}"));
        match rule {
            "file-length" => after_clean(&"\n".repeat(397)),
            "function-length" => after_clean(&format!("fn a() {{{}}}\n", "\n".repeat(60))),
            "line-length" => after_clean(&format!("// {}\n", "x".repeat(98))),
            "first-line" => (library, format!("\n{CLEAN}")),
            "leftover" => after_clean(&format!("// {}{}: more\n", "TO", "DO")),
            "machine-path" => after_clean(&format!("// see {}{}\n", "/ho", "me/me/a.txt")),
            "banned-call" => after_clean("fn a() { b().unwrap(); }\n"),
            "exception" => after_clean("#[expect(dead_code)]\nfn a() {}\n"),
            "biased-select" => after_clean("async fn a() { tokio::select! { _ = b() => {} } }\n"),
            "random-map" => after_clean("use std::collections::{BTreeMap, HashMap};\n"),
            "test-name" => ("tests/tests/a.rs", format!("{CLEAN}#[test]\nfn test_a() {{}}\n")),
            "lost-test" => ("tests/a.rs", CLEAN.to_owned()),
            _ => panic!("no text is planted for the rule {rule}"),
        }
    }

    #[test]
    fn every_rule_reports_its_planted_fault_and_nothing_else() {
        for rule in &RULES {
            let (path, text) = planted(rule.name);
            let found = faults(&[Source::new(path, text)]);
            let rules: Vec<&str> = found.iter().map(|fault| fault.rule).collect();
            assert_eq!(rules, [rule.name], "{found:?}");
        }
    }

    #[test]
    fn a_clean_file_has_no_fault() {
        assert_eq!(faults(&[Source::new("crates/millstream-core/src/a.rs", CLEAN)]), []);
    }

    #[test]
    fn a_fault_says_where_and_what() {
        let source = Source::new("tests/tests/a.rs", format!("{CLEAN}// {}\n", "y".repeat(98)));
        let found = faults(&[source]);
        assert_eq!(found[0].to_string(), "tests/tests/a.rs:5: 101 characters (line-length)");
    }
}
