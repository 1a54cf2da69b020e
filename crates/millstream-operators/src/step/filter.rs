//! `filter` and `filter_map`: one record becomes one record or none.

use std::marker::PhantomData;

use millstream_core::{Data, Stamped, TaskInfo};

use super::{Chain, Step};
use crate::holding;

/// Passes on the records whose value the function says yes to.
pub struct Filter<T, F> {
    function: F,
    types: PhantomData<fn(T)>,
}

impl<T, F: Fn(&T) -> bool> Filter<T, F> {
    /// A step of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, F: Clone> Clone for Filter<T, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T, F> Step for Filter<T, F>
where
    T: Data,
    F: Fn(&T) -> bool + 'static,
{
    type In = T;
    type Out = T;
    const EXPANDS: bool = false;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<T>)) {
        let (record, passes) = holding(record, |record| (self.function)(&record.value));
        if passes {
            emit(record);
        }
    }
}

impl<T, F> Chain for Filter<T, F>
where
    T: Data,
    F: Fn(&T) -> bool + Clone + Send + 'static,
{
    type In = T;
    type Out = T;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        self.clone()
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("filter");
    }
}

/// Passes on what the function makes of a value, at the value's time; nothing if it makes nothing.
pub struct FilterMap<T, U, F> {
    function: F,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F: Fn(T) -> Option<U>> FilterMap<T, U, F> {
    /// A step of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, U, F: Clone> Clone for FilterMap<T, U, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T, U, F> Step for FilterMap<T, U, F>
where
    T: Data,
    U: Data,
    F: Fn(T) -> Option<U> + 'static,
{
    type In = T;
    type Out = U;
    const EXPANDS: bool = false;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<U>)) {
        let empty = record.with(());
        if let Some(value) = (self.function)(record.value) {
            emit(empty.with(value));
        }
    }
}

impl<T, U, F> Chain for FilterMap<T, U, F>
where
    T: Data,
    U: Data,
    F: Fn(T) -> Option<U> + Clone + Send + 'static,
{
    type In = T;
    type Out = U;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        self.clone()
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("filter_map");
    }
}
