//! What a task is doing, and since when.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

use millstream_core::Moment;

/// What a task is doing. It is always doing one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// It works.
    Busy,
    /// It has nothing to do.
    Idle,
    /// It has records that it may not send yet.
    BackPressured,
    /// It could work, but another task of its worker has its turn.
    Waiting,
}

impl Activity {
    /// All of them; the place of each is its number.
    pub(crate) const ALL: [Self; 4] = [Self::Busy, Self::Idle, Self::BackPressured, Self::Waiting];
}

/// What is being done and since when; `None` for nothing.
pub(crate) type Current = Option<(Activity, Moment)>;

/// How often a reader tries again when the writer came between.
const TRIES_MAX: usize = 64;

/// The stretch of time that is not over yet, for readers on other threads.
///
/// A stretch ends by adding its length to a counter and beginning another. A reader that saw only
/// one half of that would count the stretch twice or not at all. So the writer makes `version` odd
/// before and even after, never waiting; a reader that finds it odd, or changed when it is done,
/// reads again. The fences order the relaxed numbers between the two looks at the version: who sees
/// one of the writer's numbers also sees that the version is no longer the one from before.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    version: AtomicU64,
    /// The place in [`Activity::ALL`] plus one; 0 for none.
    activity: AtomicU8,
    since: AtomicU64,
}

impl Stretch {
    /// Begins a stretch, or none, after `end_last` has added the last one to its counter.
    pub(crate) fn begin(&self, next: Current, end_last: impl FnOnce()) {
        self.version.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        end_last();
        let (activity, since) = match next {
            Some((activity, since)) => (activity as u8 + 1, since.nanos()),
            None => (0, 0),
        };
        self.activity.store(activity, Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The current stretch, and what `counters` read at the same moment.
    ///
    /// `None` after [`TRIES_MAX`] tries with the writer in between: a reader does not wait either.
    pub(crate) fn read<T>(&self, counters: impl Fn() -> T) -> Option<(Current, T)> {
        for _ in 0..TRIES_MAX {
            let before = self.version.load(Ordering::Acquire);
            let counted = counters();
            let activity = usize::from(self.activity.load(Ordering::Relaxed));
            let since = Moment::from_nanos(self.since.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            let after = self.version.load(Ordering::Relaxed);
            if before.is_multiple_of(2) && after == before {
                let activity = activity.checked_sub(1).and_then(|place| Activity::ALL.get(place));
                return Some((activity.map(|&activity| (activity, since)), counted));
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use millstream_core::Counter;

    use super::*;

    /// Whatever the writer does, what is counted and what is not over yet are the time until a late
    /// moment, to the nanosecond.
    #[test]
    fn a_reader_sees_no_half_of_a_change() {
        const LATE: u64 = 1 << 60;
        let (stretch, counter, done) = (Stretch::default(), Counter::new(), AtomicBool::new(false));
        stretch.begin(Some((Activity::Busy, Moment::ZERO)), || {});
        let whole = thread::scope(|scope| {
            scope.spawn(|| {
                for now in (1..=400_000_u64).map(|turn| turn * 1_000) {
                    let next = Activity::ALL[now as usize / 1_000 % 4];
                    stretch.begin(Some((next, Moment::from_nanos(now))), || counter.add(1_000));
                }
                done.store(true, Ordering::Relaxed);
            });
            let mut whole = 0;
            while !done.load(Ordering::Relaxed) {
                if let Some((current, counted)) = stretch.read(|| counter.get()) {
                    let (_, since) = current.unwrap();
                    assert_eq!(counted + (LATE - since.nanos()), LATE);
                    whole += 1;
                }
            }
            whole
        });
        let (_, counted) = stretch.read(|| counter.get()).unwrap();
        assert_eq!(counted, 400_000_000, "and {whole} readings before were whole");
    }

    #[test]
    fn a_reader_gives_up_on_a_writer_that_does_not_come_back() {
        let stretch = Stretch::default();
        stretch.begin(Some((Activity::Idle, Moment::ZERO)), || {
            assert!(stretch.read(|| ()).is_none());
        });
        assert!(stretch.read(|| ()).is_some());
    }
}
