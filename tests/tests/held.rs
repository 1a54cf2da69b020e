//! What a task holds for want of credit, or has made and not handed on, is delivered although
//! something else in it fails; and a refused key is the last that its own way hears of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::prelude::*;
use millstream::{Collected, JobState, Read, ReadContext, Reader, Source, TaskContext};
use millstream_testkit::{SimulatedClock, run};
use serde::{Deserialize, Serialize, Serializer, ser};

const RECORDS: u64 = 1_000;
/// How many records a step makes of one.
const MANY: u64 = 20;

/// Few credits and small batches, so that little of what one batch becomes has room; and as it is
/// when nothing is set, where a batch becomes more than all credits of a channel.
fn limits() -> [Settings; 2] {
    [Settings::new().credits(1).batch_records(10), Settings::new()]
}

/// Runs a job that must fail to its end, on simulated time. No task of it outlives that.
fn fails<T>(settings: &Settings, build: impl FnOnce(&Dataflow) -> T) -> (T, JobError) {
    let settings = settings.clone();
    run(async move {
        let flow = Dataflow::new("held");
        let built = build(&flow);
        let clock = Arc::new(SimulatedClock::new());
        let job = flow.start(settings.clock(clock)).await.unwrap();
        let error = job.finished().await.expect_err("the job has a fault");
        let status = job.status();
        assert!(matches!(status.state, JobState::Failed(_)), "{:?}", status.state);
        for task in &status.numbers.tasks {
            assert!(task.state.is_over(), "{} {} is left", task.stage, task.subtask);
        }
        (built, error)
    })
}

fn assert_panicked(error: &JobError, stage: &str, words: &str) {
    let JobError::Panicked { task, message, .. } = error else { panic!("{error:?}") };
    assert_eq!((&*task.job, &*task.stage, task.subtask, &**message), ("held", stage, 0, words));
}

fn assert_failed(error: &JobError, stage: &str, words: &str) {
    let JobError::Failed { task, failure } = error else { panic!("{error:?}") };
    let text = failure.to_string();
    assert_eq!((&*task.job, &*task.stage, task.subtask, &*text), ("held", stage, 0, words));
}

fn numbers(flow: &Dataflow) -> Stream<impl Chain<Out = u64>> {
    flow.source("numbers", Items::from(0..RECORDS))
}

/// Numbers in order, so many of one.
fn many(n: u64) -> impl Iterator<Item = u64> {
    n * MANY..(n + 1) * MANY
}

/// A step that panics at a number.
fn not(at: u64) -> impl Fn(u64) -> u64 + Clone + Send + 'static {
    move |n| {
        assert!(n != at, "not {at}");
        n
    }
}

/// All numbers below this one have come, in order, and no other.
fn assert_below(out: &Collected<u64>, end: u64, what: &str) {
    let came = out.take();
    let same = came.iter().copied().eq(0..end);
    assert!(same, "{what}: {} of {end} came, and the last is {:?}", came.len(), came.last());
}

/// A source that gives its records in one call and then fails in it.
#[derive(Clone)]
struct Breaks {
    panics: bool,
}

const GIVEN: u64 = 10;

impl Source for Breaks {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Reader for Breaks {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        (0..GIVEN).for_each(|n| cx.emit(Stamped::new(n)));
        assert!(!self.panics, "the source is broken");
        Err(Failure::new("the source is broken"))
    }

    fn position(&self) -> u64 {
        0
    }
}

fn assert_broken(error: &JobError, panics: bool) {
    let blame = if panics { assert_panicked } else { assert_failed };
    blame(error, "numbers", "the source is broken");
}

#[test]
fn what_a_step_holds_of_the_records_in_front_of_a_failure_is_delivered() {
    for settings in limits() {
        for panics in [false, true] {
            let (out, error) = fails(&settings, |flow| {
                let broken = flow.source("numbers", Breaks { panics });
                broken.flat_map(|n| n * 1_000..(n + 1) * 1_000).collect("out")
            });
            assert_broken(&error, panics);
            assert_below(&out, GIVEN * 1_000, "all that was made of them");
        }
    }
}

#[test]
fn a_way_of_a_fork_that_fails_gives_up_what_it_holds_itself_and_nothing_else() {
    const AT: u64 = 900;
    for settings in limits() {
        let (outs, error) = fails(&settings, |flow| {
            let [one, two] = numbers(flow).fork();
            [one.flat_map(many).collect("one"), two.map(not(AT)).collect("two")]
        });
        assert_panicked(&error, "numbers", &format!("not {AT}"));
        // With small batches the source has not read on before all of the batch had gone.
        let read = outs[0].len() as u64 / MANY;
        assert!(read > AT);
        assert_below(&outs[0], read * MANY, "the way that is sound");
        assert_below(&outs[1], AT, "the way that fails");
    }
    // The same where the steps in front of the fork hold something themselves.
    let (outs, error) = fails(&Settings::new(), |flow| {
        let [one, two] = numbers(flow).flat_map(many).fork();
        [one.flat_map(|n| [n]).collect("one"), two.map(not(AT)).collect("two")]
    });
    assert_panicked(&error, "numbers", &format!("not {AT}"));
    assert!(outs[0].len() as u64 > AT);
    let made = outs[0].len() as u64;
    assert_below(&outs[0], made, "the way that is sound");
    assert_below(&outs[1], AT, "the way that fails");
}

#[test]
fn ways_that_fail_one_after_the_other_keep_nothing_from_the_rest() {
    const LATER: u64 = 900 * MANY + 7;
    let (outs, error) = fails(&Settings::new(), |flow| {
        let [first, second, sound] = numbers(flow).fork();
        let second = second.flat_map(many).map(not(LATER)).collect("second");
        [first.map(not(500)).collect("first"), second, sound.flat_map(many).collect("sound")]
    });
    assert_panicked(&error, "numbers", "not 500");
    assert_below(&outs[0], 500, "the way that fails first");
    assert_below(&outs[1], LATER, "the way that fails while it hands on what it held");
    assert_below(&outs[2], RECORDS * MANY, "the way that is sound");
}

/// Gives everything to a side output as well, and fails at a record.
struct Both {
    side: SideOutput<u64>,
    fails_at: Option<u64>,
}

impl Operator for Both {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        if self.fails_at == Some(record.value) {
            return Err(Failure::new("the operator is broken"));
        }
        out.side(&self.side, record);
        out.emit(record);
        Ok(())
    }
}

/// A stage of [`Both`], and its side output.
fn both(
    flow: &Dataflow,
    fails_at: Option<u64>,
) -> (Stream<impl Chain<Out = u64>>, Stream<impl Chain<Out = u64>>) {
    let side = SideOutput::new("side");
    let to = side.clone();
    let make = move |_: &TaskInfo| Both { side: to.clone(), fails_at };
    let main = numbers(flow).operator("both", make);
    let side = main.side_output(&side);
    (main, side)
}

#[test]
fn an_output_that_fails_gives_up_what_it_holds_itself_and_nothing_else() {
    const AT: u64 = 900;
    let (outs, error) = fails(&Settings::new(), |flow| {
        let (main, side) = both(flow, None);
        [main.flat_map(many).collect("main"), side.map(not(AT)).collect("side")]
    });
    assert_panicked(&error, "both", &format!("not {AT}"));
    assert_below(&outs[0], RECORDS * MANY, "the main output");
    assert_below(&outs[1], AT, "the side output");

    let (outs, error) = fails(&Settings::new(), |flow| {
        let (main, side) = both(flow, None);
        [main.map(not(AT)).collect("main"), side.flat_map(many).collect("side")]
    });
    assert_panicked(&error, "both", &format!("not {AT}"));
    assert_below(&outs[0], AT, "the main output");
    assert_below(&outs[1], RECORDS * MANY, "the side output");
}

#[test]
fn what_was_made_in_front_of_a_failure_goes_as_far_as_the_steps_behind_are_sound() {
    for panics in [false, true] {
        let (out, error) = fails(&Settings::new(), |flow| {
            let broken = flow.source("numbers", Breaks { panics });
            broken.map(not(5)).collect("out")
        });
        // The one that a task sees first: an error is told behind the records that were given.
        if panics {
            assert_broken(&error, panics);
        } else {
            assert_panicked(&error, "numbers", "not 5");
        }
        assert_below(&out, 5, "the records that the step had taken");
    }
    let (outs, error) = fails(&Settings::new(), |flow| {
        let (main, side) = both(flow, Some(900));
        [main.map(not(500)).collect("main"), side.collect("side")]
    });
    assert_failed(&error, "both", "the operator is broken");
    assert_below(&outs[0], 500, "the main output, where a step fails as well");
    assert_below(&outs[1], 900, "the side output");
}

/// A key of which one, `AT`, refuses to be serialised the first time, and whenever it is tried
/// again panics with something that panics when it is dropped.
#[derive(Clone, Deserialize)]
struct TwoFaced(u64, #[serde(skip)] Arc<AtomicU64>);

const AT: u64 = 500;

impl PartialEq for TwoFaced {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for TwoFaced {}

impl std::hash::Hash for TwoFaced {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

struct Sting;

impl Drop for Sting {
    fn drop(&mut self) {
        panic!("what the panic carries is dropped");
    }
}

impl Serialize for TwoFaced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 != AT {
            return serializer.serialize_u64(self.0);
        }
        match self.1.fetch_add(1, Ordering::Relaxed) {
            0 => Err(ser::Error::custom("not this one")),
            _ => std::panic::panic_any(Sting),
        }
    }
}

/// The key is refused, and its error is not replaced by what comes of showing it.
fn assert_refused(error: &JobError) {
    let words = "the key refuses to be serialised: not this one; a key must be storable";
    assert_failed(error, "numbers", words);
    let JobError::Failed { failure, .. } = error else { panic!("{error:?}") };
    assert_eq!(failure.record(), Some("<cannot be shown: its `Serialize` panicked>"));
}

#[test]
fn a_refused_key_is_serialised_once_more_to_be_named_and_nothing_else_is_called() {
    for parallelism in [1, 3] {
        let (tries, keys) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (tried, made) = (tries.clone(), keys.clone());
        let (out, error) = fails(&Settings::new(), |flow| {
            let keyed = numbers(flow).key_by(move |n| {
                made.fetch_add(1, Ordering::Relaxed);
                TwoFaced(*n, tried.clone())
            });
            let keep = keyed.map_with_state("keep", |_, (): &mut (), n| n);
            keep.parallelism(parallelism).collect("out")
        });
        assert_refused(&error);
        let mut came = out.take();
        came.sort_unstable();
        assert_eq!(came, (0..AT).collect::<Vec<_>>());
        assert_eq!(tries.load(Ordering::Relaxed), 2, "once for its hash, once for its name");
        assert_eq!(keys.load(Ordering::Relaxed), AT + 1, "of the key function");
    }
}

#[test]
fn nothing_is_run_behind_a_refused_key_of_which_a_step_makes_many() {
    for settings in limits() {
        let calls = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let [made, mapped, tried] = calls.clone();
        let (out, error) = fails(&settings, |flow| {
            let numbers = numbers(flow).flat_map(move |n| {
                let made = made.clone();
                many(n).inspect(move |_| _ = made.fetch_add(1, Ordering::Relaxed))
            });
            let numbers = numbers.map(move |n| {
                mapped.fetch_add(1, Ordering::Relaxed);
                assert!(n <= AT, "a step is run behind the refusal");
                n
            });
            let keyed = numbers.key_by(move |n| TwoFaced(*n, tried.clone()));
            keyed.map_with_state("keep", |_, (): &mut (), n| n).collect("out")
        });
        assert_refused(&error);
        assert_below(&out, AT, "what came before the refused key");
        let calls = calls.map(|calls| calls.load(Ordering::Relaxed));
        assert_eq!(calls, [AT + 1, AT + 1, 2], "of the iterator, the step and `Serialize`");
    }
}
