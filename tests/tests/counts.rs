//! What a job counts of its tasks: the records that each takes and gives, the time that its code
//! takes, and what user code counts itself.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use millstream::prelude::*;
use millstream::{
    BoxedStream, JobNumbers, Read, ReadContext, Reader, Source, TaskContext, TaskNumbers,
};
use millstream_testkit::{ManualClock, SimulatedClock, run};
use tokio::sync::Notify;

const RECORDS: u64 = 300;
const STEP: Duration = Duration::from_millis(1);

fn numbers(flow: &Dataflow) -> BoxedStream<u64> {
    flow.source("numbers", Items::from(0..RECORDS)).boxed()
}

/// Passes everything on, to a side output as well.
struct Pass(SideOutput<u64>);

impl Operator for Pass {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.side(&self.0, record);
        out.emit(record);
        Ok(())
    }
}

/// Passes everything on by batches.
struct Whole;

impl Operator for Whole {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    const BATCHES: bool = true;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.emit(record);
        Ok(())
    }

    fn on_batch(
        &mut self,
        batch: &mut Vec<Stamped<u64>>,
        out: &mut Effects<u64>,
    ) -> Result<(), Failure> {
        out.append(batch);
        Ok(())
    }
}

/// Takes two streams for one.
struct Both;

impl Operator for Both {
    type In = Either<u64, u64>;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<Either<u64, u64>>,
        out: &mut Effects<u64>,
    ) -> Result<(), Failure> {
        out.emit(record.map(|either| match either {
            Either::Left(n) | Either::Right(n) => n,
        }));
        Ok(())
    }
}

const STAGES: [&str; 11] = [
    "source",
    "rebalance",
    "broadcast",
    "keyed",
    "at the end",
    "operator",
    "batches",
    "side output",
    "union",
    "connect",
    "calls",
];

/// The stream that leaves a stage of this kind, `"mid"` if it is not the source. As many records
/// leave it as the source has.
fn leaving(flow: &Dataflow, numbers: BoxedStream<u64>, stage: &str) -> BoxedStream<u64> {
    let none = || flow.source("none", Items::from(Vec::<u64>::new()));
    let side = SideOutput::new("side");
    let to = side.clone();
    match stage {
        "source" => numbers,
        "rebalance" => numbers.rebalance("mid").boxed(),
        "broadcast" => numbers.broadcast("mid").boxed(),
        "keyed" => {
            let keyed = numbers.key_by(|n| *n % 7);
            keyed.map_with_state("mid", |_, (): &mut (), n| n)
        }
        "at the end" => {
            let keyed = numbers.key_by(|n| *n).at_end();
            keyed.map_with_state("mid", |_, (): &mut (), n| n)
        }
        "operator" => numbers.operator("mid", move |_: &TaskInfo| Pass(to.clone())).boxed(),
        "batches" => numbers.operator("mid", |_: &TaskInfo| Whole).boxed(),
        "side output" => {
            let main = numbers.operator("mid", move |_: &TaskInfo| Pass(to.clone()));
            let side = main.side_output(&side).boxed();
            main.for_each("main", |_| {});
            side
        }
        "union" => numbers.union(none()).rebalance("mid").boxed(),
        "connect" => numbers.connect(none()).operator("mid", |_: &TaskInfo| Both).boxed(),
        _ => numbers.async_wait("mid", AsyncWait::ordered(), async |n| Ok(n)).boxed(),
    }
}

/// Runs a job in which only one step takes time, in which the clock moves: a step behind a stage.
fn timed(
    settings: &Settings,
    stage: &str,
    add: impl FnOnce(BoxedStream<u64>, ManualClock),
) -> JobNumbers {
    let clock = ManualClock::new();
    let settings = settings.clone().clock(Arc::new(clock.clone()));
    run(async move {
        let flow = Dataflow::new("counts");
        add(leaving(&flow, numbers(&flow), stage), clock);
        let job = flow.start(settings).await.unwrap();
        job.finished().await.unwrap();
        job.status().numbers
    })
}

/// All the time that has passed is work of this task, and no other has done any.
fn assert_works(numbers: &JobNumbers, task: &str, what: &str) {
    let all = RECORDS * STEP.as_nanos() as u64;
    let busy = |it: &TaskNumbers| (it.stage.clone(), it.numbers.busy_ns);
    let expected = |it: &TaskNumbers| (it.stage.clone(), if it.stage == task { all } else { 0 });
    let (came, expected): (Vec<_>, Vec<_>) =
        numbers.tasks.iter().map(|it| (busy(it), expected(it))).unzip();
    assert_eq!(came, expected, "{what}");
    let its = numbers.tasks.iter().find(|it| it.stage == task).unwrap();
    assert_eq!(its.numbers.elapsed_ns(), all, "{what}: it has not done anything else");
}

fn own(stage: &str) -> &str {
    if stage == "source" { "numbers" } else { "mid" }
}

#[test]
fn steps_behind_any_stage_are_its_work() {
    for settings in [Settings::new(), Settings::new().batch_records(10).credits(1)] {
        for stage in STAGES {
            let numbers = timed(&settings, stage, |stream, clock| {
                let slow = move |n| {
                    clock.advance(STEP);
                    n
                };
                stream.map(slow).for_each("out", |_| {});
            });
            assert_works(&numbers, own(stage), stage);
        }
    }
}

/// A source that gives a few records, and the next few when it is told that those have arrived.
#[derive(Clone)]
struct Paced(Arc<Notify>);

struct PacedReader {
    arrived: Arc<Notify>,
    waits: Option<Pin<Box<dyn Future<Output = ()>>>>,
    next: u64,
}

/// How many it gives at once: less than any batch.
const FEW: u64 = 3;

impl Source for Paced {
    type Out = u64;
    type Position = u64;
    type Reader = PacedReader;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<PacedReader, Failure> {
        Ok(PacedReader { arrived: self.0.clone(), waits: None, next: 0 })
    }
}

impl Reader for PacedReader {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        if let Some(waits) = &mut self.waits
            && waits.as_mut().poll(cx.context()).is_pending()
        {
            return Ok(Read::Later);
        }
        if self.next == RECORDS {
            return Ok(Read::Ended);
        }
        (0..FEW).for_each(|n| cx.emit(Stamped::new(self.next + n)));
        self.next += FEW;
        let arrived = self.arrived.clone();
        self.waits = Some(Box::pin(async move { arrived.notified().await }));
        Ok(Read::Ready)
    }

    fn position(&self) -> u64 {
        self.next
    }
}

/// Nothing but the records themselves makes a task look at the clock.
#[test]
fn steps_behind_a_stage_are_its_work_when_nothing_follows() {
    for stage in STAGES.into_iter().filter(|stage| *stage != "at the end") {
        let clock = ManualClock::new();
        let settings = Settings::new().clock(Arc::new(clock.clone()));
        let numbers = run(async move {
            let (flow, arrived) = (Dataflow::new("counts"), Arc::<Notify>::default());
            let paced = flow.source("numbers", Paced(arrived.clone())).boxed();
            let step = move |n| {
                clock.advance(STEP);
                n
            };
            let told = move |n| {
                if n % FEW == FEW - 1 {
                    arrived.notify_one();
                }
            };
            leaving(&flow, paced, stage).map(step).for_each("out", told);
            let job = flow.start(settings).await.unwrap();
            job.finished().await.unwrap();
            job.status().numbers
        });
        let its = &numbers.stage(own(stage)).unwrap().numbers;
        assert_eq!(its.busy_ns, RECORDS * STEP.as_nanos() as u64, "{stage}");
        assert_eq!(its.elapsed_ns(), its.busy_ns, "{stage}");
    }
}

#[test]
fn steps_behind_results_at_the_end_are_work_though_the_next_wait_for_credit() {
    const KEYS: u64 = 5_000;
    let clock = ManualClock::new();
    let settings = Settings::new().credits(1).clock(Arc::new(clock.clone()));
    let numbers = run(async move {
        let flow = Dataflow::new("counts");
        let keyed = flow.source("numbers", Items::from(0..KEYS)).key_by(|n| *n);
        let step = move |(key, _)| {
            clock.advance(STEP);
            key
        };
        keyed.at_end().count("mid").map(step).for_each("out", |_: u64| {});
        let job = flow.start(settings).await.unwrap();
        job.finished().await.unwrap();
        job.status().numbers
    });
    let its = &numbers.stage("mid").unwrap().numbers;
    assert_eq!(its.busy_ns, KEYS * STEP.as_nanos() as u64);
    assert_eq!(its.elapsed_ns(), its.busy_ns);
}

#[test]
fn steps_that_work_off_what_was_held_for_want_of_credit_are_work() {
    let settings = Settings::new().batch_records(10).credits(1);
    for stage in STAGES {
        let numbers = timed(&settings, stage, |stream, clock| {
            let slow = move |n| {
                clock.advance(STEP);
                [n; 3]
            };
            stream.flat_map(slow).for_each("out", |_| {});
        });
        assert_works(&numbers, own(stage), stage);
        assert_eq!(numbers.stage("out").unwrap().numbers.records_in, RECORDS * 3, "{stage}");
    }
}

#[test]
fn the_time_that_a_sink_takes_is_its_own() {
    for stage in STAGES {
        let numbers = timed(&Settings::new(), stage, |stream, clock| {
            stream.for_each("out", move |_| clock.advance(STEP));
        });
        assert_works(&numbers, "out", stage);
    }
}

/// What each task took and gave, by its stage.
type Flows = BTreeMap<String, (u64, u64)>;

/// Runs a job on simulated time; how it ended, and what each task took and gave.
fn counted(
    settings: Settings,
    build: impl FnOnce(&Dataflow),
) -> (Result<(), JobError>, Flows, JobNumbers) {
    run(async move {
        let flow = Dataflow::new("counts");
        build(&flow);
        let clock = Arc::new(SimulatedClock::new());
        let job = flow.start(settings.clock(clock)).await.unwrap();
        let outcome = job.finished().await;
        let numbers = job.status().numbers;
        let records = |it: &TaskNumbers| (it.numbers.records_in, it.numbers.records_out);
        let all = numbers.tasks.iter().map(|it| (it.stage.clone(), records(it))).collect();
        (outcome, all, numbers)
    })
}

fn table<const N: usize>(rows: [(&str, u64, u64); N]) -> Flows {
    rows.into_iter().map(|(stage, taken, given)| (stage.to_owned(), (taken, given))).collect()
}

#[test]
fn a_source_counts_what_it_reads_and_a_sink_what_it_writes() {
    let (outcome, records, _) = counted(Settings::new(), |flow| {
        let halves = numbers(flow).rebalance("mid").filter(|n| n % 2 == 0);
        halves.for_each("out", |_| {});
    });
    outcome.unwrap();
    let (all, half) = (RECORDS, RECORDS / 2);
    assert_eq!(records, table([("numbers", all, all), ("mid", all, all), ("out", half, half)]));
}

#[test]
fn a_task_that_panics_has_counted_the_batches_before_and_says_so() {
    let not = |at: u64| {
        move |n: u64| {
            assert!(n != at, "not {at}");
            n
        }
    };
    let settings = || Settings::new().batch_records(10).credits(1);
    for at in [0, 9, 10, 155, RECORDS - 1] {
        let before = at / 10 * 10;
        let (outcome, records, _) = counted(settings(), |flow| {
            numbers(flow).map(not(at)).for_each("out", |_| {});
        });
        let Err(JobError::Panicked { task, records_in, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((&*task.stage, records_in), ("numbers", before));
        assert_eq!(records, table([("numbers", before, before), ("out", at, at)]));

        let (outcome, records, _) = counted(settings(), |flow| {
            numbers(flow).for_each("out", move |n| _ = not(at)(n));
        });
        let Err(JobError::Panicked { task, records_in, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((&*task.stage, records_in), ("out", before));
        assert_eq!(records["out"], (before, before));
    }
}

/// Counts more than can be counted.
struct Counts;

impl Operator for Counts {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.count("much", u64::MAX);
        out.count("one each", 1);
        out.emit(record);
        Ok(())
    }
}

#[test]
fn what_user_code_counts_stays_at_the_most_that_there_is() {
    for limit in [1, 1_024] {
        let settings = Settings::new().batch_records(limit);
        let (outcome, records, all) = counted(settings, |flow| {
            numbers(flow).operator("mid", |_: &TaskInfo| Counts).for_each("out", |_| {});
        });
        outcome.unwrap();
        assert_eq!(records["out"], (RECORDS, RECORDS));
        let counts = &all.stage("mid").unwrap().numbers.counts;
        let expected = [("much".to_owned(), u64::MAX), ("one each".to_owned(), RECORDS)];
        assert_eq!(counts, &BTreeMap::from(expected));
    }
}
