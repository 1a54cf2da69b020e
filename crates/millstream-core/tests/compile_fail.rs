//! What the bounds refuse, and that the compiler then says what to do.

#[test]
fn the_bounds_refuse_with_messages_worth_reading() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
