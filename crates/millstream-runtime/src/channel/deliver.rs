//! The one message of the data plane: a batch on loan, which gives its credit back when dropped.

use std::sync::{Arc, Mutex, PoisonError};

use actix::{Message, WeakRecipient};

use millstream_core::{Attempt, Batch, Stamped};
use millstream_metrics::TaskMetrics;
use millstream_operators::let_go_all;

use super::credit::Credits;

/// Tells a producer that waits that there is credit again on one of its channels.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Resume;

/// A batch for one input channel of a task.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Deliver<T: Send + 'static> {
    /// The receiver's number of the channel.
    pub(crate) channel: usize,
    /// Of which attempt; others are dropped.
    pub(crate) attempt: Attempt,
    pub(crate) loan: Loan<T>,
}

/// What the two ends of a channel share.
pub(crate) struct Link<T> {
    pub(crate) credits: Credits,
    /// Emptied buffers on their way back to the producer, at most one a credit.
    spare: Mutex<Vec<Vec<Stamped<T>>>>,
    producer: WeakRecipient<Resume>,
    /// Records between the making of a batch and its drop, in the receiver's numbers.
    receiver: Arc<TaskMetrics>,
}

impl<T> Link<T> {
    pub(crate) fn new(
        credits: usize,
        producer: WeakRecipient<Resume>,
        receiver: Arc<TaskMetrics>,
    ) -> Self {
        Self { credits: Credits::new(credits), spare: Mutex::default(), producer, receiver }
    }

    /// An empty buffer, one that was used before if there is one.
    pub(crate) fn buffer(&self) -> Vec<Stamped<T>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// A batch that may leave: it counts as queued from here.
    pub(crate) fn lend(self: &Arc<Self>, batch: Batch<T>) -> Loan<T> {
        let records = batch.records.len();
        self.receiver.records_queued.add(count(records));
        Loan { batch, records, link: self.clone() }
    }

    fn settle(&self, records: usize, buffer: Vec<Stamped<T>>) {
        self.receiver.records_queued.sub(count(records));
        if records == 0 {
            return;
        }
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        let told = self.credits.give();
        #[cfg(test)]
        let told = crate::simulation::planted::given(&self.credits, told);
        if told && let Some(producer) = self.producer.upgrade() {
            producer.do_send(Resume);
        }
    }
}

fn count(records: usize) -> i64 {
    i64::try_from(records).unwrap_or(i64::MAX)
}

/// A batch whose records hold one credit of its channel until it is dropped, on whatever thread,
/// also while unwinding. The emptied buffer goes back with the credit. A mark by itself holds none.
pub(crate) struct Loan<T> {
    pub(crate) batch: Batch<T>,
    /// How many records there were when it was lent.
    records: usize,
    link: Arc<Link<T>>,
}

impl<T> Loan<T> {
    /// How many records there were when it was lent.
    pub(crate) const fn lent(&self) -> usize {
        self.records
    }
}

impl<T> Drop for Loan<T> {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.batch.records);
        if std::thread::panicking() {
            // What is left are a user's values, whose `Drop` may panic: a second panic while
            // unwinding would end the process. The credit counts, the values are let go.
            std::mem::forget(std::mem::take(&mut buffer));
        } else {
            let_go_all(&mut buffer);
        }
        self.link.settle(self.records, buffer);
    }
}
