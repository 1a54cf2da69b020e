//! What has arrived at a task and was not taken yet: one queue a channel, served in turn.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use millstream_core::{Batch, Grammar, GrammarError, Mark, Stamped};
use millstream_operators::Records;

use super::deliver::{Deliver, Loan};

/// An element of a channel, as the inbox gives it out.
pub(crate) enum Taken {
    /// Records lie in [`Inbox::records`].
    Records,
    /// A mark that no record stands in front of any more.
    Mark(usize, Mark),
}

/// A batch that was taken whole: it is worked off by whoever took it, as slowly as need be, and
/// holds its credit until it is dropped.
pub(crate) struct Whole<T: Send + 'static> {
    /// The last one first: what comes next can be taken without moving the others.
    records: Vec<Stamped<T>>,
    mark: Option<Mark>,
    channel: usize,
    loan: Loan<T>,
}

impl<T: Send + 'static> Whole<T> {
    fn new(Current { channel, mut loan }: Current<T>) -> Self {
        let mut records = std::mem::take(&mut loan.batch.records);
        records.reverse();
        Self { records, mark: loan.batch.mark, channel, loan }
    }

    /// The next record, left where it is.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<&Stamped<T>> {
        self.records.last()
    }

    /// The next record.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Stamped<T>> {
        self.records.pop()
    }

    /// The mark behind the records, with its channel; once they are taken, and once.
    pub(crate) fn take_mark(&mut self) -> Option<(usize, Mark)> {
        if !self.records.is_empty() {
            return None;
        }
        self.mark.take().map(|mark| (self.channel, mark))
    }

    /// Whether a barrier stands behind the records.
    pub(crate) fn has_barrier(&self) -> bool {
        matches!(self.mark, Some(Mark::Barrier(_)))
    }
}

impl<T: Send + 'static> Drop for Whole<T> {
    /// The buffer goes back with the credit.
    fn drop(&mut self) {
        self.loan.batch.records = std::mem::take(&mut self.records);
    }
}

/// A delivery that came after the inbox was closed to new ones; it is given back.
pub(crate) struct Refused<T: Send + 'static>(pub(crate) Deliver<T>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing new is filed; what is there can be taken.
    Quiesced,
    /// Nothing can be taken either.
    Closed,
}

/// What has arrived at a task and was not taken yet.
///
/// Bounded by the credits of its channels; marks without records are merged, so that at most two
/// watermark or status marks of a channel lie behind each other. Channels are served in turn, batch
/// by batch; a batch keeps its credit until its last record has been taken. What a turn
/// cannot finish of a batch is moved to a buffer of its own, once a turn, so that the loop over a
/// batch that is finished in one go has nothing to keep count of.
pub(crate) struct Inbox<T: Send + 'static> {
    channels: Vec<VecDeque<Loan<T>>>,
    held: Vec<bool>,
    /// Channels with something to take, in the order in which they are served.
    order: VecDeque<usize>,
    /// The batch that is being taken.
    current: Option<Current<T>>,
    waiting: usize,
    phase: Phase,
    /// What has come by each channel, so that its grammar can be asserted where assertions count.
    passed: Vec<Grammar>,
}

struct Current<T: Send + 'static> {
    channel: usize,
    loan: Loan<T>,
}

impl<T: Send + 'static> Inbox<T> {
    pub(crate) fn new(channels: usize) -> Self {
        Self {
            channels: (0..channels).map(|_| VecDeque::new()).collect(),
            held: vec![false; channels],
            order: VecDeque::new(),
            current: None,
            waiting: 0,
            phase: Phase::Open,
            passed: vec![Grammar::default(); channels],
        }
    }

    /// Files a delivery.
    pub(crate) fn file(&mut self, delivery: Deliver<T>) -> Result<(), Refused<T>> {
        if self.phase != Phase::Open || delivery.channel >= self.channels.len() {
            return Err(Refused(delivery));
        }
        let channel = delivery.channel;
        debug_assert_eq!(self.passes(&delivery), Ok(()), "channel {channel} breaks its grammar");
        let queue = &mut self.channels[channel];
        if let Some(last) = queue.back_mut()
            && last.lent() == 0
            && delivery.loan.lent() == 0
            && let (Some(Mark::Watermark(_)), Some(Mark::Watermark(newer))) =
                (last.batch.mark, delivery.loan.batch.mark)
        {
            last.batch.mark = Some(Mark::Watermark(newer));
            return Ok(());
        }
        if queue.is_empty() && !self.held[channel] {
            self.order.push_back(channel);
        }
        queue.push_back(delivery.loan);
        self.waiting += 1;
        Ok(())
    }

    /// Whether a delivery may follow what has come by its channel.
    fn passes(&mut self, delivery: &Deliver<T>) -> Result<(), GrammarError> {
        let passed = &mut self.passed[delivery.channel];
        if !delivery.loan.batch.records.is_empty() {
            passed.record()?;
        }
        delivery.loan.batch.mark.map_or(Ok(()), |mark| passed.mark(mark))
    }

    /// How many batches can be taken now, held channels left out.
    #[cfg(test)]
    pub(crate) fn ready(&self) -> usize {
        usize::from(self.current.is_some()) + self.order.len()
    }

    /// How many batches have arrived and are not finished.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// From here on the next batches of these channels wait, and no others.
    pub(crate) fn hold_where(&mut self, holds: impl Fn(usize) -> bool) {
        for channel in 0..self.held.len() {
            let holds = holds(channel);
            match (std::mem::replace(&mut self.held[channel], holds), holds) {
                (false, true) => self.order.retain(|ready| *ready != channel),
                (true, false) if !self.channels[channel].is_empty() => {
                    self.order.push_back(channel);
                }
                _ => {}
            }
        }
    }

    /// The next element. `pick` chooses among the channels that have one; 0 is the one whose turn
    /// it is.
    pub(crate) fn take(&mut self, pick: impl Fn(usize) -> usize) -> Option<Taken> {
        if self.phase == Phase::Closed {
            return None;
        }
        loop {
            if self.current.is_none() {
                self.current = Some(self.next_batch(&pick)?);
            }
            let current = self.current.take()?;
            if !current.loan.batch.records.is_empty() {
                self.current = Some(current);
                return Some(Taken::Records);
            }
            self.waiting -= 1;
            if let Some(mark) = current.loan.batch.mark {
                return Some(Taken::Mark(current.channel, mark));
            }
        }
    }

    fn next_batch(&mut self, pick: impl Fn(usize) -> usize) -> Option<Current<T>> {
        let last = self.order.len().checked_sub(1)?;
        let channel = self.order.remove(pick(last + 1).min(last))?;
        let loan = self.channels[channel].pop_front()?;
        if !self.channels[channel].is_empty() {
            self.order.push_back(channel);
        }
        Some(Current { channel, loan })
    }

    /// The next barrier that no record stands in front of, on any channel, whatever lies on others.
    pub(crate) fn take_barrier(&mut self) -> Option<(usize, Mark)> {
        if self.phase == Phase::Closed {
            return None;
        }
        let is_barrier = |channel: &usize| {
            let front = self.channels[*channel].front();
            front.is_some_and(|loan| {
                loan.batch.records.is_empty() && matches!(loan.batch.mark, Some(Mark::Barrier(_)))
            })
        };
        let at = self.order.iter().position(is_barrier)?;
        let Current { channel, loan } = self.next_batch(|_| at)?;
        self.waiting -= 1;
        loan.batch.mark.map(|mark| (channel, mark))
    }

    /// Works off the records of the batch that [`take`](Self::take) announced, in order: `some`
    /// takes of `piece` at most, then it is asked whether to go on.
    ///
    /// Stops when `some` says no, or at its first error. Returns how many records were worked off.
    #[inline]
    pub(crate) fn records<E>(
        &mut self,
        piece: usize,
        mut some: impl FnMut(&mut Records<'_, '_, T>) -> Result<bool, E>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> (usize, Result<(), E>) {
        let Some(current) = &mut self.current else { return (0, Ok(())) };
        let records = &mut current.loan.batch.records;
        let all = records.len();
        let mut drain = records.drain(..);
        // A panic waits until the rest is in its place again: to drop users' values while it
        // unwinds would end the process if one of them panics too.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let mut result = Ok(true);
            while matches!(result, Ok(true)) && drain.len() > 0 {
                let before = drain.len();
                result = some(&mut Records::new(&mut drain, piece));
                if !go_on(before - drain.len()) {
                    break;
                }
            }
            result.map(drop)
        }));
        let left = drain.len();
        if left > 0 {
            let rest: Vec<_> = drain.collect();
            *records = rest;
        }
        (all - left, done.unwrap_or_else(|payload| resume_unwind(payload)))
    }

    /// The next `at_most` records of the batch that [`take`](Self::take) announced, in order, into
    /// `batch`, which is empty. A whole batch is handed over as it is. Returns how many there are.
    pub(crate) fn piece(&mut self, at_most: usize, batch: &mut Vec<Stamped<T>>) -> usize {
        let Some(current) = &mut self.current else { return 0 };
        let records = &mut current.loan.batch.records;
        if records.len() <= at_most {
            std::mem::swap(records, batch);
        } else {
            batch.extend(records.drain(..at_most));
        }
        batch.len()
    }

    /// The next batch, whole; `pick` chooses as for [`take`](Self::take).
    pub(crate) fn take_whole(&mut self, pick: impl Fn(usize) -> usize) -> Option<Whole<T>> {
        if self.phase == Phase::Closed {
            return None;
        }
        let batch = self.next_batch(pick)?;
        self.waiting -= 1;
        Some(Whole::new(batch))
    }

    /// Batches that can be taken.
    fn open_batches(&self) -> impl Iterator<Item = &Batch<T>> {
        let open = self.channels.iter().zip(&self.held).filter(|(_, held)| !**held);
        open.flat_map(|(queue, _)| queue).map(|loan| &loan.batch)
    }

    /// Whether a barrier is among what can be taken.
    pub(crate) fn has_barrier(&self) -> bool {
        self.open_batches().any(|batch| matches!(batch.mark, Some(Mark::Barrier(_))))
    }

    /// Whether the end of a channel is among what can be taken, and no record is.
    pub(crate) fn has_end(&self) -> bool {
        self.open_batches().all(|batch| batch.records.is_empty())
            && self.open_batches().any(|batch| batch.mark == Some(Mark::End))
    }

    /// Nothing new is filed from here on; what is there can still be taken.
    pub(crate) fn quiesce(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Quiesced;
        }
    }

    /// Nothing is filed or taken from here on. What was left is handed back, by channel; a second
    /// call hands back nothing.
    pub(crate) fn close(&mut self) -> Vec<Loan<T>> {
        self.phase = Phase::Closed;
        self.order.clear();
        self.waiting = 0;
        let current = self.current.take().map(|current| current.loan);
        let queued = self.channels.iter_mut().flat_map(std::mem::take);
        current.into_iter().chain(queued).collect()
    }
}
