//! A value as text for an error message, through its `Serialize`, in the syntax of Rust's `Debug`.
//!
//! Everything that can reach an error message is a record and can be serialised, so no user has to
//! derive `Debug` for our sake. The text is cut while it is made: a value of a gigabyte costs as
//! much as one of two hundred characters.

mod render;

use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use render::{Halt, Render};

/// How many characters of a record an error message shows.
pub const RECORD_IN_ERROR: usize = 200;

/// The value as text, cut after [`RECORD_IN_ERROR`] characters, where a `…` then stands.
///
/// To `serde` an array is a tuple, and so it is shown as one.
///
/// It never fails: a value that cannot be serialised, or panics while it is, is shown as far as it
/// went, and then why it went no further.
///
/// # Examples
///
/// ```
/// use millstream_core::{Volatile, describe};
///
/// #[derive(serde::Serialize)]
/// struct Flight<'a> {
///     origin: &'a str,
///     dep_delay: Option<i32>,
/// }
///
/// let flight = Flight { origin: "EWR", dep_delay: Some(-4) };
/// assert_eq!(describe(&flight), r#"Flight { origin: "EWR", dep_delay: Some(-4) }"#);
/// assert_eq!(describe(&vec![0; 1_000]).chars().count(), 201);
/// assert!(describe(&(1, Volatile(()))).starts_with("(1, <cannot be shown: "));
/// ```
pub fn describe<T: Serialize + ?Sized>(value: &T) -> String {
    let mut text = Text::default();
    // The text alone is seen after a panic, and it is never half-written.
    let shown = catch_unwind(AssertUnwindSafe(|| value.serialize(Render(&mut text))));
    if !text.full {
        // When this does not fit either, the `…` says so.
        let _ = match shown {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Halt::Refused(why))) => write!(text, "<cannot be shown: {why}>"),
            Ok(Err(Halt::Full)) => Ok(()),
            Err(payload) => {
                // A user's value, which may panic when it is dropped.
                std::mem::forget(payload);
                write!(text, "<cannot be shown: its `Serialize` panicked>")
            }
        };
    }
    text.finish()
}

/// Text that takes [`RECORD_IN_ERROR`] characters and then fails.
#[derive(Default)]
struct Text {
    text: String,
    chars: usize,
    full: bool,
}

impl Text {
    fn finish(mut self) -> String {
        if self.full {
            self.text.push('…');
        }
        self.text
    }
}

impl Write for Text {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        for char in piece.chars() {
            if self.chars == RECORD_IN_ERROR {
                self.full = true;
                return Err(fmt::Error);
            }
            self.text.push(char);
            self.chars += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
