//! A sink into a vector, for tests and small results.

use std::sync::{Arc, Mutex, PoisonError};

use millstream_core::{Data, Failure, Record, Stamped};
use millstream_runtime::{Sink, TaskContext, Writer};

/// What was collected: a handle that can be looked at while the job runs and after it.
pub struct Collected<T>(Arc<Mutex<Vec<Stamped<T>>>>);

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Collected<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Collected<T> {
    /// The values so far, which are forgotten by it.
    pub fn take(&self) -> Vec<T> {
        self.take_stamped().into_iter().map(|record| record.value).collect()
    }

    /// As [`take`](Self::take), with their timestamps.
    pub fn take_stamped(&self) -> Vec<Stamped<T>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects into memory. One task, so that the order in which records arrive is kept.
///
/// # On recovery
///
/// What was collected stays, so records may be there twice after a restart: use it for results that
/// are read once.
pub struct Collect<T>(Collected<T>);

impl<T> Collect<T> {
    /// Into what this handle shows.
    pub fn into(collected: &Collected<T>) -> Self {
        Self(collected.clone())
    }
}

impl<T> Clone for Collect<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Record> Sink for Collect<T> {
    type In = T;
    type Transaction = ();
    type Writer = Self;

    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl<T: Data> Writer for Collect<T> {
    type In = T;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<T>>) -> Result<(), Failure> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).append(batch);
        Ok(())
    }
}
