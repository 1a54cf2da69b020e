//! Since when each call runs and when it is given up: a list in the order of their starts.

use std::time::Duration;

use millstream_core::Moment;

use super::slab::{NONE, grow};

/// The calls that have begun and are not over, by the number of their place.
///
/// All calls have the same time, so who began first is due first: a doubly linked list through the
/// places, in which everything takes constant time. A call that has begun is dated by the next
/// [`look`](Self::look) at the clock: one look serves many calls, and no deadline comes early.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::Moment;
/// use millstream_operators::async_wait::Deadlines;
///
/// let mut deadlines = Deadlines::new(Some(Duration::from_nanos(10)), 100);
/// deadlines.begin(3);
/// deadlines.begin(1);
/// deadlines.look(Moment::from_nanos(5));
/// assert_eq!(deadlines.end(3), Some((Moment::from_nanos(5), Moment::from_nanos(5))));
/// assert_eq!(deadlines.next_due(), Some(Moment::from_nanos(15)));
/// assert_eq!(deadlines.due(Moment::from_nanos(14)), None);
/// assert_eq!(deadlines.due(Moment::from_nanos(15)), Some(1));
/// ```
#[derive(Debug)]
pub struct Deadlines {
    time: Option<Duration>,
    /// As many places as there can be.
    most: usize,
    links: Vec<Link>,
    first: u32,
    last: u32,
    /// The first that is not dated.
    undated: u32,
    /// What the clock showed at the last look.
    looked: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
    /// Or one of the two that no clock shows.
    began: Moment,
}

/// Stands in place of the beginning of a call that is not listed.
const NEVER: Moment = Moment::from_nanos(u64::MAX);
/// And of one that is, while no look has come since.
const UNDATED: Moment = Moment::from_nanos(u64::MAX - 1);

const UNLISTED: Link = Link { before: NONE, behind: NONE, began: NEVER };

impl Deadlines {
    /// No calls, and in so many places at most; each will have this time, or as long as it takes.
    pub const fn new(time: Option<Duration>, most: usize) -> Self {
        let (first, last, undated) = (NONE, NONE, NONE);
        Self { time, most, links: Vec::new(), first, last, undated, looked: Moment::ZERO }
    }

    /// A call begins in this place; nothing happens if one is there.
    pub fn begin(&mut self, place: usize) {
        while self.links.len() <= place {
            grow(&mut self.links, self.most);
            self.links.push(UNLISTED);
        }
        let Ok(index) = u32::try_from(place) else { return };
        if self.links[place].began != NEVER {
            return;
        }
        self.links[place] = Link { before: self.last, behind: NONE, began: UNDATED };
        match self.links.get_mut(self.last as usize) {
            Some(last) => last.behind = index,
            None => self.first = index,
        }
        self.last = index;
        if self.undated == NONE {
            self.undated = index;
        }
    }

    /// The clock shows `now`: this is when those began that have begun since the last look.
    pub fn look(&mut self, now: Moment) {
        self.looked = now;
        while let Some(link) = self.links.get_mut(self.undated as usize) {
            link.began = now.min(Moment::from_nanos(u64::MAX - 2));
            self.undated = link.behind;
        }
    }

    /// The call in this place is over. Gives back when it began and when the last look was; nothing
    /// if there was none.
    pub fn end(&mut self, place: usize) -> Option<(Moment, Moment)> {
        let link = self.links.get_mut(place)?;
        let Link { before, behind, began } = std::mem::replace(link, UNLISTED);
        if began == NEVER {
            return None;
        }
        match self.links.get_mut(before as usize) {
            Some(link) => link.behind = behind,
            None => self.first = behind,
        }
        match self.links.get_mut(behind as usize) {
            Some(link) => link.before = before,
            None => self.last = before,
        }
        if self.undated as usize == place {
            self.undated = behind;
        }
        Some((if began == UNDATED { self.looked } else { began }, self.looked))
    }

    /// The place of the call that began first, and when that was.
    pub fn oldest(&self) -> Option<(usize, Moment)> {
        let link = self.links.get(self.first as usize)?;
        let began = if self.first == self.undated { self.looked } else { link.began };
        Some((self.first as usize, began))
    }

    /// When the next of the dated calls is due.
    pub fn next_due(&self) -> Option<Moment> {
        if self.first == self.undated {
            return None;
        }
        Some(self.links.get(self.first as usize)?.began.plus(self.time?))
    }

    /// The place of a call whose time is over at `now`. It stays until it is [ended](Self::end).
    pub fn due(&self, now: Moment) -> Option<usize> {
        (self.next_due()? <= now).then_some(self.first as usize)
    }

    /// Whether the time of the call in this place is over at `now`.
    pub fn is_due(&self, place: usize, now: Moment) -> bool {
        let (Some(link), Some(time)) = (self.links.get(place), self.time) else { return false };
        link.began < UNDATED && link.began.plus(time) <= now
    }
}
