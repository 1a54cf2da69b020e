//! Stateless steps that fuse: as types, into the task in front of them.
//!
//! A [`Chain`] describes steps and can be sent; a [`Step`] is a chain made for one task. Each step
//! hands its records to the next by a closure, so that a chain of four compiles to one loop body
//! without a call, an allocation or a buffer between them.

mod filter;
mod flat_map;
mod inspect;
mod map;

use std::marker::PhantomData;

use millstream_core::{Data, Stamped, TaskInfo};

use crate::drained;

pub use filter::{Filter, FilterMap};
pub use flat_map::FlatMap;
pub use inspect::Inspect;
pub use map::{Map, MapWith};

/// A stateless step, made for one task.
pub trait Step: 'static {
    /// What comes in.
    type In: Data;
    /// What goes out.
    type Out: Data;

    /// Whether one record may become many. Whoever runs such a step looks at its room after each
    /// record instead of after each batch.
    const EXPANDS: bool;

    /// Hands what becomes of a record to `emit`, in order.
    fn apply(&mut self, record: Stamped<Self::In>, emit: &mut impl FnMut(Stamped<Self::Out>));

    /// Hands what becomes of many records to `out`, in order. A step that makes one record of each
    /// hands them on as an iterator that knows its length, so that a chain of such steps is a loop
    /// without a look at the room.
    fn apply_each(
        &mut self,
        records: impl ExactSizeIterator<Item = Stamped<Self::In>>,
        out: &mut impl Collect<Self::Out>,
    ) {
        records.for_each(|record| self.apply(record, &mut |record| out.push(record)));
    }

    /// Hands what becomes of a whole batch to `out`, in order, and leaves the batch empty.
    fn apply_all(&mut self, batch: &mut Vec<Stamped<Self::In>>, out: &mut impl Collect<Self::Out>) {
        drained(batch, |records| self.apply_each(records, out));
    }
}

/// Where the records that leave a chain of steps go.
pub trait Collect<T> {
    /// Takes a record.
    fn push(&mut self, record: Stamped<T>);

    /// Takes all of these and leaves the vector empty; may keep it and leave another in its place.
    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        drained(records, |records| records.for_each(|record| self.push(record)));
    }

    /// Takes as many records as the iterator says that it has.
    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        records.for_each(|record| self.push(record));
    }
}

/// The description of steps, from which each task makes its own.
pub trait Chain: Clone + Send + 'static {
    /// What comes in.
    type In: Data;
    /// What goes out.
    type Out: Data;
    /// What is made.
    type Step: Step<In = Self::In, Out = Self::Out>;

    /// Makes the steps for a task, on the task's thread.
    fn make(&self, task: &TaskInfo) -> Self::Step;

    /// Adds the names of the steps, as the plan shows them.
    fn labels(&self, labels: &mut Vec<&'static str>);
}

/// No step at all.
pub struct Identity<T>(PhantomData<fn(T)>);

impl<T> Identity<T> {
    /// No step.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Identity<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Identity<T> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<T: Data> Step for Identity<T> {
    type In = T;
    type Out = T;
    const EXPANDS: bool = false;

    #[inline]
    fn apply(&mut self, record: Stamped<T>, emit: &mut impl FnMut(Stamped<T>)) {
        emit(record);
    }

    fn apply_each(
        &mut self,
        records: impl ExactSizeIterator<Item = Stamped<T>>,
        out: &mut impl Collect<T>,
    ) {
        out.extend(records);
    }

    fn apply_all(&mut self, batch: &mut Vec<Stamped<T>>, out: &mut impl Collect<T>) {
        out.append(batch);
    }
}

impl<T: Data> Chain for Identity<T> {
    type In = T;
    type Out = T;
    type Step = Self;

    fn make(&self, _: &TaskInfo) -> Self {
        Self::new()
    }

    fn labels(&self, _: &mut Vec<&'static str>) {}
}

/// One chain and then another; as a step, one step and then another.
#[derive(Clone)]
pub struct Then<A, B> {
    first: A,
    second: B,
}

impl<A, B> Then<A, B> {
    /// `first`, and `second` with what comes out of it.
    pub const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<A: Step, B: Step<In = A::Out>> Step for Then<A, B> {
    type In = A::In;
    type Out = B::Out;
    const EXPANDS: bool = A::EXPANDS || B::EXPANDS;

    #[inline]
    fn apply(&mut self, record: Stamped<A::In>, emit: &mut impl FnMut(Stamped<B::Out>)) {
        let Self { first, second } = self;
        first.apply(record, &mut |record| second.apply(record, emit));
    }

    fn apply_each(
        &mut self,
        records: impl ExactSizeIterator<Item = Stamped<A::In>>,
        out: &mut impl Collect<B::Out>,
    ) {
        let Self { first, second } = self;
        first.apply_each(records, &mut Through { step: second, out });
    }
}

/// Collects into a step, and what that makes of it into `out`.
struct Through<'a, S, O> {
    step: &'a mut S,
    out: &'a mut O,
}

impl<S: Step, O: Collect<S::Out>> Collect<S::In> for Through<'_, S, O> {
    #[inline]
    fn push(&mut self, record: Stamped<S::In>) {
        self.step.apply(record, &mut |record| self.out.push(record));
    }

    #[inline]
    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<S::In>>) {
        self.step.apply_each(records, self.out);
    }
}

impl<A: Chain, B: Chain<In = A::Out>> Chain for Then<A, B> {
    type In = A::In;
    type Out = B::Out;
    type Step = Then<A::Step, B::Step>;

    fn make(&self, task: &TaskInfo) -> Self::Step {
        Then { first: self.first.make(task), second: self.second.make(task) }
    }

    fn labels(&self, labels: &mut Vec<&'static str>) {
        self.first.labels(labels);
        self.second.labels(labels);
    }
}
