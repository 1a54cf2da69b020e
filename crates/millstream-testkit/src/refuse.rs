//! How a test tool says no: by a failed assertion that points at the test.

/// Ends the test with these words, which must not be empty.
#[track_caller]
pub(crate) fn refuse(words: impl Into<String>) -> ! {
    let words = words.into();
    assert!(words.is_empty(), "{words}");
    unreachable!("a refusal has words");
}
