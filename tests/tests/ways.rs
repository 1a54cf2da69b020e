//! What came before a failure leaves by every way out of its task, nothing behind it is run, and no
//! channel is given more than its credits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::Data;
use millstream::prelude::*;
use serde::{Deserialize, Serialize, Serializer, ser};

const RECORDS: u64 = 1_000;
const AT: u64 = 500;

/// A key of which one cannot be serialised, nor doubled.
#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
struct Picky(u64);

impl Serialize for Picky {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AT => Err(ser::Error::custom("not this one")),
            n => serializer.serialize_u64(n),
        }
    }
}

impl Clone for Picky {
    fn clone(&self) -> Self {
        assert_ne!(self.0, AT, "the refused key is doubled");
        Self(self.0)
    }
}

fn before() -> Vec<u64> {
    (0..AT).collect()
}

/// The job of this program must fail; how.
async fn fails(flow: &Dataflow) -> JobError {
    let job = flow.start(Settings::new()).await.unwrap();
    job.finished().await.expect_err("the job has a fault")
}

fn assert_refused(error: &JobError) {
    let JobError::Failed { task, failure } = error else { panic!("{error:?}") };
    assert_eq!(&*task.stage, "numbers");
    let text = failure.to_string();
    assert!(text.contains("refuses to be serialised: not this one"), "{text}");
}

fn step(n: u64) -> u64 {
    assert_ne!(n, AT, "not this one");
    n
}

#[actix::test]
async fn a_step_that_fails_has_delivered_what_came_before_it_by_every_way() {
    let numbers = |flow: &Dataflow| flow.source("numbers", Items::from(0..RECORDS));

    let flow = Dataflow::new("fork");
    let [one, two] = numbers(&flow).map(step).fork();
    let outs = [one.collect("one"), two.map(|n| n).collect("two")];
    let error = fails(&flow).await;
    assert!(error.to_string().contains("assertion `left != right` failed: not this one"));
    assert_eq!(outs.map(|out| out.take()), [before(), before()]);

    let flow = Dataflow::new("boxed");
    let out = numbers(&flow).map(step).boxed().collect("out");
    fails(&flow).await;
    assert_eq!(out.take(), before());

    let flow = Dataflow::new("many of one");
    let [one, two] = numbers(&flow).flat_map(|n| vec![step(n); 3]).fork();
    let outs = [one.collect("one"), two.collect("two")];
    fails(&flow).await;
    let thrice: Vec<_> = before().into_iter().flat_map(|n| [n; 3]).collect();
    assert_eq!(outs.map(|out| out.take()), [thrice.clone(), thrice]);
}

#[actix::test]
async fn a_failure_in_one_way_of_a_fork_keeps_nothing_from_the_others() {
    let flow = Dataflow::new("fork");
    let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).fork();
    let counts = one.key_by(|n| Picky(*n)).count("count").collect("one");
    let all = two.collect("two");
    assert_refused(&fails(&flow).await);
    assert_eq!(counts.take().len() as u64, AT);
    assert_eq!(all.take(), (0..RECORDS).collect::<Vec<_>>());

    let flow = Dataflow::new("fork");
    let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).fork();
    let (some, all) = (one.map(step).collect("one"), two.collect("two"));
    fails(&flow).await;
    assert_eq!(some.take(), before());
    assert_eq!(all.take(), (0..RECORDS).collect::<Vec<_>>());
}

#[actix::test]
async fn nothing_is_run_behind_a_refused_key_and_its_own_error_is_told() {
    for parallelism in [1, 3] {
        let flow = Dataflow::new("keys");
        let ran = Arc::new(AtomicU64::new(0));
        let count = ran.clone();
        let out = flow
            .source("numbers", Items::from(0..RECORDS))
            .map(move |n| {
                count.fetch_add(1, Ordering::Relaxed);
                assert!(n <= AT, "a step is run behind the refusal");
                n
            })
            .key_by(|n| Picky(*n))
            .map_with_state("keep", |key, seen: &mut u64, n| {
                *seen += 1;
                (key.0, *seen, n)
            })
            .parallelism(parallelism)
            .collect("out");
        assert_refused(&fails(&flow).await);
        let mut came = out.take();
        came.sort_unstable();
        assert_eq!(came, before().into_iter().map(|n| (n, 1, n)).collect::<Vec<_>>());
        assert_eq!(ran.load(Ordering::Relaxed), AT + 1);
    }
}

#[actix::test]
async fn a_hot_channel_among_many_holds_no_more_than_its_credits() {
    const TASKS: usize = 16;
    for credits in [1, 4] {
        let flow = Dataflow::new("hot");
        let _ = flow
            .source("numbers", Items::from(0..20_000_u64))
            .rebalance("spread")
            .parallelism(1)
            .key_by(|_| 1_u8)
            .map_with_state("hot", |_, sum: &mut u64, n| *sum += n)
            .parallelism(TASKS)
            .collect("out");
        let settings = Settings::new().credits(credits);
        let job = flow.start(settings).await.unwrap();
        job.finished().await.unwrap();
        // A batch of 1,024 is divided by the channels of a route.
        let limit = (1_024 / TASKS * credits) as u64;
        let numbers = job.status().numbers;
        let peaks = numbers.tasks.iter().filter(|task| task.stage == "hot");
        let peak = peaks.map(|task| task.numbers.records_queued_peak).max().unwrap();
        assert!((1..=limit).contains(&peak), "{peak} records on channels for {limit}");
    }
}

/// Takes half of what it is given.
struct Half;

impl Operator for Half {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    const BATCHES: bool = true;

    fn on_record(&mut self, _: Stamped<u64>, _: &mut Effects<u64>) -> Result<(), Failure> {
        Ok(())
    }

    fn on_batch(
        &mut self,
        batch: &mut Vec<Stamped<u64>>,
        out: &mut Effects<u64>,
    ) -> Result<(), Failure> {
        out.extend(batch.drain(..batch.len() / 2));
        Ok(())
    }
}

#[actix::test]
async fn an_operator_that_leaves_records_of_a_batch_is_told_so() {
    let flow = Dataflow::new("half");
    let out = flow
        .source("numbers", Items::from(0..RECORDS))
        .operator("half", |_: &TaskInfo| Half)
        .collect("out");
    let error = fails(&flow).await;
    let JobError::Failed { task, failure } = &error else { panic!("{error:?}") };
    assert_eq!(&*task.stage, "half");
    assert_eq!(failure.to_string(), "the operator left records of the batch that it was given");
    assert!(out.take().len() as u64 <= RECORDS / 2);
}

#[actix::test]
async fn a_panic_tells_how_many_records_came_in_the_batches_before() {
    for at in [0, 63, 1_500] {
        let flow = Dataflow::new("count");
        let _ = flow.source("numbers", Items::from(0..2_000_u64)).for_each("out", move |n| {
            assert!(n != at, "no {at}");
        });
        let error = fails(&flow).await;
        let JobError::Panicked { task, message, records_in } = &error else { panic!("{error:?}") };
        assert_eq!((&*task.stage, &**message), ("out", &*format!("no {at}")));
        assert!(*records_in <= at, "{records_in} came before record {at}");
    }
}

/// Gives everything to a side output.
struct Aside<T>(SideOutput<T>);

impl<T: Data + From<u32>> Operator for Aside<T> {
    type In = u32;
    type Out = u32;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u32>, out: &mut Effects<u32>) -> Result<(), Failure> {
        if record.value >= 500 {
            out.side(&self.0, record.with(T::from(record.value)));
        }
        out.emit(record);
        Ok(())
    }
}

#[actix::test]
async fn a_side_output_holds_no_more_than_its_credits_either() {
    const TASKS: usize = 16;
    let aside: SideOutput<u64> = SideOutput::new("aside");
    let flow = Dataflow::new("hot");
    let output = aside.clone();
    let numbers = flow
        .source("numbers", Items::from(0..20_000_u32))
        .operator("split", move |_: &TaskInfo| Aside(output.clone()));
    let _ = numbers
        .side_output(&aside)
        .key_by(|_| 1_u8)
        .map_with_state("hot", |_, sum: &mut u64, n| *sum += n)
        .parallelism(TASKS)
        .collect("out");
    let main = numbers.collect("main");
    let job = flow.start(Settings::new()).await.unwrap();
    job.finished().await.unwrap();
    assert_eq!(main.take(), (0..20_000).collect::<Vec<_>>());
    let limit = (1_024 / TASKS * 4) as u64;
    let numbers = job.status().numbers;
    let peaks = numbers.tasks.iter().filter(|task| task.stage == "hot");
    let peak = peaks.map(|task| task.numbers.records_queued_peak).max().unwrap();
    assert!((1..=limit).contains(&peak), "{peak} records on channels for {limit}");
}

#[actix::test]
async fn a_side_output_of_another_type_fails_at_its_record_and_nothing_behind_it_comes() {
    let flow = Dataflow::new("types");
    let read: SideOutput<u32> = SideOutput::new("aside");
    let numbers = flow
        .source("numbers", Items::from(0..2_000_u32))
        .operator("split", |_: &TaskInfo| Aside(SideOutput::<u64>::new("aside")));
    let side = numbers.side_output(&read).collect("side");
    let main = numbers.collect("main");
    let error = fails(&flow).await;
    let JobError::Failed { task, failure } = &error else { panic!("{error:?}") };
    assert_eq!(&*task.stage, "split");
    assert_eq!(failure.to_string(), "side output \"aside\" is read as u32 and written as u64");
    assert_eq!(main.take(), (0..=500).collect::<Vec<_>>());
    assert!(side.take().is_empty());
}
