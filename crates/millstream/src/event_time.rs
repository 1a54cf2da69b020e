//! Where event time begins: the times of records, and watermarks from them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_core::Timestamp;
use millstream_operators::progress::{Bounded, Punctuated, WatermarkStrategy};
use millstream_operators::step::Chain;
use millstream_runtime::{Connect, GraphFault, SharedNode, TimeNode};

use crate::{BoxedStream, Stream};

/// How watermarks come from the times of records, how often, and after which silence a split is no
/// longer waited for.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream::Watermarks;
///
/// let (late, silence) = (Duration::from_secs(5), Duration::from_secs(30));
/// let watermarks = Watermarks::bounded(late).idle_after(silence);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Watermarks<S> {
    strategy: S,
    every: Duration,
    idle_after: Option<Duration>,
}

impl Watermarks<Bounded> {
    /// For records that come in the order of their times, in each split.
    pub const fn ascending() -> Self {
        Self::bounded(Duration::ZERO)
    }

    /// For records that are at most so much later than the latest before them, in each split.
    pub const fn bounded(late: Duration) -> Self {
        Self::custom(Bounded::by(late))
    }
}

impl<F> Watermarks<Punctuated<F>> {
    /// For records that say by themselves when a watermark follows them: the function tells which,
    /// if one does.
    pub const fn punctuated<T>(function: F) -> Self
    where
        F: Fn(&T, Timestamp) -> Option<Timestamp>,
    {
        Self::custom(Punctuated(function))
    }
}

impl<S> Watermarks<S> {
    /// By a strategy of your own.
    pub const fn custom(strategy: S) -> Self {
        Self { strategy, every: Duration::from_millis(200), idle_after: None }
    }

    /// How often a watermark is given, by the job's clock; 200 ms if nothing is said. Those that
    /// [follow a record](WatermarkStrategy::on_record) do not wait for it.
    pub const fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// A split from which nothing has come for so long is not waited for until something comes:
    /// the watermarks of the others count alone. Time in which records could not be passed on does
    /// not count. Without this every split is waited for until it ends.
    pub const fn idle_after(mut self, silence: Duration) -> Self {
        self.idle_after = Some(silence);
        self
    }
}

impl<C: Chain> Stream<C> {
    /// Begins event time: `time` tells when each record happened, in milliseconds since 1970, and
    /// watermarks follow from that. Each split of the source in front has its own, and the least of
    /// them counts. Times and watermarks that came from in front are replaced.
    ///
    /// The time `i64::MIN` stands for a record without one, and fails the job.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// # actix::System::new().block_on(async {
    /// let flow = Dataflow::new("event time");
    /// let seen = flow
    ///     .source("seconds", Items::from(0..3_i64))
    ///     .event_time(|second| second * 1_000, Watermarks::ascending())
    ///     .collect("seen");
    /// flow.start(Settings::new()).await?.finished().await?;
    /// let seen = seen.take_stamped();
    /// let times = seen.iter().filter_map(|it| it.timestamp());
    /// assert_eq!(times.map(|at| at.millis()).collect::<Vec<_>>(), [0, 1_000, 2_000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn event_time<F, S>(self, time: F, watermarks: Watermarks<S>) -> BoxedStream<C::Out>
    where
        F: Fn(&C::Out) -> i64 + Clone + Send + 'static,
        S: WatermarkStrategy<C::Out>,
    {
        let (shared, made) = (self.shared.clone(), self.made().cloned());
        let zero = [("every", Some(watermarks.every)), ("idle_after", watermarks.idle_after)];
        for (setting, _) in zero.into_iter().filter(|(_, time)| *time == Some(Duration::ZERO)) {
            shared.graph().fault(GraphFault::EventTime { setting });
        }
        let (origins, chain) = self.into_origins();
        let begins = Begins { origins, chain, time, watermarks };
        Stream::of(shared, vec![Box::new(begins)], made)
    }
}

/// A place where event time begins, to which something can be connected.
struct Begins<C: Chain, F, S> {
    origins: Vec<Box<dyn Connect<C::In>>>,
    chain: C,
    time: F,
    watermarks: Watermarks<S>,
}

impl<C, F, S> Connect<C::Out> for Begins<C, F, S>
where
    C: Chain,
    F: Fn(&C::Out) -> i64 + Clone + Send + 'static,
    S: WatermarkStrategy<C::Out>,
{
    fn connect(&self, next: SharedNode<C::Out>) {
        let (chain, time) = (self.chain.clone(), self.time.clone());
        let Watermarks { strategy, every, idle_after } = self.watermarks.clone();
        let node = TimeNode { chain, time, strategy, every, idle_after, next };
        let node: SharedNode<C::In> = Arc::new(Mutex::new(node));
        self.origins.iter().for_each(|origin| origin.connect(node.clone()));
    }
}
