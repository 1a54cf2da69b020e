//! The pages name tests that there are, and every test of a numbered behaviour has its line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tests::{read, root};

/// Pages that name tests.
const PAGES: [&str; 4] = ["architecture.md", "behaviours.md", "deviations.md", "guarantees.md"];

fn page(name: &str) -> String {
    let path = root().join("docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all functions that are compiled for tests only.
fn names() -> BTreeSet<String> {
    let sources = read().expect("the sources of the workspace can be read");
    let functions = sources.iter().flat_map(|source| {
        let tests = source.functions.iter().filter(|function| source.is_test(function.first));
        tests.map(|function| function.name.clone())
    });
    functions.collect()
}

/// What stands between backticks and reads like the name of a test: at least four words.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        text.split('_').count() >= 4
            && text.chars().all(|letter| {
                letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit()
            })
    })
}

/// The id of a behaviour that a test's name starts with.
fn id(name: &str) -> Option<String> {
    let (first, _) = name.split_once('_')?;
    let (letter, digits) = first.split_at_checked(1)?;
    let numbered = digits.len() == 3 && digits.chars().all(|digit| digit.is_ascii_digit());
    (numbered && letter.chars().all(|letter| letter.is_ascii_lowercase()))
        .then(|| first.to_ascii_uppercase())
}

/// The ids that have a line of their own on a page, each with how many.
fn ids(page: &str) -> BTreeMap<&str, usize> {
    let mut ids = BTreeMap::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("- **")
            && let Some((id, _)) = rest.split_once("**")
        {
            *ids.entry(id).or_default() += 1;
        }
    }
    ids
}

#[test]
fn every_test_that_a_page_names_exists() {
    let names = names();
    let mut lost = Vec::new();
    for name in PAGES {
        let text = page(name);
        let missing = named(&text).filter(|test| !names.contains(*test));
        lost.extend(missing.map(|test| format!("docs/{name} names `{test}`")));
    }
    assert!(lost.is_empty(), "there is no such test\n{}", lost.join("\n"));
}

#[test]
fn every_behaviour_has_one_line_and_a_test_and_no_test_is_without_a_line() {
    let text = page("behaviours.md");
    let told = ids(&text);
    assert!(told.values().all(|lines| *lines == 1), "an id has one line: {told:?}");
    let told: BTreeSet<String> = told.into_keys().map(str::to_owned).collect();
    let tested: BTreeSet<String> = names().iter().filter_map(|name| id(name)).collect();
    assert_eq!(told, tested, "ids with a line, and ids with a test");
}

#[test]
fn every_deviation_has_one_line_and_names_what_holds_instead() {
    let text = page("deviations.md");
    let told = ids(&text);
    assert!(!told.is_empty() && told.values().all(|lines| *lines == 1), "{told:?}");
    for line in text.lines().filter(|line| line.starts_with("- **")) {
        assert!(named(line).next().is_some(), "no test is named: {line}");
    }
    let behaviours = page("behaviours.md");
    let both: Vec<&str> = ids(&behaviours).into_keys().filter(|id| told.contains_key(id)).collect();
    assert_eq!(both, [""; 0], "what is kept is no deviation");
}

#[test]
fn a_name_is_told_from_other_words() {
    let text = "`a_watermark_only_rises` of `max_depth`, `A_B_C_D`, and `one two three four`";
    assert_eq!(named(text).collect::<Vec<_>>(), ["a_watermark_only_rises"]);
    assert_eq!(id("c061_ranges_are_disjoint").as_deref(), Some("C061"));
    assert_eq!((id("a_watermark_only_rises"), id("utf8_is_read")), (None, None));
}
