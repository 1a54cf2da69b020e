//! How a test speaks to whoever runs it, also when it passes.

use std::io::{Write, stdout};

/// Prints a text as it is. A test's `println!` is shown only when it fails; this always is.
pub fn say(text: &str) {
    let mut out = stdout().lock();
    // Who has closed the output does not want to read it.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Says that a test cannot run here and why, in the form that `cargo xtask test` counts.
///
/// For tests with real components only. Where `CI` is set, `cargo xtask test` fails on it.
pub fn skip(reason: &str) {
    say(&format!("\nskipped: {reason}"));
}
