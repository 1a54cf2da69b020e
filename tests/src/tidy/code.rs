//! What code must not do.

use crate::import::heads;
use crate::token::{Token, closing};
use crate::{Place, Source};

/// Calls and macros that end the program or print, as tokens.
const BANNED: [&[&str]; 9] = [
    &[".", "unwrap", "("],
    &[".", "expect", "("],
    &["panic", "!"],
    &["todo", "!"],
    &["unimplemented", "!"],
    &["println", "!"],
    &["print", "!"],
    &["eprintln", "!"],
    &["eprint", "!"],
];

pub(super) fn banned_calls(source: &Source) -> Vec<(usize, String)> {
    if source.place() != Place::Library {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        let call = BANNED.iter().find(|call| begins_with(&source.tokens[index..], call));
        if let Some(call) = call.filter(|_| !source.is_test(token.line)) {
            found.push((token.line, format!("library code must not call `{}`", call.concat())));
        }
    }
    found
}

pub(super) fn lints_switched_off(source: &Source) -> Vec<(usize, String)> {
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let open = index + 1 + usize::from(begins_with(&tokens[index..], &["#", "!"]));
        let attribute = token.is("#") && tokens.get(open).is_some_and(|next| next.is("["));
        if !attribute || source.is_test(token.line) {
            continue;
        }
        for pair in tokens[open..=closing(tokens, open)].windows(2) {
            if (pair[0].is("allow") || pair[0].is("expect")) && pair[1].is("(") {
                found.push((token.line, format!("`{}` switches a lint off", pair[0].text)));
            }
        }
    }
    found
}

/// Without `biased`, `select!` looks at its branches in a random order: no run could be repeated.
pub(super) fn unbiased_selects(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, token) in source.tokens.iter().enumerate() {
        let here = &source.tokens[index..];
        let invoked = begins_with(here, &["select", "!"]) && here.len() > 3;
        if invoked && !here[3].is("biased") {
            found.push((token.line, "`select!` must begin with `biased`".to_owned()));
        }
    }
    found
}

/// The maps and sets of std shuffle their entries anew in each run, also if only by accident.
pub(super) fn random_maps(source: &Source) -> Vec<(usize, String)> {
    if source.place() != Place::Library {
        return Vec::new();
    }
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for index in 0..tokens.len() {
        if !begins_with(&tokens[index..], &["std", "::", "collections", "::"]) {
            continue;
        }
        for (name, line) in heads(tokens, index + 4) {
            if matches!(name.as_str(), "HashMap" | "HashSet") && !source.is_test(line) {
                found.push((line, format!("a `{name}` of std has a random order")));
            }
        }
    }
    found
}

pub(super) fn names_of_tests(source: &Source) -> Vec<(usize, String)> {
    let tests = source.test_code.functions.iter();
    let bad = tests.filter(|(_, name)| name == "test" || name.starts_with("test_"));
    bad.map(|(line, name)| (*line, format!("`{name}` is no sentence: say what holds"))).collect()
}

fn begins_with(tokens: &[Token], pattern: &[&str]) -> bool {
    tokens.len() >= pattern.len() && tokens.iter().zip(pattern).all(|(token, text)| token.is(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(text: &str) -> Source {
        Source::new("crates/millstream-core/src/a.rs", text)
    }

    #[test]
    fn every_banned_call_is_found_in_library_code() {
        for call in BANNED {
            let text = format!("fn a() {{ b{}(c) }}", call.join(" ").trim_end_matches('('));
            let text = text.replace(" b", if call[0] == "." { " b" } else { " " });
            assert_eq!(banned_calls(&library(&text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn banned_calls_in_tests_comments_and_tools_are_none() {
        let text = "/// a.unwrap()\n#[cfg(test)]\nmod tests { fn a() { b.unwrap(); panic!() } }\n\
                    fn c() { d(\"println!\"); e.unwrap_or(1); f.expect_more(1); }";
        assert_eq!(banned_calls(&library(text)), []);
        assert_eq!(banned_calls(&Source::new("crates/xtask/src/a.rs", "fn a() { panic!() }")), []);
        assert_eq!(banned_calls(&Source::new("examples/a.rs", "fn a() { println!() }")), []);
    }

    #[test]
    fn every_lint_switched_off_outside_tests_counts() {
        let text = "#![allow(dead_code)]\n#[expect(unused, reason = \"a\")]\nfn a() {}\n\
                    #[cfg_attr(test, allow(unused))]\nfn b() {}\n\
                    #[cfg(test)]\nmod tests { #[allow(unused)] fn c() {} }\n\
                    #[derive(Debug)]\nstruct D;";
        let found: Vec<usize> =
            lints_switched_off(&library(text)).into_iter().map(|(line, _)| line).collect();
        assert_eq!(found, [1, 2, 4]);
    }

    #[test]
    fn a_select_without_biased_is_found() {
        let select = |head: &str| library(&format!("fn a() {{ select! {{ {head} b => c }} }}"));
        assert_eq!(unbiased_selects(&select("")).len(), 1);
        assert_eq!(unbiased_selects(&select("biased;")), []);
    }

    #[test]
    fn a_map_of_a_random_order_is_found_outside_of_tests() {
        let lines = |text| random_maps(&library(text)).into_iter().map(|found| found.0).collect();
        let text = "use std::collections::{\n    BTreeMap,\n    HashMap,\n    HashSet,\n};";
        let found: Vec<usize> = lines(text);
        assert_eq!(found, [3, 4]);
        let found: Vec<usize> = lines("fn a() -> std::collections::HashSet<u8> {}");
        assert_eq!(found, [1]);
        let innocent = "use hashbrown::HashMap;\nuse std::collections::BTreeMap;\n\
                        #[cfg(test)]\nmod tests { use std::collections::HashMap; }";
        let found: Vec<usize> = lines(innocent);
        assert!(found.is_empty());
    }

    #[test]
    fn a_test_whose_name_begins_with_test_is_found() {
        let of_test = |name| names_of_tests(&library(&format!("#[actix::test]\nfn {name}() {{}}")));
        assert_eq!(of_test("test_a").len(), 1);
        assert_eq!(of_test("tests_pass"), []);
        assert_eq!(names_of_tests(&library("fn test_a() {}")), []);
    }
}
