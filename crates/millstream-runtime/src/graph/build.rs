//! The graph under construction: stages with their ports.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use millstream_core::{Data, StageId, TaskInfo};
use millstream_operators::{Operator, SideOutput, async_wait};
use millstream_plan::{Edge, Plan, Route as RouteKind, Stage, StageKind};

use super::node::{Connect, Port, SharedNode};
use super::stage::{MiddleStage, Seat, SideNode, SideOf, SinkStage, SourceStage, Start};
use super::wiring::{Inlets, Leaf};
use crate::calls::Caller;
use crate::ends::{Sink, Source};
use crate::fault::GraphFault;
use crate::settings::{Settings, Workers};
use crate::task::{CallsLogic, CallsOf, Logic, OperatorLogic, OperatorOf};

/// A stage's place in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageKey(pub(crate) usize);

/// The side outputs of a stage that something reads.
#[derive(Clone, Default)]
pub struct Sides(Arc<Mutex<Vec<Box<dyn SideNode>>>>);

impl Sides {
    fn port<T: Data>(&self, output: &SideOutput<T>) -> Port<T> {
        let port = Port::default();
        let side = SideOf { output: output.clone(), port: port.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(side));
        port
    }

    pub(crate) fn with<R>(&self, then: impl FnOnce(&[Box<dyn SideNode>]) -> R) -> R {
        then(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(crate) struct StageEntry {
    pub(crate) name: Arc<str>,
    pub(crate) kind: StageKind,
    pub(crate) parallelism: Option<usize>,
    /// The most tasks that a source with few splits or a sink of one file can have.
    pub(crate) parallelism_max: Option<usize>,
    pub(crate) start: Box<dyn Start>,
}

/// A graph under construction. Whatever is wrong with it is found when it is checked.
pub struct Graph {
    pub(crate) name: Arc<str>,
    pub(crate) stages: Vec<StageEntry>,
    pub(crate) parallelism: Option<usize>,
    pub(crate) runs: u64,
    faults: Vec<GraphFault>,
}

impl Graph {
    /// An empty graph for a job of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            stages: Vec::new(),
            parallelism: None,
            runs: 0,
            faults: Vec::new(),
        }
    }

    /// Remembers a fault, which is told when the graph is started.
    pub fn fault(&mut self, fault: GraphFault) {
        self.faults.push(fault);
    }

    /// The name of its jobs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every fault that the plan cannot show, and each once.
    pub(crate) fn faults(&self) -> Vec<GraphFault> {
        let too_parallel = |stage: &StageEntry| {
            let (asked, max) = (stage.parallelism?, stage.parallelism_max?);
            let stage = stage.name.to_string();
            (asked > max).then_some(GraphFault::TooParallel { stage, asked, max })
        };
        let all = self.faults.iter().cloned();
        let mut faults = Vec::new();
        for fault in all.chain(self.stages.iter().filter_map(too_parallel)) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    /// The port of a side output, which can be read once.
    pub fn side<T: Data>(
        &mut self,
        stage: StageKey,
        sides: &Sides,
        output: &SideOutput<T>,
    ) -> Port<T> {
        if sides.with(|sides| sides.iter().any(|side| side.name() == output.name())) {
            let stage = self.stages.get(stage.0).map_or("", |stage| &*stage.name).to_owned();
            let output = output.name().to_owned();
            self.fault(GraphFault::SideOutputReadTwice { stage, output });
        }
        sides.port(output)
    }

    fn add(
        &mut self,
        name: &str,
        kind: StageKind,
        parallelism_max: Option<usize>,
        start: Box<dyn Start>,
    ) -> StageKey {
        let name = name.into();
        self.stages.push(StageEntry { name, kind, parallelism: None, parallelism_max, start });
        StageKey(self.stages.len() - 1)
    }

    /// Adds a source; its records leave by the port.
    pub fn source<S: Source>(&mut self, name: &str, source: S) -> (StageKey, Port<S::Out>, Sides) {
        let (port, sides) = (Port::default(), Sides::default());
        // A source without splits still has a task, which passes on the end.
        let splits = source.splits().len().max(1);
        let stage = SourceStage { source, port: port.clone(), sides: sides.clone() };
        let key = self.add(name, StageKind::Source, Some(splits), Box::new(stage));
        (key, port, sides)
    }

    /// Adds an operator, made by a factory for each subtask; its records leave by the port.
    pub fn operator<O, F>(
        &mut self,
        name: &str,
        factory: F,
    ) -> (StageKey, Inlets<O::In>, Port<O::Out>, Sides)
    where
        O: Operator,
        F: Fn(&TaskInfo) -> O + Clone + Send + 'static,
    {
        self.middle(name, move |seat| {
            let timers = seat.timers();
            let Seat { context, channels, batch_records, wire, .. } = seat;
            let make = Box::new(move |info: &TaskInfo| factory(info));
            let info = context.info;
            OperatorLogic::new(OperatorOf { info, channels, batch_records, timers, make, wire })
        })
    }

    /// Adds a stage of calls, made by a factory for each subtask; results leave by the port.
    pub fn calls<C, F>(
        &mut self,
        name: &str,
        limits: async_wait::Limits,
        factory: F,
    ) -> (StageKey, Inlets<C::In>, Port<C::Out>, Sides)
    where
        C: Caller,
        F: Fn(&TaskInfo) -> C + Clone + Send + 'static,
    {
        if let Err(setting) = limits.check() {
            self.fault(GraphFault::Calls { stage: name.to_owned(), setting });
        }
        self.middle(name, move |Seat { context, channels, batch_records, wire, .. }| {
            let make = Box::new(move |info: &TaskInfo| factory(info));
            CallsLogic::new(CallsOf { context, channels, batch_records, limits, make, wire })
        })
    }

    /// Adds a stage between others; `make` makes what a task runs.
    fn middle<T, U, L, M>(&mut self, name: &str, make: M) -> (StageKey, Inlets<T>, Port<U>, Sides)
    where
        T: Data,
        U: Data,
        L: Logic<In = T>,
        M: FnOnce(Seat<U>) -> L + Clone + Send + 'static,
    {
        let (inlets, port, sides) = (Inlets::new(), Port::default(), Sides::default());
        let stage =
            MiddleStage { make, inlets: inlets.clone(), port: port.clone(), sides: sides.clone() };
        let key = self.add(name, StageKind::Operator, None, Box::new(stage));
        (key, inlets, port, sides)
    }

    /// Adds a sink.
    pub fn sink<K: Sink>(&mut self, name: &str, sink: K) -> (StageKey, Inlets<K::In>) {
        let inlets = Inlets::new();
        let parallelism_max = sink.max_parallelism();
        let stage = SinkStage { sink, inlets: inlets.clone() };
        let key = self.add(name, StageKind::Sink, parallelism_max, Box::new(stage));
        (key, inlets)
    }

    /// Connects a node behind several outputs.
    pub fn connect<T>(&self, from: &[Box<dyn Connect<T>>], node: &SharedNode<T>) {
        from.iter().for_each(|output| output.connect(node.clone()));
    }

    /// The number of tasks of a stage.
    pub fn set_parallelism(&mut self, stage: StageKey, parallelism: usize) {
        if let Some(stage) = self.stages.get_mut(stage.0) {
            stage.parallelism = Some(parallelism);
        }
    }

    /// The number of tasks of a stage that names none, in place of the settings' number.
    pub fn set_default_parallelism(&mut self, parallelism: usize) {
        self.parallelism = Some(parallelism);
    }

    /// The graph as data, with the numbers of tasks that these settings lead to.
    pub fn plan(&self, settings: &Settings) -> Plan {
        let workers = match &settings.workers {
            Workers::Current => 1,
            Workers::Own(workers) => NonZeroUsize::get(*workers),
            Workers::Given(arbiters) => arbiters.len(),
        };
        let default = settings.parallelism.or(self.parallelism).unwrap_or(workers);
        let mut plan = Plan::new(&*self.name);
        if let Some(key_groups) = settings.key_groups {
            plan.set_key_groups(key_groups);
        }
        for stage in &self.stages {
            let max = stage.parallelism_max.unwrap_or(usize::MAX);
            let parallelism = stage.parallelism.unwrap_or(default.min(max));
            plan.stage(match stage.kind {
                StageKind::Source => Stage::source(&*stage.name, parallelism),
                StageKind::Operator => Stage::operator(&*stage.name, parallelism),
                StageKind::Sink => Stage::sink(&*stage.name, parallelism),
            });
        }
        for (from, stage) in self.stages.iter().enumerate() {
            for (output, leaf) in stage.start.leaves() {
                plan.connect(edge(&plan, id(from), output, leaf));
            }
        }
        plan
    }
}

fn edge(plan: &Plan, from: StageId, output: Option<String>, leaf: Leaf) -> Edge {
    let to = id(leaf.to.0);
    let tasks = |stage| plan.get(stage).map(|stage| stage.parallelism);
    let natural = || match tasks(from) == tasks(to) {
        true => RouteKind::Forward,
        false => RouteKind::Rebalance,
    };
    let route = leaf.route.unwrap_or_else(natural);
    let edge = Edge::new(from, to, route).port(leaf.port).steps(leaf.labels);
    match output {
        Some(output) => edge.output(output),
        None => edge,
    }
}

pub(crate) fn id(place: usize) -> StageId {
    StageId::new(u32::try_from(place).unwrap_or(u32::MAX))
}
