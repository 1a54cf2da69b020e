//! Where a job can be started from, and what is refused before anything runs.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{
    BoxedStream, GraphFault, ItemsReader, PlanFault, SettingsError, Sink, Source, TaskContext,
    Writer,
};
use millstream_testkit::run_on_threads;

/// A small job with an exchange, and what it must give.
fn numbers() -> (Dataflow, impl Fn() -> Vec<u64>) {
    let flow = Dataflow::new("numbers");
    let out = flow
        .source("numbers", Items::from(0..1_000_u64))
        .key_by(|n| n % 10)
        .at_end()
        .fold("sum", 0, |sum, n| *sum += n)
        .map(|(_, sum)| sum)
        .collect("out");
    (flow, move || {
        let mut sums = out.take();
        sums.sort_unstable();
        sums
    })
}

fn sums() -> Vec<u64> {
    (0..10).map(|key| (0..100).map(|n| n * 10 + key).sum()).collect()
}

fn two() -> Workers {
    Workers::Own(NonZeroUsize::new(2).unwrap())
}

#[actix::test]
async fn a_job_starts_on_the_current_arbiter() {
    let (flow, out) = numbers();
    flow.start(Settings::new().parallelism(3)).await.unwrap().finished().await.unwrap();
    assert_eq!(out(), sums());
}

#[actix::test]
async fn a_job_starts_on_arbiters_of_its_own_which_end_with_it() {
    let (flow, out) = numbers();
    let job = flow.start(Settings::new().workers(two()).parallelism(4)).await.unwrap();
    job.finished().await.unwrap();
    assert_eq!(out(), sums());
}

#[test]
fn a_job_starts_from_another_arbiter_of_the_system() {
    let (flow, out) = numbers();
    actix::System::new().block_on(async move {
        let arbiter = actix::Arbiter::new();
        let (tell, told) = tokio::sync::oneshot::channel();
        arbiter.spawn(async move {
            let job = flow.start(Settings::new().workers(two())).await.unwrap();
            job.finished().await.unwrap();
            let (flow, out) = numbers();
            flow.start(Settings::new()).await.unwrap().finished().await.unwrap();
            assert_eq!(out(), sums());
            tell.send(()).unwrap();
        });
        told.await.unwrap();
        arbiter.stop();
    });
    assert_eq!(out(), sums());
}

/// An actix system on a thread of its own, for those who have none.
fn elsewhere() -> (millstream::actix_rt::ArbiterHandle, impl FnOnce()) {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let system = actix::System::new();
        system.block_on(async move {
            let handle = actix::Arbiter::current();
            tell.send((handle, actix::System::current())).unwrap();
        });
        system.run().unwrap();
    });
    let (handle, system) = told.recv().unwrap();
    (handle, move || {
        system.stop();
        thread.join().unwrap();
    })
}

/// Starts without a system, which is refused, and then through an arbiter that was given.
async fn refused_and_then_through_an_arbiter() {
    let (flow, out) = numbers();
    for workers in [Workers::Current, two()] {
        let refused = flow.start(Settings::new().workers(workers)).await;
        assert!(matches!(refused.err(), Some(StartError::NoSystem)));
    }
    let (handle, stop) = elsewhere();
    let given = Settings::new().workers(Workers::Given(vec![handle])).parallelism(2);
    flow.start(given).await.unwrap().finished().await.unwrap();
    assert_eq!(out(), sums());
    stop();
}

#[test]
fn on_a_plain_thread_there_is_no_system_but_a_given_arbiter_works() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(refused_and_then_through_an_arbiter());
}

#[test]
fn inside_a_local_set_there_is_no_system_but_a_given_arbiter_works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, refused_and_then_through_an_arbiter());
}

#[test]
fn on_a_multi_thread_worker_there_is_no_system_but_a_given_arbiter_works() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let worker = runtime.spawn(refused_and_then_through_an_arbiter());
    runtime.block_on(worker).unwrap();
}

#[actix::test]
async fn an_arbiter_that_has_stopped_is_told() {
    let (good, gone) = (actix::Arbiter::new(), actix::Arbiter::new());
    let handles = vec![good.handle(), gone.handle()];
    gone.stop();
    let (flow, out) = numbers();
    let refused = flow.start(Settings::new().workers(Workers::Given(handles))).await;
    assert!(matches!(refused.err(), Some(StartError::ArbiterGone { worker: 1 })));
    assert_eq!(out(), [0_u64; 0]);
    good.stop();
}

#[actix::test]
async fn every_fault_of_a_plan_is_told_at_once() {
    let flow = Dataflow::new("faulty");
    let _ = flow.source("same", Items::from(0..3)).map(|n| n + 1);
    let _ = flow.source("same", Items::from(0..3)).collect("out").take();
    let error = flow.start(Settings::new().key_groups(0)).await.err().expect("faults");
    let StartError::Plan(plan) = &error else { panic!("{error:?}") };
    let faults = plan.faults();
    assert!(faults.iter().any(|fault| matches!(fault, PlanFault::EqualNames { .. })), "{error}");
    assert!(
        faults.iter().any(|fault| matches!(fault, PlanFault::NothingConnected { .. })),
        "{error}"
    );
    assert!(
        faults.iter().any(|fault| matches!(fault, PlanFault::KeyGroupsOutOfRange { .. })),
        "{error}"
    );
}

#[actix::test]
async fn an_empty_dataflow_is_refused() {
    let error = Dataflow::new("empty").start(Settings::new()).await.err().expect("no stages");
    assert!(matches!(&error, StartError::Plan(plan) if plan.faults() == [PlanFault::NoStages]));
}

#[actix::test]
async fn a_limit_of_zero_is_refused_by_name() {
    let (flow, _) = numbers();
    let zeros: [(&str, Settings); 9] = [
        ("batch_records", Settings::new().batch_records(0)),
        ("credits_within", Settings::new().credits_within(0)),
        ("credits_across", Settings::new().credits_across(0)),
        ("turn_records", Settings::new().turn_records(0)),
        ("turn_time", Settings::new().turn_time(Duration::ZERO)),
        ("start_wait", Settings::new().start_wait(Duration::ZERO)),
        ("stop_wait", Settings::new().stop_wait(Duration::ZERO)),
        ("slow_turn", Settings::new().slow_turn(Duration::ZERO)),
        ("parallelism", Settings::new().parallelism(0)),
    ];
    for (expected, settings) in zeros {
        match flow.start(settings).await.err() {
            Some(StartError::Settings(SettingsError::Zero { name })) => assert_eq!(name, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let none = flow.start(Settings::new().workers(Workers::Given(Vec::new()))).await;
    assert!(matches!(none.err(), Some(StartError::Settings(SettingsError::NoWorker))));
}

/// What a start is refused with: what the plan cannot show, and what it shows.
async fn graph_faults(flow: &Dataflow) -> (Vec<GraphFault>, Vec<PlanFault>) {
    match flow.start(Settings::new()).await.err() {
        Some(StartError::Graph(graph)) => (graph.faults().into(), graph.plan_faults().into()),
        other => panic!("{other:?}"),
    }
}

#[actix::test]
async fn what_the_plan_cannot_show_is_refused_too() {
    let flow = Dataflow::new("twice");
    let side: SideOutput<u64> = SideOutput::new("side");
    let numbers = flow.source("numbers", Items::from(0..3_u64));
    let _ = numbers.side_output(&side).collect("one");
    let _ = numbers.side_output(&side).collect("two");
    let _ = numbers.collect("out");
    let (stage, output) = ("numbers".to_owned(), "side".to_owned());
    let twice = GraphFault::SideOutputReadTwice { stage, output };
    assert_eq!(graph_faults(&flow).await, ([twice].into(), [].into()));

    let flow = Dataflow::new("too-parallel");
    let _ = flow.source("numbers", Items::from(0..3_u64)).parallelism(2).collect("out");
    let stage = "numbers".to_owned();
    let too_parallel = GraphFault::TooParallel { stage, asked: 2, max: 1 };
    assert_eq!(graph_faults(&flow).await, ([too_parallel].into(), [].into()));

    let flow = Dataflow::new("union");
    let [a, b] = flow.source("numbers", Items::from(0..3_u64)).fork();
    let _ = a.union(b).parallelism(2).collect("out");
    let of_union = GraphFault::ParallelismOfUnion { asked: 2 };
    assert_eq!(graph_faults(&flow).await, ([of_union].into(), [].into()));
}

#[actix::test]
async fn what_the_plan_cannot_show_is_told_with_what_it_shows_a_line_each() {
    let flow = Dataflow::new("faulty");
    let side: SideOutput<u64> = SideOutput::new("side");
    let one = flow.source("one", Items::from(0..3_u64)).parallelism(2);
    for name in ["a", "b", "c"] {
        let _ = one.side_output(&side).collect(name);
    }
    let two = flow.source("two", Items::from(0..3_u64)).parallelism(3);
    let _ = one.union(two).parallelism(0).collect("a");
    let _ = flow.source("three", Items::from(0..3_u64));
    let error = flow.start(Settings::new().key_groups(0)).await.err().expect("faults");
    let StartError::Graph(graph) = &error else { panic!("{error:?}") };
    assert_eq!((graph.graph(), graph.faults().len(), graph.plan_faults().len()), ("faulty", 4, 3));
    assert_eq!(
        error.to_string(),
        "graph \"faulty\" has 7 faults:\n  \
         side output \"side\" of stage \"one\" is read twice; fork what is read once\n  \
         a parallelism of 0 is given to a union, which is no stage; give it to a stage\n  \
         stage \"one\" has a parallelism of 2 and can have 1 at most\n  \
         stage \"two\" has a parallelism of 3 and can have 1 at most\n  \
         2 stages are named \"a\": give each a name of its own\n  \
         nothing connected to the output of source \"three\": end it in a sink or remove it\n  \
         0 key groups were asked for: ask for 1 to 32768"
    );
}

/// Joins a stream of source "a" of one dataflow and one of source "b" of another. Both refuse to
/// start, with the same fault, and with what is loose since nothing was connected: the sources and
/// the first stage behind.
async fn are_refused(
    call: &str,
    first: &str,
    join: impl FnOnce(BoxedStream<u64>, BoxedStream<u64>),
) {
    let (left, right) = (Dataflow::new("left"), Dataflow::new("right"));
    let numbers = |flow: &Dataflow, name| flow.source(name, Items::from(0..3_u64));
    join(numbers(&left, "a"), numbers(&right, "b"));
    let no_input = format!("\n  {first} has no input: connect a stream to it or remove it");
    let flows = [(&left, "left", "a", 3, &*no_input), (&right, "right", "b", 2, "")];
    for (flow, name, source, faults, stage) in flows {
        let error = flow.start(Settings::new()).await.err().expect("two dataflows");
        assert_eq!(
            error.to_string(),
            format!(
                "graph {name:?} has {faults} faults:\n  \
                 `{call}` joins a stream of dataflow \"left\" and one of dataflow \"right\", \
                 which run apart: make both streams in one dataflow\n  \
                 nothing connected to the output of source {source:?}: end it in a sink or \
                 remove it{stage}"
            )
        );
    }
}

#[actix::test]
async fn streams_of_two_dataflows_are_not_joined_and_both_are_refused() {
    are_refused("union", "sink \"out\"", |a, b| drop(a.map(|n| n + 1).union(b).collect("out")))
        .await;
    are_refused("connect", "sink \"out\"", |a, b| {
        drop(a.connect(b.filter(|n| *n > 0)).collect("out"))
    })
    .await;
    are_refused("connect", "operator \"count\"", |a, b| {
        let counted = a.key_by(|n| n % 2).connect(b.key_by(|n| n % 2)).count("count");
        drop(counted.collect("out"));
    })
    .await;
}

#[actix::test]
async fn a_graph_can_be_started_twice_and_its_jobs_know_nothing_of_each_other() {
    let (flow, out) = numbers();
    let (one, two) = (flow.start(Settings::new()).await, flow.start(Settings::new()).await);
    one.unwrap().finished().await.unwrap();
    two.unwrap().finished().await.unwrap();
    let mut both = [sums(), sums()].concat();
    both.sort_unstable();
    assert_eq!(out(), both);
}

#[actix::test]
async fn drain_ends_an_endless_source_and_everything_comes_out() {
    let flow = Dataflow::new("drain");
    let [all, summed] = flow.source("numbers", Generate::new(|n| n)).fork();
    let all = all.collect("all");
    let sum = summed.key_by(|_| 0_u8).at_end().fold("add", 0, |sum, n| *sum += n).collect("sum");
    let job = flow.start(Settings::new()).await.unwrap();
    while all.len() < 10_000 {
        tokio::task::yield_now().await;
    }
    job.drain().await.unwrap();
    let all = all.take();
    assert_eq!(all, (0..all.len() as u64).collect::<Vec<_>>());
    assert_eq!(sum.take(), [(0, all.iter().sum::<u64>())]);
}

/// Something of the user's whose copy of this number panics; it counts how many there are.
struct Brittle {
    copies: Arc<AtomicU64>,
    breaks_at: u64,
    alive: Arc<()>,
}

impl Clone for Brittle {
    fn clone(&self) -> Self {
        let copy = self.copies.fetch_add(1, Ordering::SeqCst);
        assert!(copy != self.breaks_at, "copy {copy}");
        Self { copies: self.copies.clone(), breaks_at: self.breaks_at, alive: self.alive.clone() }
    }
}

impl Source for Brittle {
    type Out = u64;
    type Position = u64;
    type Reader = ItemsReader<std::ops::Range<u64>>;

    async fn open(
        &self,
        _: &str,
        _: Option<u64>,
        _: &TaskContext,
    ) -> Result<Self::Reader, Failure> {
        ItemsReader::behind(0..10, 0)
    }
}

impl Sink for Brittle {
    type In = u64;
    type Transaction = ();
    type Writer = Discards;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Discards, Failure> {
        Ok(Discards)
    }
}

struct Discards;

impl Writer for Discards {
    type In = u64;
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        batch.clear();
        Ok(())
    }
}

struct Pass;

impl Operator for Pass {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.emit(record);
        Ok(())
    }
}

/// What a job copies for its tasks, and the stage whose tasks have the copies.
const COPIED: [(&str, &str); 7] = [
    ("source", "numbers"),
    ("sink", "out"),
    ("sink function", "out"),
    ("factory", "mid"),
    ("step", "numbers"),
    ("key", "numbers"),
    ("calls", "mid"),
];

/// A graph in which a brittle thing is in this place.
fn with(brittle: Brittle, place: &str) -> Dataflow {
    let flow = Dataflow::new("brittle");
    if place == "source" {
        let _ = flow.source("numbers", brittle).rebalance("mid").collect("out");
        return flow;
    }
    let numbers = flow.source("numbers", Items::from(0..10_u64));
    match place {
        "sink" => drop(numbers.rebalance("mid").sink("out", brittle)),
        "sink function" => drop(numbers.rebalance("mid").for_each("out", move |_| _ = &brittle)),
        "factory" => {
            let make = move |_: &TaskInfo| {
                let _ = &brittle;
                Pass
            };
            let _ = numbers.operator("mid", make).collect("out");
        }
        "step" => {
            let step = move |n| {
                let _ = &brittle;
                n
            };
            let _ = numbers.map(step).rebalance("mid").collect("out");
        }
        "key" => {
            let key = move |n: &u64| {
                let _ = &brittle;
                *n
            };
            let _ = numbers.key_by(key).count("mid").collect("out");
        }
        _ => {
            let call = move |n: u64| {
                let _ = &brittle;
                async move { Ok(n) }
            };
            let _ = numbers.async_wait("mid", AsyncWait::ordered(), call).collect("out");
        }
    }
    flow
}

/// How a start and what follows from it ended.
async fn outcome(flow: &Dataflow, settings: Settings) -> Result<(), StartError> {
    flow.start(settings).await?.finished().await.unwrap();
    Ok(())
}

#[test]
fn what_panics_when_it_is_copied_fails_the_start_of_its_task_and_nothing_is_left() {
    let mut broken = 0;
    for ((place, stage), breaks_at) in
        COPIED.into_iter().flat_map(|it| (0..4).map(move |n| (it, n)))
    {
        let (copies, alive) = (Arc::new(AtomicU64::new(0)), Arc::new(()));
        let brittle = Brittle { copies: copies.clone(), breaks_at, alive: alive.clone() };
        run_on_threads(async {
            let settings = || Settings::new().workers(two()).parallelism(2);
            let flow = with(brittle, place);
            let there = Arc::strong_count(&alive);
            let first = outcome(&flow, settings()).await;
            match &first {
                // It was not copied so often.
                Ok(()) => assert!(copies.load(Ordering::SeqCst) <= breaks_at, "{place}"),
                Err(StartError::Failed(JobError::Panicked { task, message, records_in: 0 })) => {
                    broken += 1;
                    assert_eq!((&*task.job, &*task.stage), ("brittle", stage), "{place}");
                    assert!(task.subtask < 2, "{place}");
                    assert_eq!(message, &format!("copy {breaks_at}"));
                }
                Err(error) => panic!("{place}: {error:?}"),
            }
            assert_eq!(Arc::strong_count(&alive), there, "{place}: a copy of it is left");
            // It breaks once, so now it works, unless it has not broken yet.
            let second = outcome(&flow, settings()).await;
            assert!(first.is_ok() || second.is_ok(), "{place}: {second:?}");
        });
        assert_eq!(Arc::strong_count(&alive), 1, "{place}: the graph is gone and a copy is left");
    }
    assert!(broken >= 2 * COPIED.len(), "one for each task at least, but only {broken} in all");
}
