//! The actor that every task is: it files what arrives, runs turns, and tells of its end.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use actix::{Actor, ActorContext, AsyncContext, Handler, Message};

use millstream_core::{Attempt, Clock, Moment, TaskInfo};
use millstream_metrics::{Activity, TaskMetrics, TaskState, TaskTime};
use millstream_operators::{Lane, Lanes, let_go};

use super::{After, Budget, Departure, Guard, Heartbeat, Logic, Turn};
use crate::census::Counted;
use crate::channel::{Deliver, Inbox, Refused, Resume};
use crate::panic::{TaskFailure, panic_message};
use crate::schedule::Schedule;
use crate::settings::Limits;
use crate::turner::{Next, Turner, Turns};

/// What the supervisor tells a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Make and open what you run, then report.
    Open,
    /// Every task is open: begin.
    Run,
    /// End the input here. For sources.
    Drain,
    /// Nothing more will come: work off what has arrived, hand it on, and depart without an end.
    Settle,
    /// End now; nothing more is emitted.
    Cancel,
}

/// An order for one attempt; of another attempt it is dropped.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Command {
    pub(crate) attempt: Attempt,
    pub(crate) order: Order,
}

/// What a task is made of.
pub(crate) struct TaskOf<L: Logic> {
    pub(crate) info: TaskInfo,
    /// What it runs; or with which message the user's code panicked when that was copied.
    pub(crate) logic: Result<L, String>,
    pub(crate) channels: usize,
    pub(crate) guard: Guard,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) schedule: Option<Arc<dyn Schedule>>,
    pub(crate) metrics: Arc<TaskMetrics>,
    pub(crate) heartbeat: Arc<Heartbeat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Created,
    Opening,
    Open,
    Running,
    /// The user's code has failed; what it made before is being handed on.
    Failing,
    Over,
}

/// The actor of a task.
///
/// Its mailbox is always open: handlers only file, and all work is done in turns of bounded size by
/// one resident future, so that an order waits for a turn at most.
pub(crate) struct Task<L: Logic> {
    info: TaskInfo,
    /// Gone once the task is over.
    logic: Option<L>,
    /// Why there is none from the start.
    unmade: Option<String>,
    inbox: Inbox<L::In>,
    commands: VecDeque<Order>,
    lanes: Lanes,
    phase: Phase,
    limits: Limits,
    clock: Arc<dyn Clock>,
    schedule: Option<Arc<dyn Schedule>>,
    metrics: Arc<TaskMetrics>,
    time: TaskTime,
    heartbeat: Arc<Heartbeat>,
    /// Nothing more will come.
    settling: bool,
    /// Why the task is failing.
    failure: Option<TaskFailure>,
    /// The task has yielded once with nothing to do; if there still is nothing, it flushes.
    lingered: bool,
    span: tracing::Span,
    /// Behind all that it counts as alive, and before its end is told.
    _counted: Counted,
    /// Last, so that everything else is gone when the end is told.
    guard: Guard,
}

impl<L: Logic> Task<L> {
    pub(crate) fn new(of: TaskOf<L>) -> Self {
        let TaskOf { info, logic, channels, guard, limits, clock, schedule, metrics, heartbeat } =
            of;
        let span = tracing::info_span!(
            "task",
            job = &*info.job,
            stage = &*info.stage,
            subtask = info.subtask,
            attempt = info.attempt.get()
        );
        Self {
            time: TaskTime::new(metrics.clone()),
            lanes: Lanes::new(limits.turn_records),
            inbox: Inbox::new(channels),
            unmade: logic.as_ref().err().cloned(),
            logic: logic.ok(),
            commands: VecDeque::new(),
            phase: Phase::Created,
            settling: false,
            failure: None,
            lingered: false,
            _counted: Counted::new(&info),
            info,
            limits,
            clock,
            schedule,
            metrics,
            heartbeat,
            span,
            guard,
        }
    }

    /// What comes after a turn: a yield if work is left; one more yield before batches that are not
    /// full are let go, since what fills them may be on its way; else a wait.
    fn next(&mut self, after: After) -> Next {
        let chance = self.schedule.as_ref().map_or(0, |schedule| schedule.yields());
        if after == After::Again || !self.commands.is_empty() {
            self.lingered = false;
            return Next::Yield(1 + chance);
        }
        let filling = self.logic.as_ref().is_some_and(Logic::filling);
        match std::mem::replace(&mut self.lingered, filling) {
            false if filling => Next::Yield(1 + chance),
            true if filling => {
                self.lingered = false;
                self.logic.iter_mut().for_each(Logic::flush);
                // The flush may have used the last credit or have found none.
                Next::Yield(1 + chance)
            }
            _ if self.settling && after == After::Input => {
                self.depart(TaskState::Cancelled, Departure::Cancelled);
                Next::Stop
            }
            _ => Next::Wait(chance),
        }
    }

    /// What there is to do, and when that was done: looks at the clock cost a turn of a fast task
    /// a tenth of its time, so the logic's last one ends it.
    fn serve(&mut self, began: Moment, cx: &mut Context<'_>) -> (After, Moment) {
        let (mut after, mut ended) = (After::Input, began);
        // How much data there is only the logic knows: it may have some that it has taken before.
        self.lanes.begin([self.commands.len(), 0, 0, usize::MAX]);
        while self.phase != Phase::Over
            && let Some(serve) = self.lanes.next()
        {
            match serve.lane {
                Lane::Control => {
                    self.lanes.served(Lane::Control, 1);
                    if let Some(order) = self.commands.pop_front() {
                        self.obey(order);
                    }
                }
                lane => {
                    (after, ended) = self.guarded(serve.at_most, began, cx);
                    self.lanes.skip(lane);
                }
            }
        }
        (after, ended)
    }

    fn obey(&mut self, order: Order) {
        match (order, self.phase) {
            (Order::Open, Phase::Created) => {
                if let Some(message) = self.unmade.take() {
                    self.fail(TaskFailure::Panic(message));
                    return;
                }
                self.phase = Phase::Opening;
                self.metrics.set_state(TaskState::Opening);
            }
            (Order::Run, Phase::Open) => self.phase = Phase::Running,
            (Order::Cancel, _) => {
                let failure = self.failure.take();
                let departure = failure.map_or(Departure::Cancelled, Departure::Failed);
                self.depart(TaskState::Cancelled, departure);
            }
            (Order::Settle, Phase::Running) => {
                self.settling = true;
                self.inbox.quiesce();
            }
            (Order::Settle, Phase::Created | Phase::Opening | Phase::Open) => {
                self.depart(TaskState::Cancelled, Departure::Cancelled);
            }
            (Order::Drain, _) => {
                // What a source drops here is the user's.
                let logic = self.logic.as_mut();
                let drained = logic.map(|it| catch_unwind(AssertUnwindSafe(|| it.drain())));
                if let Some(Err(payload)) = drained {
                    self.fail(TaskFailure::Panic(panic_message(payload)));
                }
            }
            // An order that comes twice or late.
            (Order::Open | Order::Run | Order::Settle, _) => {}
        }
    }

    /// Calls the logic behind the panic border.
    fn guarded(&mut self, records: usize, began: Moment, cx: &mut Context<'_>) -> (After, Moment) {
        let Some(logic) = &mut self.logic else { return (After::Ended, began) };
        let mut turn = Turn {
            cx,
            budget: Budget::new(&*self.clock, records, began, self.limits.turn_time),
            metrics: &self.metrics,
            schedule: self.schedule.as_deref(),
        };
        let opening = self.phase == Phase::Opening;
        let (phase, inbox) = (self.phase, &mut self.inbox);
        let called = catch_unwind(AssertUnwindSafe(|| match phase {
            Phase::Opening => match logic.open(&mut turn) {
                Poll::Ready(Ok(())) => Ok(After::Ended),
                Poll::Ready(Err(failure)) => Err(failure),
                Poll::Pending => Ok(After::Input),
            },
            Phase::Running => logic.work(inbox, &mut turn),
            Phase::Failing => match logic.hand_over() {
                Poll::Ready(handed) => handed.map(|()| After::Ended),
                Poll::Pending => Ok(After::Credit),
            },
            _ => Ok(After::Input),
        }));
        let ended = match phase {
            Phase::Running => turn.budget.looked(),
            _ => self.clock.monotonic(),
        };
        let after = match called {
            Ok(Ok(After::Ended)) if opening => {
                self.phase = Phase::Open;
                self.metrics.set_state(TaskState::Running);
                self.guard.opened();
                After::Input
            }
            Ok(Ok(After::Ended)) => {
                match self.failure.take() {
                    Some(failure) => self.depart(TaskState::Failed, Departure::Failed(failure)),
                    None => self.depart(TaskState::Ended, Departure::Ended),
                }
                After::Ended
            }
            Ok(Ok(after)) => after,
            Ok(Err(failure)) => self.fail(TaskFailure::Error(failure)),
            Err(payload) => self.fail(TaskFailure::Panic(panic_message(payload))),
        };
        (after, ended)
    }

    /// The first failure counts. What was made before it is handed on before the task departs.
    fn fail(&mut self, failure: TaskFailure) -> After {
        tracing::error!(?failure, "{} fails", self.info);
        let failure = self.failure.take().unwrap_or(failure);
        if let (Phase::Running, Some(logic)) = (self.phase, &mut self.logic) {
            self.phase = Phase::Failing;
            let_go(catch_unwind(AssertUnwindSafe(|| logic.salvage())));
        }
        if self.phase == Phase::Failing {
            // A step that fails at what is handed on keeps nothing from the other ways out.
            self.failure = Some(failure);
            return After::Again;
        }
        self.depart(TaskState::Failed, Departure::Failed(failure));
        After::Ended
    }

    /// The end of the task's life: what it ran and what it holds is dropped here, behind a panic
    /// border since users' values are dropped with it, and the guard knows why.
    fn depart(&mut self, state: TaskState, departure: Departure) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        let logic = self.logic.take();
        let left = self.inbox.close();
        let dropped = catch_unwind(AssertUnwindSafe(move || {
            drop(left);
            drop(logic);
        }));
        let (state, departure) = match (departure, dropped.map_err(panic_message)) {
            (Departure::Ended, Err(message)) => {
                (TaskState::Failed, Departure::Failed(TaskFailure::Panic(message)))
            }
            (departure, _) => (state, departure),
        };
        self.time.stop(self.clock.monotonic());
        self.metrics.set_state(state);
        tracing::debug!(?state, "{} departs", self.info);
        self.guard.departs(departure);
    }
}

impl<L: Logic> Turns for Task<L> {
    /// One turn: orders, then the logic, within the budget.
    fn turn(&mut self, ctx: &mut Self::Context, cx: &mut Context<'_>) -> Next {
        if self.phase == Phase::Over {
            return Next::Stop;
        }
        let began = self.clock.monotonic();
        self.time.enter(Activity::Busy, began);
        self.metrics.turns.inc();
        self.heartbeat.turn_begins(began);
        let span = self.span.clone();
        let (after, ended) = span.in_scope(|| self.serve(began, cx));
        self.heartbeat.turn_ends();
        let activity = match after {
            After::Again => Activity::Waiting,
            After::Credit => Activity::BackPressured,
            After::Input | After::Outside | After::Ended => Activity::Idle,
        };
        if self.phase != Phase::Over {
            self.time.enter(activity, ended);
        }
        let sent = self.logic.as_mut().map_or(0, Logic::take_sent);
        self.metrics.batches_out.add(sent);
        let next = if self.phase == Phase::Over { Next::Stop } else { self.next(after) };
        if matches!(next, Next::Stop) {
            ctx.stop();
        }
        next
    }
}

impl<L: Logic> Drop for Task<L> {
    /// A task that was not over when its arbiter stopped has failed, and its time ends here.
    fn drop(&mut self) {
        if self.phase != Phase::Over {
            self.time.stop(self.clock.monotonic());
            self.metrics.set_state(TaskState::Failed);
            let_go(self.logic.take());
        }
    }
}

// What the actor holds is moved freely: nothing in it is pinned in place.
impl<L: Logic> Unpin for Task<L> {}

impl<L: Logic> Actor for Task<L> {
    type Context = actix::Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // The bound is in the credits; a bound here would only count senders.
        ctx.set_mailbox_capacity(0);
        ctx.spawn(Turner::new(tokio::task::yield_now));
    }
}

impl<L: Logic> Handler<Deliver<L::In>> for Task<L> {
    type Result = ();

    fn handle(&mut self, delivery: Deliver<L::In>, _: &mut Self::Context) {
        if delivery.attempt == self.info.attempt {
            self.metrics.batches_in.inc();
            if let Err(Refused(late)) = self.inbox.file(delivery) {
                // Its credit goes back with it.
                tracing::trace!(channel = late.channel, "{} drops a late batch", self.info);
            }
        }
    }
}

impl<L: Logic> Handler<Resume> for Task<L> {
    type Result = ();

    /// Nothing to file: the turn that follows finds the credit.
    fn handle(&mut self, Resume: Resume, _: &mut Self::Context) {}
}

impl<L: Logic> Handler<Command> for Task<L> {
    type Result = ();

    fn handle(&mut self, command: Command, _: &mut Self::Context) {
        if command.attempt == self.info.attempt {
            self.commands.push_back(command.order);
        }
    }
}
