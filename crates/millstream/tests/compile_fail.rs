//! What the types of a dataflow refuse, and that the compiler then says what to do.

#[test]
fn what_cannot_run_does_not_compile_and_the_message_says_why() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
