//! A sink that counts records and adds up their checksum, first in each task and then of all.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use millstream::{Data, Failure, Sink, Stamped, TaskContext, Writer};
use millstream_bench_workload::{Checksum, Outcome};

/// What all tasks of a sink have added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total(Arc<Mutex<Sum>>);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    records: u64,
    checksum: Checksum,
}

impl Total {
    pub(crate) fn outcome(&self) -> Outcome {
        let sum = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Outcome { records: sum.records, checksum: sum.checksum, ..Outcome::default() }
    }
}

/// Adds up what `digest` makes of each value.
pub(crate) struct Sums<T, F> {
    total: Total,
    digest: F,
    types: PhantomData<fn(T)>,
}

impl<T, F: Fn(T) -> u64> Sums<T, F> {
    pub(crate) fn new(total: &Total, digest: F) -> Self {
        Self { total: total.clone(), digest, types: PhantomData }
    }
}

impl<T, F: Clone> Clone for Sums<T, F> {
    fn clone(&self) -> Self {
        Self { total: self.total.clone(), digest: self.digest.clone(), types: PhantomData }
    }
}

impl<T: Data, F: Fn(T) -> u64 + Clone + Send + 'static> Sink for Sums<T, F> {
    type In = T;
    type Transaction = ();
    type Writer = Summing<T, F>;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Summing<T, F>, Failure> {
        Ok(Summing { of: self.clone(), sum: Sum::default() })
    }
}

pub(crate) struct Summing<T, F> {
    of: Sums<T, F>,
    sum: Sum,
}

impl<T: Data, F: Fn(T) -> u64 + 'static> Writer for Summing<T, F> {
    type In = T;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<T>>) -> Result<(), Failure> {
        self.sum.records += batch.len() as u64;
        for record in batch.drain(..) {
            self.sum.checksum.add((self.of.digest)(record.value));
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let sum = std::mem::take(&mut self.sum);
        let mut total = self.of.total.0.lock().unwrap_or_else(PoisonError::into_inner);
        total.records += sum.records;
        total.checksum.merge(sum.checksum);
        Ok(())
    }
}
