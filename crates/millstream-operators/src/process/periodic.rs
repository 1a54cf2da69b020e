//! Ticks: when a timer that comes again and again is set next, and what becomes of missed ones.

use std::time::Duration;

use millstream_core::Timestamp;

/// What becomes of ticks whose time has passed before they could be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missed {
    /// Each comes, one after the other, with its own time.
    Each,
    /// They come as one, which knows how many they are.
    Coalesced,
    /// They do not come. A tick that is late by less than a period is not missed.
    Skipped,
}

/// Ticks at a fixed rate: the k-th at a start plus k periods, however long handling takes.
///
/// It says what a timer that has fired stands for and when it is to be set again; a process keeps
/// nothing for it but the timer. For ticks at a fixed delay, set the next timer from
/// [`now`](super::ProcessContext::now) when the one before has been handled.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::Timestamp;
/// use millstream_operators::process::{Missed, Ticks};
///
/// let at = |seconds: i64| Timestamp::EPOCH.plus(Duration::from_secs(seconds as u64));
/// let ticks = Ticks::new(at(0), Duration::from_secs(60), Missed::Coalesced);
/// assert_eq!(ticks.first(at(70)), at(120));
/// // In time; then after a break.
/// let tick = ticks.fired(at(120), at(121));
/// assert_eq!((tick.times, tick.missed, tick.next), (1, 0, at(180)));
/// let tick = ticks.fired(at(180), at(400));
/// assert_eq!((tick.times, tick.missed, tick.next), (4, 3, at(420)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    start: i128,
    /// In milliseconds, at least one.
    period: i128,
    missed: Missed,
}

/// What a timer of [`Ticks`] that has fired stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// For so many ticks: one; several where they are coalesced; none where it is skipped.
    pub times: u64,
    /// So many ticks were missed with it. To be [counted](super::ProcessContext::count).
    pub missed: u64,
    /// When the next one is due: set the timer for then.
    pub next: Timestamp,
}

impl Ticks {
    /// A tick at `start`, and one each `period` before and behind it, in whole milliseconds. A
    /// period of less than a millisecond is one of a millisecond.
    pub fn new(start: Timestamp, period: Duration, missed: Missed) -> Self {
        let period = i128::try_from(period.as_millis()).unwrap_or(i128::MAX >> 1).max(1);
        Self { start: i128::from(start.millis()), period, missed }
    }

    /// The first tick behind `now`.
    pub fn first(&self, now: Timestamp) -> Timestamp {
        let since = i128::from(now.millis()) - self.start;
        timestamp(self.start + (since.div_euclid(self.period) + 1) * self.period)
    }

    /// A timer that was set for `at` has fired, and the clock shows `now`.
    pub fn fired(&self, at: Timestamp, now: Timestamp) -> Tick {
        let due = i128::from(at.millis());
        let late = (i128::from(now.millis()) - due).max(0);
        // Ticks behind this one whose time has come too.
        let further = late / self.period;
        let (times, missed, steps) = match self.missed {
            _ if further == 0 => (1, 0, 1),
            Missed::Each => (1, 1, 1),
            Missed::Coalesced => (further + 1, further, further + 1),
            Missed::Skipped => (0, further + 1, further + 1),
        };
        let count = |n: i128| u64::try_from(n).unwrap_or(u64::MAX);
        let next = timestamp(due + steps * self.period);
        Tick { times: count(times), missed: count(missed), next }
    }
}

/// A time within the range.
fn timestamp(millis: i128) -> Timestamp {
    let within = millis.clamp(i128::from(Timestamp::MIN.millis()), i128::from(i64::MAX));
    i64::try_from(within)
        .map_or(Timestamp::MAX, |it| Timestamp::from_millis(it).unwrap_or(Timestamp::MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn ticks(missed: Missed) -> Ticks {
        Ticks::new(at(0), Duration::from_secs(1), missed)
    }

    /// The timer fires at once if its time has passed; what comes until the clock has shown
    /// `until`.
    fn run(ticks: Ticks, from: i64, until: i64) -> (Vec<(i64, u64)>, u64, i64) {
        let (mut seen, mut missed, mut due) = (Vec::new(), 0, ticks.first(at(from)));
        while due <= at(until) {
            let tick = ticks.fired(due, at(until));
            if tick.times > 0 {
                seen.push((due.millis(), tick.times));
            }
            missed += tick.missed;
            due = tick.next;
        }
        (seen, missed, due.millis())
    }

    #[test]
    fn u043_ticks_do_not_drift_however_long_handling_takes() {
        let ticks = Ticks::new(at(500), Duration::from_secs(60), Missed::Each);
        let mut due = ticks.first(at(500));
        for n in 1..=30 {
            assert_eq!(due, at(500 + 60_000 * n));
            // Handled two seconds later.
            let tick = ticks.fired(due, due.plus(Duration::from_secs(2)));
            assert_eq!((tick.times, tick.missed), (1, 0));
            due = tick.next;
        }
    }

    #[test]
    fn u044_missed_ticks_come_each_or_as_one_or_not() {
        let each: Vec<_> = (1..=10).map(|n| (1_000 * n, 1)).collect();
        assert_eq!(run(ticks(Missed::Each), 0, 10_000), (each, 9, 11_000));
        assert_eq!(run(ticks(Missed::Coalesced), 0, 10_000), (vec![(1_000, 10)], 9, 11_000));
        assert_eq!(run(ticks(Missed::Skipped), 0, 10_000), (vec![], 10, 11_000));
        // Late by less than a period is not missed.
        for missed in [Missed::Each, Missed::Coalesced, Missed::Skipped] {
            assert_eq!(run(ticks(missed), 9_000, 10_999), (vec![(10_000, 1)], 0, 11_000));
        }
    }

    #[test]
    fn ticks_are_those_of_a_list_of_all() {
        for (start, period) in [(0, 1), (3, 7), (-20, 5), (1_000, 13)] {
            let ticks = Ticks::new(at(start), Duration::from_millis(period), Missed::Coalesced);
            let period = period as i64;
            let all = |from: i64, to: i64| {
                (from + 1..=to).filter(|t| (t - start).rem_euclid(period) == 0).count() as u64
            };
            for from in -30..30 {
                let first = ticks.first(at(from)).millis();
                assert_eq!((all(from, first), all(from, first - 1)), (1, 0), "{start} {from}");
                for now in first..first + 30 {
                    let tick = ticks.fired(at(first), at(now));
                    assert_eq!(tick.times, all(from, now), "{start} {from} {now}");
                    assert_eq!((all(now, tick.next.millis()), tick.missed + 1), (1, tick.times));
                }
            }
        }
    }

    #[test]
    fn at_the_ends_of_the_range_there_is_no_further_tick() {
        let ticks = Ticks::new(Timestamp::MIN, Duration::MAX, Missed::Each);
        assert_eq!(ticks.first(Timestamp::MIN), Timestamp::MAX);
        assert_eq!(ticks.fired(Timestamp::MAX, Timestamp::MAX).next, Timestamp::MAX);
        assert_eq!(ticks.fired(Timestamp::MIN, Timestamp::MAX).times, 1);
    }
}
