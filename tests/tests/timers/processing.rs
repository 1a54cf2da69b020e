//! Timers that go by the clock on the wall.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use millstream::JobError;
use millstream::TimerDomain::Processing;
use millstream::prelude::*;
use millstream_testkit::{Feed, ManualClock, Simulation, run};

use crate::bed::{Alarms, Bed, Say as Tell, idle};
use crate::reminders::{Say, reminders};

const HOUR: i64 = 3_600_000;

fn set(key: u64, at: i64) -> (u64, Tell) {
    (key, Tell::Set(Processing, at))
}

fn delete(key: u64, at: i64) -> (u64, Tell) {
    (key, Tell::Delete(Processing, at))
}

#[test]
fn t016_of_five_timers_one_wake_up_is_armed_that_of_the_earliest() {
    run(async {
        let bed = Bed::new().await;
        bed.says([set(1, 10), set(1, 20), set(1, 30), set(2, 10), set(2, 20)]).await;
        assert_eq!(bed.armed(), Some(10));
        let mut fired = bed.shows(10).await;
        fired.sort();
        assert_eq!((fired, bed.armed()), (vec!["1:10".into(), "2:10".into()], Some(20)));
        let mut fired = bed.shows(20).await;
        fired.sort();
        assert_eq!((fired, bed.armed()), (vec!["1:20".into(), "2:20".into()], Some(30)));
        assert_eq!((bed.shows(30).await, bed.armed()), (vec!["1:30".to_owned()], None));
        bed.says([set(1, 40)]).await;
        assert_eq!(bed.armed(), Some(40));
        bed.feed.end();
        bed.job.finished().await.unwrap();
        assert!(bed.out.is_empty(), "what is pending at the end is dropped");
    });
}

#[test]
fn t017_an_earlier_timer_takes_the_place_of_the_wake_up_that_was_armed() {
    run(async {
        let bed = Bed::new().await;
        bed.says([set(1, 20)]).await;
        assert_eq!(bed.armed(), Some(20));
        bed.says([set(1, 10)]).await;
        assert_eq!(bed.armed(), Some(10));
        assert_eq!(bed.shows(30).await, ["1:10+20", "1:20+10"]);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn t019_a_wake_up_for_a_timer_that_was_deleted_finds_nothing_and_arms_the_next() {
    run(async {
        let bed = Bed::new().await;
        bed.says([set(1, 10), set(1, 20)]).await;
        bed.says([delete(1, 10)]).await;
        assert_eq!(bed.armed(), Some(10), "the wake-up stays");
        assert_eq!(bed.shows(10).await, Vec::<String>::new());
        assert_eq!(bed.armed(), Some(20));
        assert_eq!((bed.shows(20).await, bed.armed()), (vec!["1:20".to_owned()], None));
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn t020_a_callback_that_sets_the_next_timer_leaves_one_wake_up_armed() {
    run(async {
        let bed = Bed::new().await;
        bed.says([(1, Tell::Every(10, 10))]).await;
        assert_eq!((bed.shows(10).await, bed.armed()), (vec!["1:10".to_owned()], Some(20)));
        assert_eq!((bed.shows(20).await, bed.armed()), (vec!["1:20".to_owned()], Some(30)));
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn a_timer_fires_at_the_first_instant_that_is_not_before_it_and_an_overdue_one_at_once() {
    run(async {
        let bed = Bed::new().await;
        bed.shows(1_000).await;
        bed.says([set(1, 1_010), set(1, 1_000), set(1, 999), set(1, -5), set(1, i64::MIN + 1)])
            .await;
        let fired = bed.out.take();
        let lates: Vec<_> = fired.iter().map(|it| it.split_once('+').map(|(it, _)| it)).collect();
        assert_eq!(lates[..3], [Some("1:-9223372036854775807"), Some("1:-5"), Some("1:999")]);
        assert_eq!(fired[1..], ["1:-5+1005", "1:999+1", "1:1000"]);
        assert_eq!(bed.armed(), Some(1_010));
        assert_eq!(bed.shows(1_009).await, Vec::<String>::new());
        assert_eq!(bed.shows(1_010).await, ["1:1010"]);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn u042_long_timers_are_as_others_and_a_sleep_is_cut_into_slices() {
    run(async {
        let bed = Bed::new().await;
        let days = |days: i64| days * 24 * HOUR;
        bed.says([set(1, days(180)), set(1, days(49)), set(1, days(50)), set(1, i64::MAX)]).await;
        assert_eq!(bed.armed(), Some(30_000), "the wall is looked at each 30 s");
        assert_eq!(bed.shows(days(49) - 1).await, Vec::<String>::new());
        assert_eq!(bed.shows(days(49)).await, [format!("1:{}", days(49))]);
        assert_eq!(bed.shows(days(50)).await, [format!("1:{}", days(50))]);
        assert_eq!(bed.shows(days(200)).await, [format!("1:{}+{}", days(180), days(20))]);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn u058_a_wall_that_jumps_forward_fires_what_is_due_within_a_slice_and_back_nothing_twice() {
    run(async {
        let bed = Bed::new().await;
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        bed.says((1..=20).map(|n| set(n, n as i64 * HOUR / 3))).await;
        bed.clock.set_wall(at(8 * HOUR));
        idle().await;
        assert!(bed.out.is_empty(), "nobody has looked");
        bed.clock.advance(Duration::from_secs(30));
        idle().await;
        let fired = bed.out.take();
        assert_eq!(fired.len(), 20);
        assert!(fired[0].starts_with("1:1200000+") && fired[19].starts_with("20:24000000+"));
        bed.says([set(1, 9 * HOUR)]).await;
        bed.clock.set_wall(at(7 * HOUR));
        bed.clock.advance(Duration::from_secs(30));
        idle().await;
        assert!(bed.out.is_empty(), "it is 7 o'clock again");
        bed.clock.set_wall(at(9 * HOUR - 1));
        bed.clock.advance(Duration::from_millis(1));
        idle().await;
        assert!(bed.out.is_empty(), "the next look is within a slice");
        bed.clock.advance(Duration::from_secs(30));
        idle().await;
        assert_eq!(bed.out.take(), [format!("1:{}+30000", 9 * HOUR)]);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn u038_ten_thousand_timers_of_one_instant_fire_once_each() {
    run(async {
        let bed = Bed::new().await;
        bed.says((0..10_000).map(|key| set(key, 5))).await;
        let mut fired = bed.shows(5).await;
        fired.sort();
        let mut due: Vec<_> = (0..10_000).map(|key| format!("{key}:5")).collect();
        due.sort();
        assert_eq!((fired, bed.armed()), (due, None));
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn u059_timers_that_never_cease_do_not_keep_the_input_waiting_nor_the_input_them() {
    run(async {
        let bed = Bed::with(Settings::new().turn_records(16)).await;
        // Always due: each sets the next one a millisecond later, far in the past.
        bed.says([]).await;
        bed.shows(1_000_000_000).await;
        bed.feed.give([(1, Tell::Every(0, 1))]);
        bed.feed.give((2..5_000).map(|key| set(key, 5)));
        let key = |text: &String| text.split_once(':').unwrap().0.parse::<u64>().unwrap();
        let mut seen = Vec::new();
        // The thread is never idle, so no time passes.
        while !seen.iter().any(|it| key(it) == 4_999) {
            assert!(seen.len() < 1_000_000, "the input waits");
            tokio::task::yield_now().await;
            seen.extend(bed.out.take());
        }
        assert!(seen.iter().filter(|it| key(it) == 1).count() > 10);
        bed.job.cancel().await.unwrap();
    });
}

#[test]
fn u061_after_a_cancel_nothing_fires_and_no_wake_up_is_armed() {
    run(async {
        let bed = Bed::new().await;
        bed.says((0..100).map(|key| set(key, 10 + key as i64))).await;
        bed.job.cancel().await.unwrap();
        assert_eq!(bed.armed(), None);
        assert_eq!(bed.shows(1_000).await, Vec::<String>::new());
    });
}

#[test]
fn a_failure_takes_the_timers_with_it() {
    run(async {
        let bed = Bed::new().await;
        bed.says([set(1, 10), (1, Tell::Fail)]).await;
        let error = bed.job.finished().await.unwrap_err();
        assert!(
            matches!(&error, JobError::Failed { task, .. } if &*task.stage == "say"),
            "{error}"
        );
        assert_eq!(bed.armed(), None);
    });
}

#[test]
fn the_same_timers_fire_in_every_order_of_events() {
    let says: Vec<_> = (0..60)
        .map(|n: u64| match n % 4 {
            3 => delete(n % 7, 5 + (n % 3) as i64),
            _ => set(n % 7, 5 + (n % 3) as i64),
        })
        .collect();
    let mut due = BTreeSet::new();
    for (key, say) in &says {
        match say {
            Tell::Set(_, at) => due.insert((*at, *key)),
            Tell::Delete(_, at) => due.remove(&(*at, *key)),
            Tell::Every(..) | Tell::Fail => unreachable!(),
        };
    }
    let due: Vec<_> = due.into_iter().map(|(at, key)| format!("{key}:{at}")).collect();
    for seed in 0..200 {
        let limits = Settings::new().credits(1).batch_records(2).timer_batch(2).timer_edits(3);
        let says = says.clone();
        let run = Simulation::of(seed).settings(limits).run(|flow| {
            flow.source("say", Items::from(says))
                .key_by(|(key, _): &(u64, Tell)| *key)
                .operator("alarms", |_: &_| Alarms { fires_at_end: true })
                .collect("out")
        });
        run.outcome.unwrap();
        let mut fired = run.built.take();
        assert!(fired.is_sorted_by_key(|it| it.split_once(':').unwrap().1.to_owned()), "{fired:?}");
        fired.sort_by_key(|it| it.split_once(':').map(|(key, at)| (at.to_owned(), key.to_owned())));
        assert_eq!(fired, due, "seed {seed}");
    }
}

#[test]
fn the_example_of_reminders_reminds_twice_and_not_of_what_is_done() {
    run(async {
        let (flow, feed, clock) = (Dataflow::new("reminders"), Feed::new(), ManualClock::new());
        let out = reminders(flow.source("said", feed.clone())).collect("out");
        let job = flow.start(Settings::new().clock(Arc::new(clock.clone()))).await.unwrap();
        let passes = async |seconds| {
            clock.advance(Duration::from_secs(seconds));
            idle().await;
            out.take()
        };
        let remind = |seconds| Say::Remind(Duration::from_secs(seconds));
        let says = [("gate", remind(10)), ("mill", remind(20)), ("wheel", remind(100))];
        feed.give(says.map(|(thing, say)| (thing.to_owned(), say)));
        idle().await;
        assert_eq!(passes(9).await, [""; 0]);
        assert_eq!(passes(1).await, ["remember: gate"]);
        // What is said again takes the place of what was said before.
        feed.give([("mill".to_owned(), remind(30))]);
        idle().await;
        assert_eq!(passes(29).await, [""; 0]);
        assert_eq!(passes(1).await, ["remember: mill"]);
        feed.give(["mill", "wheel"].map(|thing| (thing.to_owned(), Say::Done)));
        idle().await;
        assert_eq!(passes(30).await, ["really, remember: gate"]);
        assert_eq!(passes(1_000).await, [""; 0]);
        feed.end();
        job.finished().await.unwrap();
    });
}
