//! Runs parts one after the other, says what happens, and stops at the first that fails.

use std::fmt;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::part::{Call, Part, Plan};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// How a part ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It passed; what its tests counted.
    Passed(Tally),
    /// There is nothing to run yet, and why.
    Nothing(&'static str),
    /// It failed, and why.
    Failed(String),
}

/// Runs the parts in order; true when all have passed.
///
/// Where `in_ci` is set, a test that was skipped is a failure: there everything must be at hand.
///
/// # Errors
///
/// When nothing can be written to `out`, or a part cannot be planned or started.
pub(crate) fn run(
    parts: &[&Part],
    in_ci: bool,
    mut execute: impl FnMut(&Part) -> io::Result<Outcome>,
    out: &mut impl Write,
) -> io::Result<bool> {
    let begin = Instant::now();
    let (mut count, mut total) = (0, Tally::default());
    for part in parts {
        let part_begin = Instant::now();
        writeln!(out, "== {}: {}", part.name, part.what)?;
        out.flush()?;
        let mut outcome = execute(part)?;
        if let Outcome::Passed(tally) = &outcome
            && in_ci
            && !tally.skipped.is_empty()
        {
            outcome = Outcome::Failed(format!("{tally}; where CI is set nothing may be skipped"));
        }
        let time = Seconds(part_begin.elapsed());
        match outcome {
            Outcome::Passed(tally) => {
                count += 1;
                total.add(&tally);
                writeln!(out, "== {}: passed in {time}\n", part.name)?;
            }
            Outcome::Nothing(why) => writeln!(out, "== {}: nothing to do: {why}\n", part.name)?,
            Outcome::Failed(why) => {
                let name = part.name;
                write!(out, "== {name}: failed after {time}: {why}; passed before: {count}; ")?;
                writeln!(out, "to repeat: cargo xtask test {name}")?;
                return Ok(false);
            }
        }
    }
    let time = Seconds(begin.elapsed());
    let passed = match count {
        0 => "nothing to do".to_owned(),
        1 => "1 part passed".to_owned(),
        _ => format!("all {count} parts passed"),
    };
    let skipped = if total.skipped.is_empty() { String::new() } else { format!("; {total}") };
    writeln!(out, "{passed} in {time}, {} tests{skipped}", total.passed)?;
    Ok(true)
}

/// Runs what a part runs in this workspace, its output passed through as it comes.
pub(crate) fn execute(workspace: &Workspace, part: &Part) -> io::Result<Outcome> {
    let call = match (part.plan)(workspace)? {
        Plan::Run(call) => call,
        Plan::Nothing(why) => return Ok(Outcome::Nothing(why)),
    };
    writeln!(io::stdout(), "{}", shown(&call))?;
    let mut child = Command::new(&workspace.cargo)
        .args(&call.arguments)
        .envs(call.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&workspace.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut tally = Tally::default();
    if let Some(mut output) = child.stdout.take() {
        pass_through(&mut output, &mut io::stdout(), &mut tally)?;
    }
    let status = child.wait()?;
    Ok(if !status.success() {
        Outcome::Failed(format!("cargo ended with {status}"))
    } else if call.is_test && tally.passed == 0 {
        Outcome::Failed("not one test ran".to_owned())
    } else {
        Outcome::Passed(tally)
    })
}

/// A call as one could type it.
fn shown(call: &Call) -> String {
    let mut text = String::from("   ");
    for (name, value) in &call.variables {
        text.push_str(&format!(" {name}={:?}", value.to_string_lossy().trim()));
    }
    text + " cargo " + &call.arguments.join(" ")
}

/// Writes at once whatever can be read, counting on the way.
fn pass_through(from: &mut impl Read, to: &mut impl Write, tally: &mut Tally) -> io::Result<()> {
    let mut buffer = [0; 8192];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        tally.take(&buffer[..length]);
        to.write_all(&buffer[..length])?;
        to.flush()?;
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let digits = if seconds < 10.0 { 1 } else { 0 };
        write!(f, "{seconds:.digits$} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [Part; 3] = [part("a"), part("b"), part("c")];

    const fn part(name: &'static str) -> Part {
        Part { name, what: "something", plan: |_| Ok(Plan::Nothing("")) }
    }

    fn passed(output: &str) -> Outcome {
        let mut tally = Tally::default();
        tally.take(output.as_bytes());
        Outcome::Passed(tally)
    }

    /// Runs all three parts; what was run, whether it passed, and the last line.
    fn run_all(in_ci: bool, outcome: impl Fn(&str) -> Outcome) -> (String, bool, String) {
        let mut ran = String::new();
        let mut out = Vec::new();
        let execute = |part: &Part| {
            ran.push_str(part.name);
            Ok(outcome(part.name))
        };
        let parts: Vec<&Part> = PARTS.iter().collect();
        let good = run(&parts, in_ci, execute, &mut out).expect("a vector takes every byte");
        let text = String::from_utf8(out).expect("only text is written");
        (ran, good, text.lines().last().unwrap_or_default().to_owned())
    }

    #[test]
    fn all_parts_run_and_the_last_line_counts_them() {
        let (ran, good, last) = run_all(true, |_| passed("test result: ok. 4 passed\n"));
        assert_eq!((ran.as_str(), good), ("abc", true));
        assert_eq!(last, "all 3 parts passed in 0.0 s, 12 tests");
    }

    #[test]
    fn the_first_part_that_fails_is_the_last_one_that_runs() {
        let fail_b = |name: &str| match name {
            "b" => Outcome::Failed("cargo is ill".to_owned()),
            _ => passed(""),
        };
        let (ran, good, last) = run_all(false, fail_b);
        assert_eq!((ran.as_str(), good), ("ab", false));
        assert!(
            last.starts_with("== b: failed after 0.0 s: cargo is ill; passed before: 1;"),
            "{last}"
        );
    }

    #[test]
    fn a_skipped_test_is_said_at_the_end_and_in_ci_fails() {
        let skip = |name: &str| passed(if name == "b" { "skipped: no redis-server\n" } else { "" });
        let (_, good, last) = run_all(false, skip);
        assert!(good && last.ends_with("; 1 skipped: no redis-server"), "{last}");
        let (ran, good, last) = run_all(true, skip);
        assert_eq!((ran.as_str(), good), ("ab", false));
        assert!(last.contains("1 skipped: no redis-server; where CI is set"), "{last}");
    }

    #[test]
    fn a_part_with_nothing_to_do_is_not_counted_as_passed() {
        let nothing = |name: &str| match name {
            "c" => Outcome::Nothing("there is none yet"),
            _ => passed(""),
        };
        let (_, good, last) = run_all(true, nothing);
        assert!(good && last.starts_with("all 2 parts passed"), "{last}");
    }

    #[test]
    fn output_is_passed_through_as_it_is() {
        let text = b"test a ... ok\n\xFF\ntest result: ok. 1 passed; 0 failed";
        let (mut copy, mut tally) = (Vec::new(), Tally::default());
        pass_through(&mut text.as_slice(), &mut copy, &mut tally).expect("memory has no faults");
        assert_eq!(copy, text);
    }
}
