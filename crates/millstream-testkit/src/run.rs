//! Runs the body of a test inside an actix system, and fails the test when an actor outlives it.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use millstream_core::{Clock, TaskInfo};
use millstream_runtime::actix_rt::{System, SystemRunner};
use millstream_runtime::{SystemClock, census};

use crate::clock::{SimulatedClock, a_moment};
use crate::refuse::refuse;

/// How much simulated time [`run`] gives a body.
pub const RUN_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How much real time [`run_on_threads`] gives a body. Not what a test should take: what it cannot
/// take unless it hangs.
pub const RUN_TIME_ON_THREADS: Duration = Duration::from_secs(120);

/// Runs the body of a test on one arbiter and on simulated time.
///
/// The time stands still while there is something to do and jumps to the next deadline when there
/// is not, so a test never waits, and one that hangs fails at once. Give a job that it starts a
/// [`SimulatedClock`].
///
/// # Panics
///
/// When a task of a job is still alive after the body: end the job by
/// [`finished`](millstream_runtime::Job::finished), [`drain`](millstream_runtime::Job::drain) or
/// [`cancel`](millstream_runtime::Job::cancel). When the body has not ended after 30 days of
/// simulated time, which is at once if nothing can happen any more. And when the body panics.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use millstream::prelude::*;
/// use millstream_testkit::{SimulatedClock, run};
///
/// run(async {
///     let flow = Dataflow::new("days");
///     let days = Generate::new(|n| n).records(10).per_second(1.try_into().unwrap());
///     let seen = flow.source("days", days).collect("seen");
///     let settings = Settings::new().clock(Arc::new(SimulatedClock::new()));
///     flow.start(settings).await.unwrap().finished().await.unwrap();
///     assert_eq!(seen.take(), (0..10).collect::<Vec<_>>());
/// });
/// ```
#[track_caller]
pub fn run<F: Future>(body: F) -> F::Output {
    run_within(RUN_TIME, body)
}

/// As [`run`], with another limit of simulated time.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn run_within<F: Future>(limit: Duration, body: F) -> F::Output {
    match simulated(limit, body) {
        Ok(output) => output,
        Err(hung) => refuse(hung.words()),
    }
}

/// Runs the body of a test inside a system on real time, for jobs on several arbiters.
///
/// The body should not depend on how long anything takes: give its job a
/// [`ManualClock`](crate::ManualClock), or wait by [`until`] for what must come.
///
/// # Panics
///
/// As [`run`]; the limit is two minutes of real time.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::run_on_threads;
///
/// run_on_threads(async {
///     let flow = Dataflow::new("sum");
///     let sums = flow
///         .source("numbers", Items::from(0..100_u64))
///         .key_by(|n| n % 2)
///         .at_end()
///         .fold("sum", 0, |sum, n| *sum += n)
///         .collect("sums");
///     let settings = Settings::new().workers(Workers::Own(2.try_into().unwrap()));
///     flow.start(settings).await.unwrap().finished().await.unwrap();
///     let mut sums = sums.take();
///     sums.sort();
///     assert_eq!(sums, [(0, 2_450), (1, 2_500)]);
/// });
/// ```
#[track_caller]
pub fn run_on_threads<F: Future>(body: F) -> F::Output {
    let clock = SystemClock::new();
    match within(&System::new(), &clock, RUN_TIME_ON_THREADS, body) {
        Ok(output) => output,
        Err(hung) => refuse(hung.words()),
    }
}

/// Resolves when the condition holds; asked again after each millisecond, of simulated time within
/// [`run`] and of real time within [`run_on_threads`]. Whoever runs the body sets the limit.
pub async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        a_moment().await;
    }
}

/// What a body left behind.
#[derive(Debug)]
pub(crate) enum Hung {
    /// It has not ended within its time.
    Body { limit: Duration, alive: Vec<TaskInfo> },
    /// It has ended, and these have not.
    Tasks(Vec<TaskInfo>),
}

impl Hung {
    pub(crate) fn words(&self) -> String {
        let list = |alive: &[TaskInfo]| {
            let name = |task: &TaskInfo| format!("{task} in job {:?}", task.job);
            alive.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Body { limit, alive } if alive.is_empty() => {
                format!("the body has not ended after {limit:?}: what does it wait for?")
            }
            Self::Body { limit, alive } => {
                format!("the body has not ended after {limit:?}; alive are {}", list(alive))
            }
            Self::Tasks(alive) => format!(
                "the body has ended and left {} alive; \
                 end the job by `finished`, `drain` or `cancel`",
                list(alive)
            ),
        }
    }
}

/// Runs a body on simulated time.
#[track_caller]
pub(crate) fn simulated<F: Future>(limit: Duration, body: F) -> Result<F::Output, Hung> {
    let system = System::with_tokio_rt(|| match paused() {
        Ok(runtime) => runtime,
        Err(error) => refuse(format!("no tokio runtime: {error}")),
    });
    let clock = system.block_on(async { SimulatedClock::new() });
    within(&system, &clock, limit, body)
}

fn paused() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
}

fn within<F: Future>(
    system: &SystemRunner,
    clock: &impl Clock,
    limit: Duration,
    body: F,
) -> Result<F::Output, Hung> {
    let ended = system.block_on(async {
        let mut body = pin!(body);
        let mut late = clock.wake_at(clock.monotonic().plus(limit));
        std::future::poll_fn(|cx| match body.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => late.as_mut().poll(cx).map(|()| None),
        })
        .await
    });
    match (ended, census()) {
        (Some(output), alive) if alive.is_empty() => Ok(output),
        (Some(_), alive) => Err(Hung::Tasks(alive)),
        (None, alive) => Err(Hung::Body { limit, alive }),
    }
}
