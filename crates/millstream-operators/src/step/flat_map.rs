//! `flat_map`: one record becomes any number of records.

use std::marker::PhantomData;

use millstream_core::{Data, Stamped, TaskInfo};

use super::{Chain, Step};

/// Passes on each of the values that the function makes of one, all at its time.
pub struct FlatMap<T, I, F> {
    function: F,
    types: PhantomData<fn(T) -> I>,
}

impl<T, I, F: Fn(T) -> I> FlatMap<T, I, F> {
    /// A step of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, I, F: Clone> Clone for FlatMap<T, I, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T, I, F> Step for FlatMap<T, I, F>
where
    T: Data,
    I: IntoIterator + 'static,
    I::Item: Data,
    F: Fn(T) -> I + 'static,
{
    type In = T;
    type Out = I::Item;
    const EXPANDS: bool = true;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<I::Item>)) {
        let empty = record.with(());
        for value in (self.function)(record.value) {
            emit(empty.with(value));
        }
    }
}

impl<T, I, F> Chain for FlatMap<T, I, F>
where
    T: Data,
    I: IntoIterator + 'static,
    I::Item: Data,
    F: Fn(T) -> I + Clone + Send + 'static,
{
    type In = T;
    type Out = I::Item;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        self.clone()
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("flat_map");
    }
}
