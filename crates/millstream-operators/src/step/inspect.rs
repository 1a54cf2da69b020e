//! `inspect`: look at what passes.

use std::marker::PhantomData;

use millstream_core::{Data, Stamped, TaskInfo};

use super::{Chain, Collect, Step};
use crate::holding;

/// Shows each value to a function and passes it on.
pub struct Inspect<T, F> {
    function: F,
    types: PhantomData<fn(T)>,
}

impl<T, F: Fn(&T)> Inspect<T, F> {
    /// A step of this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<T, F: Clone> Clone for Inspect<T, F> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), types: PhantomData }
    }
}

impl<T, F> Step for Inspect<T, F>
where
    T: Data,
    F: Fn(&T) + 'static,
{
    type In = T;
    type Out = T;
    const EXPANDS: bool = false;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<T>)) {
        emit(holding(record, |record| (self.function)(&record.value)).0);
    }

    fn apply_each(
        &mut self,
        records: impl ExactSizeIterator<Item = Stamped<T>>,
        out: &mut impl Collect<T>,
    ) {
        out.extend(records.map(|record| holding(record, |it| (self.function)(&it.value)).0));
    }
}

impl<T, F> Chain for Inspect<T, F>
where
    T: Data,
    F: Fn(&T) + Clone + Send + 'static,
{
    type In = T;
    type Out = T;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        self.clone()
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        labels.push("inspect");
    }
}
