//! Keyed processing: what a process is told, what it says about timers, and what comes of it.

use std::collections::HashMap;
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Keyed, TimerDomain};
use millstream_testkit::{Element, Harness, Stored, keyed, task};

use millstream::process::{CoProcess, ProcessOperator};

use TimerDomain::{Event, Processing};

/// Something that a process does for its key.
#[derive(Clone, Debug)]
enum Do {
    Set(TimerDomain, i64, u8),
    Delete(TimerDomain, i64, u8),
    Replace(TimerDomain, i64, u8),
    Cancel(TimerDomain, u8),
    /// Emits what it sees.
    Look,
    /// Adds to the state.
    Add(u64),
    Clear,
}

use Do::{Add, Cancel, Clear, Delete, Look, Replace, Set};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// Does what its records say; and when a timer fires, tells of it and does what was said for that.
#[derive(Clone, Default)]
struct Doing<const CLEARS: bool> {
    then: HashMap<(TimerDomain, i64, u8), Vec<Do>>,
}

impl<const CLEARS: bool> Doing<CLEARS> {
    fn act(does: Vec<Do>, sum: &mut u64, cx: &mut ContextOf<'_, Self>) {
        for it in does {
            match it {
                Set(Event, time, name) => cx.event_timer(at(time), name),
                Set(Processing, time, name) => cx.processing_timer(at(time), name),
                Delete(Event, time, name) => cx.delete_event_timer(at(time), name),
                Delete(Processing, time, name) => cx.delete_processing_timer(at(time), name),
                Replace(Event, time, name) => cx.replace_event_timer(at(time), name),
                Replace(Processing, time, name) => cx.replace_processing_timer(at(time), name),
                Cancel(Event, name) => cx.cancel_event_timer(&name),
                Cancel(Processing, name) => cx.cancel_processing_timer(&name),
                Look => {
                    let millis = |it: Option<Timestamp>| it.map(Timestamp::millis);
                    let (ts, wm) = (millis(cx.timestamp()), millis(cx.watermark()));
                    let now = cx.now().millis();
                    cx.emit(format!("{} sum {sum} ts {ts:?} wm {wm:?} now {now}", cx.key()));
                }
                Add(n) => *sum += n,
                Clear => cx.clear(),
            }
        }
    }
}

impl<const CLEARS: bool> KeyedProcess for Doing<CLEARS> {
    type Key = char;
    type In = Vec<Do>;
    type Out = String;
    type State = u64;
    type Timer = u8;

    const CLEARS_TIMERS: bool = CLEARS;

    fn on_record(
        &mut self,
        does: Vec<Do>,
        sum: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        Self::act(does, sum, cx);
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<u8>,
        sum: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let Fired { at, domain, late, timer } = fired;
        let (name, late) = (if domain == Event { 'e' } else { 'p' }, late.as_millis());
        cx.emit(format!("{}/{timer} {name}{} late {late} sum {sum}", cx.key(), at.millis()));
        let then = self.then.get(&(domain, at.millis(), timer)).cloned().unwrap_or_default();
        Self::act(then, sum, cx);
        Ok(())
    }
}

type Process<const CLEARS: bool> = Harness<ProcessOperator<Doing<CLEARS>>>;

fn process() -> Process<false> {
    process_with([])
}

/// When this timer fires, this is done.
fn process_with<const CLEARS: bool>(
    then: impl IntoIterator<Item = ((TimerDomain, i64, u8), Vec<Do>)>,
) -> Process<CLEARS> {
    let doing = Doing { then: then.into_iter().collect() };
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, doing))
}

fn says(key: char, does: impl IntoIterator<Item = Do>) -> Keyed<char, Vec<Do>> {
    keyed(key, does.into_iter().collect())
}

/// What came out, as text: a value and its time, or a mark.
fn came<const CLEARS: bool>(harness: &mut Process<CLEARS>) -> Vec<String> {
    let text = |element: Element<String>| match element {
        Element::Record(record) => match record.timestamp() {
            Some(at) => format!("{}@{}", record.value, at.millis()),
            None => record.value,
        },
        Element::Mark(mark) => format!("{mark:?}").replace("Watermark", "WM").replace("ms", ""),
    };
    harness.take_elements().into_iter().map(text).collect()
}

/// As many timers as there are of a domain.
fn set<const CLEARS: bool>(harness: &Process<CLEARS>, domain: TimerDomain) -> usize {
    harness.timers(domain).len()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn t001_four_timers_of_two_keys_and_two_kinds_fire_once_each() {
    let both = |domain| [Set(domain, 10, 1), Set(domain, 10, 2)];
    let mut of = process();
    of.record(says('a', both(Event))).record(says('b', both(Event)));
    assert_eq!(set(&of, Event), 4);
    of.watermark(10);
    let fired = ["a/1", "a/2", "b/1", "b/2"].map(|it| format!("{it} e10 late 0 sum 0@10"));
    assert_eq!(sorted(came(&mut of)), [&["WM(10)".to_owned()], &fired[..]].concat());
    assert_eq!(set(&of, Event), 0);
    let mut of = process();
    of.record(says('a', both(Processing))).record(says('b', both(Processing)));
    assert_eq!(set(&of, Processing), 4);
    of.advance_processing_time(10);
    let fired = ["a/1", "a/2", "b/1", "b/2"].map(|it| format!("{it} p10 late 0 sum 0"));
    assert_eq!((sorted(came(&mut of)), set(&of, Processing)), (fired.to_vec(), 0));
}

#[test]
fn t002_an_event_timer_is_due_when_its_time_is_not_after_the_watermark() {
    let mut of = process();
    of.record(says('a', [Set(Event, 10, 0)])).watermark(9);
    assert_eq!((came(&mut of), set(&of, Event)), (vec!["WM(9)".to_owned()], 1));
    of.watermark(10);
    assert_eq!(came(&mut of), ["a/0 e10 late 0 sum 0@10", "WM(10)"]);
}

#[test]
fn t003_what_a_timer_emits_has_its_time_and_goes_in_front_of_the_watermark() {
    let mut of = process();
    of.watermark(0).record_at(says('a', [Look, Set(Event, 5, 0)]), 42).watermark(5);
    let seen = ["WM(0)", "a sum 0 ts Some(42) wm Some(0) now 0@42", "a/0 e5 late 0 sum 0@5"];
    assert_eq!(came(&mut of), [&seen[..], &["WM(5)"]].concat());
}

#[test]
fn t005_timers_of_one_instant_fire_once_each_in_any_order() {
    let mut of = process();
    for key in ['a', 'b', 'c'] {
        of.record(says(key, [Set(Event, 10, 0)]));
    }
    of.watermark(10);
    let fired = ["WM(10)", "a/0 e10 late 0 sum 0@10", "b/0 e10 late 0 sum 0@10"];
    assert_eq!(sorted(came(&mut of)), [&fired[..], &["c/0 e10 late 0 sum 0@10"]].concat());
}

#[test]
fn t006_a_timer_in_the_past_waits_for_the_next_watermark_and_is_late() {
    let mut of = process();
    of.watermark(100).record(says('a', [Set(Event, 50, 0)]));
    assert_eq!((came(&mut of), set(&of, Event)), (vec!["WM(100)".to_owned()], 1));
    of.watermark(101);
    assert_eq!(came(&mut of), ["a/0 e50 late 51 sum 0@50", "WM(101)"]);
}

#[test]
fn t007_what_a_callback_sets_and_is_due_fires_in_the_same_step() {
    let mut of: Process<false> =
        process_with([((Event, 10, 0), vec![Set(Event, 15, 0), Set(Event, 25, 0)])]);
    of.record(says('a', [Set(Event, 10, 0)])).watermark(20);
    let fired = ["a/0 e10 late 10 sum 0@10", "a/0 e15 late 5 sum 0@15", "WM(20)"];
    assert_eq!((came(&mut of), set(&of, Event)), (fired.map(str::to_owned).to_vec(), 1));
}

#[test]
fn t009_a_callback_deletes_a_timer_that_is_due_as_well() {
    let mut of: Process<false> = process_with([((Event, 10, 0), vec![Delete(Event, 11, 0)])]);
    of.record(says('a', [Set(Event, 10, 0), Set(Event, 11, 0)])).watermark(20);
    assert_eq!(came(&mut of), ["a/0 e10 late 10 sum 0@10", "WM(20)"]);
    assert_eq!(set(&of, Event), 0);
}

#[test]
fn t011_set_twice_is_set_once() {
    let mut of = process();
    of.record(says('a', vec![Set(Event, 10, 0); 3]))
        .record(says('a', vec![Set(Processing, 10, 0); 2]));
    assert_eq!((set(&of, Event), set(&of, Processing)), (1, 1));
    of.watermark(10).advance_processing_time(10);
    assert_eq!(came(&mut of), ["a/0 e10 late 0 sum 0@10", "WM(10)", "a/0 p10 late 0 sum 0"]);
}

#[test]
fn t012_the_two_domains_do_not_interfere() {
    let mut of = process();
    of.watermark(0).record(says('a', [Add(7), Set(Processing, 10, 0), Set(Event, 20, 0)]));
    of.watermark(20);
    assert_eq!(came(&mut of), ["WM(0)", "a/0 e20 late 0 sum 7@20", "WM(20)"]);
    of.advance_processing_time(10);
    assert_eq!(came(&mut of), ["a/0 p10 late 0 sum 7"]);
}

#[test]
fn t013_deleting_what_is_not_there_does_nothing() {
    let mut of = process();
    of.record(says('a', [Set(Event, 10, 0), Delete(Event, 11, 0)]));
    of.record(says('b', [Delete(Event, 10, 0)]));
    of.record(says('a', [Delete(Processing, 10, 0), Delete(Event, 10, 1)])).watermark(10);
    assert_eq!(came(&mut of), ["a/0 e10 late 0 sum 0@10", "WM(10)"]);
}

/// Of two timers of two keys one of each is deleted; what fires.
fn one_of_two(domain: TimerDomain) -> Vec<String> {
    let mut of = process();
    let both = [Set(domain, 10, 1), Set(domain, 10, 2)];
    of.record(says('a', both.clone())).record(says('b', both));
    of.record(says('a', [Delete(domain, 10, 2)])).record(says('b', [Delete(domain, 10, 1)]));
    assert_eq!(set(&of, domain), 2);
    match domain {
        Event => of.watermark(10),
        Processing => of.advance_processing_time(10),
    };
    sorted(came(&mut of).into_iter().filter(|it| it != "WM(10)").collect())
}

#[test]
fn t014_a_deleted_event_timer_does_not_fire_and_others_of_its_key_do() {
    assert_eq!(one_of_two(Event), ["a/1 e10 late 0 sum 0@10", "b/2 e10 late 0 sum 0@10"]);
}

#[test]
fn t015_a_deleted_processing_timer_does_not_fire_and_others_of_its_key_do() {
    assert_eq!(one_of_two(Processing), ["a/1 p10 late 0 sum 0", "b/2 p10 late 0 sum 0"]);
}

#[test]
fn t024_what_a_processing_timer_emits_has_no_time() {
    let mut of = process();
    of.record(says('a', [Look, Set(Processing, 5, 0)]));
    of.record_at(says('b', [Set(Processing, 6, 0)]), 17).advance_processing_time(6);
    let seen = ["a sum 0 ts None wm None now 0", "a/0 p5 late 1 sum 0", "b/0 p6 late 0 sum 0"];
    assert_eq!(came(&mut of), seen);
}

#[test]
fn t025_a_record_sees_watermark_clock_and_its_own_time_and_a_late_one_is_as_others() {
    let mut of = process();
    of.watermark(17)
        .record_at(says('a', [Look]), 12)
        .watermark(42)
        .record_at(says('a', [Look]), 13);
    let seen = ["WM(17)", "a sum 0 ts Some(12) wm Some(17) now 0@12", "WM(42)"];
    assert_eq!(came(&mut of), [&seen[..], &["a sum 0 ts Some(13) wm Some(42) now 0@13"]].concat());
    of.advance_processing_time(17).record(says('a', [Look]));
    of.advance_processing_time(42).record(says('a', [Look]));
    let seen = [17, 42].map(|now| format!("a sum 0 ts None wm Some(42) now {now}"));
    assert_eq!(came(&mut of), seen);
}

/// Three keys set timers, and one of them is cleared in time: what came out.
fn with_state(domain: TimerDomain) -> Vec<String> {
    let mut of = process();
    let pass = |of: &mut Process<false>, to| match domain {
        Event => drop(of.watermark(to)),
        Processing => drop(of.advance_processing_time(to)),
    };
    pass(&mut of, 1);
    of.record(says('x', [Add(17), Set(domain, 6, 0)]));
    of.record(says('y', [Add(13), Set(domain, 6, 0)]));
    pass(&mut of, 2);
    of.record(says('z', [Add(42), Set(domain, 7, 0)]));
    of.record(says('y', [Clear, Delete(domain, 6, 0)]));
    pass(&mut of, 6);
    pass(&mut of, 7);
    assert_eq!(of.operator().keys(), 2, "what was cleared is gone");
    came(&mut of)
}

#[test]
fn t026_the_callback_of_an_event_timer_sees_the_state_of_its_key() {
    let (first, second) = ("x/0 e6 late 0 sum 17@6", "z/0 e7 late 0 sum 42@7");
    assert_eq!(with_state(Event), ["WM(1)", "WM(2)", first, "WM(6)", second, "WM(7)"]);
}

#[test]
fn t027_the_callback_of_a_processing_timer_sees_the_state_of_its_key() {
    assert_eq!(with_state(Processing), ["x/0 p6 late 0 sum 17", "z/0 p7 late 0 sum 42"]);
}

/// The task goes on from its snapshot.
fn goes_on(of: &mut Process<false>) -> Process<false> {
    let stored: Stored = of.snapshot(1);
    let mut again = process();
    again.restore(&stored);
    again
}

#[test]
fn t028_deleted_timers_stay_deleted_and_the_others_come_back() {
    let mut of = process();
    let sets = [Set(Processing, 3, 0), Set(Event, 4, 0), Set(Processing, 5, 0), Set(Event, 6, 0)];
    let deletes = [Delete(Processing, 3, 0), Delete(Event, 4, 0)];
    of.record_at(says('a', sets.into_iter().chain(deletes)), 12);
    let mut again = goes_on(&mut of);
    again.advance_processing_time(5).watermark(6);
    assert_eq!(came(&mut again), ["a/0 p5 late 0 sum 0", "a/0 e6 late 0 sum 0@6", "WM(6)"]);
}

#[test]
fn t029_timers_of_all_groups_come_back() {
    let mut of = process();
    of.record(says('a', [Set(Processing, 10, 1), Set(Event, 10, 2)]));
    of.record(says('b', [Set(Event, 10, 1), Set(Processing, 10, 2)]));
    assert_eq!((set(&of, Event), set(&of, Processing)), (2, 2));
    let mut again = goes_on(&mut of);
    again.advance_processing_time(10);
    assert_eq!(sorted(came(&mut again)), ["a/1 p10 late 0 sum 0", "b/2 p10 late 0 sum 0"]);
    again.watermark(10);
    let fired = ["WM(10)", "a/2 e10 late 0 sum 0@10", "b/1 e10 late 0 sum 0@10"];
    assert_eq!(sorted(came(&mut again)), fired);
}

#[test]
fn t031_state_and_timers_go_with_their_key_to_another_task() {
    let mut of = process();
    of.watermark(0);
    let mut keys = ('a'..='z').map(|key| (key, keyed(key, ())));
    let owner = |key: &Keyed<char, ()>| task(0, 2).key_groups.owner_of(key.hash, 2);
    let first = keys.clone().find(|(_, key)| owner(key) == 0).unwrap().0;
    let second = keys.find(|(_, key)| owner(key) == 1).unwrap().0;
    of.record(says(first, [Add(1), Set(Event, 10, 0), Set(Processing, 10, 0)]));
    of.record(says(second, [Add(2), Set(Event, 20, 0), Set(Processing, 20, 0)]));
    assert_eq!(came(&mut of), ["WM(0)"]);
    let stored = of.snapshot(100);
    let mut two =
        Harness::restored(2, &stored, |task| ProcessOperator::new(task, Doing::<false>::default()));
    let mut seen = Vec::new();
    for one in &mut two {
        one.watermark(10).watermark(20).advance_processing_time(10).advance_processing_time(20);
        seen.push(came(one));
    }
    let event = |key, at: i64, sum| format!("{key}/0 e{at} late 0 sum {sum}@{at}");
    let processing = |key, at: i64, sum| format!("{key}/0 p{at} late 0 sum {sum}");
    let marks = ["WM(10)", "WM(20)"].map(str::to_owned);
    let [ten, twenty] = marks;
    assert_eq!(
        seen,
        [
            vec![event(first, 10, 1), ten.clone(), twenty.clone(), processing(first, 10, 1)],
            vec![ten, event(second, 20, 2), twenty, processing(second, 20, 2)],
        ]
    );
}

#[test]
fn t056_times_that_are_rounded_come_to_one_timer() {
    let second = Duration::from_secs(1);
    let mut of = process();
    for millis in [10_100, 10_900, 11_000, 11_999] {
        let due = at(millis).plus(second).rounded_to(second).millis();
        of.record_at(says('a', [Set(Event, due, 0)]), millis);
    }
    assert_eq!(set(&of, Event), 2);
    of.watermark(11_000).watermark(12_000);
    let seen = ["a/0 e11000 late 0 sum 0@11000", "WM(11000)", "a/0 e12000 late 0 sum 0@12000"];
    assert_eq!(came(&mut of), [&seen[..], &["WM(12000)"]].concat());
}

#[test]
fn u053_a_timer_put_in_place_of_another_is_one_for_each_key_and_value() {
    for domain in [Event, Processing] {
        let mut of = process();
        for n in 0..100 {
            of.record(says('a', [Replace(domain, 10 * n, 0)]));
        }
        of.record(says('a', (1..10).map(|name| Replace(domain, 5, name))));
        of.record(says('b', [Replace(domain, 7, 0), Cancel(domain, 1), Cancel(domain, 0)]));
        // One that was set plainly is another timer.
        of.record(says('a', [Set(domain, 3, 0), Replace(domain, 4, 0)]));
        assert_eq!(set(&of, domain), 11);
        let mut again = goes_on(&mut of);
        again.record(says('a', [Replace(domain, 2_000, 0)]));
        match domain {
            Event => again.watermark(3_000),
            Processing => again.advance_processing_time(3_000),
        };
        let fired = came(&mut again);
        let of_name = |name: &str| fired.iter().filter(|it| it.starts_with(name)).count();
        assert_eq!((of_name("a/0"), of_name("a/5"), of_name("b")), (2, 1, 0), "{fired:?}");
        let last = if domain == Event { fired.len() - 2 } else { fired.len() - 1 };
        assert!(fired[last].contains("2000 late 1000"), "{fired:?}");
    }
}

#[test]
fn u052_a_key_that_is_cleared_takes_its_timers_with_it_where_that_is_asked_for() {
    let does = [Add(5), Set(Processing, 10, 0), Set(Event, 10, 1), Replace(Event, 10, 2), Clear];
    let mut of: Process<true> = process_with([]);
    of.record(says('a', does.clone()));
    assert_eq!((set(&of, Event), set(&of, Processing), of.operator().keys()), (0, 0, 0));
    // Else those that were put in place of others go, and the others find a new state.
    let mut of: Process<false> = process_with([]);
    of.record(says('a', does));
    assert_eq!((set(&of, Event), set(&of, Processing), of.operator().keys()), (1, 1, 0));
    of.watermark(10).advance_processing_time(10);
    assert_eq!(came(&mut of), ["a/1 e10 late 0 sum 0@10", "WM(10)", "a/0 p10 late 0 sum 0"]);
    assert_eq!(of.operator().keys(), 0, "a timer alone brings no state back");
}

#[test]
fn a_key_that_is_cleared_and_comes_again_begins_anew() {
    let mut of = process();
    of.record(says('a', [Add(5), Clear])).record(says('a', [Add(2), Look]));
    assert_eq!(came(&mut of), ["a sum 2 ts None wm None now 0"]);
    assert_eq!(of.operator().keys(), 1);
    // A callback may leave a state behind at a key that had none.
    let mut of: Process<false> = process_with([((Event, 5, 0), vec![Add(3)])]);
    of.record(says('a', [Set(Event, 5, 0), Set(Event, 6, 0), Clear])).watermark(6);
    let seen = ["a/0 e5 late 1 sum 0@5", "a/0 e6 late 0 sum 3@6", "WM(6)"];
    assert_eq!((came(&mut of), of.operator().keys()), (seen.map(str::to_owned).to_vec(), 1));
    // And one that clears its key leaves none.
    let mut of: Process<false> = process_with([((Event, 5, 0), vec![Clear])]);
    of.record(says('a', [Add(1), Set(Event, 5, 0)])).watermark(6);
    assert_eq!(of.operator().keys(), 0);
}

/// What two inputs do: a first one sets a timer at 5, a second one at 6.
#[derive(Clone)]
struct Two(TimerDomain);

impl KeyedCoProcess for Two {
    type Key = u64;
    type Left = u64;
    type Right = u64;
    type Out = String;
    type State = u64;
    type Timer = ();

    fn on_left(
        &mut self,
        value: u64,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        *seen += 1;
        cx.emit(format!("INPUT1:{value}"));
        match self.0 {
            Event => cx.event_timer(at(5), ()),
            Processing => {
                cx.processing_timer(at(5), ());
                cx.event_timer(at(6), ());
            }
        }
        Ok(())
    }

    fn on_right(
        &mut self,
        value: u64,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        *seen += 1;
        cx.emit(format!("INPUT2:{value}"));
        match self.0 {
            Event => cx.event_timer(at(6), ()),
            Processing => {
                cx.processing_timer(at(5), ());
                cx.event_timer(at(6), ());
            }
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<()>,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        cx.emit(format!("{} {:?} after {seen}", cx.key(), fired.domain));
        Ok(())
    }
}

/// A task with two inputs, which come as values of either.
fn two(domain: TimerDomain) -> Harness<ProcessOperator<CoProcess<Two>>> {
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, CoProcess(Two(domain))))
}

fn left(key: u64, value: u64) -> Keyed<u64, Either<u64, u64>> {
    keyed(key, Either::Left(value))
}

fn right(key: u64, value: u64) -> Keyed<u64, Either<u64, u64>> {
    keyed(key, Either::Right(value))
}

/// The records that came out, as text.
fn records(of: &mut Harness<ProcessOperator<CoProcess<Two>>>) -> Vec<String> {
    let time = |it: &Stamped<String>| it.timestamp().map(Timestamp::millis);
    of.take_records().iter().map(|it| format!("{} {:?}", it.value, time(it))).collect()
}

#[test]
fn t045_timers_of_two_inputs_fire_at_the_watermark_of_both() {
    let mut of = two(Event);
    of.record_at(left(17, 17), 42).record_at(right(18, 18), 42).watermark(5).watermark(6);
    let inputs = ["INPUT1:17 Some(42)", "INPUT2:18 Some(42)"];
    let fired = ["17 Event after 1 Some(5)", "18 Event after 1 Some(6)"];
    assert_eq!(records(&mut of), [inputs, fired].concat());
}

#[test]
fn t046_two_inputs_share_the_state_and_the_timers_of_a_key() {
    let mut of = two(Processing);
    of.record_at(left(5, 1), 12).record_at(right(5, 2), 12);
    let stored = of.snapshot(1);
    let mut again = two(Processing);
    again.restore(&stored).advance_processing_time(5).watermark(6);
    assert_eq!(records(&mut again), ["5 Processing after 2 None", "5 Event after 2 Some(6)"]);
}

#[test]
fn timers_and_states_of_another_type_are_refused_at_the_restore() {
    let mut of = two(Event);
    of.record_at(left(5, 1), 12);
    let stored = of.snapshot(1);
    let error = process().try_restore(&stored).unwrap_err().to_string();
    assert!(error.contains("char") || error.contains("invalid type"), "{error}");
}

#[test]
fn t051_a_side_output_has_the_time_of_the_call() {
    #[derive(Clone)]
    struct Sides(SideOutput<u64>, SideOutput<String>);

    impl KeyedProcess for Sides {
        type Key = u64;
        type In = u64;
        type Out = String;
        type State = ();
        type Timer = ();

        fn on_record(
            &mut self,
            value: u64,
            (): &mut (),
            cx: &mut ContextOf<'_, Self>,
        ) -> Result<(), Failure> {
            cx.side(&self.0, value);
            cx.side(&self.1, value.to_string());
            cx.emit_at(format!("early {value}"), at(3));
            cx.emit(format!("IN:{value}"));
            cx.count("seen", 2);
            Ok(())
        }
    }

    let (numbers, texts) = (SideOutput::new("numbers"), SideOutput::new("texts"));
    let process = Sides(numbers.clone(), texts.clone());
    let mut of = Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, process))
        .with_side(&numbers)
        .with_side(&texts);
    of.record_at(keyed(1, 42), 17);
    let main = [Stamped::at("early 42".to_owned(), at(3)), Stamped::at("IN:42".to_owned(), at(17))];
    assert_eq!(of.take_records(), main);
    assert_eq!(of.take_side(&numbers), [Stamped::at(42, at(17))]);
    assert_eq!(of.take_side(&texts), [Stamped::at("42".to_owned(), at(17))]);
    assert_eq!(of.count("seen"), 2);
}
