//! Which lines of a file are compiled only for tests.

use crate::token::{Token, closing, item_end};

/// The test code of one file.
#[derive(Default)]
pub(crate) struct TestCode {
    /// First and last line of each part, counted from 1.
    pub(crate) spans: Vec<(usize, usize)>,
    /// The functions that are tests: line and name.
    pub(crate) functions: Vec<(usize, String)>,
    /// Modules in files of their own that are declared for tests only.
    pub(crate) modules: Vec<String>,
    /// The file says of itself that it is for tests only.
    pub(crate) whole: bool,
}

/// Finds what is marked `#[test]`, `#[cfg(test)]` or the like.
pub(crate) fn find(tokens: &[Token]) -> TestCode {
    let mut found = TestCode::default();
    let mut index = 0;
    while index < tokens.len() {
        let inner = next_is(tokens, index + 1, "!");
        let open = index + 1 + usize::from(inner);
        if !tokens[index].is("#") || !next_is(tokens, open, "[") {
            index += 1;
            continue;
        }
        let close = closing(tokens, open);
        if marks_test(&tokens[open + 1..close]) {
            if inner {
                found.whole = true;
            } else {
                note_item(tokens, index, close + 1, &mut found);
            }
        }
        index = close + 1;
    }
    found
}

/// Notes the item whose attributes begin at `from`.
fn note_item(tokens: &[Token], from: usize, after: usize, found: &mut TestCode) {
    let mut start = after;
    while next_is(tokens, start, "#") && next_is(tokens, start + 1, "[") {
        start = closing(tokens, start + 1) + 1;
    }
    let end = item_end(tokens, start);
    if let [.., keyword, name, last] = &tokens[start.min(end)..=end]
        && keyword.is("mod")
        && last.is(";")
    {
        found.modules.push(name.text.clone());
    }
    if !tokens[from + 2].is("cfg")
        && let Some(at) = (start..end).find(|&at| tokens[at].is("fn"))
    {
        found.functions.push((tokens[at].line, tokens[at + 1].text.clone()));
    }
    found.spans.push((tokens[from].line, tokens[end].line));
}

/// Whether the inside of an attribute is `test`, `some::test`, or a `cfg` that needs `test`.
fn marks_test(attribute: &[Token]) -> bool {
    if attribute.first().is_some_and(|first| first.is("cfg")) {
        return needs_test(attribute);
    }
    let path = attribute.iter().take_while(|token| !token.is("(")).last();
    path.is_some_and(|last| last.is("test"))
}

/// Whether `test` stands in a predicate outside of every `not` and `any`.
fn needs_test(predicate: &[Token]) -> bool {
    let mut groups: Vec<&str> = Vec::new();
    for (index, token) in predicate.iter().enumerate() {
        match token.text.as_str() {
            "(" => groups.push(&predicate[index.saturating_sub(1)].text),
            ")" => drop(groups.pop()),
            "test" if !groups.contains(&"not") && !groups.contains(&"any") => return true,
            _ => {}
        }
    }
    false
}

fn next_is(tokens: &[Token], index: usize, text: &str) -> bool {
    tokens.get(index).is_some_and(|token| token.is(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    fn spans(code: &str) -> Vec<(usize, usize)> {
        find(&tokens(code)).spans
    }

    #[test]
    fn the_functions_that_are_tests_are_named() {
        let code = "#[cfg(test)]\nmod tests {\n fn a() {}\n #[test]\n fn b() {}\n}";
        assert_eq!(find(&tokens(code)).functions, [(5, "b".to_owned())]);
    }

    #[test]
    fn a_test_module_and_a_test_function_are_found() {
        let code =
            "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n#[actix::test]\nasync fn c() {}";
        assert_eq!(spans(code), [(2, 5), (6, 7)]);
    }

    #[test]
    fn what_is_compiled_without_tests_too_is_not_test_code() {
        assert_eq!(spans("#[cfg(not(test))]\nfn a() {}"), []);
        assert_eq!(spans("#[cfg(any(test, unix))]\nfn a() {}"), []);
        assert_eq!(spans("#[derive(Debug)]\nstruct A;"), []);
        assert_eq!(spans("#[cfg(all(any(test, unix), unix))]\nfn a() {}"), []);
        assert_eq!(spans("#[cfg(all(not(loom), test))]\nmod a {}"), [(1, 2)]);
    }

    #[test]
    fn other_attributes_between_do_not_hide_it() {
        assert_eq!(spans("#[test]\n#[should_panic]\nfn a() {\n}\nfn b() {}"), [(1, 4)]);
    }

    #[test]
    fn a_test_module_in_its_own_file_is_named() {
        let found = find(&tokens("#[cfg(test)]\nmod b;\n#[cfg(test)]\npub(crate) mod c;"));
        assert_eq!(found.modules, ["b", "c"]);
        assert!(!found.whole);
        assert!(find(&tokens("#![cfg(test)]\nfn a() {}")).whole);
    }
}
