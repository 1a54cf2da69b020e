//! Which top-level modules of its own crate a file names, and where.
//!
//! Paths that begin with `crate`, `self` or `super` are followed, in `use` and anywhere else. What
//! the crate root re-exports counts as the module it comes from.

use std::collections::BTreeMap;

use crate::Source;
use crate::token::{Token, closing};

/// One place where a file names something at the root of its crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The top-level module that names it; empty for the root itself.
    pub(crate) from: String,
    /// The name at the root: a module, a re-export, an item; `*` for all.
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// Every such place outside test code. The re-exports of the root itself are not among them.
pub(crate) fn imports(source: &Source) -> Vec<Import> {
    let Some(file) = source.module() else {
        return Vec::new();
    };
    let tokens = &source.tokens;
    let mut found = Vec::new();
    let mut inner: Vec<(usize, &str)> = Vec::new();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        inner.retain(|&(end, _)| index <= end);
        if source.is_test(token.line) {
            index += 1;
            continue;
        }
        if let Some(name) = inline_module(tokens, index) {
            inner.push((closing(tokens, index + 2), name));
        }
        let module: Vec<&str> =
            file.iter().copied().chain(inner.iter().map(|&(_, name)| name)).collect();
        if module.is_empty() && token.is("pub") {
            index = skip_reexport(tokens, index);
        } else if let Some(after) = path_start(tokens, index, module.len()) {
            let from = module.first().copied().unwrap_or_default();
            for (name, line) in heads(tokens, after) {
                found.push(Import { from: from.to_owned(), name, line });
            }
        }
        index += 1;
    }
    found
}

/// `mod NAME {`, seen from its first word.
fn inline_module(tokens: &[Token], index: usize) -> Option<&str> {
    match tokens.get(index..index + 3)? {
        [keyword, name, open] if keyword.is("mod") && open.is("{") => Some(&name.text),
        _ => None,
    }
}

/// From the `pub` of a `pub use` to its semicolon; any other `pub` stays where it is.
fn skip_reexport(tokens: &[Token], index: usize) -> usize {
    let mut next = index + 1;
    if tokens.get(next).is_some_and(|token| token.is("(")) {
        next = closing(tokens, next) + 1;
    }
    if !tokens.get(next).is_some_and(|token| token.is("use")) {
        return index;
    }
    (next..tokens.len()).find(|&end| tokens[end].is(";")).unwrap_or(index)
}

/// If a path begins here and leads to the root of the crate: the index of what it names there.
///
/// `depth` is how many modules lie between here and the root.
fn path_start(tokens: &[Token], index: usize, depth: usize) -> Option<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    if index > 0 && (is(index - 1, "::") || is(index - 1, ".")) {
        return None;
    }
    if is(index, "crate") && is(index + 1, "::") {
        return Some(index + 2);
    }
    let mut at = index;
    let mut left = depth;
    if is(at, "self") && is(at + 1, "::") {
        at += 2;
    }
    while is(at, "super") && is(at + 1, "::") && left > 0 {
        left -= 1;
        at += 2;
    }
    if at > index {
        return (left == 0).then_some(at);
    }
    let relative = depth == 0 && tokens[index].is_word() && !is(index, "use");
    (relative && is(index + 1, "::")).then_some(index)
}

/// The names right behind a path: one, or those of a group, or `*`.
pub(crate) fn heads(tokens: &[Token], at: usize) -> Vec<(String, usize)> {
    let Some(first) = tokens.get(at) else {
        return Vec::new();
    };
    if !first.is("{") {
        return vec![(first.text.clone(), first.line)];
    }
    let mut found = Vec::new();
    let mut depth = 0;
    for pair in tokens[at..=closing(tokens, at)].windows(2) {
        match pair[0].text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 1 && (pair[0].is("{") || pair[0].is(",")) && !pair[1].is("}") {
            found.push((pair[1].text.clone(), pair[1].line));
        }
    }
    found
}

/// What the `use` lines of a crate's root bring there: each name and the module it comes from.
///
/// A glob `use module::*` brings every public item of `files` at that module's top.
pub(crate) fn root_names(root: &Source, files: &[&Source]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let tokens = &root.tokens;
    let mut index = 0;
    while index < tokens.len() {
        if inline_module(tokens, index).is_some() {
            index = closing(tokens, index + 2);
        } else if tokens[index].is("use") {
            let end = (index..tokens.len()).find(|&at| tokens[at].is(";"));
            let end = end.unwrap_or(tokens.len());
            let mut leaves = Vec::new();
            use_tree(&tokens[index + 1..end], &mut Vec::new(), &mut leaves);
            for (name, path) in leaves {
                note_leaf(name, path, files, &mut names);
            }
            index = end;
        }
        index += 1;
    }
    names
}

fn note_leaf(
    name: String,
    path: Vec<String>,
    files: &[&Source],
    names: &mut BTreeMap<String, String>,
) {
    let Some(module) = path.into_iter().find(|part| part != "crate" && part != "self") else {
        return;
    };
    if name != "*" {
        names.insert(name, module);
        return;
    }
    let own = files.iter().filter(|file| file.module() == Some(vec![module.as_str()]));
    for item in own.flat_map(|file| public_items(&file.tokens)) {
        names.entry(item).or_insert_with(|| module.clone());
    }
}

/// The names of what is declared `pub` in a file.
fn public_items(tokens: &[Token]) -> Vec<String> {
    const KEYWORDS: [&str; 8] =
        ["struct", "enum", "trait", "type", "fn", "const", "static", "union"];
    let declares = |three: &[Token]| {
        three[0].is("pub") && KEYWORDS.contains(&three[1].text.as_str()) && three[2].is_word()
    };
    tokens.windows(3).filter(|three| declares(three)).map(|three| three[2].text.clone()).collect()
}

/// The leaves of a `use` tree: the name each one brings, and the path to it.
fn use_tree(tokens: &[Token], path: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    let depth = path.len();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            "::" => {}
            "{" => {
                let end = closing(tokens, index);
                for branch in split(&tokens[index + 1..end]) {
                    use_tree(branch, path, leaves);
                }
                path.truncate(depth);
                return;
            }
            "as" => {
                if let Some(last) = tokens.get(index + 1) {
                    leaves.push((last.text.clone(), path.clone()));
                }
                path.truncate(depth);
                return;
            }
            _ => path.push(token.text.clone()),
        }
        index += 1;
    }
    let name = match path.last() {
        Some(last) if last == "self" => path.get(path.len().saturating_sub(2)).cloned(),
        last => last.cloned(),
    };
    leaves.extend(name.map(|name| (name, path.clone())));
    path.truncate(depth);
}

/// Cuts at the commas that stand in no inner group.
fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token.is(",")
    });
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(format!("crates/x/src/{path}"), text);
        let show = |import: Import| format!("{}>{}@{}", import.from, import.name, import.line);
        imports(&source).into_iter().map(show).collect()
    }

    #[test]
    fn a_path_from_the_root_is_found_in_use_and_in_code() {
        assert_eq!(found("a.rs", "use crate::b::C;\nfn d() { crate::e::f() }"), ["a>b@1", "a>e@2"]);
        assert_eq!(found("a/b.rs", "pub(crate) fn c() -> crate::D {}"), ["a>D@1"]);
    }

    #[test]
    fn a_group_names_each_of_its_heads() {
        let text = "use crate::{\n    b::{C, D},\n    E,\n    f,\n};";
        assert_eq!(found("a.rs", text), ["a>b@2", "a>E@3", "a>f@4"]);
    }

    #[test]
    fn super_counts_from_where_it_stands() {
        assert_eq!(found("a.rs", "use super::b;"), ["a>b@1"]);
        assert_eq!(found("a/b.rs", "use super::c;"), Vec::<String>::new());
        assert_eq!(found("a/b.rs", "use super::super::c;"), ["a>c@1"]);
        assert_eq!(found("a.rs", "mod inner { use super::b; use super::super::c; }"), ["a>c@1"]);
        assert_eq!(found("a.rs", "mod inner { }\nuse super::c;"), ["a>c@2"]);
    }

    #[test]
    fn comments_strings_and_tests_name_nothing() {
        let text = "// crate::b\n/// [`crate::b`]\nconst A: &str = \"crate::b\";\n\
                    #[cfg(test)]\nmod tests { use crate::c; }";
        assert_eq!(found("a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn the_root_names_what_its_own_code_uses_but_not_what_it_passes_on() {
        let text = "mod a;\npub use a::B;\npub(crate) use c::D;\nfn main() { e::f() }\nuse g::H;";
        assert_eq!(found("main.rs", text), [">e@4", ">g@5"]);
        assert_eq!(found("lib.rs", "pub mod prelude { pub use crate::A; }"), ["prelude>A@1"]);
    }

    #[test]
    fn the_names_at_the_root_lead_to_their_modules() {
        let root = Source::new(
            "crates/x/src/lib.rs",
            "pub use a::{B, c::{D, E as F}, self}; use crate::g::H; pub use self::i::*;\n\
             mod prelude { pub use z::Z; }",
        );
        let glob = Source::new("crates/x/src/i.rs", "pub struct J; pub fn k() {} struct L;");
        let names = root_names(&root, &[&root, &glob]);
        let expected =
            [("B", "a"), ("D", "a"), ("F", "a"), ("H", "g"), ("J", "i"), ("a", "a"), ("k", "i")];
        let names: Vec<(&str, &str)> =
            names.iter().map(|(name, module)| (name.as_str(), module.as_str())).collect();
        assert_eq!(names, expected);
    }
}
