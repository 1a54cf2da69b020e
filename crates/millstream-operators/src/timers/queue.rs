//! What keeps the timers of one task: a set in the order of time.

use millstream_core::{Failure, Timestamp};

use crate::{Restored, Snapshot, Timer, TimerDomain, let_go_all};

/// Timers forgotten at once by [`TimerQueue::clear`].
const CLEARED_AT_ONCE: usize = 1_024;

/// Keeps the timers of one task, each at most once, and gives out the earliest.
///
/// Its answers to the same calls are the same whatever it keeps them in, but for the order of
/// timers of one instant, which is anybody's. What it keeps them in may fail.
///
/// # On recovery
///
/// A snapshot holds what was there when it was [begun](Self::freeze), and is taken a few timers at
/// a time while others come and go.
pub trait TimerQueue<P> {
    /// Keeps a timer; false if it is kept already.
    ///
    /// # Errors
    ///
    /// When it cannot be kept.
    fn set(&mut self, timer: Timer<P>) -> Result<bool, Failure>;

    /// Forgets a timer; false if there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be forgotten.
    fn delete(&mut self, timer: &Timer<P>) -> Result<bool, Failure>;

    /// When the next timer of a domain is due.
    ///
    /// # Errors
    ///
    /// When that cannot be read.
    fn next_due(&mut self, domain: TimerDomain) -> Result<Option<Timestamp>, Failure>;

    /// Puts timers that are due at `up_to` behind what is in `into`, the earliest first, at most
    /// `most` of them. They are kept no longer.
    ///
    /// # Errors
    ///
    /// When they cannot be read or forgotten. What has been put into `into` is gone from here.
    fn take_due(
        &mut self,
        domain: TimerDomain,
        up_to: Timestamp,
        most: usize,
        into: &mut Vec<Timer<P>>,
    ) -> Result<(), Failure>;

    /// Forgets all timers of a domain.
    ///
    /// # Errors
    ///
    /// When they cannot be forgotten.
    fn clear(&mut self, domain: TimerDomain) -> Result<(), Failure> {
        let mut gone = Vec::new();
        while self.len(domain) > 0 {
            self.take_due(domain, Timestamp::MAX, CLEARED_AT_ONCE, &mut gone)?;
            let_go_all(&mut gone);
        }
        Ok(())
    }

    /// How many timers of a domain there are.
    fn len(&self, domain: TimerDomain) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len(TimerDomain::Event) + self.len(TimerDomain::Processing) == 0
    }

    /// Calls `visit` for each timer, in no order.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn each(&mut self, visit: &mut dyn FnMut(&Timer<P>)) -> Result<(), Failure>;

    /// A snapshot begins; one that was under way is given up.
    ///
    /// # Errors
    ///
    /// When it cannot be begun.
    fn freeze(&mut self) -> Result<(), Failure>;

    /// Takes about so many further timers of the snapshot, by key group; true if that was all.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn snapshot(&mut self, timers: usize, into: &mut Snapshot) -> Result<bool, Failure>;

    /// The snapshot that is under way is given up.
    fn abandon(&mut self);

    /// A piece of a snapshot comes back.
    ///
    /// # Errors
    ///
    /// When its bytes are those of something else, when a timer lies in another group than its key,
    /// and when it cannot be kept.
    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure>;
}
