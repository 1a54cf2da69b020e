//! What an operator wants done, written down instead of done.

use millstream_core::{Data, Stamped, Timestamp};

use crate::{NoTimer, SideBuffers, SideOutput, TimerEdit, let_go_all};

/// The sheet on which an operator writes what it wants done: records, side outputs, timers, counts.
///
/// The runtime carries it out after the call, the harness compares it, and the operator knows
/// neither.
///
/// # Ordering
///
/// Records leave in the order in which they were written. Records of a side output keep their order
/// among themselves; nothing is said about their order against the main output.
pub struct Effects<Out, P = NoTimer> {
    records: Vec<Stamped<Out>>,
    sides: SideBuffers,
    timers: Vec<TimerEdit<P>>,
    counts: Vec<(&'static str, u64)>,
    /// How many records are enough for one call.
    enough: usize,
    /// The same, or none once something else says that it is time to carry things out: one number
    /// for one look after each record.
    stop_at: usize,
    /// Records written to side outputs since that was last so.
    sided: usize,
    more: bool,
    now: Timestamp,
}

impl<Out: Data, P> Effects<Out, P> {
    /// An empty sheet that is full with `enough` records, and buffers for the side outputs that
    /// something reads.
    pub fn new(sides: SideBuffers, enough: usize) -> Self {
        let enough = enough.max(1);
        let (records, timers, counts) = (Vec::new(), Vec::new(), Vec::new());
        let (sided, more, now) = (0, false, Timestamp::MIN);
        Self { records, sides, timers, counts, enough, stop_at: enough, sided, more, now }
    }

    /// What the clock on the wall shows, from here on. Told by whoever runs the operator, before a
    /// batch of calls rather than before each.
    pub const fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// What the clock on the wall showed when the operator's task last looked.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Sends a record on.
    #[inline]
    pub fn emit(&mut self, record: Stamped<Out>) {
        self.records.push(record);
    }

    /// Sends all of these on.
    #[inline]
    pub fn extend(&mut self, records: impl IntoIterator<Item = Stamped<Out>>) {
        self.records.extend(records);
    }

    /// Sends all of these on, and leaves the vector empty: a whole batch without a copy, if nothing
    /// was sent before.
    pub fn append(&mut self, records: &mut Vec<Stamped<Out>>) {
        if self.records.is_empty() {
            std::mem::swap(&mut self.records, records);
        } else {
            self.records.append(records);
        }
    }

    /// Sends a record to a side output; if nothing reads it the record is dropped and counted.
    pub fn side<T: Data>(&mut self, output: &SideOutput<T>, record: Stamped<T>) {
        self.sides.push(output, record);
        self.sided += 1;
        if self.sided >= self.enough || self.sides.has_mismatch() {
            self.stop_at = 0;
        }
    }

    /// Sets or deletes a timer.
    pub fn timer(&mut self, edit: TimerEdit<P>) {
        self.timers.push(edit);
    }

    /// Adds to a counter of the task that shows under this name in its metrics.
    pub fn count(&mut self, name: &'static str, n: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count = count.saturating_add(n),
            None => self.counts.push((name, n)),
        }
    }

    /// Says that work is left: [`Operator::more`](crate::Operator::more) is called before the next
    /// element of the input, when there is room for what it will make.
    pub fn more(&mut self) {
        self.more = true;
        self.stop_at = 0;
    }

    /// The records written so far, for whoever carries them out.
    pub fn records(&mut self) -> &mut Vec<Stamped<Out>> {
        &mut self.records
    }

    /// How many more records it takes before it [is full](Self::is_full).
    #[inline]
    pub fn room(&self) -> usize {
        self.stop_at.saturating_sub(self.records.len())
    }

    /// Whether it is time to carry things out: there are enough records or side records, or work
    /// is left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.records.len() >= self.stop_at
    }

    /// The side outputs written so far.
    pub fn sides(&mut self) -> &mut SideBuffers {
        &mut self.sides
    }

    /// The timer edits written so far, in order.
    pub fn timers(&mut self) -> &mut Vec<TimerEdit<P>> {
        &mut self.timers
    }

    /// The counts written so far.
    pub fn counts(&mut self) -> &mut Vec<(&'static str, u64)> {
        &mut self.counts
    }

    /// Whether the operator has said that work is left, since this was last asked. Whoever asks
    /// carries everything out: the sheet is no longer full once its records are taken.
    pub fn take_more(&mut self) -> bool {
        (self.stop_at, self.sided) = (self.enough, 0);
        std::mem::take(&mut self.more)
    }
}

impl<Out, P> Drop for Effects<Out, P> {
    fn drop(&mut self) {
        let_go_all(&mut self.records);
    }
}
