//! The actor that watches over a job's tasks: opens them last first, hears of every end, and when
//! one fails brings the others to theirs.
//!
//! # After a failure
//!
//! What came before the failure is still delivered: sources are cancelled, and every other stage is
//! told to settle as soon as all tasks in front of it are gone, so that it works off what has
//! arrived and departs without passing on an end. No sink commits by that. Whoever has not departed
//! after half of `stop_wait` is cancelled, and whoever has not after all of it is stuck.

use std::sync::Arc;

use actix::fut::wrap_future;
use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Handler, Message, Recipient};
use actix_rt::Arbiter;
use tokio::sync::oneshot;

use millstream_core::{Attempt, TaskInfo};
use millstream_metrics::TaskMetrics;

use super::{JobError, Outcome, Shared, StartError, TaskName, Watch};
use crate::panic::TaskFailure;
use crate::settings::Limits;
use crate::task::{Command, Departure, Event, Order, Report};

/// What a handle asks of a job.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) enum Verb {
    Drain,
    Cancel,
}

/// A task as its supervisor knows it.
pub(crate) struct Member {
    pub(crate) info: TaskInfo,
    pub(crate) orders: Recipient<Command>,
    pub(crate) metrics: Arc<TaskMetrics>,
}

/// All actors are there: open them.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Begin {
    pub(crate) members: Vec<Member>,
    /// Stages with their tasks' numbers, sources first.
    pub(crate) stages: Vec<StageMembers>,
    pub(crate) started: oneshot::Sender<Result<(), StartError>>,
    pub(crate) watch: Option<Watch>,
}

/// The tasks of a stage, and the stages in front of it, as places in the list of stages.
pub(crate) struct StageMembers {
    pub(crate) tasks: Vec<usize>,
    pub(crate) behind: Vec<usize>,
}

/// What a supervisor is made of.
pub(crate) struct SupervisorOf {
    pub(crate) shared: Arc<Shared>,
    pub(crate) limits: Limits,
    pub(crate) attempt: Attempt,
    /// Arbiters of the job's own, joined at its end.
    pub(crate) arbiters: Vec<Arbiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Created,
    Open,
    Gone,
}

enum Phase {
    /// Waiting for the list of tasks.
    Empty,
    /// Opening the stages from the last to this one.
    Opening(usize, oneshot::Sender<Result<(), StartError>>),
    Running,
    /// Ending: stages that have been told to settle.
    Settling(Vec<bool>),
    Cancelling,
}

pub(crate) struct Supervisor {
    of: SupervisorOf,
    members: Vec<Member>,
    presence: Vec<Presence>,
    stages: Vec<StageMembers>,
    phase: Phase,
    /// The first thing that went wrong.
    error: Option<JobError>,
    /// A start that failed is told when no actor is left.
    failed_start: Option<oneshot::Sender<Result<(), StartError>>>,
    start_error: Option<StartError>,
    watch: Option<Watch>,
}

impl Supervisor {
    pub(crate) fn new(of: SupervisorOf) -> Self {
        Self {
            of,
            members: Vec::new(),
            presence: Vec::new(),
            stages: Vec::new(),
            phase: Phase::Empty,
            error: None,
            failed_start: None,
            start_error: None,
            watch: None,
        }
    }

    fn order(&self, task: usize, order: Order) {
        if self.presence[task] != Presence::Gone {
            self.members[task].orders.do_send(Command { attempt: self.of.attempt, order });
        }
    }

    fn order_all(&self, order: Order) {
        (0..self.members.len()).for_each(|task| self.order(task, order));
    }

    fn open_stage(&self, stage: usize) {
        self.stages[stage].tasks.iter().for_each(|task| self.order(*task, Order::Open));
    }

    fn opened(&mut self, task: usize) {
        self.presence[task] = Presence::Open;
        let Phase::Opening(stage, _) = &mut self.phase else { return };
        let members = &self.stages[*stage].tasks;
        if !members.iter().all(|task| self.presence[*task] == Presence::Open) {
            return;
        }
        if let Some(next) = stage.checked_sub(1) {
            *stage = next;
            return self.open_stage(next);
        }
        if let Phase::Opening(_, started) = std::mem::replace(&mut self.phase, Phase::Running) {
            self.order_all(Order::Run);
            tracing::info!(job = &*self.of.shared.name, "the job runs");
            let _ = started.send(Ok(()));
        }
    }

    fn departed(&mut self, task: usize, departure: Departure, ctx: &mut actix::Context<Self>) {
        self.presence[task] = Presence::Gone;
        let name = TaskName::from(&self.members[task].info);
        let records_in = self.members[task].metrics.records_in.get();
        let error = match departure {
            Departure::Ended | Departure::Cancelled => None,
            Departure::Died => Some(JobError::Died { task: name }),
            Departure::Failed(TaskFailure::Error(failure)) => {
                Some(JobError::Failed { task: name, failure })
            }
            Departure::Failed(TaskFailure::Panic(message)) => {
                Some(JobError::Panicked { task: name, message, records_in })
            }
        };
        if let Some(error) = error {
            self.fail(error, ctx);
        }
        self.settle_stages();
        if self.presence.iter().all(|presence| *presence == Presence::Gone) {
            ctx.stop();
        }
    }

    /// The first failure ends the job.
    fn fail(&mut self, error: JobError, ctx: &mut actix::Context<Self>) {
        self.error.get_or_insert(error);
        match std::mem::replace(&mut self.phase, Phase::Cancelling) {
            Phase::Running => {
                self.of.shared.stopping();
                self.phase = Phase::Settling(vec![false; self.stages.len()]);
                self.later(self.of.limits.stop_wait / 2, ctx, |this, ctx| this.cancel(ctx));
            }
            Phase::Opening(_, started) => {
                self.failed_start = Some(started);
                self.cancel(ctx);
            }
            phase => self.phase = phase,
        }
    }

    /// Tells each stage to settle behind which everything is gone.
    fn settle_stages(&mut self) {
        let Phase::Settling(told) = &mut self.phase else { return };
        let mut told = std::mem::take(told);
        for (place, stage) in self.stages.iter().enumerate() {
            let gone = |stage: &usize| {
                self.stages[*stage].tasks.iter().all(|task| self.presence[*task] == Presence::Gone)
            };
            if told[place] || !stage.behind.iter().all(gone) {
                continue;
            }
            told[place] = true;
            let order = if stage.behind.is_empty() { Order::Cancel } else { Order::Settle };
            stage.tasks.iter().for_each(|task| self.order(*task, order));
        }
        self.phase = Phase::Settling(told);
    }

    /// Everyone ends now, and whoever has not after `stop_wait` is stuck.
    fn cancel(&mut self, ctx: &mut actix::Context<Self>) {
        self.of.shared.stopping();
        self.phase = Phase::Cancelling;
        self.order_all(Order::Cancel);
        let since = self.of.limits.stop_wait;
        self.later(since, ctx, move |this, ctx| {
            let stuck = this.presence.iter().position(|presence| *presence != Presence::Gone);
            if let Some(task) = stuck {
                let task = TaskName::from(&this.members[task].info);
                this.error = Some(JobError::Stuck { task, since });
                ctx.stop();
            }
        });
    }

    fn later(
        &self,
        after: std::time::Duration,
        ctx: &mut actix::Context<Self>,
        then: impl FnOnce(&mut Self, &mut actix::Context<Self>) + 'static,
    ) {
        let clock = &self.of.shared.clock;
        let wake = clock.wake_at(clock.monotonic().plus(after));
        ctx.spawn(wrap_future::<_, Self>(wake).map(move |(), this, ctx| then(this, ctx)));
    }

    fn outcome(&mut self) -> Outcome {
        let job = self.of.shared.name.clone();
        match self.error.take() {
            Some(error) => Err(error),
            None if self.presence.iter().any(|presence| *presence != Presence::Gone) => {
                Err(JobError::SystemStopped { job })
            }
            None if matches!(self.phase, Phase::Cancelling) => Err(JobError::Cancelled { job }),
            None if matches!(self.phase, Phase::Empty) => Err(JobError::SystemStopped { job }),
            None => Ok(()),
        }
    }
}

impl Actor for Supervisor {
    type Context = actix::Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(0);
    }
}

impl Handler<Begin> for Supervisor {
    type Result = ();

    fn handle(&mut self, begin: Begin, ctx: &mut Self::Context) {
        self.presence = vec![Presence::Created; begin.members.len()];
        self.members = begin.members;
        self.stages = begin.stages;
        self.watch = begin.watch;
        let Some(last) = self.stages.len().checked_sub(1) else { return };
        self.phase = Phase::Opening(last, begin.started);
        self.open_stage(last);
        let after = self.of.limits.start_wait;
        self.later(after, ctx, move |this, ctx| {
            if let Phase::Opening(stage, _) = &this.phase {
                let opening = this.stages[*stage].tasks.iter();
                let late = opening.filter(|task| this.presence[**task] == Presence::Created);
                let waiting = late.map(|task| TaskName::from(&this.members[*task].info)).collect();
                this.start_error = Some(StartError::TimedOut { after, waiting });
                let job = this.of.shared.name.clone();
                this.fail(JobError::Cancelled { job }, ctx);
            }
        });
    }
}

impl Handler<Report> for Supervisor {
    type Result = ();

    fn handle(&mut self, report: Report, ctx: &mut Self::Context) {
        if report.attempt != self.of.attempt || report.task >= self.members.len() {
            return;
        }
        match report.event {
            Event::Opened => self.opened(report.task),
            Event::Departed(departure) => self.departed(report.task, departure, ctx),
        }
    }
}

impl Handler<Verb> for Supervisor {
    type Result = ();

    fn handle(&mut self, verb: Verb, ctx: &mut Self::Context) {
        match (verb, &self.phase) {
            (Verb::Drain, Phase::Running) => self.order_all(Order::Drain),
            (Verb::Cancel, Phase::Running | Phase::Settling(_)) => self.cancel(ctx),
            _ => {}
        }
    }
}

impl Drop for Supervisor {
    /// The job's end, however it came about: told when the arbiters of its own are joined too.
    fn drop(&mut self) {
        self.watch = None;
        // If its own arbiter was stopped, tasks on others are left, whom nobody else will tell.
        self.order_all(Order::Cancel);
        let outcome = self.outcome();
        let started = match std::mem::replace(&mut self.phase, Phase::Empty) {
            Phase::Opening(_, started) => Some(started),
            _ => self.failed_start.take(),
        };
        let error = self.start_error.take();
        let shared = self.of.shared.clone();
        let tell = move || {
            if let (Some(started), Err(failed)) = (started, &outcome) {
                let _ = started.send(Err(error.unwrap_or(StartError::Failed(failed.clone()))));
            }
            shared.settle(outcome);
        };
        let arbiters = std::mem::take(&mut self.of.arbiters);
        if arbiters.is_empty() {
            return tell();
        }
        let join = move || {
            for arbiter in arbiters {
                arbiter.stop();
                let _ = arbiter.join();
            }
            tell();
        };
        if let Err(error) = std::thread::Builder::new().name("millstream-join".into()).spawn(join) {
            tracing::error!(%error, "no thread to join the job's arbiters");
        }
    }
}
