//! What a process says about timers, and when they fire.

use std::time::Duration;

use millstream::Keyed;
use millstream::TimerDomain::{self, Event, Processing};
use millstream::process::ProcessOperator;
use millstream_testkit::{Harness, keyed, task};

use crate::doing::Do::{Add, Clear, Delete, Look, Set};
use crate::doing::{Doing, Process, at, came, goes_on, process, process_with, says, set, sorted};

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
