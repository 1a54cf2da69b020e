//! The three kinds of stages: how each starts its tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::{Actor, Addr, AsyncContext, Recipient};
use actix_rt::ArbiterHandle;

use millstream_core::{Attempt, Clock, Data, KeyGroups, TaskInfo};
use millstream_metrics::{Registry, TaskMetrics};
use millstream_operators::SideOutput;

use super::build::Sides;
use super::node::Port;
use super::wiring::{Inlet, Inlets, Leaf, Run, Way, Wiring};
use crate::channel::{Outbox, Resume, Side, SideBranch};
use crate::ends::{Sink, Source, TaskContext};
use crate::job::Member;
use crate::offload::Offload;
use crate::panic::panic_message;
use crate::schedule::Schedule;
use crate::settings::Limits;
use crate::task::{
    Command, Guard, Heartbeat, Logic, Report, SinkLogic, SourceLogic, Task, TaskOf, TaskTimersOf,
};

/// What all tasks of a job are started with.
pub(crate) struct Around {
    pub(crate) run: Run,
    pub(crate) attempt: Attempt,
    pub(crate) key_groups: KeyGroups,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) schedule: Option<Arc<dyn Schedule>>,
    pub(crate) arbiters: Vec<ArbiterHandle>,
    pub(crate) supervisor: Recipient<Report>,
    pub(crate) registry: Registry,
}

/// What all tasks of a stage are started with.
pub(crate) struct Starting<'a> {
    pub(crate) around: &'a Around,
    /// The card of the stage's first task.
    pub(crate) info: TaskInfo,
    /// The number in the job of the stage's first task.
    pub(crate) first: usize,
    /// Input channels of each task.
    pub(crate) channels: usize,
    /// The ways out, in the order of the leaves.
    pub(crate) ways: Vec<Way>,
}

/// A task that has been started, and what else is kept of it.
pub(crate) struct Started {
    pub(crate) member: Member,
    pub(crate) heartbeat: Arc<Heartbeat>,
}

/// A stage with its types hidden.
pub(crate) trait Start: Send {
    /// The edges that leave it, those of side outputs with their name.
    fn leaves(&self) -> Vec<(Option<String>, Leaf)>;
    /// Starts its tasks. Those behind it are started already.
    fn start(&self, starting: &Starting<'_>) -> Vec<Started>;
    /// Lets go of the addresses that were needed for starting what is in front of it.
    fn forget(&self, _: Run) {}
}

/// A side output with its type hidden.
pub(crate) trait SideNode: Send {
    fn name(&self) -> &str;
    fn leaves(&self, leaves: &mut Vec<Leaf>);
    fn build(&self, wiring: &mut Wiring) -> Vec<Box<dyn SideBranch>>;
}

pub(crate) struct SideOf<T> {
    pub(crate) output: SideOutput<T>,
    pub(crate) port: Port<T>,
}

impl<T: Data> SideNode for SideOf<T> {
    fn name(&self) -> &str {
        self.output.name()
    }

    fn leaves(&self, leaves: &mut Vec<Leaf>) {
        self.port.leaves(&[], leaves);
    }

    fn build(&self, wiring: &mut Wiring) -> Vec<Box<dyn SideBranch>> {
        let side = |branch| {
            let side: Box<dyn SideBranch> = Box::new(Side { output: self.output.clone(), branch });
            side
        };
        self.port.build(wiring).into_iter().map(side).collect()
    }
}

/// The leaves of a stage's outputs: the main one, then the side outputs.
fn leaves<T: Data>(port: &Port<T>, sides: &Sides) -> Vec<(Option<String>, Leaf)> {
    let mut main = Vec::new();
    port.leaves(&[], &mut main);
    let mut all: Vec<_> = main.into_iter().map(|leaf| (None, leaf)).collect();
    sides.with(|sides| {
        for side in sides {
            let mut leaves = Vec::new();
            side.leaves(&mut leaves);
            all.extend(leaves.into_iter().map(|leaf| (Some(side.name().to_owned()), leaf)));
        }
    });
    all
}

/// The outbox of one task, built in the order of [`leaves`].
fn outbox<T: Data>(port: &Port<T>, sides: &Sides, mut wiring: Wiring) -> Outbox<T> {
    let main = port.build(&mut wiring).into_iter().next();
    let build = |sides: &[Box<dyn SideNode>]| {
        sides.iter().flat_map(|side| side.build(&mut wiring)).collect()
    };
    Outbox::new(main, sides.with(build))
}

/// A task's address, its worker and its numbers.
type Address<L> = (Addr<Task<L>>, usize, Arc<TaskMetrics>);

impl Starting<'_> {
    /// Starts one actor a subtask. `copies` copies what a stage is made of, which is the user's
    /// code; what it gives makes what the task runs, on its arbiter.
    fn tasks<L: Logic, M>(&self, copies: impl Fn() -> M) -> (Vec<Started>, Vec<Address<L>>)
    where
        M: FnOnce(TaskContext, Wiring) -> L + Send + 'static,
    {
        let mut started = Vec::new();
        let mut addresses = Vec::new();
        for subtask in 0..self.info.parallelism {
            let worker = subtask % self.around.arbiters.len();
            let info = TaskInfo { subtask, ..self.info.clone() };
            let metrics = self.around.registry.task(&info.stage, subtask);
            let heartbeat = Arc::new(Heartbeat::default());
            let guard =
                Guard::new(self.first + subtask, info.attempt, self.around.supervisor.clone());
            let (limits, ways) = (self.around.limits.clone(), self.ways.clone());
            let (clock, schedule) = (self.around.clock.clone(), self.around.schedule.clone());
            let (run, channels) = (self.around.run, self.channels);
            // A task whose part cannot be copied is started, and fails when it is to open: so the
            // whole job is there to be taken down again.
            let make = catch_unwind(AssertUnwindSafe(&copies)).map_err(panic_message);
            let parts = (info.clone(), metrics.clone(), heartbeat.clone());
            let address = Task::start_in_arbiter(&self.around.arbiters[worker], move |ctx| {
                let (info, metrics, heartbeat) = parts;
                let resume: Recipient<Resume> = ctx.address().recipient();
                let wiring = Wiring {
                    info: info.clone(),
                    run,
                    worker,
                    limits: limits.clone(),
                    resume: resume.downgrade(),
                    ways: ways.into_iter(),
                };
                let offload = schedule.clone().map_or(Offload::pool(), Offload::in_line);
                let context = TaskContext { info: info.clone(), clock: clock.clone(), offload };
                let logic = make.map(|make| make(context, wiring));
                Task::new(TaskOf {
                    info,
                    logic,
                    channels,
                    guard,
                    limits,
                    clock,
                    schedule,
                    metrics,
                    heartbeat,
                })
            });
            let orders: Recipient<Command> = address.clone().recipient();
            let member = Member { info, orders, metrics: metrics.clone() };
            started.push(Started { member, heartbeat });
            addresses.push((address, worker, metrics));
        }
        (started, addresses)
    }

    /// As [`tasks`](Self::tasks), and the receiving ends are there for those in front.
    fn receivers<T: Data, L: Logic<In = T>, M>(
        &self,
        inlets: &Inlets<T>,
        copies: impl Fn() -> M,
    ) -> Vec<Started>
    where
        M: FnOnce(TaskContext, Wiring) -> L + Send + 'static,
    {
        let (started, addresses) = self.tasks(copies);
        let inlet = |(address, worker, metrics): Address<L>| Inlet {
            to: address.recipient(),
            worker,
            metrics,
        };
        inlets.fill(self.around.run, addresses.into_iter().map(inlet).collect());
        started
    }
}

pub(crate) struct SourceStage<S: Source> {
    pub(crate) source: S,
    pub(crate) port: Port<S::Out>,
    pub(crate) sides: Sides,
}

impl<S: Source> Start for SourceStage<S> {
    fn leaves(&self) -> Vec<(Option<String>, Leaf)> {
        leaves(&self.port, &self.sides)
    }

    fn start(&self, starting: &Starting<'_>) -> Vec<Started> {
        let batch_records = starting.around.limits.batch_records;
        let copies = || {
            let (port, sides) = (self.port.clone(), self.sides.clone());
            let source = self.source.clone();
            move |context, wiring| {
                let wire = Box::new(move || outbox(&port, &sides, wiring));
                SourceLogic::new(source, context, batch_records, wire)
            }
        };
        starting.tasks(copies).0
    }
}

/// What a task between others is given besides what it runs.
pub(crate) struct Seat<U> {
    pub(crate) context: TaskContext,
    /// Input channels.
    pub(crate) channels: usize,
    pub(crate) batch_records: usize,
    pub(crate) limits: Limits,
    pub(crate) schedule: Option<Arc<dyn Schedule>>,
    /// Makes its ways out, on its arbiter.
    pub(crate) wire: Box<dyn FnOnce() -> Outbox<U>>,
}

impl<U> Seat<U> {
    /// What its timers are made of, if it sets any.
    pub(crate) fn timers(&self) -> TaskTimersOf {
        let TaskContext { info, clock, .. } = &self.context;
        TaskTimersOf::new(info, clock.clone(), self.schedule.clone(), &self.limits)
    }
}

/// A stage between others: `make` is copied for each task.
pub(crate) struct MiddleStage<T: Data, U, M> {
    pub(crate) make: M,
    pub(crate) inlets: Inlets<T>,
    pub(crate) port: Port<U>,
    pub(crate) sides: Sides,
}

impl<T, U, L, M> Start for MiddleStage<T, U, M>
where
    T: Data,
    U: Data,
    L: Logic<In = T>,
    M: FnOnce(Seat<U>) -> L + Clone + Send + 'static,
{
    fn leaves(&self) -> Vec<(Option<String>, Leaf)> {
        leaves(&self.port, &self.sides)
    }

    fn start(&self, starting: &Starting<'_>) -> Vec<Started> {
        let (channels, limits) = (starting.channels, &starting.around.limits);
        let schedule = &starting.around.schedule;
        starting.receivers(&self.inlets, || {
            let (port, sides) = (self.port.clone(), self.sides.clone());
            let (make, limits, schedule) = (self.make.clone(), limits.clone(), schedule.clone());
            move |context, wiring| {
                let wire = Box::new(move || outbox(&port, &sides, wiring));
                let batch_records = limits.batch_records;
                make(Seat { context, channels, batch_records, limits, schedule, wire })
            }
        })
    }

    fn forget(&self, run: Run) {
        self.inlets.forget(run);
    }
}

pub(crate) struct SinkStage<K: Sink> {
    pub(crate) sink: K,
    pub(crate) inlets: Inlets<K::In>,
}

impl<K: Sink> Start for SinkStage<K> {
    fn leaves(&self) -> Vec<(Option<String>, Leaf)> {
        Vec::new()
    }

    fn start(&self, starting: &Starting<'_>) -> Vec<Started> {
        let channels = starting.channels;
        starting.receivers(&self.inlets, || {
            let sink = self.sink.clone();
            move |context, _| SinkLogic::new(sink, context, channels)
        })
    }

    fn forget(&self, run: Run) {
        self.inlets.forget(run);
    }
}
