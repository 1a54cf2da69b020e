//! Proves what a task does at a watermark for which timers are set, with a real timer actor beside
//! it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use actix::{Actor, Handler};
use serde::{Deserialize, Serialize};

use millstream_core::{
    Attempt, Batch, Clock, Epoch, Failure, KeyGroups, KeyHash, Mark, StageId, Stamped, TaskInfo,
    Timestamp,
};
use millstream_metrics::TaskMetrics;
use millstream_operators::{Effects, Operator, Timer, TimerDomain, TimerEdit};

use super::{Budget, Logic, OperatorLogic, OperatorOf, TaskTimersOf, Turn};
use crate::channel::{Branch, Deliver, Inbox, Link, Outbox, Outgoing, Resume};
use crate::clock::SystemClock;
use crate::settings::Limits;
use Said::{Fired, Passed, Record};

thread_local! {
    /// How many [`Life`]s there are.
    static LIVES: Cell<i64> = const { Cell::new(0) };
}

/// Something of a user's, of which it is counted how often there is one.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Life;

impl Life {
    fn new() -> Self {
        LIVES.set(LIVES.get() + 1);
        Self
    }
}

impl Clone for Life {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        LIVES.set(LIVES.get() - 1);
    }
}

/// What a timer carries: its key, how it goes on when it fires, and whether its hash panics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    key: u64,
    /// Sets the next one so much later, so often.
    again: Option<(i64, u32)>,
    poisoned: bool,
    life: Life,
}

impl std::hash::Hash for Note {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        assert!(!self.poisoned, "this note cannot be hashed");
        self.key.hash(state);
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn timer(domain: TimerDomain, millis: i64, payload: Note) -> Timer<Note> {
    Timer { time: at(millis), domain, hash: KeyHash::of(&payload.key).unwrap(), payload }
}

/// Sets the timers that its records say.
#[derive(Default)]
struct Alarms {
    fires_at_end: bool,
}

impl Operator for Alarms {
    type In = Vec<TimerEdit<Note>>;
    type Out = Said;
    type Timer = Note;

    fn on_record(
        &mut self,
        record: Stamped<Self::In>,
        out: &mut Effects<Said, Note>,
    ) -> Result<(), Failure> {
        out.emit(Stamped::new(Record(record.value.len())));
        record.value.into_iter().for_each(|edit| out.timer(edit));
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Timer<Note>,
        out: &mut Effects<Said, Note>,
    ) -> Result<(), Failure> {
        let Timer { time, domain, hash: _, payload: Note { key, again, poisoned, .. } } = fired;
        out.emit(Stamped::new(Fired(key, time.millis())));
        if let Some((later, times)) = again {
            let again = times.checked_sub(1).map(|times| (later, times));
            let next = timer(
                domain,
                time.millis() + later,
                Note { key, again, poisoned, life: Life::new() },
            );
            out.timer(TimerEdit::Set(next));
        }
        Ok(())
    }

    fn fires_at_end(&self) -> bool {
        self.fires_at_end
    }
}

/// What leaves the task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    /// A record came with so many edits.
    Record(usize),
    /// A timer of this key and time.
    Fired(u64, i64),
    Passed(Mark),
}

/// A way out that notes what it is given.
struct Ear(Rc<RefCell<Vec<Said>>>);

impl Branch<Said> for Ear {
    fn records(&mut self, records: &mut Vec<Stamped<Said>>) -> Result<(), Failure> {
        self.0.borrow_mut().extend(records.drain(..).map(|record| record.value));
        Ok(())
    }
}

impl Outgoing for Ear {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.0.borrow_mut().push(Passed(mark));
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) {}

    fn holding(&self) -> bool {
        false
    }

    fn blocked(&self) -> bool {
        false
    }

    fn filling(&self) -> bool {
        false
    }

    fn wait(&self) -> bool {
        true
    }

    fn take_sent(&mut self) -> u64 {
        0
    }

    fn batch_records(&self) -> usize {
        usize::MAX
    }
}

struct Deaf;

impl Actor for Deaf {
    type Context = actix::Context<Self>;
}

impl Handler<Resume> for Deaf {
    type Result = ();

    fn handle(&mut self, _: Resume, _: &mut Self::Context) {}
}

/// An operator's logic between two channels that a test fills and an ear.
struct Bench {
    logic: OperatorLogic<Alarms>,
    inbox: Inbox<Vec<TimerEdit<Note>>>,
    link: Arc<Link<Vec<TimerEdit<Note>>>>,
    heard: Rc<RefCell<Vec<Said>>>,
    metrics: Arc<TaskMetrics>,
}

impl Bench {
    fn new(limits: &Limits, fires_at_end: bool) -> Self {
        let metrics = Arc::<TaskMetrics>::default();
        let heard = Rc::<RefCell<Vec<Said>>>::default();
        let info = TaskInfo {
            job: "job".into(),
            stage: "alarms".into(),
            id: StageId::new(0),
            subtask: 0,
            parallelism: 1,
            attempt: Attempt::new(0),
            key_groups: KeyGroups::default_for(1),
        };
        let ear = Ear(heard.clone());
        let timers = TaskTimersOf::new(&info, Arc::new(SystemClock::new()), None, limits);
        let mut bench = Self {
            logic: OperatorLogic::new(OperatorOf {
                info,
                channels: 2,
                batch_records: 10,
                timers,
                make: Box::new(move |_| Alarms { fires_at_end }),
                wire: Box::new(move || Outbox::new(Some(Box::new(ear)), Vec::new())),
            }),
            inbox: Inbox::new(2),
            link: Arc::new(Link::new(100, Deaf.start().recipient().downgrade(), metrics.clone())),
            heard,
            metrics,
        };
        assert!(bench.turn(|logic, _, turn| logic.open(turn).is_ready()));
        bench
    }

    fn turn<R>(
        &mut self,
        call: impl FnOnce(
            &mut OperatorLogic<Alarms>,
            &mut Inbox<Vec<TimerEdit<Note>>>,
            &mut Turn<'_, '_>,
        ) -> R,
    ) -> R {
        let clock = SystemClock::new();
        let budget = Budget::new(&clock, 1_000, clock.monotonic(), Duration::from_secs(600));
        let mut cx = Context::from_waker(Waker::noop());
        let metrics = self.metrics.clone();
        let mut turn = Turn { cx: &mut cx, budget, metrics: &metrics, schedule: None };
        call(&mut self.logic, &mut self.inbox, &mut turn)
    }

    /// A record with these edits comes by both channels' first.
    fn sets(&mut self, timers: impl IntoIterator<Item = Timer<Note>>) -> &mut Self {
        let edits = timers.into_iter().map(TimerEdit::Set).collect();
        assert!(self.link.credits.take());
        self.file(0, Batch::of(vec![Stamped::new(edits)]))
    }

    fn comes(&mut self, channel: usize, mark: Mark) -> &mut Self {
        self.file(channel, Batch::mark(mark))
    }

    fn file(&mut self, channel: usize, batch: Batch<Vec<TimerEdit<Note>>>) -> &mut Self {
        let loan = self.link.lend(batch);
        let delivery = Deliver { channel, attempt: Attempt::new(0), loan };
        assert!(self.inbox.file(delivery).is_ok());
        self
    }

    /// The watermark of both channels.
    fn watermark(&mut self, millis: i64) -> &mut Self {
        let mark = Mark::Watermark(at(millis));
        self.comes(0, mark).comes(1, mark)
    }

    /// One turn of the task, and what left it.
    fn one(&mut self) -> Vec<Said> {
        self.turn(|logic, inbox, turn| logic.work(inbox, turn).map(drop)).unwrap();
        std::mem::take(&mut self.heard.borrow_mut())
    }

    /// Turns of both actors until the task waits for input, and what left it.
    async fn all(&mut self) -> Result<Vec<Said>, Failure> {
        let mut quiet = 0;
        // What the task asks in one turn it is told in another.
        while quiet < 3 {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let before = self.heard.borrow().len();
            self.turn(|logic, inbox, turn| logic.work(inbox, turn))?;
            quiet = if self.heard.borrow().len() == before { quiet + 1 } else { 0 };
        }
        Ok(std::mem::take(&mut self.heard.borrow_mut()))
    }
}

fn note(key: u64) -> Note {
    Note { key, again: None, poisoned: false, life: Life::new() }
}

fn event(millis: i64, key: u64) -> Timer<Note> {
    timer(TimerDomain::Event, millis, note(key))
}

fn late(key: u64) -> Timer<Note> {
    // The year 2286: no test lasts so long.
    timer(TimerDomain::Processing, 9_999_999_999_999, note(key))
}

fn repeating(millis: i64, later: i64, times: u32) -> Timer<Note> {
    let again = Some((later, times));
    timer(TimerDomain::Event, millis, Note { key: 1, again, poisoned: false, life: Life::new() })
}

fn watermark(millis: i64) -> Said {
    Passed(Mark::Watermark(at(millis)))
}

#[actix::test]
async fn t003_what_is_due_fires_in_order_and_then_the_watermark_is_passed_on() {
    let mut bench = Bench::new(&Limits::default(), false);
    bench.sets([event(30, 3), event(10, 1), event(20, 2)]).watermark(20);
    // The record behind the watermark waits for the timers.
    bench.sets([]);
    assert_eq!(bench.one(), [Record(3)]);
    let all = bench.all().await.unwrap();
    assert_eq!(all, [Fired(1, 10), Fired(2, 20), watermark(20), Record(0)]);
    bench.watermark(25);
    assert_eq!(bench.one(), [watermark(25)], "nobody is asked where nothing is due");
    bench.watermark(30);
    assert_eq!(bench.all().await.unwrap(), [Fired(3, 30), watermark(30)]);
}

#[actix::test]
async fn t007_a_callback_sets_what_is_due_at_the_same_watermark() {
    for timer_batch in [1, 1_024] {
        let limits = Limits { timer_batch, ..Limits::default() };
        let mut bench = Bench::new(&limits, false);
        bench.sets([repeating(10, 5, 5), event(18, 2)]).watermark(20);
        let all = bench.all().await.unwrap();
        let due = [Record(2), Fired(1, 10), Fired(1, 15), Fired(2, 18), Fired(1, 20)];
        assert_eq!(all, [&due[..], &[watermark(20)]].concat(), "{timer_batch} at once");
        bench.watermark(29);
        assert_eq!(bench.all().await.unwrap(), [Fired(1, 25), watermark(29)]);
    }
}

#[actix::test]
async fn t037_a_barrier_is_taken_between_two_callbacks_and_nothing_else_is() {
    let limits = Limits { timer_batch: 1, ..Limits::default() };
    let mut bench = Bench::new(&limits, false);
    bench.sets([event(1, 1), event(2, 2), event(3, 3)]).watermark(5);
    assert_eq!(bench.one(), [Record(3)]);
    bench.comes(0, Mark::Barrier(Epoch::new(1))).comes(1, Mark::Barrier(Epoch::new(1)));
    bench.sets([]);
    let mut all = Vec::new();
    while !all.contains(&watermark(5)) {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        all.extend(bench.one());
    }
    let barrier = Passed(Mark::Barrier(Epoch::new(1)));
    let in_order = [Fired(1, 1), barrier, Fired(2, 2), Fired(3, 3), watermark(5), Record(0)];
    assert_eq!(all, in_order);
}

#[actix::test]
async fn the_end_waits_for_all_timers_of_the_final_watermark() {
    let mut bench = Bench::new(&Limits::default(), false);
    bench.sets([event(10, 1), event(i64::MAX, 2), event(i64::MIN + 1, 3)]);
    bench.watermark(i64::MAX).comes(0, Mark::End).comes(1, Mark::End);
    let all = bench.all().await.unwrap();
    let fired = [Record(3), Fired(3, i64::MIN + 1), Fired(1, 10), Fired(2, i64::MAX)];
    assert_eq!(all, [&fired[..], &[watermark(i64::MAX), Passed(Mark::End)]].concat());
}

#[actix::test]
async fn u056_at_the_end_processing_timers_fire_or_are_dropped_and_counted() {
    for fires_at_end in [false, true] {
        let mut bench = Bench::new(&Limits::default(), fires_at_end);
        // The third one sets another when it fires, which is too late.
        let again = Note { key: 3, again: Some((1, 0)), poisoned: false, life: Life::new() };
        let third = timer(TimerDomain::Processing, 9_999_999_999_999, again);
        bench.sets([late(1), late(2), third]);
        bench.watermark(i64::MAX).comes(0, Mark::End).comes(1, Mark::End);
        let mut all = bench.all().await.unwrap();
        let end = all.split_off(all.len() - 1);
        let mut fired = all.split_off(2);
        fired.sort_by_key(|it| format!("{it:?}"));
        assert_eq!(all, [Record(3), watermark(i64::MAX)]);
        assert_eq!(end, [Passed(Mark::End)]);
        let due = [1, 2, 3].map(|key| Fired(key, 9_999_999_999_999));
        assert_eq!(fired, if fires_at_end { due.to_vec() } else { Vec::new() });
        let counts = bench.metrics.counts();
        let dropped = counts.get("timers dropped at the end").copied();
        assert_eq!(dropped, Some(if fires_at_end { 1 } else { 3 }));
    }
}

#[actix::test]
async fn u054_a_timer_that_sets_itself_for_the_same_instant_for_ever_fails_the_task() {
    let limits = Limits { final_firings: 100, ..Limits::default() };
    let mut bench = Bench::new(&limits, false);
    bench.sets([repeating(10, 0, 99)]).watermark(10);
    let mut fine = vec![Record(1)];
    fine.extend([Fired(1, 10); 101]);
    assert_eq!(bench.all().await.unwrap(), [&fine[..], &[watermark(10)]].concat());
    bench.sets([repeating(20, 0, 100)]).watermark(20);
    let error = bench.all().await.unwrap_err().to_string();
    assert!(error.starts_with("the timers of Note { key: 1, "), "{error}");
    assert!(error.ends_with("101 more that are due at once (setting `final_firings`)"), "{error}");
}

#[actix::test]
async fn a_timer_that_gets_on_may_do_so_for_long_but_not_at_the_final_watermark() {
    let limits = Limits { final_firings: 100, ..Limits::default() };
    let mut bench = Bench::new(&limits, false);
    bench.sets([repeating(1, 1, u32::MAX)]).watermark(1_000);
    let fired: Vec<_> = (1..=1_000).map(|time| Fired(1, time)).collect();
    assert_eq!(
        bench.all().await.unwrap(),
        [&[Record(1)], &fired[..], &[watermark(1_000)]].concat()
    );
    bench.watermark(i64::MAX);
    let error = bench.all().await.unwrap_err().to_string();
    assert!(error.contains("at watermark 9223372036854775807ms"), "{error}");
}

#[actix::test]
async fn a_key_that_panics_in_the_timer_actor_fails_its_task() {
    let mut bench = Bench::new(&Limits::default(), false);
    // Many timers of one instant are found by their hash.
    let note = |key| Note { key, again: None, poisoned: true, life: Life::new() };
    let poisoned = |key| timer(TimerDomain::Event, 10, note(key));
    bench.sets((0..100).map(poisoned));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.one()));
    assert_eq!(caught.unwrap(), [Record(1)].map(|_| Record(100)));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.one()));
    let message = caught.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, "this note cannot be hashed");
}

#[actix::test]
async fn a_task_with_too_many_edits_under_way_takes_no_input_until_they_have_come() {
    let limits = Limits { timer_edits: 2, ..Limits::default() };
    let mut bench = Bench::new(&limits, false);
    bench.sets([event(1, 1), event(2, 2), event(3, 3)]);
    assert_eq!(bench.one(), [Record(3)]);
    bench.sets([]);
    assert_eq!(bench.one(), [], "three are under way");
    assert_eq!(bench.all().await.unwrap(), [Record(0)]);
}

#[actix::test]
async fn idleness_waits_behind_the_watermark_that_came_with_it() {
    let mut bench = Bench::new(&Limits::default(), false);
    bench.sets([event(20, 1)]);
    bench.comes(0, Mark::Watermark(at(10))).comes(1, Mark::Watermark(at(30)));
    bench.comes(1, Mark::Idle).comes(0, Mark::Idle);
    let all = bench.all().await.unwrap();
    let idle = Passed(Mark::Idle);
    assert_eq!(all, [Record(1), watermark(10), Fired(1, 20), watermark(30), idle]);
}

#[actix::test]
async fn timers_are_dropped_with_their_task() {
    let mut bench = Bench::new(&Limits::default(), false);
    bench.sets((0..100).map(|key| event(key as i64, key)).chain([late(1)]));
    assert_eq!(bench.all().await.unwrap(), [Record(101)]);
    assert_eq!(LIVES.get(), 101);
    // And not only when their actor has its next turn.
    drop(bench.logic);
    assert_eq!(LIVES.get(), 0);
}
