//! The methods of streams that make a stage of calls.

use std::future::Future;
use std::iter::once;

use millstream_core::{Data, Failure, Key, Record, TaskInfo};
use millstream_operators::async_wait::Order;
use millstream_operators::holding;
use millstream_operators::step::Chain;
use millstream_runtime::{
    Answered, ByKeyOf, Completer, GraphFault, Inlets, Natural, Port, Sides, StageKey,
};

use super::caller::{ByKey, Called, Plain, Way};
use super::function::Calling;
use super::{AsyncFunction, AsyncWait};
use crate::dataflow::Shared;
use crate::{BoxedStream, KeyedStream, Stream};

/// The methods that both kinds of streams have, each in terms of `async_call`.
macro_rules! calls {
    ($value:ty) => {
        /// Calls an async function for each record, many at once; its result goes on.
        ///
        /// ```
        /// use millstream::prelude::*;
        ///
        /// # #[actix::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let flow = Dataflow::new("lengths");
        /// let words = flow.source("words", Items::from(["mill", "stream"])).map(str::to_owned);
        /// let lengths = words
        ///     .async_wait("length", AsyncWait::ordered(), |word| async move { Ok(word.len()) })
        ///     .collect("out");
        /// flow.start(Settings::new()).await?.finished().await?;
        /// assert_eq!(lengths.take(), [4, 6]);
        /// # Ok(())
        /// # }
        /// ```
        pub fn async_wait<U, Call, Function>(
            self,
            name: &str,
            wait: AsyncWait<$value, U>,
            function: Function,
        ) -> BoxedStream<U>
        where
            $value: Clone,
            U: Data,
            Call: Future<Output = Result<U, Failure>> + 'static,
            Function: Fn($value) -> Call + Clone + Send + 'static,
        {
            self.async_call(name, wait, move |_| Calling::new(function.clone(), once))
        }

        /// As [`async_wait`](Self::async_wait), for a function that gives a result or none.
        pub fn async_filter_map<U, Call, Function>(
            self,
            name: &str,
            wait: AsyncWait<$value, Option<U>>,
            function: Function,
        ) -> BoxedStream<U>
        where
            $value: Clone,
            U: Data,
            Call: Future<Output = Result<Option<U>, Failure>> + 'static,
            Function: Fn($value) -> Call + Clone + Send + 'static,
        {
            self.async_flat_map(name, wait, function)
        }

        /// As [`async_wait`](Self::async_wait), for a function that gives any number of results.
        /// Those of one record go on together, all at its time.
        pub fn async_flat_map<I, Call, Function>(
            self,
            name: &str,
            wait: AsyncWait<$value, I>,
            function: Function,
        ) -> BoxedStream<I::Item>
        where
            $value: Clone,
            I: IntoIterator<Item: Data> + 'static,
            Call: Future<Output = Result<I, Failure>> + 'static,
            Function: Fn($value) -> Call + Clone + Send + 'static,
        {
            self.async_call(name, wait, move |_| Calling::new(function.clone(), |all: I| all))
        }

        /// As [`async_wait`](Self::async_wait), for calls that are answered by a
        /// [`Completer`], from wherever it has been taken to.
        pub fn async_callback<U, Function>(
            self,
            name: &str,
            wait: AsyncWait<$value, U>,
            function: Function,
        ) -> BoxedStream<U>
        where
            $value: Clone,
            U: Data,
            Function: Fn($value, Completer<U>) + Clone + Send + 'static,
        {
            self.async_wait(name, wait, move |value| {
                let (completer, answered) = Answered::pair();
                // It may have its answer when the function panics.
                holding(answered, |_| function(value, completer)).0
            })
        }
    };
}

impl<C: Chain<Out: Record>> Stream<C> {
    calls!(C::Out);

    /// A stage of calls of your own, made by a factory for each of its tasks.
    pub fn async_call<A, M>(
        self,
        name: &str,
        wait: AsyncWait<A::In, A::Answer>,
        factory: M,
    ) -> BoxedStream<A::Out>
    where
        C::Out: Clone,
        A: AsyncFunction<In = C::Out>,
        M: Fn(&TaskInfo) -> A + Clone + Send + 'static,
    {
        if matches!(wait.limits.order, Order::KeyOrdered { .. }) {
            self.shared.graph().fault(GraphFault::NoKeys { stage: name.to_owned() });
        }
        let stage = add::<Plain, A, _>(&self.shared, name, wait, factory);
        self.into_stage(Natural, stage)
    }
}

impl<C, K, F> KeyedStream<C, K, F>
where
    C: Chain<Out: Record>,
    K: Key,
    F: Fn(&C::Out) -> K + Clone + Send + 'static,
{
    calls!(C::Out);

    /// A stage of calls of your own, made by a factory for each of its tasks. Records of one key
    /// meet in one task.
    pub fn async_call<A, M>(
        self,
        name: &str,
        wait: AsyncWait<A::In, A::Answer>,
        factory: M,
    ) -> BoxedStream<A::Out>
    where
        C::Out: Clone,
        A: AsyncFunction<In = C::Out>,
        M: Fn(&TaskInfo) -> A + Clone + Send + 'static,
    {
        let (stream, key) = self.into_parts();
        let stage = add::<ByKey<K>, A, _>(&stream.shared, name, wait, factory);
        stream.into_stage(ByKeyOf::new(key), stage)
    }
}

/// Adds a stage of calls, to which values travel in the way `W`.
fn add<W, A, M>(
    shared: &Shared,
    name: &str,
    wait: AsyncWait<A::In, A::Answer>,
    factory: M,
) -> (StageKey, Inlets<W::In>, Port<A::Out>, Sides)
where
    W: Way<A::In>,
    A: AsyncFunction,
    M: Fn(&TaskInfo) -> A + Clone + Send + 'static,
{
    let limits = wait.limits(A::HANDLES_INPUT);
    let make = move |task: &TaskInfo| Called::<W, A>::new(factory(task), wait.clone());
    shared.graph().calls(name, limits, make)
}
