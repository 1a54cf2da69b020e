//! User work of a chosen length: a chain of multiplications that the processor cannot shorten.

/// Does `multiplications` multiplications, each of which needs the result of the one before.
///
/// The length is a count and not a time, so that both sides do the same work on the same machine;
/// who asks for rounds has measured how many of them take as long as is wanted.
#[inline]
pub fn work(value: u64, multiplications: u32) -> u64 {
    let mut state = value;
    for _ in 0..multiplications {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_work_changes_nothing() {
        assert_eq!(work(17, 0), 17);
    }

    #[test]
    fn work_in_two_parts_is_the_same_work() {
        assert_eq!(work(work(17, 3), 4), work(17, 7));
        assert_ne!(work(17, 3), work(17, 4));
    }
}
