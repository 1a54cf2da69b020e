//! The sending end of one channel: the batch being filled, and what waits for credit.

use std::collections::VecDeque;
use std::sync::Arc;

use actix::Recipient;

use millstream_core::{Attempt, Batch, Mark, Stamped};
use millstream_operators::{Collect, let_go_all};

use super::deliver::{Deliver, Link, Loan};

/// What a channel needs to know to be made.
pub(crate) struct OutletOf<T: Send + 'static> {
    pub(crate) to: Recipient<Deliver<T>>,
    /// The receiver's number of the channel.
    pub(crate) channel: usize,
    pub(crate) attempt: Attempt,
    pub(crate) link: Link<T>,
    /// Records after which a batch leaves.
    pub(crate) batch_records: usize,
}

/// The sending end of one channel.
///
/// One queue, first in, first out. A batch with records needs a credit; a mark by itself needs none
/// but never passes what was queued before it. A task whose outlet is [`blocked`](Self::blocked)
/// calls nothing that makes records, so the next batch has a credit before it is made; what waits
/// for one is bounded by what a single call makes beyond it.
pub(crate) struct Outlet<T: Send + 'static> {
    to: Recipient<Deliver<T>>,
    channel: usize,
    attempt: Attempt,
    link: Arc<Link<T>>,
    batch_records: usize,
    /// The batch being filled.
    open: Vec<Stamped<T>>,
    /// It leaves with the next credit, full or not.
    due: bool,
    /// Batches that are made, hold their place and wait for credit.
    queue: VecDeque<Loan<T>>,
    sent: u64,
}

impl<T: Send + 'static> Outlet<T> {
    pub(crate) fn new(of: OutletOf<T>) -> Self {
        let OutletOf { to, channel, attempt, link, batch_records } = of;
        let link = Arc::new(link);
        Self {
            to,
            channel,
            attempt,
            link,
            batch_records: batch_records.max(1),
            open: Vec::new(),
            due: false,
            queue: VecDeque::new(),
            sent: 0,
        }
    }

    /// A mark behind everything that was pushed.
    pub(crate) fn mark(&mut self, mark: Mark) {
        if !self.open.is_empty() {
            return self.cut(Some(mark));
        }
        match self.queue.back_mut() {
            None => self.send(self.link.lend(Batch::mark(mark))),
            Some(last) => match merged(last.batch.mark, mark) {
                Some(both) => last.batch.mark = Some(both),
                None => self.queue.push_back(self.link.lend(Batch::mark(mark))),
            },
        }
    }

    /// The batch being filled leaves, full or not, as soon as there is credit. Until then it is not
    /// made: what waits for credit need not grow by a batch that could still be filled.
    pub(crate) fn flush(&mut self) {
        if self.open.is_empty() {
            return;
        }
        if self.queue.is_empty() && self.link.credits.has(1) {
            self.cut(None);
        } else {
            self.due = true;
        }
    }

    /// Whether something is in the batch being filled that nothing has told to leave.
    pub(crate) fn filling(&self) -> bool {
        !self.open.is_empty() && !self.due
    }

    /// Whether something waits for credit.
    pub(crate) fn holding(&self) -> bool {
        !self.queue.is_empty() || self.due
    }

    /// Whether the next batch would have to wait for credit.
    pub(crate) fn blocked(&self) -> bool {
        self.holding() || !self.link.credits.has(1)
    }

    /// Sends what there is credit for.
    pub(crate) fn advance(&mut self) {
        while let Some(front) = self.queue.front() {
            if front.lent() > 0 && !self.link.credits.take() {
                return;
            }
            if let Some(loan) = self.queue.pop_front() {
                self.send(loan);
            }
        }
        if self.due {
            self.flush();
        }
    }

    /// The task is about to wait for credit on this channel. False if there is some: it must not.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        self.link.credits.wait()
    }

    /// Whether the receiver has gone.
    #[cfg(test)]
    pub(crate) fn closed(&self) -> bool {
        !self.to.connected()
    }

    /// Batches sent since this was last asked.
    pub(crate) fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Whether the batch being filled has room for so many records. If an empty one has, what is
    /// in it leaves for that: a loop that need not look for the end of a batch at each record is
    /// much faster, and of two batches that follow each other one is more than half full. There
    /// must be credit for both of them, so that none waits that could have been made later.
    pub(super) fn make_room(&mut self, records: usize) -> bool {
        let fits = self.open.len() + records <= self.batch_records;
        if fits || records > self.batch_records || self.holding() || !self.link.credits.has(2) {
            return fits;
        }
        self.flush();
        true
    }

    /// Records after which a batch leaves.
    pub(super) const fn batch_records(&self) -> usize {
        self.batch_records
    }

    /// Adds to the batch being filled, which has room for all of `records`.
    #[inline]
    pub(super) fn fill(&mut self, records: impl Iterator<Item = Stamped<T>>) {
        self.open.extend(records);
    }

    /// The batch being filled leaves if it is full.
    #[inline]
    pub(super) fn cut_if_full(&mut self) {
        if self.open.len() >= self.batch_records {
            self.cut(None);
        }
    }

    fn cut(&mut self, mark: Option<Mark>) {
        self.due = false;
        let mut records = self.link.buffer();
        std::mem::swap(&mut records, &mut self.open);
        let loan = self.link.lend(Batch { records, mark });
        if self.queue.is_empty() && self.link.credits.take() {
            self.send(loan);
        } else {
            self.queue.push_back(loan);
        }
    }

    fn send(&mut self, loan: Loan<T>) {
        self.sent += 1;
        self.to.do_send(Deliver { channel: self.channel, attempt: self.attempt, loan });
    }
}

impl<T: Send + 'static> Drop for Outlet<T> {
    fn drop(&mut self) {
        let_go_all(&mut self.open);
    }
}

impl<T: Send + 'static> Collect<T> for Outlet<T> {
    #[inline]
    fn push(&mut self, record: Stamped<T>) {
        self.open.push(record);
        self.cut_if_full();
    }

    /// A whole buffer where possible.
    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        if !self.make_room(records.len()) || !self.open.is_empty() {
            return self.extend(records.drain(..));
        }
        std::mem::swap(&mut self.open, records);
        self.cut_if_full();
        if records.capacity() == 0 {
            // The caller gets a buffer for the one that it gave.
            *records = self.link.buffer();
        }
    }

    #[inline]
    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        if self.make_room(records.len()) {
            self.fill(records);
            self.cut_if_full();
        } else {
            records.for_each(|record| self.push(record));
        }
    }
}

/// One mark for two that would stand next to each other, if there is one that says the same.
fn merged(first: Option<Mark>, second: Mark) -> Option<Mark> {
    match (first, second) {
        (None, second) => Some(second),
        (Some(Mark::Watermark(_)), Mark::Watermark(_)) => Some(second),
        (Some(Mark::Active), Mark::Idle) => Some(second),
        _ => None,
    }
}
