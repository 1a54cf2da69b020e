//! `map`: one record becomes one record.

use std::marker::PhantomData;

use millstream_core::{Data, Stamped, TaskInfo};

use super::{Chain, Collect, Step};

/// Applies a function to each value; the timestamp stays.
pub struct Map<T, U, F> {
    function: F,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F: Fn(T) -> U> Map<T, U, F> {
    /// A step of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, U, F: Clone> Clone for Map<T, U, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T: Data, U: Data, F: Fn(T) -> U + 'static> Step for Map<T, U, F> {
    type In = T;
    type Out = U;
    const EXPANDS: bool = false;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<U>)) {
        emit(record.map(&self.function));
    }

    fn apply_each(
        &mut self,
        records: impl ExactSizeIterator<Item = Stamped<T>>,
        out: &mut impl Collect<U>,
    ) {
        out.extend(records.map(|record| record.map(&self.function)));
    }
}

impl<T: Data, U: Data, F: Fn(T) -> U + Clone + Send + 'static> Chain for Map<T, U, F> {
    type In = T;
    type Out = U;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        self.clone()
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("map");
    }
}

/// A [`Map`] whose function is made for each task, on the task's thread.
pub struct MapWith<T, U, M> {
    factory: M,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F: Fn(T) -> U, M: Fn(&TaskInfo) -> F> MapWith<T, U, M> {
    /// A step of the function that `factory` makes.
    pub const fn new(factory: M) -> Self {
        Self { factory, types: PhantomData }
    }
}

impl<T, U, M: Clone> Clone for MapWith<T, U, M> {
    fn clone(&self) -> Self {
        Self { factory: self.factory.clone(), types: PhantomData }
    }
}

impl<T, U, F, M> Chain for MapWith<T, U, M>
where
    T: Data,
    U: Data,
    F: Fn(T) -> U + 'static,
    M: Fn(&TaskInfo) -> F + Clone + Send + 'static,
{
    type In = T;
    type Out = U;
    type Step = Map<T, U, F>;

    fn make(&self, task: &TaskInfo) -> Self::Step {
        Map::new((self.factory)(task))
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("map");
    }
}
