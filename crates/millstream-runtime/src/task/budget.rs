//! How much a turn may still do, in records and in time.

use std::time::Duration;

use millstream_core::{Clock, Moment};

/// Records between two looks at the clock.
pub(crate) const PIECE: usize = 64;

/// How much a turn may still do.
pub(crate) struct Budget<'a> {
    clock: &'a dyn Clock,
    records: usize,
    until: Moment,
    time: Duration,
}

impl<'a> Budget<'a> {
    /// A turn that began at `began` and may take so many records and so much time.
    pub(crate) fn new(clock: &'a dyn Clock, records: usize, began: Moment, time: Duration) -> Self {
        Self { clock, records, until: began.plus(time), time }
    }

    /// How much time a turn may take.
    pub(crate) const fn time(&self) -> Duration {
        self.time
    }

    /// How many more records.
    pub(crate) const fn records(&self) -> usize {
        self.records
    }

    /// So many records were worked off; whether the turn may go on. Looks at the clock.
    pub(crate) fn spend(&mut self, records: usize) -> bool {
        self.records = self.records.saturating_sub(records);
        if self.records > 0 && self.clock.monotonic() >= self.until {
            self.records = 0;
        }
        self.records > 0
    }

    /// Whether nothing is left.
    pub(crate) const fn is_spent(&self) -> bool {
        self.records == 0
    }

    pub(crate) fn clock(&self) -> &'a dyn Clock {
        self.clock
    }
}
