//! How a test tool says no: by a panic that points at the test.

use std::panic::panic_any;

/// Ends the test with these words.
#[track_caller]
pub(crate) fn refuse(words: impl Into<String>) -> ! {
    panic_any(words.into())
}
