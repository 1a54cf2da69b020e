//! Any number of a user's values may panic when they are dropped, and so may what a panic carries:
//! the process lives, each value is dropped once, and the job ends as if they had not.

use std::hash::{Hash, Hasher};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::prelude::*;
use millstream::{
    Collected, JobState, Read, ReadContext, Reader, Sink, Source, TaskContext, Writer,
};
use millstream_testkit::{SimulatedClock, run};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

const RECORDS: u64 = 20;
const AT: u64 = 5;

/// How many there are, and how many of them have panicked when they were dropped.
#[derive(Clone, Default)]
struct Tally {
    made: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
}

impl Tally {
    fn bomb(&self, n: u64) -> Bomb {
        self.made.fetch_add(1, Ordering::Relaxed);
        Bomb { n, tally: Some(self.clone()) }
    }

    fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A value that panics when it is dropped, unless it was defused.
#[derive(Default, Serialize, Deserialize)]
struct Bomb {
    n: u64,
    #[serde(skip)]
    tally: Option<Tally>,
}

impl Bomb {
    fn defuse(mut self) -> u64 {
        self.tally = None;
        self.n
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        match &self.tally {
            Some(tally) => tally.bomb(self.n),
            None => Self { n: self.n, tally: None },
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(tally) = &self.tally {
            tally.dropped.fetch_add(1, Ordering::Relaxed);
            panic!("drop of {}", self.n);
        }
    }
}

/// Runs a job to its end, on simulated time. No task of it outlives that.
fn ends<T>(build: impl FnOnce(&Dataflow) -> T) -> (T, Result<(), JobError>) {
    ends_by(Settings::new(), build, async |job, _| job.finished().await)
}

/// The same with other limits, and ended so.
fn ends_by<T>(
    settings: Settings,
    build: impl FnOnce(&Dataflow) -> T,
    end: impl AsyncFnOnce(&Job, &T) -> Result<(), JobError>,
) -> (T, Result<(), JobError>) {
    run(async move {
        let flow = Dataflow::new("drops");
        let built = build(&flow);
        let clock = Arc::new(SimulatedClock::new());
        let job = flow.start(settings.clock(clock)).await.unwrap();
        let outcome = end(&job, &built).await;
        let status = job.status();
        let ended = matches!(status.state, JobState::Failed(_) | JobState::Completed);
        assert!(ended, "{:?}", status.state);
        for task in &status.numbers.tasks {
            assert!(task.state.is_over(), "{} {} is left", task.stage, task.subtask);
            assert_eq!(task.numbers.records_queued, 0, "of {}", task.stage);
        }
        (built, outcome)
    })
}

/// Its task has failed, with these words.
fn assert_blames(outcome: &Result<(), JobError>, stage: &str, words: &str) {
    let (task, text, panicked) = match outcome {
        Err(JobError::Failed { task, failure }) => (task, failure.to_string(), false),
        Err(JobError::Panicked { task, message, .. }) => (task, message.clone(), true),
        outcome => panic!("{outcome:?}"),
    };
    assert_eq!((&*task.job, &*task.stage, task.subtask), ("drops", stage, 0));
    assert_eq!(text, words);
    assert_eq!(panicked, !words.starts_with("an error"));
}

fn bombs(flow: &Dataflow, tally: &Tally) -> Stream<impl Chain<Out = Bomb>> {
    let tally = tally.clone();
    // Boxed, so that all of a batch is there when the first of it is looked at.
    flow.source("numbers", Items::from(0..RECORDS)).map(move |n| tally.bomb(n)).boxed()
}

/// Defuses a bomb, and panics if it is that of record `AT`.
fn check(bomb: Bomb) -> u64 {
    let n = bomb.defuse();
    assert!(n != AT, "a panic");
    n
}

fn before() -> Vec<u64> {
    (0..AT).collect()
}

#[test]
fn what_stands_behind_a_step_that_panics_is_dropped_one_by_one() {
    for many in [false, true] {
        let tally = Tally::default();
        let (out, outcome) = ends(|flow| match many {
            false => bombs(flow, &tally).map(check).collect("out"),
            true => bombs(flow, &tally).flat_map(|bomb| [check(bomb)]).collect("out"),
        });
        assert_blames(&outcome, "numbers", "a panic");
        assert_eq!(out.take(), before());
        assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS - AT - 1));
    }
}

/// Leaves a bomb as it is, and panics if it is that of record `AT`.
fn look(bomb: &Bomb) {
    assert!(bomb.n != AT, "a panic");
}

/// A key that is a bomb as well, and refuses to be serialised for record `AT`: by a panic or by an
/// error.
#[derive(Clone, Deserialize)]
struct BombKey {
    bomb: Bomb,
    panics: bool,
}

impl Serialize for BombKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.bomb.n {
            AT if self.panics => panic!("a panic"),
            AT => Err(S::Error::custom("an error")),
            n => n.serialize(to),
        }
    }
}

impl PartialEq for BombKey {
    fn eq(&self, other: &Self) -> bool {
        self.bomb.n == other.bomb.n
    }
}

impl Eq for BombKey {}

impl Hash for BombKey {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.bomb.n.hash(to);
    }
}

#[test]
fn a_record_that_is_looked_at_is_dropped_behind_the_panic() {
    let looks: [fn(&Dataflow, &Tally) -> Collected<u64>; 3] = [
        |flow, tally| {
            let looked = bombs(flow, tally).filter(|bomb| {
                look(bomb);
                true
            });
            looked.map(Bomb::defuse).collect("out")
        },
        |flow, tally| bombs(flow, tally).inspect(look).map(Bomb::defuse).collect("out"),
        |flow, tally| {
            let keyed = bombs(flow, tally).key_by(|bomb| {
                look(bomb);
                bomb.n
            });
            keyed.map_with_state("keep", |_, (): &mut (), bomb| bomb.defuse()).collect("out")
        },
    ];
    for look in looks {
        let tally = Tally::default();
        let (out, outcome) = ends(|flow| look(flow, &tally));
        assert_blames(&outcome, "numbers", "a panic");
        assert_eq!(out.take(), before());
        assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS - AT));
    }
}

/// Both are the user's, and both panic.
#[test]
fn a_key_that_cannot_be_hashed_and_its_record_are_dropped_one_by_one() {
    for panics in [true, false] {
        let (tally, keys) = (Tally::default(), Tally::default());
        let theirs = keys.clone();
        let (out, outcome) = ends(|flow| {
            let keyed = bombs(flow, &tally).key_by(move |bomb| match bomb.n {
                AT => BombKey { bomb: theirs.bomb(AT), panics },
                n => BombKey { bomb: Bomb { n, tally: None }, panics },
            });
            keyed.map_with_state("keep", |_, (): &mut (), bomb| bomb.defuse()).collect("out")
        });
        match panics {
            true => assert_blames(&outcome, "numbers", "a panic"),
            false => assert!(outcome.unwrap_err().to_string().contains("an error")),
        }
        assert_eq!(out.take(), before());
        assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS - AT));
        assert_eq!((keys.made(), keys.dropped()), (1, 1));
    }
}

/// An operator that fails at record `AT`, of single records or of batches.
struct Fails<const BATCHES: bool>;

impl<const BATCHES: bool> Operator for Fails<BATCHES> {
    type In = Bomb;
    type Out = u64;
    type Timer = NoTimer;

    const BATCHES: bool = BATCHES;

    fn on_record(&mut self, record: Stamped<Bomb>, out: &mut Effects<u64>) -> Result<(), Failure> {
        let n = record.value.defuse();
        out.emit(Stamped::new(n));
        if n == AT - 1 { Err(Failure::new("an error")) } else { Ok(()) }
    }

    fn on_batch(
        &mut self,
        batch: &mut Vec<Stamped<Bomb>>,
        out: &mut Effects<u64>,
    ) -> Result<(), Failure> {
        let mut taken = batch.drain(..AT as usize);
        taken.try_for_each(|record| self.on_record(record, out))
    }
}

#[test]
fn what_stands_behind_a_record_at_which_an_operator_fails_is_dropped_one_by_one() {
    for batches in [false, true] {
        let tally = Tally::default();
        let (out, outcome) = ends(|flow| {
            let bombs = bombs(flow, &tally);
            match batches {
                false => bombs.operator("check", |_: &TaskInfo| Fails::<false>).collect("out"),
                true => bombs.operator("check", |_: &TaskInfo| Fails::<true>).collect("out"),
            }
        });
        assert_blames(&outcome, "check", "an error");
        assert_eq!(out.take(), before(), "of batches: {batches}");
        assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS - AT));
    }
}

/// A sink that leaves all records where they are.
#[derive(Clone)]
struct Leaves {
    refuses: bool,
}

impl Sink for Leaves {
    type In = Bomb;
    type Transaction = ();
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Writer for Leaves {
    type In = Bomb;
    type Transaction = ();

    fn write(&mut self, _: &mut Vec<Stamped<Bomb>>) -> Result<(), Failure> {
        if self.refuses { Err(Failure::new("an error")) } else { Ok(()) }
    }
}

#[test]
fn what_a_sink_leaves_is_dropped_one_by_one() {
    for refuses in [false, true] {
        let tally = Tally::default();
        let (_, outcome) = ends(|flow| bombs(flow, &tally).sink("out", Leaves { refuses }));
        match refuses {
            true => assert_blames(&outcome, "out", "an error"),
            false => assert!(outcome.is_ok(), "{outcome:?}"),
        }
        assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS));
    }
}

/// Passes everything on, and its numbers to a side output.
struct Aside(SideOutput<u64>);

impl Operator for Aside {
    type In = Bomb;
    type Out = Bomb;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<Bomb>, out: &mut Effects<Bomb>) -> Result<(), Failure> {
        out.side(&self.0, Stamped::new(record.value.n));
        out.emit(record);
        Ok(())
    }
}

#[test]
fn what_nothing_reads_is_dropped_one_by_one() {
    let tally = Tally::default();
    let (out, outcome) = ends(|flow| {
        let side = SideOutput::new("side");
        let to = side.clone();
        let unread = bombs(flow, &tally).operator("aside", move |_: &TaskInfo| Aside(to.clone()));
        unread.side_output(&side).collect("out")
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(out.take(), (0..RECORDS).collect::<Vec<_>>());
    assert_eq!((tally.made(), tally.dropped()), (RECORDS, RECORDS));
}

#[test]
fn states_are_dropped_one_by_one_and_the_first_that_panics_fails_the_job() {
    const KEYS: u64 = 300;
    let tally = Tally::default();
    let states = tally.clone();
    let (out, outcome) = ends(|flow| {
        let keyed = flow.source("numbers", Items::from(0..KEYS)).key_by(|n| *n);
        let set = move |_: &u64, state: &mut Bomb, n| {
            *state = states.bomb(1);
            n
        };
        keyed.map_with_state("keep", set).collect("out")
    });
    assert_blames(&outcome, "keep", "drop of 1");
    assert_eq!(out.take(), (0..KEYS).collect::<Vec<_>>());
    assert_eq!((tally.made(), tally.dropped()), (KEYS, KEYS));
}

#[test]
fn a_cancel_drops_states_and_what_is_under_way_one_by_one() {
    let (tally, taken) = (Tally::default(), Arc::new(AtomicU64::new(0)));
    let (bombs, states, seen) = (tally.clone(), tally.clone(), taken.clone());
    let settings = Settings::new().batch_records(10).credits(4);
    let build = |flow: &Dataflow| {
        let bombs = flow.source("numbers", Generate::new(|n| n)).map(move |n| bombs.bomb(n));
        let keyed = bombs.key_by(|bomb| bomb.n % 40);
        let keep = move |key: &u64, state: &mut Option<Bomb>, bomb| {
            state.get_or_insert_with(|| states.bomb(*key));
            bomb
        };
        keyed.map_with_state("keep", keep).rebalance("pass").for_each("out", move |bomb: Bomb| {
            seen.fetch_add(1, Ordering::Relaxed);
            bomb.defuse();
        });
    };
    let ((), outcome) = ends_by(settings, build, async |job, ()| {
        while taken.load(Ordering::Relaxed) < 400 {
            tokio::task::yield_now().await;
        }
        job.cancel().await
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    let left = tally.made() - taken.load(Ordering::Relaxed);
    assert!(left > 40, "nothing was under way");
    assert_eq!(tally.dropped(), left);
}

/// A source of several splits, whose readers have nothing and panic when they are dropped.
#[derive(Clone)]
struct Waiting(Tally);

struct WaitingReader(#[expect(dead_code, reason = "it is there to be dropped")] Bomb);

impl Source for Waiting {
    type Out = u64;
    type Position = ();
    type Reader = WaitingReader;

    fn splits(&self) -> Vec<String> {
        ["a", "b", "c"].map(String::from).into()
    }

    async fn open(
        &self,
        _: &str,
        _: Option<()>,
        _: &TaskContext,
    ) -> Result<WaitingReader, Failure> {
        Ok(WaitingReader(self.0.bomb(1)))
    }
}

impl Reader for WaitingReader {
    type Out = u64;
    type Position = ();

    fn read(&mut self, _: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        Ok(Read::Later)
    }

    fn position(&self) {}
}

#[test]
fn readers_are_dropped_one_by_one_and_a_drain_is_told_of_the_first_that_panics() {
    for cancels in [false, true] {
        let tally = Tally::default();
        let source = Waiting(tally.clone());
        let build = |flow: &Dataflow| flow.source("numbers", source).collect("out");
        let (out, outcome) = ends_by(Settings::new(), build, async |job, _| match cancels {
            true => job.cancel().await,
            false => job.drain().await,
        });
        match cancels {
            true => assert!(outcome.is_ok(), "{outcome:?}"),
            false => assert_blames(&outcome, "numbers", "drop of 1"),
        }
        assert!(out.is_empty());
        assert_eq!((tally.made(), tally.dropped()), (3, 3));
    }
}

/// What a panic carries: not words, and a panic when it is dropped.
fn sting(n: u64) -> u64 {
    if n == AT {
        panic_any(Tally::default().bomb(n));
    }
    n
}

const NO_WORDS: &str = "a panic without a message";

struct Stinging;

impl Operator for Stinging {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.emit(record.map(sting));
        Ok(())
    }
}

#[test]
fn what_a_panic_of_any_user_code_carries_may_panic_when_it_is_dropped() {
    let numbers = |flow: &Dataflow| flow.source("numbers", Items::from(0..RECORDS));
    let (out, outcome) = ends(|flow| numbers(flow).map(sting).collect("out"));
    assert_blames(&outcome, "numbers", NO_WORDS);
    assert_eq!(out.take(), before());

    let (out, outcome) = ends(|flow| numbers(flow).flat_map(|n| [sting(n)]).collect("out"));
    assert_blames(&outcome, "numbers", NO_WORDS);
    assert_eq!(out.take(), before());

    let (out, outcome) = ends(|flow| {
        let keyed = numbers(flow).key_by(|n| sting(*n));
        keyed.map_with_state("keep", |_, (): &mut (), n| n).collect("out")
    });
    assert_blames(&outcome, "numbers", NO_WORDS);
    assert_eq!(out.take(), before());

    let (out, outcome) =
        ends(|flow| numbers(flow).operator("check", |_: &TaskInfo| Stinging).collect("out"));
    assert_blames(&outcome, "check", NO_WORDS);
    assert_eq!(out.take(), before());

    let seen = Arc::new(AtomicU64::new(0));
    let sink = seen.clone();
    let (_, outcome) = ends(|flow| {
        numbers(flow).for_each("out", move |n| _ = sink.fetch_add(sting(n), Ordering::Relaxed))
    });
    assert_blames(&outcome, "out", NO_WORDS);
    assert_eq!(seen.load(Ordering::Relaxed), before().iter().sum::<u64>());
}

#[test]
fn of_several_ways_that_panic_with_such_a_thing_each_has_what_came_before() {
    let (outs, outcome) = ends(|flow| {
        let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).fork();
        let two = two.map(|n| n + 1).map(sting);
        [one.map(sting).collect("one"), two.collect("two")]
    });
    assert_blames(&outcome, "numbers", NO_WORDS);
    assert_eq!(outs.map(|out| out.take()), [before(), (1..AT).collect()]);
}

/// A reader that has nothing, and whose drop panics with what panics when it is dropped.
#[derive(Clone)]
struct Nested;

struct NestedReader;

impl Drop for NestedReader {
    fn drop(&mut self) {
        sting(AT);
    }
}

impl Source for Nested {
    type Out = u64;
    type Position = ();
    type Reader = NestedReader;

    async fn open(&self, _: &str, _: Option<()>, _: &TaskContext) -> Result<NestedReader, Failure> {
        Ok(NestedReader)
    }
}

impl Reader for NestedReader {
    type Out = u64;
    type Position = ();

    fn read(&mut self, _: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        Ok(Read::Later)
    }

    fn position(&self) {}
}

#[test]
fn nor_does_what_a_panic_of_a_drop_carries_kill_its_task() {
    let build = |flow: &Dataflow| _ = flow.source("numbers", Nested).collect("out");
    let ((), outcome) = ends_by(Settings::new(), build, async |job, ()| job.cancel().await);
    assert!(outcome.is_ok(), "{outcome:?}");
    let ((), outcome) = ends_by(Settings::new(), build, async |job, ()| job.drain().await);
    assert_blames(&outcome, "numbers", NO_WORDS);
}
