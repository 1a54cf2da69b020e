//! Proves that each small example runs, says what it is there to show, and leaves nothing behind.

mod program;

use program::{Checked, empty_folder};

/// Runs an example and compares all that it prints.
fn check(name: &str, expected: &[&str]) -> Checked {
    let folder = empty_folder(&format!("small_{name}"))?;
    let said = program::run(name, &[], &folder)?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{name}");
    assert_eq!(said.out.lines().collect::<Vec<_>>(), expected, "{name}");
    assert_eq!(folder.read_dir()?.count(), 0, "{name}");
    Ok(())
}

#[test]
fn hello_greets_all_that_have_a_name() -> Checked {
    let greetings = ["Hello, mill!", "Hello, stream!", "Hello, world!"];
    check("hello", &[&greetings[..], &["3 greetings by job \"hello\""]].concat())
}

#[test]
fn word_count_counts_each_word_once() -> Checked {
    let often = ["8 the", "2 stone", "2 stream", "2 wheel"];
    let once = ["and", "by", "corn", "drives", "grinds", "mill", "stands", "turns"];
    let once = once.map(|word| format!("1 {word}"));
    let once: Vec<&str> = once.iter().map(String::as_str).collect();
    check("word_count", &[&often[..], &once, &["22 words, 12 of them different"]].concat())
}

#[test]
fn own_operator_passes_on_the_last_run_too() -> Checked {
    let runs = [(3, 3), (4, 2), (3, 1), (5, 4)];
    let lines = runs.map(|(level, times)| format!("level {level} for {times} readings"));
    check("own_operator", &lines.each_ref().map(String::as_str))
}

#[test]
fn own_source_reads_every_line_of_every_split() -> Checked {
    let upper = ["gate opened", "wheel started", "gate closed"];
    let upper = upper.map(|line| format!("upper mill: {line}"));
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    check("own_source", &[&upper[..], &["lower mill: wheel started"]].concat())
}

#[test]
fn fan_out_gives_every_record_to_both_streams_and_loses_no_bad_line() -> Checked {
    let means = ["means", "  a: 222 degrees on average", "  b: 245 degrees on average"];
    let hot = ["alarms", "  a is at 265 degrees", "  b is at 250 degrees"];
    let bad = ["  cannot read \"a hot\"", "  cannot read \"c\""];
    check("fan_out", &[&means[..], &hot, &bad].concat())
}

#[test]
fn sessions_end_after_a_break_and_take_what_is_late() -> Checked {
    let ada = ["ada from 0 to 20, clicks: 3", "ada from 55 to 55, clicks: 1"];
    let bob = ["bob from 36 to 36, clicks: 1", "bob from 5 to 5, clicks: 1"];
    check("sessions", &[ada, bob].concat())
}

#[test]
fn reminders_come_by_the_clock_unless_it_is_done() -> Checked {
    check("reminders", &["remember: open the gate", "remember: close the gate"])
}
