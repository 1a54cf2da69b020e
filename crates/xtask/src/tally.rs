//! Counts, from what the tests print, how many there were and which could not run here.

use std::collections::BTreeMap;
use std::fmt;

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: usize,
    /// How many tests could not run, by reason.
    pub(crate) skipped: BTreeMap<String, usize>,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
}

impl Tally {
    /// Takes the next bytes of what a child prints, however they are cut.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                self.take_line(line.trim());
            } else {
                self.line.push(byte);
            }
        }
    }

    fn take_line(&mut self, line: &str) {
        if let Some(reason) = line.strip_prefix("skipped: ") {
            *self.skipped.entry(reason.to_owned()).or_default() += 1;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let count =
                result.split(['.', ';']).find_map(|part| part.trim().strip_suffix(" passed"));
            self.passed += count.and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        }
    }

    /// Adds what another part counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        for (reason, count) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += count;
        }
    }
}

/// The skipped tests: `3 skipped: no redis-server`. Empty when there are none.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, count)) in self.skipped.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{count} skipped: {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(pieces: &[&str]) -> Tally {
        let mut tally = Tally::default();
        pieces.iter().for_each(|piece| tally.take(piece.as_bytes()));
        tally
    }

    #[test]
    fn tests_are_counted_however_the_output_is_cut() {
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n";
        assert_eq!(tally(&[line, line]).passed, 24);
        assert_eq!(tally(&["test res", "ult: ok. 1", "2 passed; 0 failed\n"]).passed, 12);
        assert_eq!(tally(&["test result: FAILED. 3 passed; 1 failed\n"]).passed, 3);
        assert_eq!(tally(&["test result is 5 passed\n"]).passed, 0);
    }

    #[test]
    fn skipped_tests_are_counted_by_reason() {
        let found =
            tally(&["skipped: no b\n", "test a ... \nskipped: no a\nok\n", "skipped: no b\n"]);
        assert_eq!(found.to_string(), "1 skipped: no a, 2 skipped: no b");
        assert_eq!(tally(&["nothing was skipped: all ran\n"]).to_string(), "");
    }

    #[test]
    fn two_tallies_add_up() {
        let mut sum = tally(&["skipped: no a\ntest result: ok. 1 passed\n"]);
        sum.add(&tally(&["skipped: no a\ntest result: ok. 2 passed\n"]));
        assert_eq!((sum.passed, sum.to_string().as_str()), (3, "2 skipped: no a"));
    }
}
