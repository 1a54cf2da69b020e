//! A stream with a key, and what can be done with a state for each key.

use std::marker::PhantomData;

use millstream_core::{Data, Key, Keyed, Record, TaskInfo};
use millstream_operators::keyed::{
    Emit, Fold, KeyedOperator, LastWithState, Reduce, Rule, WithState,
};
use millstream_operators::process::{
    CoProcess, Fired, KeyedCoProcess, KeyedProcess, ProcessContext, ProcessFn, ProcessOperator,
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

    /// A stage that does what `process` says: with a state and timers for each key.
    ///
    /// Each task has a clone of it; what cannot be cloned is made by
    /// [`process_with`](Self::process_with).
    ///
    /// # Examples
    ///
    /// Tells of keys that were silent for a second of the clock on the wall:
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use millstream::prelude::*;
    ///
    /// #[derive(Clone)]
    /// struct Silence;
    ///
    /// impl KeyedProcess for Silence {
    ///     type Key = String;
    ///     type In = (String, u64);
    ///     type Out = String;
    ///     type State = u64;
    ///     type Timer = ();
    ///     // The input of the example ends before the second is over.
    ///     const FIRES_AT_END: bool = true;
    ///
    ///     fn on_record(
    ///         &mut self,
    ///         (_, amount): (String, u64),
    ///         sum: &mut u64,
    ///         cx: &mut ContextOf<'_, Self>,
    ///     ) -> Result<(), Failure> {
    ///         *sum += amount;
    ///         cx.replace_processing_timer(cx.now().plus(Duration::from_secs(1)), ());
    ///         Ok(())
    ///     }
    ///
    ///     fn on_timer(
    ///         &mut self,
    ///         _: Fired<()>,
    ///         sum: &mut u64,
    ///         cx: &mut ContextOf<'_, Self>,
    ///     ) -> Result<(), Failure> {
    ///         cx.emit(format!("{} is silent after {sum}", cx.key()));
    ///         cx.clear();
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # actix::System::new().block_on(async {
    /// let flow = Dataflow::new("silence");
    /// let amounts = [("mill", 3), ("mill", 4)].map(|(name, n)| (name.to_owned(), n));
    /// let silent = flow
    ///     .source("amounts", Items::from(amounts))
    ///     .key_by(|(name, _)| name.clone())
    ///     .process("silence", Silence)
    ///     .collect("silent");
    /// flow.start(Settings::new()).await?.finished().await?;
    /// assert_eq!(silent.take(), ["mill is silent after 7"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn process<P>(self, name: &str, process: P) -> BoxedStream<P::Out>
    where
        P: KeyedProcess<Key = K, In = C::Out> + Clone + Send,
    {
        self.process_with(name, move |_| process.clone())
    }

    /// As [`process`](Self::process), made by a factory for each task, on its thread.
    pub fn process_with<P, M>(self, name: &str, factory: M) -> BoxedStream<P::Out>
    where
        P: KeyedProcess<Key = K, In = C::Out>,
        M: Fn(&TaskInfo) -> P + Clone + Send + 'static,
    {
        self.operator(name, move |task: &TaskInfo| ProcessOperator::new(task, factory(task)))
    }

    /// As [`process`](Self::process), of two closures: one for records, one for timers.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// # actix::System::new().block_on(async {
    /// let flow = Dataflow::new("counts");
    /// let counts = flow
    ///     .source("letters", Items::from(["a", "b", "a"].map(str::to_owned)))
    ///     .key_by(|letter| letter.clone())
    ///     .process_fn(
    ///         "count",
    ///         |_, count: &mut u64, cx| {
    ///             *count += 1;
    ///             // At the end of the input all event timers fire.
    ///             cx.event_timer(Timestamp::MAX, ());
    ///         },
    ///         |_: Fired<()>, count, cx| cx.emit((cx.key().clone(), *count)),
    ///     )
    ///     .collect("counts");
    /// flow.start(Settings::new()).await?.finished().await?;
    /// let mut counts = counts.take();
    /// counts.sort();
    /// assert_eq!(counts, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn process_fn<U, S, T, R, G>(self, name: &str, on_record: R, on_timer: G) -> BoxedStream<U>
    where
        U: Data,
        S: Record + Clone + Default,
        T: Key,
        R: FnMut(C::Out, &mut S, &mut ProcessContext<'_, K, U, T>) + Clone + Send + 'static,
        G: FnMut(Fired<T>, &mut S, &mut ProcessContext<'_, K, U, T>) + Clone + Send + 'static,
    {
        self.process(name, ProcessFn::new(on_record, on_timer))
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

impl<C, K, F, L, R> KeyedStream<C, K, F>
where
    C: Chain<Out = Either<L, R>>,
    K: Key,
    L: Record,
    R: Record,
    F: Fn(&C::Out) -> K + Clone + Send + 'static,
{
    /// A stage that does what `process` says with two inputs, which share the state and the timers
    /// of each key. Each task has a clone of it.
    pub fn co_process<P>(self, name: &str, process: P) -> BoxedStream<P::Out>
    where
        P: KeyedCoProcess<Key = K, Left = L, Right = R> + Clone + Send,
    {
        self.process(name, CoProcess(process))
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
