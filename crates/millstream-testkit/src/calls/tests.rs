//! Stages by hand: restarts at any step, waiting, refusals, time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;

use millstream::{
    AsyncFunction, AsyncWait, CallId, DeadLetter, OnFailure, Retry, call_fn, call_id,
};
use millstream_core::{Clock, Keyed, Mark, Timestamp};
use millstream_runtime::TaskContext;
use serde::{Deserialize, Serialize};

use super::*;
use crate::harness::keyed;
use crate::{Chance, ManualClock};

/// Every call that was made, in order.
type Log = Rc<RefCell<Vec<(u64, CallId)>>>;

const TICK: Duration = Duration::from_millis(10);

/// Squares its number after as many ticks as the number says, modulo five.
fn squares(
    clock: &ManualClock,
    log: &Log,
) -> impl AsyncFunction<In = u64, Answer = u64, Out = u64> + use<> {
    let (clock, log) = (clock.clone(), log.clone());
    call_fn(move |n: u64| {
        let clock = clock.clone();
        log.borrow_mut().push((n, call_id().unwrap()));
        async move {
            clock.wake_at(clock.monotonic().plus(TICK * (n % 5) as u32)).await;
            Ok(n * n)
        }
    })
}

fn values(log: &Log) -> Vec<u64> {
    log.borrow().iter().map(|(n, _)| *n).collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Record(u64),
    Watermark(i64),
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Ordered,
    Unordered,
    KeyOrdered,
}

const KEYS: u64 = 3;

/// What one program comes to.
#[derive(Debug, PartialEq)]
struct Came {
    /// Between two watermarks; sorted where the order is that of time.
    segments: Vec<Vec<(u64, Option<i64>)>>,
    watermarks: Vec<Mark>,
}

fn came(mode: Mode, elements: &[Element<u64>]) -> Came {
    let mut came = Came { segments: vec![Vec::new()], watermarks: Vec::new() };
    for element in elements {
        match element {
            Element::Record(record) => {
                let millis = record.timestamp().map(Timestamp::millis);
                came.segments.last_mut().unwrap().push((record.value, millis));
            }
            Element::Mark(mark) => {
                came.watermarks.push(*mark);
                came.segments.push(Vec::new());
            }
        }
    }
    if mode != Mode::Ordered {
        came.segments.iter_mut().for_each(|segment| segment.sort_unstable());
    }
    came
}

/// Runs a program, with a restart behind so many of its steps. Gives what came out and all calls
/// of both lives.
fn run_program(
    mode: Mode,
    capacity: usize,
    program: &[Step],
    restart: Option<usize>,
) -> (Vec<Element<u64>>, Log, Log) {
    let clock = ManualClock::new();
    let (first, second) = (Log::default(), Log::default());
    let plain = |log: &Log| {
        let wait = match mode {
            Mode::Ordered => AsyncWait::ordered(),
            Mode::Unordered | Mode::KeyOrdered => AsyncWait::unordered(),
        };
        wait.capacity(capacity).caller(squares(&clock, log))
    };
    let by_key = |log: &Log| {
        AsyncWait::key_ordered().capacity(capacity).keyed_caller::<u64, _>(squares(&clock, log))
    };
    let lives = [&first, &second];
    let out = match mode {
        Mode::Ordered | Mode::Unordered => {
            live(lives.map(plain), &clock, program, restart, |harness, n| {
                harness.record_at(n, n as i64);
            })
        }
        Mode::KeyOrdered => live(lives.map(by_key), &clock, program, restart, |harness, n| {
            harness.record_at(keyed(n % KEYS, n), n as i64);
        }),
    };
    (out, first, second)
}

fn live<C: Caller<Out = u64>>(
    [first, second]: [(C, Limits); 2],
    clock: &ManualClock,
    program: &[Step],
    restart: Option<usize>,
    record: impl Fn(&mut CallHarness<C>, u64),
) -> Vec<Element<u64>> {
    let mut harness = CallHarness::on(clock, |_| first);
    let mut second = Some(second);
    let mut out = Vec::new();
    for (at, step) in program.iter().enumerate() {
        if restart == Some(at)
            && let Some(again) = second.take()
        {
            let stored = harness.snapshot(1);
            out.extend(harness.take_elements());
            harness = CallHarness::on(clock, |_| again);
            harness.restore(&stored);
        }
        match *step {
            Step::Record(n) => record(&mut harness, n),
            Step::Watermark(millis) => drop(harness.watermark(millis)),
            Step::Tick => drop(harness.advance(TICK)),
        }
    }
    harness.end();
    for _ in 0..program.len() * 5 {
        harness.advance(TICK);
    }
    assert!(harness.has_ended());
    out.extend(harness.take_elements());
    out
}

fn program(chance: &mut Chance) -> Vec<Step> {
    let mut at = 0;
    let mut step = |chance: &mut Chance| {
        at += 1;
        match chance.below(8) {
            0..5 => Step::Record(at),
            5 => Step::Watermark(at as i64),
            _ => Step::Tick,
        }
    };
    (0..1 + chance.below(40)).map(|_| step(chance)).collect()
}

#[test]
fn a_restart_at_any_step_gives_the_same_and_calls_again_exactly_what_had_not_gone_out() {
    for seed in 0..300 {
        let mut chance = Chance::of(seed);
        let program = program(&mut chance);
        let mode = [Mode::Ordered, Mode::Unordered, Mode::KeyOrdered][chance.below(3)];
        let capacity = 1 + chance.below(6);
        let restart = chance.below(program.len());
        let told = format!("seed {seed}: {mode:?} {capacity} {restart} {program:?}");

        let (straight, ..) = run_program(mode, capacity, &program, None);
        let (out, first, second) = run_program(mode, capacity, &program, Some(restart));
        assert_eq!(came(mode, &out), came(mode, &straight), "{told}");

        // What came out before the restart is called once; all else that had come is called again
        // before anything new, with the number that it had.
        let (before, ..) = run_program(mode, capacity, &program[..restart], None);
        let records = |steps: &[Step]| -> Vec<u64> {
            let record = |step: &Step| if let Step::Record(n) = step { Some(*n) } else { None };
            steps.iter().filter_map(record).collect()
        };
        let numbers: BTreeMap<u64, CallId> = first.borrow().iter().cloned().collect();
        let again = values(&second);
        let called_again: Vec<u64> =
            again.iter().copied().filter(|n| *n <= restart as u64).collect();
        if mode == Mode::KeyOrdered {
            let of_key = |key| called_again.iter().filter(move |n| **n % KEYS == key);
            assert!((0..KEYS).all(|key| of_key(key).is_sorted()), "{told}");
        } else {
            assert!(again.is_sorted(), "{told}");
        }
        for (n, id) in second.borrow().iter() {
            match numbers.get(n) {
                Some(same) => assert_eq!(id, same, "{told}"),
                None => assert!(first.borrow().iter().all(|(_, other)| other != id), "{told}"),
            }
        }
        let all = records(&program);
        let mut once: Vec<u64> = values(&first);
        once.extend(&again);
        once.sort_unstable();
        once.dedup();
        assert_eq!(once, all, "{told}");
        let gone = all.len() - again.len();
        assert!(gone <= before.len(), "{told}");
        assert_eq!(called_again.len(), records(&program[..restart]).len() - gone, "{told}");
    }
}

#[test]
fn what_waits_for_room_is_stored_and_called_again_in_order() {
    let (clock, first, second) = (ManualClock::new(), Log::default(), Log::default());
    let mut one = CallHarness::on(&clock, |_| {
        AsyncWait::ordered().capacity(2).caller(squares(&clock, &first))
    });
    one.record(4).record(3).record(2).watermark(7).record(1);
    assert_eq!((one.out(), one.waiting(), values(&first)), (2, 3, vec![4, 3]));
    let stored = one.snapshot(1);

    // With less room than there was.
    let mut again = CallHarness::restored_on(&clock, 1, &stored, |_| {
        AsyncWait::ordered().capacity(1).caller(squares(&clock, &second))
    })
    .remove(0);
    assert_eq!((again.out(), values(&second)), (1, vec![4]));
    for _ in 0..10 {
        again.advance(TICK);
    }
    let record = |value| Element::Record(Stamped::new(value));
    let watermark = Element::Mark(Mark::Watermark(Timestamp::from_millis(7).unwrap()));
    assert_eq!(again.take_elements(), [record(16), record(9), record(4), watermark, record(1)]);
    assert_eq!(values(&second), [4, 3, 2, 1]);
    // Who was stored goes on meanwhile, as if nothing had been.
    for _ in 0..10 {
        one.advance(TICK);
    }
    assert_eq!(one.take(), [16, 9, 4, 1]);
}

#[test]
fn records_of_a_key_come_back_to_the_task_that_owns_it() {
    let (clock, log) = (ManualClock::new(), Log::default());
    let stage =
        |_: &TaskInfo| AsyncWait::key_ordered().keyed_caller::<u64, _>(squares(&clock, &log));
    let mut one = CallHarness::on(&clock, stage);
    let values: Vec<u64> = (0..40).collect();
    for n in &values {
        one.record(keyed(n % 10, *n));
    }
    one.watermark(9);
    let gone = one.take();
    let stored = one.snapshot(3);
    let mut three = CallHarness::restored_on(&clock, 3, &stored, stage);
    let mut all = gone.clone();
    for task in &mut three {
        for _ in 0..40 {
            task.advance(TICK);
        }
        let elements = task.take_elements();
        let (last, records) = elements.split_last().unwrap();
        // One watermark, behind everything.
        assert_eq!(*last, Element::Mark(Mark::Watermark(Timestamp::from_millis(9).unwrap())));
        for element in records {
            let Element::Record(record) = element else { unreachable!("one watermark") };
            all.push(record.value);
        }
        assert!(!records.is_empty());
    }
    all.sort_unstable();
    assert_eq!(all, values.iter().map(|n| n * n).collect::<Vec<_>>());
    assert!(!gone.is_empty());
}

/// Refuses to be stored if it is odd.
#[derive(Clone, Debug, Deserialize)]
struct Odd(u64);

impl Serialize for Odd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 2 == 1 {
            return Err(serde::ser::Error::custom(format!("{} is odd", self.0)));
        }
        serializer.serialize_u64(self.0)
    }
}

#[test]
fn a_record_that_cannot_be_stored_is_told_with_its_task_and_the_task_goes_on() {
    let clock = ManualClock::new();
    let time = clock.clone();
    let call = move |n: Odd| {
        let time = time.clone();
        async move {
            time.wake_at(time.monotonic().plus(TICK)).await;
            Ok(n.0)
        }
    };
    let stage = |_: &TaskInfo| AsyncWait::ordered().caller(call_fn(call.clone()));
    let mut one = CallHarness::on(&clock, stage);
    one.record(Odd(2)).record(Odd(3)).record(Odd(4));
    let failure = one.try_snapshot(1).unwrap_err().to_string();
    assert!(failure.contains("operator") && failure.contains("3 is odd"), "{failure}");
    assert_eq!(one.advance(TICK).take(), [2, 3, 4]);
    // And what can be stored is, without a rest of what could not.
    one.record(Odd(6));
    let stored = one.snapshot(1);
    let mut again = CallHarness::restored_on(&clock, 1, &stored, stage).remove(0);
    assert_eq!(again.advance(TICK).take(), [6]);
}

#[test]
fn retries_and_dead_letters_happen_as_time_goes_on() {
    let dead = SideOutput::new("dead");
    let log = Rc::new(RefCell::new(0));
    let tries = log.clone();
    let call = move |n: u64| {
        *tries.borrow_mut() += 1;
        async move { 100_u64.checked_div(n).ok_or_else(|| Failure::new("zero")) }
    };
    let wait = AsyncWait::unordered()
        .retry(Retry::fixed(TICK).max_retries(2))
        .on_error(OnFailure::dead_letter(&dead));
    let mut one = CallHarness::new(wait.caller(call_fn(call))).with_side(&dead);
    one.record(0).record(5);
    assert_eq!((one.take(), *log.borrow(), one.out()), (vec![20], 2, 1));
    one.advance(TICK);
    assert_eq!((*log.borrow(), one.take_side(&dead).len()), (3, 0));
    one.advance(TICK).end();
    let letters = one.take_side(&dead);
    let letter: Vec<_> = letters.iter().map(|it: &Stamped<DeadLetter<u64>>| &it.value).collect();
    assert_eq!(letter.iter().map(|it| (it.input, it.attempts)).collect::<Vec<_>>(), [(0, 3)]);
    assert!(one.has_ended());
}

/// Opens when it is let.
struct Late(Rc<RefCell<bool>>);

impl AsyncFunction for Late {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = std::future::Ready<Result<u64, Failure>>;

    fn open(self, _: TaskContext) -> impl Future<Output = Result<Self, Failure>> + 'static {
        let mut this = Some(self);
        std::future::poll_fn(move |_| {
            let may = this.as_ref().is_some_and(|late| *late.0.borrow());
            match this.take_if(|_| may) {
                Some(late) => std::task::Poll::Ready(Ok(late)),
                None => std::task::Poll::Pending,
            }
        })
    }

    fn call(&mut self, input: u64) -> Self::Call {
        std::future::ready(Ok(input))
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        [answer]
    }
}

#[test]
fn input_waits_until_the_function_is_open() {
    let may = Rc::new(RefCell::new(false));
    let mut one = CallHarness::new(AsyncWait::ordered().caller(Late(may.clone())));
    one.record(1).record(2);
    assert_eq!((one.take(), one.waiting()), (vec![], 2));
    *may.borrow_mut() = true;
    assert_eq!(one.turn().take(), [1, 2]);
}

#[test]
#[should_panic(expected = "a snapshot of a task that is not open")]
fn what_is_not_open_has_no_state() {
    CallHarness::new(AsyncWait::ordered().caller(Late(Rc::default()))).snapshot(1);
}

#[test]
#[should_panic(expected = "capacity")]
fn settings_that_cannot_be_meant_are_refused() {
    let call = call_fn(|n: u64| async move { Ok(n) });
    CallHarness::new(AsyncWait::ordered().capacity(0).caller(call));
}

#[test]
#[should_panic(expected = "no barrier follows it")]
fn there_is_no_snapshot_after_the_end() {
    let call = call_fn(|_: u64| pending::<Result<u64, Failure>>());
    CallHarness::new(AsyncWait::ordered().caller(call)).record(1).end().snapshot(1);
}

#[test]
#[should_panic(expected = "the task fails: ")]
fn a_call_that_fails_fails_the_task() {
    let call = call_fn(|_: u64| async { Err::<u64, _>(Failure::new("no")) });
    CallHarness::new(AsyncWait::ordered().caller(call)).record(1);
}

#[test]
fn keys_travel_with_their_values() {
    let call = call_fn(|n: u64| async move { Ok(n + 1) });
    let (caller, limits) = AsyncWait::key_ordered().keyed_caller::<char, _>(call);
    let mut one: CallHarness<_> = CallHarness::new((caller, limits));
    let record: Keyed<char, u64> = keyed('a', 1);
    assert_eq!(one.record(record).take(), [2]);
}

#[test]
fn a_call_that_runs_another_task_by_hand_is_still_itself() {
    let call = call_fn(|n: u64| async move {
        let before = call_id();
        let inner = call_fn(|n: u64| async move { Ok(n + call_id().unwrap().number) });
        let mut other = CallHarness::new(AsyncWait::ordered().caller(inner));
        let sum: u64 = other.record(n).record(n).take().into_iter().sum();
        assert_eq!(call_id(), before);
        Ok((sum, before.unwrap().number))
    });
    let mut one = CallHarness::new(AsyncWait::ordered().caller(call));
    assert_eq!(one.record(5).record(6).take(), [(11, 0), (13, 1)]);
    assert_eq!(call_id(), None);
}
