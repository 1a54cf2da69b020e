//! How much of a library crate is documentation, and how many of its functions are short.

use std::collections::BTreeMap;
use std::fmt;

use super::Fault;
use crate::{Kind, Place, Source};

/// Below this share of lines a crate is not documented; above the other it is mostly talk.
const DOC_PERCENT: std::ops::RangeInclusive<usize> = 15..=60;
const SHORT_LINES: usize = 20;

/// The numbers of one crate, its tests left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The crate.
    pub crate_name: String,
    /// Lines that are not blank.
    pub lines: usize,
    /// Lines that rustdoc shows.
    pub doc_lines: usize,
    /// Functions with a body.
    pub functions: usize,
    /// Those of at most 20 lines.
    pub short_functions: usize,
}

impl Share {
    /// Documentation among the lines that are not blank.
    pub fn doc_percent(&self) -> usize {
        percent(self.doc_lines, self.lines)
    }

    /// Short ones among the functions.
    pub fn short_percent(&self) -> usize {
        percent(self.short_functions, self.functions)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, lines, functions) = (&self.crate_name, self.lines, self.functions);
        let (doc, short) = (self.doc_percent(), self.short_percent());
        write!(f, "{name:24} {lines:6} lines, {doc:3} % documentation")?;
        write!(f, "; {functions:4} functions, {short:3} % of at most {SHORT_LINES} lines")?;
        if doc > *DOC_PERCENT.end() {
            write!(f, "; more words than code")?;
        }
        Ok(())
    }
}

/// The numbers of each library crate, by name.
pub fn shares(sources: &[Source]) -> Vec<Share> {
    let mut crates: BTreeMap<&str, Share> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.place() == Place::Library) {
        let Some(name) = source.crate_name() else {
            continue;
        };
        let share = crates.entry(name).or_default();
        share.crate_name = name.to_owned();
        count(source, share);
    }
    crates.into_values().collect()
}

fn count(source: &Source, share: &mut Share) {
    for (index, kind) in source.kinds.iter().enumerate() {
        if *kind != Kind::Blank && !source.is_test(index + 1) {
            share.lines += 1;
            share.doc_lines += usize::from(*kind == Kind::Doc);
        }
    }
    for function in source.functions.iter().filter(|function| !source.is_test(function.first)) {
        share.functions += 1;
        share.short_functions += usize::from(function.lines() <= SHORT_LINES);
    }
}

/// The crates with too little documentation.
pub fn doc_faults(shares: &[Share]) -> Vec<Fault> {
    let poor = shares.iter().filter(|share| share.doc_percent() < *DOC_PERCENT.start());
    let fault = |share: &Share| Fault {
        rule: "doc-share",
        path: format!("crates/{}/src", share.crate_name),
        line: 1,
        what: format!("{} % documentation, at least 15 %", share.doc_percent()),
    };
    poor.map(fault).collect()
}

/// Rounded down; a whole of nothing is complete.
fn percent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_with(doc: usize, code: usize) -> Vec<Share> {
        let text = format!("{}{}", "//! a\n\n".repeat(doc), "use b;\n".repeat(code));
        shares(&[Source::new("crates/a/src/lib.rs", text)])
    }

    #[test]
    fn a_crate_with_little_documentation_is_reported() {
        assert_eq!(doc_faults(&crate_with(15, 85)), []);
        let found = doc_faults(&crate_with(14, 86));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("14 % documentation"));
    }

    #[test]
    fn much_documentation_is_said_but_no_fault() {
        let wordy = crate_with(61, 39);
        assert_eq!(doc_faults(&wordy), []);
        assert!(wordy[0].to_string().ends_with("more words than code"));
    }

    #[test]
    fn tests_and_tools_do_not_count() {
        let text = "/// A.\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let sources = [
            Source::new("crates/a/src/b.rs", text),
            Source::new("crates/a/tests/b.rs", text),
            Source::new("crates/xtask/src/b.rs", text),
        ];
        let expected = Share {
            crate_name: "a".to_owned(),
            lines: 2,
            doc_lines: 1,
            functions: 1,
            short_functions: 1,
        };
        assert_eq!(shares(&sources), [expected]);
    }

    #[test]
    fn long_functions_lower_the_share_of_short_ones() {
        let text = format!("fn a() {{}}\nfn b() {{{}}}\n", "\n".repeat(20));
        let found = shares(&[Source::new("crates/a/src/b.rs", text)]);
        assert_eq!(found[0].short_percent(), 50);
    }
}
