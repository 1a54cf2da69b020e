//! Calls that wait before they are tried again, each for its own time.

use std::collections::BTreeSet;

use millstream_core::Moment;

/// What waits for a moment of its own, by the number of its place.
///
/// A retry is the exception, so this is simply sorted; removing one takes it out at once, so that
/// nothing is kept of calls that are over.
#[derive(Debug, Default)]
pub struct Delays {
    /// When, which since the beginning, where.
    waiting: BTreeSet<(Moment, u64, usize)>,
    /// The first two of each place, while it waits.
    of: Vec<Option<(Moment, u64)>>,
    begun: u64,
}

impl Delays {
    /// The call in this place is to be tried again at that moment.
    pub fn begin(&mut self, place: usize, due: Moment) {
        self.end(place);
        if self.of.len() <= place {
            self.of.resize(place + 1, None);
        }
        self.begun += 1;
        self.of[place] = Some((due, self.begun));
        self.waiting.insert((due, self.begun, place));
    }

    /// The call in this place does not wait any more.
    pub fn end(&mut self, place: usize) {
        if let Some((due, begun)) = self.of.get_mut(place).and_then(Option::take) {
            self.waiting.remove(&(due, begun, place));
        }
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Moment> {
        self.waiting.first().map(|(due, ..)| *due)
    }

    /// The place of one that is due at `now`, the earliest first. It stays until it is
    /// [ended](Self::end).
    pub fn due(&self, now: Moment) -> Option<usize> {
        let (due, _, place) = self.waiting.first()?;
        (*due <= now).then_some(*place)
    }

    /// The place of the one that would be due first; it waits no longer.
    pub fn take_first(&mut self) -> Option<usize> {
        let (.., place) = self.waiting.pop_first()?;
        self.of[place] = None;
        Some(place)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
