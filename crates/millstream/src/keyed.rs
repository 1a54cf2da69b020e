//! A stream with a key, and what can be done with a state for each key.

use std::marker::PhantomData;

use millstream_core::{Key, Keyed, Record, TaskInfo};
use millstream_operators::keyed::{
    Emit, Fold, KeyedOperator, LastWithState, Reduce, Rule, WithState,
};
use millstream_operators::step::{Chain, Identity};
use millstream_operators::{Either, Operator};
use millstream_runtime::ByKeyOf;

use crate::{BoxedStream, Stream};

/// A stream with a key. Records of one key meet in one task, in the order in which each of the
/// tasks in front sent them.
#[must_use = "a keyed stream that nothing is done with leads nowhere"]
pub struct KeyedStream<C: Chain, K, F> {
    stream: Stream<C>,
    key: F,
    types: PhantomData<fn() -> K>,
}

impl<C, K, F> KeyedStream<C, K, F>
where
    C: Chain<Out: Record>,
    K: Key,
    F: Fn(&C::Out) -> K + Clone + Send + 'static,
{
    pub(crate) fn new(stream: Stream<C>, key: F) -> Self {
        Self { stream, key, types: PhantomData }
    }

    pub(crate) fn into_parts(self) -> (Stream<C>, F) {
        (self.stream, self.key)
    }

    /// From here on only the last result of each key goes out, when the input ends: by key group,
    /// and within a group in the order in which the keys appeared.
    pub fn at_end(self) -> AtEnd<C, K, F> {
        AtEnd(self)
    }

    /// Takes each value into the one of its key before; gives out the key and all so far.
    pub fn reduce<R>(self, name: &str, function: R) -> BoxedStream<(K, C::Out)>
    where
        C::Out: Clone,
        R: Fn(&mut C::Out, C::Out) + Clone + Send + 'static,
    {
        self.rule(name, Emit::EachRecord, move || Reduce::new(function.clone()))
    }

    /// Takes each value into an accumulator of its key, which starts as `first`; gives out the key
    /// and the accumulator.
    pub fn fold<S, R>(self, name: &str, first: S, function: R) -> BoxedStream<(K, S)>
    where
        S: Record + Clone,
        R: Fn(&mut S, C::Out) + Clone + Send + 'static,
    {
        self.rule(name, Emit::EachRecord, move || Fold::new(first.clone(), function.clone()))
    }

    /// Counts the records of each key; gives out the key and the count so far.
    pub fn count(self, name: &str) -> BoxedStream<(K, u64)> {
        self.fold(name, 0, |count, _| *count += 1)
    }

    /// Applies a function to each value that has the state of the value's key at hand. The state is
    /// a plain value, made by `Default` for a new key.
    pub fn map_with_state<S, U, R>(self, name: &str, function: R) -> BoxedStream<U>
    where
        S: Record + Clone + Default,
        U: Record,
        R: Fn(&K, &mut S, C::Out) -> U + Clone + Send + 'static,
    {
        self.rule(name, Emit::EachRecord, move || WithState::new(function.clone()))
    }

    /// A stage of an operator of your own, made by a factory for each of its tasks. It is given the
    /// key and the key's hash with each value.
    pub fn operator<O, M>(self, name: &str, factory: M) -> BoxedStream<O::Out>
    where
        O: Operator<In = Keyed<K, C::Out>>,
        M: Fn(&TaskInfo) -> O + Clone + Send + 'static,
    {
        self.stream.stage(name, ByKeyOf::new(self.key), factory)
    }

    /// This stream as the first and another with the same keys as the second input of an operator:
    /// records of one key meet, whichever they come by. Both are of one dataflow; two are refused
    /// at their starts.
    #[expect(clippy::type_complexity, reason = "the key function's type has no name")]
    pub fn connect<D, G>(
        self,
        other: KeyedStream<D, K, G>,
    ) -> KeyedStream<
        Identity<Either<C::Out, D::Out>>,
        K,
        impl Fn(&Either<C::Out, D::Out>) -> K + Clone + Send + 'static,
    >
    where
        D: Chain<Out: Record>,
        G: Fn(&D::Out) -> K + Clone + Send + 'static,
    {
        let (left, right) = (self.key, other.key);
        let key = move |value: &Either<C::Out, D::Out>| match value {
            Either::Left(value) => left(value),
            Either::Right(value) => right(value),
        };
        KeyedStream::new(self.stream.connect(other.stream), key)
    }

    fn rule<R: Rule<Key = K, Value = C::Out>>(
        self,
        name: &str,
        emit: Emit,
        rule: impl Fn() -> R + Clone + Send + 'static,
    ) -> BoxedStream<R::Out> {
        self.operator(name, move |task: &TaskInfo| KeyedOperator::new(task, emit, rule()))
    }
}

/// A keyed stream of which only the last result of each key goes out, when the input ends.
#[must_use = "a keyed stream that nothing is done with leads nowhere"]
pub struct AtEnd<C: Chain, K, F>(KeyedStream<C, K, F>);

impl<C, K, F> AtEnd<C, K, F>
where
    C: Chain<Out: Record>,
    K: Key,
    F: Fn(&C::Out) -> K + Clone + Send + 'static,
{
    /// As [`KeyedStream::reduce`], once a key.
    pub fn reduce<R>(self, name: &str, function: R) -> BoxedStream<(K, C::Out)>
    where
        C::Out: Clone,
        R: Fn(&mut C::Out, C::Out) + Clone + Send + 'static,
    {
        self.0.rule(name, Emit::AtEnd, move || Reduce::new(function.clone()))
    }

    /// As [`KeyedStream::fold`], once a key.
    pub fn fold<S, R>(self, name: &str, first: S, function: R) -> BoxedStream<(K, S)>
    where
        S: Record + Clone,
        R: Fn(&mut S, C::Out) + Clone + Send + 'static,
    {
        self.0.rule(name, Emit::AtEnd, move || Fold::new(first.clone(), function.clone()))
    }

    /// As [`KeyedStream::count`], once a key.
    pub fn count(self, name: &str) -> BoxedStream<(K, u64)> {
        self.fold(name, 0, |count, _| *count += 1)
    }

    /// As [`KeyedStream::map_with_state`]: the last result of each key, which is kept until then.
    pub fn map_with_state<S, U, R>(self, name: &str, function: R) -> BoxedStream<U>
    where
        S: Record + Clone + Default,
        U: Record + Clone,
        R: Fn(&K, &mut S, C::Out) -> U + Clone + Send + 'static,
    {
        self.0.rule(name, Emit::AtEnd, move || LastWithState::new(function.clone()))
    }
}
