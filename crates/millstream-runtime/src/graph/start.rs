//! From a graph to a running job: checks, workers, tasks from the last to the first.

use std::sync::Arc;

use actix::{Actor, Addr};
use actix_rt::{Arbiter, ArbiterHandle, System};
use tokio::sync::oneshot;

use millstream_core::{Attempt, Clock, StageId, TaskInfo};
use millstream_metrics::Registry;
use millstream_plan::{Plan, Route as RouteKind};

use super::build::{Graph, id};
use super::stage::{Around, Started, Starting};
use super::wiring::{Run, Way};
use crate::clock::SystemClock;
use crate::fault::GraphError;
use crate::job::{
    Begin, Job, Shared, StageMembers, StartError, Supervisor, SupervisorOf, Watch, Watched,
};
use crate::settings::{Settings, Workers};

/// The arbiters of a job.
struct Crew {
    handles: Vec<ArbiterHandle>,
    /// Those that end with the job.
    own: Vec<Arbiter>,
}

impl Crew {
    fn gather(workers: &Workers) -> Result<Self, StartError> {
        match workers {
            Workers::Current => {
                let handle = Arbiter::try_current().ok_or(StartError::NoSystem)?;
                Ok(Self { handles: vec![handle], own: Vec::new() })
            }
            Workers::Given(handles) => Ok(Self { handles: handles.clone(), own: Vec::new() }),
            Workers::Own(n) => {
                System::try_current().ok_or(StartError::NoSystem)?;
                let mut own = Vec::new();
                for worker in 0..n.get() {
                    let made = Arbiter::try_new();
                    own.push(
                        made.map_err(|cause| StartError::Worker {
                            worker,
                            cause: Arc::new(cause),
                        })?,
                    );
                }
                Ok(Self { handles: own.iter().map(Arbiter::handle).collect(), own })
            }
        }
    }

    /// Whether each arbiter answers: one that has been told to stop still takes what it is sent.
    async fn muster(&self, workers: &Workers) -> Result<(), StartError> {
        if matches!(workers, Workers::Current) {
            return Ok(());
        }
        for (worker, handle) in self.handles.iter().enumerate() {
            let (here, answer) = oneshot::channel();
            let sent = handle.spawn(async move {
                let _ = here.send(());
            });
            if !sent || answer.await.is_err() {
                return Err(StartError::ArbiterGone { worker });
            }
        }
        Ok(())
    }
}

/// A graph that was checked, and the arbiters that will run it.
pub struct Prepared {
    settings: Settings,
    plan: Plan,
    crew: Crew,
}

impl Prepared {
    /// Whether every arbiter that was given still works.
    ///
    /// # Errors
    ///
    /// [`StartError::ArbiterGone`].
    pub async fn muster(&self) -> Result<(), StartError> {
        self.crew.muster(&self.settings.workers).await
    }
}

/// A job whose tasks are being opened.
pub struct Opening {
    job: Job,
    opened: oneshot::Receiver<Result<(), StartError>>,
    run: Run,
}

impl Opening {
    /// Resolves when every task is open, or when one has failed and no actor is left.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then nothing of the job is left.
    pub async fn opened(self) -> Result<Job, StartError> {
        match self.opened.await {
            Ok(Ok(())) => Ok(self.job),
            Ok(Err(error)) => {
                // The actors are gone; the outcome is settled a moment later.
                let _ = self.job.finished().await;
                Err(error)
            }
            Err(_) => {
                let failed = self.job.finished().await.err();
                Err(failed.map_or(StartError::NoSystem, Into::into))
            }
        }
    }

    /// Which start of the graph this is.
    pub fn run(&self) -> RunKey {
        RunKey(self.run)
    }
}

/// Names a start of a graph to [`Graph::forget`].
#[derive(Clone, Copy, Debug)]
pub struct RunKey(Run);

impl Graph {
    /// Checks everything that can be checked before anything starts, and finds the arbiters.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn prepare(&self, settings: Settings) -> Result<Prepared, StartError> {
        settings.check()?;
        let plan = self.plan(&settings);
        let (faults, checked) = (self.faults(), plan.check());
        if !faults.is_empty() {
            return Err(GraphError::new(self.name.clone(), faults, checked.err()).into());
        }
        checked?;
        let crew = Crew::gather(&settings.workers)?;
        Ok(Prepared { settings, plan, crew })
    }

    /// What was needed for starting a run is let go of: its tasks are open, or gone.
    pub fn forget(&self, run: RunKey) {
        self.stages.iter().for_each(|entry| entry.start.forget(run.0));
    }

    /// Starts every actor, the last stage first, and tells the supervisor to open them.
    ///
    /// # Errors
    ///
    /// [`StartError`], when the plan has a fault after all.
    pub fn launch(&mut self, prepared: Prepared) -> Result<Opening, StartError> {
        let Prepared { settings, plan, crew } = prepared;
        self.runs += 1;
        let clock: Arc<dyn Clock> =
            settings.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let limits = settings.limits.clone();
        let (key_groups, order) = (plan.key_groups()?, plan.order()?);
        let registry = Registry::new(&*self.name, plan.stages().iter().map(|it| it.name.clone()));
        let shared =
            Arc::new(Shared::new(self.name.clone(), plan, registry.clone(), clock.clone()));
        let attempt = Attempt::default();
        let of = SupervisorOf {
            shared: shared.clone(),
            limits: limits.clone(),
            attempt,
            arbiters: crew.own,
        };
        let supervisor: Addr<Supervisor> =
            Supervisor::start_in_arbiter(&crew.handles[0], move |_| Supervisor::new(of));
        let around = Around {
            run: Run(self.runs),
            attempt,
            key_groups,
            limits,
            clock,
            schedule: settings.schedule,
            arbiters: crew.handles,
            supervisor: supervisor.clone().recipient(),
            registry,
        };
        let started = self.start_stages(&shared.plan, &order, &around);
        let stages = members(&shared.plan, &order, &started);
        let all: Vec<Started> = started.into_iter().flatten().collect();
        let watch = watch(&shared, &all, &around);
        let (tell, opened) = oneshot::channel();
        let members = all.into_iter().map(|task| task.member).collect();
        supervisor.do_send(Begin { members, stages, started: tell, watch });
        let job = Job::new(shared, supervisor.recipient());
        Ok(Opening { job, opened, run: around.run })
    }

    /// The tasks of each stage, by the stage's place; started from the last stage to the first.
    fn start_stages(&self, plan: &Plan, order: &[StageId], around: &Around) -> Vec<Vec<Started>> {
        let firsts = first_tasks(plan);
        let mut started: Vec<Vec<Started>> = self.stages.iter().map(|_| Vec::new()).collect();
        for stage in order.iter().rev() {
            let place = place(*stage);
            let entry = &self.stages[place];
            let starting = Starting {
                around,
                info: TaskInfo {
                    job: self.name.clone(),
                    stage: entry.name.clone(),
                    id: *stage,
                    subtask: 0,
                    parallelism: plan.stages()[place].parallelism,
                    attempt: around.attempt,
                    key_groups: around.key_groups,
                },
                first: firsts[place],
                channels: channels(plan, *stage),
                ways: ways(plan, *stage),
            };
            started[place] = entry.start.start(&starting);
        }
        started
    }
}

/// The tasks of each stage and what stands in front of it, sources first.
fn members(plan: &Plan, order: &[StageId], started: &[Vec<Started>]) -> Vec<StageMembers> {
    let firsts = first_tasks(plan);
    let places: Vec<usize> = order.iter().map(|stage| place(*stage)).collect();
    let behind = |stage: usize| {
        let inputs = plan.inputs(id(stage));
        inputs.filter_map(|edge| places.iter().position(|at| *at == place(edge.from))).collect()
    };
    let stage = |&stage: &usize| StageMembers {
        tasks: (firsts[stage]..firsts[stage] + started[stage].len()).collect(),
        behind: behind(stage),
    };
    places.iter().map(stage).collect()
}

/// A watch over these tasks; none in a simulation, which has no threads.
fn watch(shared: &Arc<Shared>, tasks: &[Started], around: &Around) -> Option<Watch> {
    let watched = |task: &Started| Watched {
        info: task.member.info.clone(),
        heartbeat: task.heartbeat.clone(),
        metrics: task.member.metrics.clone(),
        reported: 0,
    };
    let limits = &around.limits;
    around.schedule.is_none().then(|| {
        let tasks = tasks.iter().map(watched).collect();
        Watch::begin(shared.clone(), tasks, limits.slow_turn, limits.stop_wait)
    })
}

fn place(stage: StageId) -> usize {
    usize::try_from(stage.get()).unwrap_or(usize::MAX)
}

/// The number in the job of each stage's first task.
fn first_tasks(plan: &Plan) -> Vec<usize> {
    let mut next = 0;
    let first = |stage: &millstream_plan::Stage| {
        next += stage.parallelism;
        next - stage.parallelism
    };
    plan.stages().iter().map(first).collect()
}

/// How many channels of an edge end at each task.
fn channels_each(plan: &Plan, edge: &millstream_plan::Edge) -> usize {
    match edge.route {
        RouteKind::Forward => 1,
        _ => plan.get(edge.from).map_or(0, |from| from.parallelism),
    }
}

/// Input channels of each task of a stage.
fn channels(plan: &Plan, stage: StageId) -> usize {
    plan.inputs(stage).map(|edge| channels_each(plan, edge)).sum()
}

/// The edges that leave a stage, each with the place of its channels among the receiver's.
fn ways(plan: &Plan, stage: StageId) -> Vec<Way> {
    let mut ways = Vec::new();
    for (at, edge) in plan.edges().iter().enumerate() {
        if edge.from == stage {
            let before = plan.edges()[..at].iter().filter(|other| other.to == edge.to);
            let base = before.map(|other| channels_each(plan, other)).sum();
            ways.push(Way { forward: edge.route == RouteKind::Forward, base });
        }
    }
    ways
}
