//! How much a turn may still do, in records and in time.

use std::time::Duration;

use millstream_core::{Clock, Moment};

/// How many records are worked off between two looks at the clock: as many as have shown to take
/// little of a turn's time.
///
/// A piece doubles while it takes little and starts small again when it takes much, so that fast
/// code pays for few looks and slow code does not hold up its arbiter.
pub(crate) struct Piece {
    records: usize,
    most: usize,
}

impl Piece {
    const FIRST: usize = 64;

    /// Begins small, and never has more than `most` records.
    pub(crate) fn at_most(most: usize) -> Self {
        Self { records: Self::FIRST.min(most), most }
    }

    /// How many records the next one has.
    pub(crate) const fn records(&self) -> usize {
        self.records
    }

    /// So many records took so long.
    fn took(&mut self, records: usize, took: Duration, turn: Duration) {
        if took > turn / 4 {
            self.records = Self::FIRST.min((self.records / 2).max(1));
        } else if records >= self.records {
            self.records = self.records.saturating_mul(2).min(self.most);
        }
    }
}

/// How much a turn may still do.
pub(crate) struct Budget<'a> {
    clock: &'a dyn Clock,
    records: usize,
    until: Moment,
    time: Duration,
    /// When the clock was last looked at.
    looked: Moment,
}

impl<'a> Budget<'a> {
    /// A turn that began at `began` and may take so many records and so much time.
    pub(crate) fn new(clock: &'a dyn Clock, records: usize, began: Moment, time: Duration) -> Self {
        Self { clock, records, until: began.plus(time), time, looked: began }
    }

    /// How many more records.
    pub(crate) const fn records(&self) -> usize {
        self.records
    }

    /// So many records were worked off; whether the turn may go on. Looks at the clock.
    pub(crate) fn spend(&mut self, records: usize) -> bool {
        self.looked = self.clock.monotonic();
        self.leave(self.records.saturating_sub(records))
    }

    /// As [`spend`](Self::spend), for a piece that began when the clock was last looked at.
    pub(crate) fn spend_piece(&mut self, records: usize, piece: &mut Piece) -> bool {
        let began = self.looked;
        self.looked = self.clock.monotonic();
        piece.took(records, self.looked.since(began), self.time);
        self.leave(self.records.saturating_sub(records))
    }

    /// So many records are left, if there is time for them.
    fn leave(&mut self, left: usize) -> bool {
        self.records = if self.looked < self.until { left } else { 0 };
        self.records > 0
    }

    /// Whether nothing is left.
    pub(crate) const fn is_spent(&self) -> bool {
        self.records == 0
    }

    /// When the clock was last looked at: after the last work of the turn that takes time, if there
    /// was any.
    pub(crate) const fn looked(&self) -> Moment {
        self.looked
    }

    pub(crate) fn clock(&self) -> &'a dyn Clock {
        self.clock
    }
}
