//! What leaves a stage, with the stateless steps that are fused to it.

use std::sync::{Arc, Mutex};

use millstream_core::{Data, Failure, Key, Record, Stamped, TaskInfo};
use millstream_operators::step::{
    Filter, FilterMap, FlatMap, Identity, Inspect, Map, MapWith, Then,
};
use millstream_operators::{Chain, Effects, Either, NoTimer, Operator, SideOutput};
use millstream_runtime::{
    Broadcast, Connect, EdgeNode, ForkNode, InTurn, Inlets, Natural, Port, RouteOf, SharedNode,
    Sides, Sink, StageKey, StepNode,
};

use crate::dataflow::Shared;
use crate::ends::{Collect, Collected, Each};
use crate::keyed::KeyedStream;

/// The stage that makes a stream.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) key: StageKey,
    pub(crate) sides: Sides,
}

/// A stream whose type can be named, whatever steps made it.
pub type BoxedStream<T> = Stream<Identity<T>>;

/// What leaves a stage, with the stateless steps that are fused to it.
///
/// `C` says which steps, and `C::Out` what the records are. A function can take and return streams:
///
/// ```
/// use millstream::prelude::*;
///
/// fn squares(numbers: Stream<impl Chain<Out = u64>>) -> Stream<impl Chain<Out = u64>> {
///     numbers.map(|n| n * n)
/// }
///
/// let flow = Dataflow::new("squares");
/// let _ = squares(flow.source("numbers", Items::from(0..10_u64))).collect("out");
/// ```
///
/// A stream is used once; [`fork`](Self::fork) makes several of one.
#[must_use = "a stream that ends in no sink leads nowhere: its stage is refused at the start"]
pub struct Stream<C: Chain> {
    pub(crate) shared: Shared,
    pub(crate) origins: Vec<Box<dyn Connect<C::In>>>,
    pub(crate) chain: C,
    made: Option<Made>,
}

impl<T: Data> Stream<Identity<T>> {
    pub(crate) fn of(
        shared: Shared,
        origins: Vec<Box<dyn Connect<T>>>,
        made: Option<Made>,
    ) -> Self {
        Self { shared, origins, chain: Identity::new(), made }
    }
}

impl<C: Chain> Stream<C> {
    fn then<D: Chain<In = C::Out>>(self, next: D) -> Stream<Then<C, D>> {
        let Self { shared, origins, chain, made } = self;
        Stream { shared, origins, chain: Then::new(chain, next), made }
    }

    /// Applies a function to each value.
    pub fn map<U, F>(self, function: F) -> Stream<impl Chain<In = C::In, Out = U>>
    where
        U: Data,
        F: Fn(C::Out) -> U + Clone + Send + 'static,
    {
        self.then(Map::new(function))
    }

    /// As [`map`](Self::map), with a function that is made for each task, on its thread: for what
    /// needs set-up or is not `Clone`.
    pub fn map_with<U, F, M>(self, factory: M) -> Stream<impl Chain<In = C::In, Out = U>>
    where
        U: Data,
        F: Fn(C::Out) -> U + 'static,
        M: Fn(&TaskInfo) -> F + Clone + Send + 'static,
    {
        self.then(MapWith::new(factory))
    }

    /// Passes on the records whose value the function says yes to.
    pub fn filter<F>(self, function: F) -> Stream<impl Chain<In = C::In, Out = C::Out>>
    where
        F: Fn(&C::Out) -> bool + Clone + Send + 'static,
    {
        self.then(Filter::new(function))
    }

    /// Passes on what the function makes of a value, if it makes something.
    pub fn filter_map<U, F>(self, function: F) -> Stream<impl Chain<In = C::In, Out = U>>
    where
        U: Data,
        F: Fn(C::Out) -> Option<U> + Clone + Send + 'static,
    {
        self.then(FilterMap::new(function))
    }

    /// Passes on each of the values that the function makes of one.
    pub fn flat_map<I, F>(self, function: F) -> Stream<impl Chain<In = C::In, Out = I::Item>>
    where
        I: IntoIterator<Item: Data> + 'static,
        F: Fn(C::Out) -> I + Clone + Send + 'static,
    {
        self.then(FlatMap::new(function))
    }

    /// Shows each value to a function.
    pub fn inspect<F>(self, function: F) -> Stream<impl Chain<In = C::In, Out = C::Out>>
    where
        F: Fn(&C::Out) + Clone + Send + 'static,
    {
        self.then(Inspect::new(function))
    }

    /// The records of both streams. Those of each keep their order; nothing is said about the order
    /// between the two. Both are of one dataflow; two are refused at their starts.
    pub fn union<D: Chain<Out = C::Out>>(self, other: Stream<D>) -> BoxedStream<C::Out> {
        let shared = self.shared.clone();
        if !shared.may_join(&other.shared, "union") {
            return Stream::of(shared, Vec::new(), None);
        }
        let origins = vec![self.outlet(None), other.outlet(None)];
        Stream::of(shared, origins, None)
    }

    /// This stream as the first and another as the second input of an operator. Both are of one
    /// dataflow; two are refused at their starts.
    pub fn connect<D: Chain>(self, other: Stream<D>) -> BoxedStream<Either<C::Out, D::Out>> {
        let shared = self.shared.clone();
        if !shared.may_join(&other.shared, "connect") {
            return Stream::of(shared, Vec::new(), None);
        }
        let left = self.map(Either::Left).outlet(Some(0));
        let right = other.map(Either::Right).outlet(Some(1));
        Stream::of(shared, vec![left, right], None)
    }

    /// Several streams of this one. The steps before run once; each record is doubled.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let flow = Dataflow::new("fork");
    /// let [all, even] = flow.source("numbers", Items::from(0..10_u64)).fork();
    /// let _ = all.collect("all");
    /// let _ = even.filter(|n| n % 2 == 0).collect("even");
    /// ```
    pub fn fork<const N: usize>(self) -> [BoxedStream<C::Out>; N]
    where
        C::Out: Clone,
    {
        let Self { shared, origins, chain, made } = self;
        let port = Port::default();
        let node: SharedNode<C::In> = Arc::new(Mutex::new(ForkNode { chain, port: port.clone() }));
        origins.iter().for_each(|origin| origin.connect(node.clone()));
        std::array::from_fn(|_| {
            let origins: Vec<Box<dyn Connect<C::Out>>> = vec![Box::new(port.clone())];
            Stream::of(shared.clone(), origins, made.clone())
        })
    }

    /// The same stream with a type that can be named. Costs one dynamic call and one copy a batch.
    pub fn boxed(self) -> BoxedStream<C::Out> {
        let (shared, made) = (self.shared.clone(), self.made.clone());
        let origins = vec![self.outlet(None)];
        Stream::of(shared, origins, made)
    }

    /// Spreads the records over all tasks of a new stage, in turn: what follows runs there.
    pub fn rebalance(self, name: &str) -> BoxedStream<C::Out>
    where
        C::Out: Record,
    {
        self.stage(name, InTurn, |_| Pass::new())
    }

    /// Gives every record to every task of a new stage: what follows runs there.
    pub fn broadcast(self, name: &str) -> BoxedStream<C::Out>
    where
        C::Out: Record + Clone,
    {
        self.stage(name, Broadcast, |_| Pass::new())
    }

    /// Gives the stream a key: what follows has a state for each.
    pub fn key_by<K, F>(self, key: F) -> KeyedStream<C, K, F>
    where
        C::Out: Record,
        K: Key,
        F: Fn(&C::Out) -> K + Clone + Send + 'static,
    {
        KeyedStream::new(self, key)
    }

    /// A stage of an operator of your own, made by a factory for each of its tasks.
    pub fn operator<O, F>(self, name: &str, factory: F) -> BoxedStream<O::Out>
    where
        C::Out: Record,
        O: Operator<In = C::Out>,
        F: Fn(&TaskInfo) -> O + Clone + Send + 'static,
    {
        self.stage(name, Natural, factory)
    }

    pub(crate) fn stage<R, O, F>(self, name: &str, route: R, factory: F) -> BoxedStream<O::Out>
    where
        R: RouteOf<C::Out>,
        R::Route: millstream_runtime::Route<C::Out, Out = O::In>,
        O: Operator,
        F: Fn(&TaskInfo) -> O + Clone + Send + 'static,
    {
        let stage = self.shared.graph().operator(name, factory);
        self.into_stage(route, stage)
    }

    /// Leads into a stage that has been added; what that makes is a stream.
    pub(crate) fn into_stage<R, T, U>(
        self,
        route: R,
        (key, inlets, port, sides): (StageKey, Inlets<T>, Port<U>, Sides),
    ) -> BoxedStream<U>
    where
        R: RouteOf<C::Out>,
        R::Route: millstream_runtime::Route<C::Out, Out = T>,
        T: Data,
        U: Data,
    {
        let Self { shared, origins, chain, .. } = self;
        let node = EdgeNode { chain, route, to: key, port: 0, inlets };
        let node: SharedNode<C::In> = Arc::new(Mutex::new(node));
        origins.iter().for_each(|origin| origin.connect(node.clone()));
        Stream::of(shared, vec![Box::new(port)], Some(Made { key, sides }))
    }

    /// What an operator or a source writes to a side output, as a stream of its own. Refers to the
    /// stage that makes this stream, whatever steps follow it.
    pub fn side_output<T: Record>(&self, output: &SideOutput<T>) -> BoxedStream<T> {
        let origins: Vec<Box<dyn Connect<T>>> = match &self.made {
            Some(Made { key, sides }) => {
                vec![Box::new(self.shared.graph().side(*key, sides, output))]
            }
            None => Vec::new(),
        };
        Stream::of(self.shared.clone(), origins, None)
    }

    /// The number of tasks of the stage that makes this stream.
    pub fn parallelism(self, parallelism: usize) -> Self {
        match &self.made {
            Some(made) => self.shared.graph().set_parallelism(made.key, parallelism),
            None => self
                .shared
                .graph()
                .fault(millstream_runtime::GraphFault::ParallelismOfUnion { asked: parallelism }),
        }
        self
    }

    /// Ends the stream in a sink.
    pub fn sink<K>(self, name: &str, sink: K) -> Sunk
    where
        C::Out: Record,
        K: Sink<In = C::Out>,
    {
        let Self { shared, origins, chain, .. } = self;
        let (key, inlets) = shared.graph().sink(name, sink);
        let node = EdgeNode { chain, route: Natural, to: key, port: 0, inlets };
        let node: SharedNode<C::In> = Arc::new(Mutex::new(node));
        origins.iter().for_each(|origin| origin.connect(node.clone()));
        Sunk { shared, key }
    }

    /// Ends the stream in a vector, which the returned handle gives out.
    pub fn collect(self, name: &str) -> Collected<C::Out>
    where
        C::Out: Record,
    {
        let collected = Collected::default();
        self.sink(name, Collect::into(&collected));
        collected
    }

    /// Ends the stream in a function.
    pub fn for_each<F>(self, name: &str, function: F) -> Sunk
    where
        C::Out: Record,
        F: Fn(C::Out) + Clone + Send + 'static,
    {
        self.sink(name, Each::new(move |record: Stamped<C::Out>| function(record.value)))
    }

    /// The stage that makes it, if there is one.
    pub(crate) const fn made(&self) -> Option<&Made> {
        self.made.as_ref()
    }

    /// Its origins and the steps behind them.
    pub(crate) fn into_origins(self) -> (Vec<Box<dyn Connect<C::In>>>, C) {
        (self.origins, self.chain)
    }

    /// What others connect to: this stream's steps behind its origins.
    fn outlet(self, input: Option<u32>) -> Box<dyn Connect<C::Out>> {
        let Self { origins, chain, .. } = self;
        Box::new(Behind { origins, chain, input })
    }
}

/// Steps behind origins, to which something of another type can be connected.
struct Behind<C: Chain> {
    origins: Vec<Box<dyn Connect<C::In>>>,
    chain: C,
    input: Option<u32>,
}

impl<C: Chain> Connect<C::Out> for Behind<C> {
    fn connect(&self, next: SharedNode<C::Out>) {
        let node = StepNode { chain: self.chain.clone(), next, input: self.input };
        let node: SharedNode<C::In> = Arc::new(Mutex::new(node));
        self.origins.iter().for_each(|origin| origin.connect(node.clone()));
    }
}

/// Passes on what comes: the task of an exchange.
struct Pass<T>(std::marker::PhantomData<fn(T)>);

impl<T> Pass<T> {
    const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Data> Operator for Pass<T> {
    type In = T;
    type Out = T;
    type Timer = NoTimer;

    const BATCHES: bool = true;

    fn on_record(&mut self, record: Stamped<T>, out: &mut Effects<T>) -> Result<(), Failure> {
        out.emit(record);
        Ok(())
    }

    fn on_batch(
        &mut self,
        batch: &mut Vec<Stamped<T>>,
        out: &mut Effects<T>,
    ) -> Result<(), Failure> {
        out.append(batch);
        Ok(())
    }
}

/// A sink that was added.
pub struct Sunk {
    shared: Shared,
    key: StageKey,
}

impl Sunk {
    /// The number of its tasks.
    pub fn parallelism(self, parallelism: usize) -> Self {
        self.shared.graph().set_parallelism(self.key, parallelism);
        self
    }
}
