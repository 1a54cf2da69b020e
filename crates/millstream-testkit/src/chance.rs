//! Numbers that look like chance and follow from a seed.

use std::ops::RangeInclusive;

/// A source of numbers that all follow from one seed, the same on every machine and in every build.
///
/// For tests only: whoever knows one number knows all that follow.
///
/// # Examples
///
/// ```
/// use millstream_testkit::Chance;
///
/// let (mut one, mut two) = (Chance::of(7), Chance::of(7));
/// assert_eq!(one.number(), two.number());
/// assert!((1..=3).contains(&one.within(1..=3)));
/// ```
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

/// The golden ratio in 64 bits: an odd step that visits every state once before it repeats.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Chance {
    /// All that follows from this seed. Neighbouring seeds have nothing in common.
    pub const fn of(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number: a count in large steps, whose bits are then mixed.
    pub const fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `n`; zero if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = u128::from(self.number()) * (n as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number of this range.
    pub fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        let (first, last) = range.into_inner();
        first + self.below(last.saturating_sub(first).saturating_add(1))
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these; none if there is none.
    pub fn one_of<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        things.get(self.below(things.len()))
    }
}

/// Spreads each bit of a number over all of them (the finaliser of SplitMix64).
pub(crate) const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_one_sequence_and_two_seeds_are_two() {
        let numbers = |seed| {
            let mut chance = Chance::of(seed);
            [(); 8].map(|()| chance.number())
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        // Known from elsewhere: the first number of seed 0.
        assert_eq!(numbers(0)[0], 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn every_number_of_a_range_comes_and_no_other() {
        let mut chance = Chance::of(3);
        let mut seen = [0; 5];
        for _ in 0..1_000 {
            seen[chance.within(1..=3)] += 1;
        }
        assert_eq!((seen[0], seen[4]), (0, 0));
        assert!(seen[1..=3].iter().all(|n| *n > 250), "{seen:?}");
        assert_eq!(chance.below(0), 0);
        assert_eq!(chance.one_of::<u8>(&[]), None);
    }
}
