//! States that live for a while after they were last used.

use std::time::Duration;

use millstream::TimeToLive;
use millstream::TimerDomain::{Event, Processing};
use millstream::process::ProcessOperator;
use millstream_testkit::{Harness, task};

use crate::doing::Do::{Add, Clear, Look, Replace, Set};
use crate::doing::{Doing, Process, came, says, set};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn living(time_to_live: Option<TimeToLive>) -> Process<false> {
    let doing = Doing { time_to_live, ..Doing::default() };
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, doing))
}

/// What the callbacks of a key's timers see, at these times.
fn seen(of: &mut Process<false>, times: &[i64]) -> Vec<String> {
    let mut seen = Vec::new();
    for time in times {
        of.advance_processing_time(*time);
        let sums = came(of).into_iter().filter(|it| it.contains(&format!(" p{time} ")));
        seen.extend(sums.map(|it| it.rsplit(' ').next().unwrap_or_default().to_owned()));
    }
    seen
}

#[test]
fn c065_a_state_lives_so_long_after_the_last_record_and_is_never_seen_after() {
    let mut of = living(Some(TimeToLive::since_record(ms(100))));
    let reads = [20, 120, 220, 300].map(|at| Set(Processing, at, 0));
    of.record(says('a', [Add(1)].into_iter().chain(reads)));
    assert_eq!(seen(&mut of, &[20]), ["1"]);
    of.advance_processing_time(50).record(says('a', [Add(1)]));
    assert_eq!(seen(&mut of, &[120]), ["2"]);
    // A read does not keep it alive: this is a new one.
    of.advance_processing_time(170).record(says('a', [Add(1)]));
    assert_eq!(seen(&mut of, &[220, 300]), ["1", "0"]);
    assert_eq!((of.operator().keys(), of.count("states expired")), (0, 2));
    assert_eq!(set(&of, Processing), 0);
    // Used at 0, it is seen at 99 and not at 100.
    let mut of = living(Some(TimeToLive::since_record(ms(100))));
    of.record(says('a', [Add(1), Set(Processing, 99, 0), Set(Processing, 100, 0)]));
    assert_eq!(seen(&mut of, &[99, 100]), ["1", "0"]);
    // Where timers are uses too, each of them keeps it alive.
    let mut of = living(Some(TimeToLive::since_use(ms(100))));
    of.record(says(
        'a',
        [Add(1)].into_iter().chain([90, 180, 270].map(|at| Set(Processing, at, 0))),
    ));
    assert_eq!(seen(&mut of, &[90, 180, 270]), ["1", "1", "1"]);
    of.advance_processing_time(369);
    assert_eq!(of.operator().keys(), 1);
    of.advance_processing_time(370);
    assert_eq!(of.operator().keys(), 0);
}

#[test]
fn a_record_that_comes_too_late_finds_a_new_state_before_any_timer_has_removed_the_old_one() {
    let mut of = living(Some(TimeToLive::since_record(ms(100))));
    of.record(says('a', [Add(5), Replace(Event, 7, 0), Set(Event, 8, 0)]));
    // The clock goes on, and the timer of the state has not fired yet.
    of.set_clock(150).record(says('a', [Look, Add(1)]));
    of.watermark(8);
    let seen = ["a sum 0 ts None wm None now 150", "a/0 e8 late 0 sum 1@8", "WM(8)"];
    assert_eq!(came(&mut of), seen, "what was put in place of others is gone with the old state");
    // The timer of the old state finds the new one alive.
    of.advance_processing_time(249);
    assert_eq!(of.operator().keys(), 1);
    of.advance_processing_time(250);
    assert_eq!((of.operator().keys(), of.count("states expired")), (0, 2));
}

#[test]
fn c067_what_is_over_is_not_stored_and_time_without_the_job_counts() {
    let time_to_live = Some(TimeToLive::since_record(ms(100)));
    let mut of = living(time_to_live);
    of.record(says('c', [Add(9)]));
    of.record(says('a', [Add(1)]));
    of.advance_processing_time(50).record(says('a', [Add(1)]));
    // The state of `c` is over, and nothing has removed it.
    of.set_clock(100).record(says('b', [Add(3)]));
    let stored = of.snapshot(1);
    of.record(says('a', [Add(7)]));
    let mut again = living(time_to_live);
    again.set_clock(60).restore(&stored);
    for key in ['a', 'b', 'c'] {
        again.record(says(key, [Look]));
    }
    let sums: Vec<_> = came(&mut again).iter().map(|it| it[..7].to_owned()).collect();
    assert_eq!(sums, ["a sum 2", "b sum 3", "c sum 0"], "an older clock brings nothing back");
    let mut again = living(time_to_live);
    again.set_clock(180).restore(&stored);
    again.record(says('a', [Look])).record(says('b', [Look]));
    let sums: Vec<_> = came(&mut again).iter().map(|it| it[..7].to_owned()).collect();
    assert_eq!(sums, ["a sum 0", "b sum 3"]);
    // And what was stored with a time to live needs one.
    let error = living(None).try_restore(&stored).unwrap_err().to_string();
    let text =
        "the state was stored with a time to live, and the process now runs without a time to live";
    assert_eq!(error, text);
    let mut of = living(None);
    of.record(says('a', [Add(1)]));
    let stored = of.snapshot(1);
    assert!(living(time_to_live).try_restore(&stored).is_err());
}

#[test]
fn u076_keys_that_are_not_used_any_more_go_and_the_others_stay() {
    let mut of = living(Some(TimeToLive::since_record(ms(10_000))));
    let key = |n: u32| char::from_u32(0x1_0000 + n).unwrap();
    for n in 0..10_000 {
        of.record(says(key(n), [Add(1)]));
    }
    assert_eq!(of.operator().keys(), 10_000);
    for second in 1..=20 {
        of.advance_processing_time(second * 1_000);
        for n in 0..10 {
            of.record(says(key(n), [Add(1)]));
        }
    }
    assert_eq!((of.operator().keys(), of.count("states expired")), (10, 9_990));
    // A timer a key, and no more.
    assert_eq!(set(&of, Processing), 10);
    // A key that is cleared leaves its timer behind, which brings nothing back.
    of.record(says(key(0), [Clear])).advance_processing_time(60_000);
    assert_eq!((of.operator().keys(), set(&of, Processing)), (0, 0));
}

#[test]
fn a_time_to_live_of_no_time_is_refused_when_the_stage_opens() {
    let error = living(Some(TimeToLive::since_use(Duration::ZERO))).try_open().unwrap_err();
    assert_eq!(error.to_string(), "the time to live of a key's state is less than a millisecond");
}
