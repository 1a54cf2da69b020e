//! The nodes of an output's tree: an edge, a fork, steps in front of a union.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream_core::{Data, Key, Keyed};
use millstream_operators::Chain;
use millstream_operators::progress::WatermarkStrategy;
use millstream_plan::Route as RouteKind;

use super::build::StageKey;
use super::wiring::{Inlets, Leaf, Node, Wiring};
use crate::channel::{Branch, Broadcast, ByKey, Edge, EventTime, Fork, Rebalance, Route};

/// A node that several trees may share.
pub type SharedNode<T> = Arc<Mutex<dyn Node<T>>>;

/// Where the nodes behind an output are gathered until the graph starts.
pub struct Port<T>(Arc<Mutex<Vec<SharedNode<T>>>>);

impl<T> Clone for Port<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Port<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Data> Port<T> {
    fn nodes(&self) -> Vec<SharedNode<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>) {
        for node in self.nodes() {
            node.lock().unwrap_or_else(PoisonError::into_inner).leaves(steps, leaves);
        }
    }

    pub(crate) fn build(&self, wiring: &mut Wiring) -> Vec<Box<dyn Branch<T>>> {
        let build = |node: &SharedNode<T>| {
            node.lock().unwrap_or_else(PoisonError::into_inner).build(wiring)
        };
        self.nodes().iter().map(build).collect()
    }
}

/// What something can be connected to: an output, or steps behind one.
pub trait Connect<T>: Send {
    /// Adds a node behind it.
    fn connect(&self, node: SharedNode<T>);
}

impl<T: Data> Connect<T> for Port<T> {
    fn connect(&self, node: SharedNode<T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(node);
    }
}

/// How a route is made for each task.
pub trait RouteOf<T>: Clone + Send + 'static {
    /// What is made.
    type Route: Route<T>;
    /// Its name in the plan; none where the number of tasks decides.
    fn kind(&self) -> Option<RouteKind>;
    /// Makes it.
    #[doc(hidden)]
    fn make(&self, wiring: &Wiring) -> Self::Route;
}

/// Forward where both stages have as many tasks, else in turn.
#[derive(Clone, Copy, Debug)]
pub struct Natural;

impl<T: Data> RouteOf<T> for Natural {
    type Route = Rebalance;

    fn kind(&self) -> Option<RouteKind> {
        None
    }

    fn make(&self, wiring: &Wiring) -> Rebalance {
        Rebalance::from(wiring.info.subtask)
    }
}

/// In turn, also where forward would do.
#[derive(Clone, Copy, Debug)]
pub struct InTurn;

impl<T: Data> RouteOf<T> for InTurn {
    type Route = Rebalance;

    fn kind(&self) -> Option<RouteKind> {
        Some(RouteKind::Rebalance)
    }

    fn make(&self, wiring: &Wiring) -> Rebalance {
        Rebalance::from(wiring.info.subtask)
    }
}

impl<T: Data + Clone> RouteOf<T> for Broadcast {
    type Route = Self;

    fn kind(&self) -> Option<RouteKind> {
        Some(RouteKind::Broadcast)
    }

    fn make(&self, _: &Wiring) -> Self {
        Self
    }
}

/// By the key that a function takes from a value.
pub struct ByKeyOf<K, F> {
    key: F,
    types: PhantomData<fn() -> K>,
}

impl<K, F> ByKeyOf<K, F> {
    /// By the key that `key` takes from a value.
    pub const fn new(key: F) -> Self {
        Self { key, types: PhantomData }
    }
}

impl<K, F: Clone> Clone for ByKeyOf<K, F> {
    fn clone(&self) -> Self {
        Self::new(self.key.clone())
    }
}

impl<T, K, F> RouteOf<T> for ByKeyOf<K, F>
where
    T: Data,
    K: Key,
    F: Fn(&T) -> K + Clone + Send + 'static,
    Keyed<K, T>: Data,
{
    type Route = ByKey<K, F>;

    fn kind(&self) -> Option<RouteKind> {
        Some(RouteKind::ByKey)
    }

    fn make(&self, wiring: &Wiring) -> Self::Route {
        ByKey::new(self.key.clone(), wiring.info.key_groups)
    }
}

/// A leaf: steps, a route, and the stage that it leads to.
pub struct EdgeNode<C: Chain, R: RouteOf<C::Out>> {
    /// The fused steps.
    pub chain: C,
    /// How records find their task.
    pub route: R,
    /// Where it leads.
    pub to: StageKey,
    /// By which input.
    pub port: u32,
    /// The receiving ends there.
    pub inlets: Inlets<<R::Route as Route<C::Out>>::Out>,
}

impl<C: Chain, R: RouteOf<C::Out>> Node<C::In> for EdgeNode<C, R> {
    fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>) {
        let mut labels = steps.to_vec();
        self.chain.labels(&mut labels);
        leaves.push(Leaf { to: self.to, port: self.port, route: self.route.kind(), labels });
    }

    fn build(&self, wiring: &mut Wiring) -> Box<dyn Branch<C::In>> {
        let outlets = wiring.outlets(&self.inlets);
        let step = self.chain.make(&wiring.info);
        Box::new(Edge::new(step, self.route.make(wiring), outlets))
    }
}

/// Steps that run once, and several nodes behind them.
pub struct ForkNode<C: Chain> {
    /// The fused steps.
    pub chain: C,
    /// What stands behind them.
    pub port: Port<C::Out>,
}

impl<C: Chain<Out: Clone>> Node<C::In> for ForkNode<C> {
    fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>) {
        let mut labels = steps.to_vec();
        self.chain.labels(&mut labels);
        self.port.leaves(&labels, leaves);
    }

    fn build(&self, wiring: &mut Wiring) -> Box<dyn Branch<C::In>> {
        let branches = self.port.build(wiring);
        Box::new(Fork::new(self.chain.make(&wiring.info), branches))
    }
}

/// Steps in front of a node whose steps are another type: one side of a union, or a boxed stream.
pub struct StepNode<C: Chain> {
    /// The fused steps.
    pub chain: C,
    /// What stands behind them.
    pub next: SharedNode<C::Out>,
    /// The input that they lead to, where there are two.
    pub input: Option<u32>,
}

/// Steps in front of a place where event time begins.
pub struct TimeNode<C: Chain, F, S> {
    /// The fused steps.
    pub chain: C,
    /// Tells the time of a value, in milliseconds.
    pub time: F,
    /// How watermarks come from the times.
    pub strategy: S,
    /// How long a look at the clock is good for.
    pub every: Duration,
    /// After which silence a split is idle, if ever.
    pub idle_after: Option<Duration>,
    /// What stands behind it.
    pub next: SharedNode<C::Out>,
}

impl<C, F, S> Node<C::In> for TimeNode<C, F, S>
where
    C: Chain,
    F: Fn(&C::Out) -> i64 + Clone + Send + 'static,
    S: WatermarkStrategy<C::Out>,
{
    fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>) {
        let mut labels = steps.to_vec();
        self.chain.labels(&mut labels);
        labels.push("event_time");
        self.next.lock().unwrap_or_else(PoisonError::into_inner).leaves(&labels, leaves);
    }

    fn build(&self, wiring: &mut Wiring) -> Box<dyn Branch<C::In>> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).build(wiring);
        let (time, strategy) = (self.time.clone(), self.strategy.clone());
        let begins = EventTime::new(time, strategy, self.every, self.idle_after, next);
        Box::new(Fork::single(self.chain.make(&wiring.info), Box::new(begins)))
    }
}

impl<C: Chain> Node<C::In> for StepNode<C> {
    fn leaves(&self, steps: &[&'static str], leaves: &mut Vec<Leaf>) {
        let mut labels = steps.to_vec();
        self.chain.labels(&mut labels);
        let before = leaves.len();
        self.next.lock().unwrap_or_else(PoisonError::into_inner).leaves(&labels, leaves);
        if let Some(input) = self.input {
            leaves[before..].iter_mut().for_each(|leaf| leaf.port = input);
        }
    }

    fn build(&self, wiring: &mut Wiring) -> Box<dyn Branch<C::In>> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).build(wiring);
        Box::new(Fork::single(self.chain.make(&wiring.info), next))
    }
}
