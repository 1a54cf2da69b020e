//! Limits on the length of files, functions and lines.

use crate::Source;

const FILE_LINES: usize = 400;
const FILE_LINES_WITH_TESTS: usize = 600;
const FUNCTION_LINES: usize = 60;
const TEST_FUNCTION_LINES: usize = 100;
const LINE_CHARACTERS: usize = 100;

pub(super) fn files(source: &Source) -> Vec<(usize, String)> {
    let all = source.kinds.len();
    let own = (1..=all).filter(|&line| !source.is_test(line)).count();
    if own > FILE_LINES {
        vec![(1, format!("{own} lines without tests, at most {FILE_LINES}"))]
    } else if all > FILE_LINES_WITH_TESTS {
        vec![(1, format!("{all} lines, at most {FILE_LINES_WITH_TESTS}"))]
    } else {
        Vec::new()
    }
}

pub(super) fn functions(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for function in &source.functions {
        let test = source.is_test(function.first);
        let limit = if test { TEST_FUNCTION_LINES } else { FUNCTION_LINES };
        let (name, lines) = (&function.name, function.lines());
        if lines > limit {
            found.push((function.first, format!("`{name}` has {lines} lines, at most {limit}")));
        }
    }
    found
}

pub(super) fn lines(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let characters = line.chars().count();
        if characters > LINE_CHARACTERS && !line.contains("://") {
            found.push((index + 1, format!("{characters} characters")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(text: String) -> Source {
        Source::new("crates/millstream-core/src/a.rs", text)
    }

    fn function(lines: usize) -> String {
        format!("fn a() {{{}}}\n", "\n".repeat(lines - 1))
    }

    #[test]
    fn a_file_of_400_lines_is_long_enough() {
        assert_eq!(files(&library("\n".repeat(400))), []);
        assert_eq!(files(&library("\n".repeat(401))).len(), 1);
    }

    #[test]
    fn tests_may_take_a_file_to_600_lines() {
        let with_tests = |lines: usize| {
            format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(lines - 4))
        };
        assert_eq!(files(&library(with_tests(600))), []);
        assert_eq!(files(&library(with_tests(601))).len(), 1);
        assert_eq!(files(&Source::new("tests/tests/a.rs", "\n".repeat(600))), []);
        assert_eq!(files(&Source::new("tests/tests/a.rs", "\n".repeat(601))).len(), 1);
    }

    #[test]
    fn a_function_of_60_lines_is_long_enough() {
        assert_eq!(functions(&library(function(60))), []);
        let found = functions(&library(format!("\n{}", function(61))));
        assert_eq!(found, [(2, "`a` has 61 lines, at most 60".to_owned())]);
    }

    #[test]
    fn a_function_of_a_test_may_have_100_lines() {
        let test = |lines| library(format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(lines)));
        assert_eq!(functions(&test(100)), []);
        assert_eq!(functions(&test(101)).len(), 1);
    }

    #[test]
    fn a_line_is_measured_in_characters_and_may_hold_an_address() {
        assert_eq!(lines(&library("ß".repeat(100))), []);
        assert_eq!(lines(&library("ß".repeat(101))).len(), 1);
        assert_eq!(lines(&library(format!("// https://{}", "x".repeat(100)))), []);
    }
}
