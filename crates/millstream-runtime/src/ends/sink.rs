//! Where records go: a description, and a writer for each task.

use std::future::Future;

use millstream_core::{Data, Epoch, Failure, Record, Stamped};

use super::TaskContext;

/// The description of a sink. It is cloned to each of its tasks and opened there.
///
/// # On recovery
///
/// `open` is given the transactions that were prepared for the newest complete checkpoint and may
/// not have been committed: it must commit them, even if they were committed already, and undo
/// whatever was prepared after them.
pub trait Sink: Clone + Send + 'static {
    /// What it takes.
    type In: Data;
    /// What is prepared and then committed; `()` for a sink without transactions.
    type Transaction: Record;
    /// What writes.
    type Writer: Writer<In = Self::In, Transaction = Self::Transaction>;

    /// The most tasks that this sink can have; a sink of one file has one. No limit by default.
    fn max_parallelism(&self) -> Option<usize> {
        None
    }

    /// Opens the sink for a task. Blocking work belongs into [`TaskContext::offload`].
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(
        &self,
        task: &TaskContext,
        restored: Vec<Self::Transaction>,
    ) -> impl Future<Output = Result<Self::Writer, Failure>>;
}

/// Writes what one task of a sink is given.
///
/// # Ordering
///
/// The methods are called one at a time. A job that ends calls `flush`, `prepare` and `commit` in
/// this order behind the last `write`. After an error, a panic or a cancel nothing is called any
/// more, and what was not committed must stay invisible.
pub trait Writer: 'static {
    /// What it takes.
    type In: Data;
    /// What is prepared and then committed.
    type Transaction: Record;

    /// Takes all records of `batch`, at once and without blocking. What it leaves in it is dropped.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn write(&mut self, batch: &mut Vec<Stamped<Self::In>>) -> Result<(), Failure>;

    /// Resolves when everything written so far has left this process's memory.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>> {
        std::future::ready(Ok(()))
    }

    /// Makes what was written since the last call ready to become visible, so that a later
    /// `commit`, by this writer or by another after a restart, cannot fail for a reason known
    /// now. Nothing to commit by default.
    ///
    /// # Errors
    ///
    /// An error fails the checkpoint, and at the end of the input the job.
    fn prepare(
        &mut self,
        epoch: Epoch,
    ) -> impl Future<Output = Result<Option<Self::Transaction>, Failure>> {
        let _ = epoch;
        std::future::ready(Ok(None))
    }

    /// Makes a transaction visible. Must do nothing if it is visible already.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn commit(
        &mut self,
        transaction: Self::Transaction,
    ) -> impl Future<Output = Result<(), Failure>> {
        let _ = transaction;
        std::future::ready(Ok(()))
    }
}
