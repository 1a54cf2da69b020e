//! No cycle among the top-level modules of a crate: which module imports which, and the way round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::Source;
use crate::import::{imports, root_names};

/// One module imports another: the first place where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Who imports.
    pub from: String,
    /// What is imported.
    pub to: String,
    /// Where, as `file:line`.
    pub place: String,
}

/// Modules that may import each other because they are one idea in several files.
pub struct OneIdea {
    /// The crate.
    pub crate_name: &'static str,
    /// Its modules that count as one.
    pub modules: &'static [&'static str],
    /// Why they are one.
    pub reason: &'static str,
}

/// A way through modules that ends where it began.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<Arrow>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for arrow in &self.0 {
            write!(f, "{} -> ", arrow.from)?;
        }
        write!(f, "{}", self.0.first().map_or("", |first| &first.from))?;
        for arrow in &self.0 {
            write!(f, "\n    {}: {} imports {}", arrow.place, arrow.from, arrow.to)?;
        }
        Ok(())
    }
}

/// The arrows between the top-level modules of one crate, given all files of its `src`.
///
/// The root is a module too, called `lib` or `main`, for what stands in it and is not just passed
/// on from another module.
pub fn arrows(files: &[&Source]) -> Vec<Arrow> {
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    let root = files.iter().find(|file| file.module().is_some_and(|module| module.is_empty()));
    let root_name =
        if root.is_some_and(|root| root.path.ends_with("/main.rs")) { "main" } else { "lib" };
    let names = root.map(|root| root_names(root, files)).unwrap_or_default();
    let modules = top_modules(files);
    let targets = |name: &str| -> Vec<String> {
        match name {
            "*" => names.values().filter(|module| modules.contains(*module)).cloned().collect(),
            "self" => Vec::new(),
            _ if modules.contains(name) => vec![name.to_owned()],
            _ => match names.get(name) {
                Some(module) if modules.contains(module) => vec![module.clone()],
                Some(_other_crate) => Vec::new(),
                None => vec![root_name.to_owned()],
            },
        }
    };
    for file in files {
        for import in imports(file) {
            let from = if import.from.is_empty() { root_name } else { &import.from };
            for to in targets(&import.name) {
                if to != from {
                    let place = format!("{}:{}", file.path, import.line);
                    found.entry((from.to_owned(), to)).or_insert(place);
                }
            }
        }
    }
    found.into_iter().map(|((from, to), place)| Arrow { from, to, place }).collect()
}

/// The top-level modules: those with a file, and those written out in the root.
fn top_modules(files: &[&Source]) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for file in files {
        match file.module().as_deref() {
            Some([]) => modules.extend(declared(file)),
            Some([first, ..]) => modules.extend([(*first).to_owned()]),
            None => {}
        }
    }
    modules
}

fn declared(root: &Source) -> impl Iterator<Item = String> {
    let pairs = root.tokens.windows(2).filter(|pair| pair[0].is("mod") && pair[1].is_word());
    pairs.map(|pair| pair[1].text.clone())
}

/// The shortest cycle, if there is one; the modules of `one_idea` count as one.
pub fn find(arrows: &[Arrow], one_idea: &[&str]) -> Option<Cycle> {
    let starts: BTreeSet<&str> = arrows.iter().map(|arrow| arrow.from.as_str()).collect();
    let cycles = starts.into_iter().filter_map(|start| way_back(arrows, start, one_idea));
    cycles.min_by_key(Vec::len).map(Cycle)
}

/// The shortest way from a module back to it, breadth first.
fn way_back(arrows: &[Arrow], start: &str, one_idea: &[&str]) -> Option<Vec<Arrow>> {
    let same = |a: &str, b: &str| a == b || (one_idea.contains(&a) && one_idea.contains(&b));
    let mut ways: VecDeque<Vec<&Arrow>> = VecDeque::from([Vec::new()]);
    let mut seen: Vec<&str> = Vec::new();
    while let Some(way) = ways.pop_front() {
        let here = way.last().map_or(start, |last| last.to.as_str());
        let leaving = arrows.iter().filter(|arrow| same(&arrow.from, here));
        for arrow in leaving.filter(|arrow| !same(&arrow.from, &arrow.to)) {
            let mut longer = way.clone();
            longer.push(arrow);
            if same(&arrow.to, start) {
                return Some(longer.into_iter().cloned().collect());
            }
            if !seen.iter().any(|module| same(module, &arrow.to)) {
                seen.push(&arrow.to);
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Vec<Arrow> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(format!("crates/x/src/{path}"), *text))
            .collect();
        arrows(&sources.iter().collect::<Vec<_>>())
    }

    fn shown(files: &[(&str, &str)]) -> Option<String> {
        find(&crate_of(files), &[]).map(|cycle| cycle.to_string())
    }

    #[test]
    fn a_planted_cycle_is_named_with_a_place_for_each_arrow() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b/mod.rs", "mod d;"),
            ("b/d.rs", "\nuse crate::c::C;"),
            ("c.rs", "fn c() { super::a::a() }"),
        ];
        let expected = "a -> b -> c -> a\n    crates/x/src/a.rs:1: a imports b\
                        \n    crates/x/src/b/d.rs:2: b imports c\
                        \n    crates/x/src/c.rs:1: c imports a";
        assert_eq!(shown(&files).as_deref(), Some(expected));
    }

    #[test]
    fn the_shortest_of_several_cycles_is_named() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{b, c};"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "use crate::a;"),
        ];
        assert!(shown(&files).is_some_and(|text| text.starts_with("a -> c -> a\n")));
    }

    #[test]
    fn a_reexport_counts_as_the_module_it_comes_from() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::{B, C as D};"),
            ("a.rs", "use crate::D;"),
            ("b.rs", "use crate::A;"),
        ];
        assert!(shown(&files).is_some_and(|text| text.starts_with("a -> b -> a")));
    }

    #[test]
    fn imports_that_only_point_down_are_no_cycle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B; pub use z::Z;"),
            ("a.rs", "use crate::{B, Z, c};\n#[cfg(test)]\nmod tests { use crate::a; }"),
            ("b.rs", "use crate::c;\n#[cfg(test)]\nmod tests { use crate::A; }"),
            ("c.rs", "/// See [`crate::A`].\nuse self::inner::C; use std::fmt;"),
        ];
        assert_eq!(crate_of(&files).len(), 3);
        assert_eq!(shown(&files), None);
    }

    #[test]
    fn the_root_is_a_module_for_what_it_defines_and_uses_itself() {
        let only_defines = [
            ("lib.rs", "mod a; pub use a::A; pub const LIMIT: u8 = 1;"),
            ("a.rs", "use crate::LIMIT;"),
        ];
        assert_eq!(crate_of(&only_defines).len(), 1);
        assert_eq!(shown(&only_defines), None);
        let uses = [
            ("main.rs", "mod a; const LIMIT: u8 = 1; fn main() { a::run() }"),
            ("a.rs", "use crate::LIMIT;"),
        ];
        assert!(shown(&uses).is_some_and(|text| text.starts_with("a -> main -> a")));
        let uses_by_name = [
            ("lib.rs", "mod a; pub use a::A; pub fn b() { A::new(); std::mem::drop(1) }"),
            ("a.rs", "use crate::b;"),
        ];
        assert!(shown(&uses_by_name).is_some_and(|text| text.starts_with("a -> lib -> a")));
    }

    #[test]
    fn a_glob_of_the_root_imports_all_that_it_passes_on() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::*;"),
            ("b.rs", "use super::*;"),
        ];
        assert!(shown(&files).is_some_and(|text| text.starts_with("a -> b -> a")));
    }

    #[test]
    fn modules_that_are_one_idea_may_import_each_other_but_not_through_a_third() {
        let one_idea = ["a", "b"];
        let mutual = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::{a, c};"),
            ("c.rs", ""),
        ];
        assert_eq!(find(&crate_of(&mutual), &one_idea), None);
        assert!(find(&crate_of(&mutual), &[]).is_some());
        let mut through_c = mutual;
        through_c[3].1 = "use crate::a;";
        let cycle = find(&crate_of(&through_c), &one_idea).expect("a cycle");
        assert!(cycle.to_string().contains("crates/x/src/c.rs:1: c imports a"));
    }
}
