//! A sink of a function.

use std::marker::PhantomData;

use millstream_core::{Data, Failure, Stamped};
use millstream_operators::drained;
use millstream_runtime::{Sink, TaskContext, Writer};

/// Calls a function with each record. It is cloned to each task.
pub struct Each<T, F> {
    function: F,
    types: PhantomData<fn(T)>,
}

impl<T, F: Fn(Stamped<T>)> Each<T, F> {
    /// A sink of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, F: Clone> Clone for Each<T, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T: Data, F: Fn(Stamped<T>) + Clone + Send + 'static> Sink for Each<T, F> {
    type In = T;
    type Transaction = ();
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl<T: Data, F: Fn(Stamped<T>) + 'static> Writer for Each<T, F> {
    type In = T;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<T>>) -> Result<(), Failure> {
        drained(batch, |records| records.for_each(|record| (self.function)(record)));
        Ok(())
    }
}
