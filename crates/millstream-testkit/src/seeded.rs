//! Who goes first, as a seed says, with a record of what it has said.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use millstream_runtime::Schedule;

use crate::chance::{Chance, mix};

/// One thing that a schedule has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A task yields so often before its next turn, or blocking work before it is done.
    Yields(u32),
    /// Of so many things that could be next it is this one.
    Pick {
        /// How many there were.
        of: usize,
        /// Which it is, from 0.
        chosen: usize,
    },
}

/// What a schedule has decided, all of it as a hash and the beginning in words.
///
/// A schedule is asked whenever chance could have a say, and of how many things one is chosen
/// depends on all that happened before. So two runs with the same trace were the same run.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trace {
    hash: u64,
    decisions: u64,
    first: Vec<Decision>,
}

/// How many decisions a trace keeps in words.
const KEPT: usize = 4_096;

impl Trace {
    /// How many decisions there were.
    pub const fn decisions(&self) -> u64 {
        self.decisions
    }

    /// All of them, as one number.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// The first of them; at most 4,096 are kept.
    pub fn first(&self) -> &[Decision] {
        &self.first
    }

    /// The number, from 0, of the first decision that is not the same in another trace: in the
    /// beginning that is kept, if it is there.
    pub fn parts_from(&self, other: &Self) -> Option<usize> {
        if self == other {
            return None;
        }
        let pairs = self.first.iter().zip(&other.first);
        Some(pairs.take_while(|(one, other)| one == other).count())
    }

    fn note(&mut self, decision: Decision) {
        let number = match decision {
            Decision::Yields(times) => u64::from(times),
            Decision::Pick { of, chosen } => ((of as u64) << 32) | (chosen as u64) | (1 << 63),
        };
        self.hash = mix(self.hash ^ mix(number.wrapping_add(1)));
        self.decisions += 1;
        if self.first.len() < KEPT {
            self.first.push(decision);
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} decisions, {:016x}", self.decisions, self.hash)
    }
}

impl fmt::Debug for Trace {
    /// In one line, since traces are compared whole and are long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = &self.first[..self.first.len().min(8)];
        write!(f, "Trace({self}; {first:?} …)")
    }
}

/// A schedule that follows from a seed.
///
/// # Examples
///
/// ```
/// use millstream_runtime::Schedule;
/// use millstream_testkit::Seeded;
///
/// let (one, two) = (Seeded::of(7), Seeded::of(7));
/// assert_eq!((one.yields(), one.pick(5)), (two.yields(), two.pick(5)));
/// assert_eq!(one.trace(), two.trace());
/// ```
#[derive(Debug)]
pub struct Seeded(Mutex<(Chance, Trace)>);

/// How often a task yields, each as likely as it stands here often: mostly not at all, so that
/// tasks get far, and now and then so often that others overtake it.
const YIELDS: [u32; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3];

impl Seeded {
    /// The schedule of this seed.
    pub fn of(seed: u64) -> Self {
        Self(Mutex::new((Chance::of(seed), Trace::default())))
    }

    /// What it has decided so far.
    pub fn trace(&self) -> Trace {
        self.parts().1.clone()
    }

    fn parts(&self) -> MutexGuard<'_, (Chance, Trace)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Schedule for Seeded {
    fn yields(&self) -> u32 {
        let (chance, trace) = &mut *self.parts();
        let times = chance.one_of(&YIELDS).copied().unwrap_or(0);
        trace.note(Decision::Yields(times));
        times
    }

    fn pick(&self, n: usize) -> usize {
        let (chance, trace) = &mut *self.parts();
        // Of one thing nothing is to be decided.
        let chosen = if n > 1 { chance.below(n) } else { 0 };
        trace.note(Decision::Pick { of: n, chosen });
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(seed: u64) -> Seeded {
        let schedule = Seeded::of(seed);
        for n in 0..2_000 {
            assert!(schedule.yields() <= 3);
            assert!(schedule.pick(1 + n % 5) < 1 + n % 5);
        }
        schedule
    }

    #[test]
    fn one_seed_is_one_trace_and_two_seeds_are_two() {
        assert_eq!(asked(1).trace(), asked(1).trace());
        assert_eq!(asked(1).trace().parts_from(&asked(1).trace()), None);
        let (one, two) = (asked(1).trace(), asked(2).trace());
        assert_ne!(one.hash(), two.hash());
        let parts = one.parts_from(&two).unwrap();
        assert_eq!(one.first()[..parts], two.first()[..parts]);
        assert_ne!(one.first()[parts], two.first()[parts]);
    }

    #[test]
    fn most_turns_come_at_once_and_some_late() {
        let mut seen = [0; 4];
        for decision in asked(3).trace().first() {
            if let Decision::Yields(times) = decision {
                seen[*times as usize] += 1;
            }
        }
        assert!(seen[0] > 900 && seen.iter().all(|n| *n > 50), "{seen:?}");
    }

    #[test]
    fn a_trace_keeps_the_beginning_and_counts_the_rest() {
        let schedule = Seeded::of(0);
        (0..10_000).for_each(|_| _ = schedule.pick(1));
        let trace = schedule.trace();
        assert_eq!((trace.decisions(), trace.first().len()), (10_000, KEPT));
        assert_eq!(trace.first()[0], Decision::Pick { of: 1, chosen: 0 });
    }
}
