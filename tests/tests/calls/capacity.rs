//! No more calls are out than a stage has room for; what finds none waits in the input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Clock, SystemClock};
use millstream_testkit::{ManualClock, SimulatedClock, run, run_on_threads};
use serde::{Deserialize, Serialize};

use crate::desk::{Bed, Desk, Feed, came, idle, ms, start};

#[test]
fn no_more_calls_are_out_than_there_is_room_for() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        for capacity in [1, 2, 7] {
            let wait = wait.clone();
            run(async move {
                let bed = Bed::new(wait.capacity(capacity)).await;
                bed.comes(0..30).await;
                for n in 0..30 {
                    let out: Vec<u64> = (n..30).take(capacity).collect();
                    assert_eq!(bed.desk.open(), out);
                    bed.answers(n).await;
                    assert_eq!(bed.came(), [(n * 10).to_string()]);
                }
                assert_eq!(bed.desk.peak(), capacity);
                assert_eq!(bed.ends().await, [""; 0]);
            });
        }
    }
}

#[test]
fn a_stage_in_the_order_of_keys_has_no_more_calls_out_either() {
    run(async {
        let (desk, feed, clock) = (Desk::new(), Feed::default(), ManualClock::new());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        let wait = AsyncWait::key_ordered().capacity(4).per_key(2);
        let keyed = flow.source("numbers", feed.clone()).key_by(|n| n % 3);
        let out = keyed.async_wait("call", wait, move |n| theirs.call(n)).collect("out");
        let job = start(&flow, &clock).await;
        // Three of key 0 and one of key 1 take all four places; two of key 0 are called.
        feed.give([0, 3, 6, 1, 2]);
        idle().await;
        assert_eq!(desk.open(), [0, 3, 1]);
        desk.answer(3, 30);
        idle().await;
        assert_eq!((desk.open(), out.len()), (vec![0, 1, 6], 0), "3 waits for 0, and 6 is called");
        desk.answer(1, 10);
        idle().await;
        assert_eq!((desk.open(), came(&out)), (vec![0, 6, 2], vec!["10".to_owned()]));
        desk.answer(0, 0);
        desk.answer(6, 60);
        idle().await;
        assert_eq!(came(&out), ["0", "30", "60"]);
        feed.end();
        desk.answer(2, 20);
        job.finished().await.unwrap();
        assert_eq!((came(&out), desk.peak()), (vec!["20".to_owned()], 3));
    });
}

/// A finished result that has to wait keeps its place; one that may go makes room at once.
#[test]
fn a142_a_result_that_waits_keeps_its_place_and_one_that_went_makes_room() {
    run(async {
        let bed = Bed::new(AsyncWait::ordered().capacity(2)).await;
        bed.comes([1, 2, 3]).await;
        bed.answers(2).await;
        assert_eq!((bed.came(), bed.desk.open()), (vec![], vec![1]), "3 is not called");
        bed.answers(1).await;
        assert_eq!((bed.came(), bed.desk.open()), (vec!["10".into(), "20".into()], vec![3]));
        bed.answers(3).await;
        assert_eq!(bed.ends().await, ["30"]);

        let bed = Bed::new(AsyncWait::unordered().capacity(2)).await;
        bed.comes([1, 2, 3]).await;
        bed.answers(2).await;
        assert_eq!((bed.came(), bed.desk.open()), (vec!["20".to_owned()], vec![1, 3]));
        // Without a policy a call that fails ends the job.
        bed.desk.fail(3, "no 3");
        let (out, error) = (bed.out.clone(), bed.failed().await);
        assert!(error.ends_with("the call failed, after 1 call: no 3; the record is 3"), "{error}");
        assert_eq!(came(&out), [""; 0]);
    });
}

/// Nothing holds a result of one key up for another key.
#[test]
fn a_result_goes_out_although_an_older_one_of_another_key_is_open() {
    run(async {
        let (desk, clock) = (Desk::new(), ManualClock::new());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        // Three of key 1, then one of key 2.
        let feed = Feed::of([11, 21, 31, 12].map(Stamped::new));
        let wait = AsyncWait::key_ordered().capacity(4);
        let keyed = flow.source("numbers", feed).key_by(|n| n % 10);
        let out = keyed.async_wait("call", wait, move |n| theirs.call(n)).collect("out");
        let job = start(&flow, &clock).await;
        idle().await;
        assert_eq!(desk.open(), [11, 12], "one of each key");
        desk.answer(12, 12);
        idle().await;
        assert_eq!((came(&out), desk.open()), (vec!["12".to_owned()], vec![11]));
        for n in [11, 21, 31] {
            assert_eq!(desk.open(), [n]);
            desk.answer(n, n);
            idle().await;
            assert_eq!(came(&out), [n.to_string()]);
        }
        job.finished().await.unwrap();
    });
}

#[test]
fn what_is_out_weighs_no_more_than_it_may() {
    run(async {
        let wait = AsyncWait::unordered().weight(10, |n: &u64| *n as usize);
        let bed = Bed::new(wait).await;
        bed.comes([4, 5, 2, 1, 25, 3]).await;
        assert_eq!(bed.desk.open(), [4, 5], "2 would be too much, and nothing overtakes it");
        bed.answers(5).await;
        assert_eq!(bed.desk.open(), [4, 2, 1]);
        bed.answers(4).await;
        bed.answers(1).await;
        assert_eq!(bed.desk.open(), [2], "25 is heavier than all that may be, and waits");
        bed.answers(2).await;
        assert_eq!(bed.desk.open(), [25], "it is called alone");
        bed.answers(25).await;
        assert_eq!(bed.desk.open(), [3]);
        bed.answers(3).await;
        assert_eq!(bed.ends().await, ["50", "40", "10", "20", "250", "30"]);
    });
}

/// What weighs nothing is only counted.
#[test]
fn weights_of_zero_leave_the_number_of_calls() {
    run(async {
        let wait = AsyncWait::ordered().capacity(3).weight(1, |_: &u64| 0);
        let bed = Bed::new(wait).await;
        bed.comes(1..=5).await;
        assert_eq!(bed.desk.open(), [1, 2, 3]);
        for n in 1..=5 {
            bed.answers(n).await;
        }
        assert_eq!(bed.ends().await, ["10", "20", "30", "40", "50"]);
    });
}

/// A source that could go on for ever makes no more than there is room for.
#[test]
fn the_input_waits_as_far_as_its_source() {
    run(async {
        let (desk, clock) = (Desk::<u64>::new(), ManualClock::new());
        let (theirs, made) = (desk.clone(), Arc::new(AtomicU64::new(0)));
        let count = made.clone();
        let flow = Dataflow::new("calls");
        let numbers = Generate::new(move |n| {
            count.fetch_add(1, Ordering::Relaxed);
            n
        });
        let wait = AsyncWait::unordered().capacity(5);
        let out = flow
            .source("numbers", numbers)
            .async_wait("call", wait, move |n| theirs.call(n))
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock)).credits(2).batch_records(10);
        let job = flow.start(settings).await.unwrap();
        idle().await;
        let then = made.load(Ordering::Relaxed);
        // Two batches with credit, and one that the source has in its hands.
        assert!((5..=30).contains(&then), "{then} were made for 5 calls");
        for n in 0..100 {
            desk.answer(n, n);
            idle().await;
            let now = made.load(Ordering::Relaxed);
            assert!(now <= then + n + 10, "{now} were made for {n} answers");
        }
        assert_eq!((desk.open(), desk.peak()), ((100..105).collect(), 5));
        job.cancel().await.unwrap();
        assert_eq!(out.take(), (0..100).collect::<Vec<_>>());
        assert_eq!(desk.dropped(), (100..105).collect::<Vec<_>>());
    });
}

static CLONES: AtomicU64 = AtomicU64::new(0);

/// Counts its clones.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Doubled(u64);

impl Clone for Doubled {
    fn clone(&self) -> Self {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

/// How often the inputs of a hundred calls are cloned that answer at once, or after a while.
fn clones(wait: &AsyncWait<Doubled, u64>, at_once: bool) -> u64 {
    let before = CLONES.load(Ordering::Relaxed);
    let clock = ManualClock::new();
    run(async {
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", Items::from(0..100_u64))
            .map(Doubled)
            .async_wait("call", wait.clone(), move |n: Doubled| async move {
                if !at_once {
                    tokio::task::yield_now().await;
                }
                Ok(n.0)
            })
            .collect("out");
        start(&flow, &clock).await.finished().await.unwrap();
        assert_eq!(out.take(), (0..100).collect::<Vec<_>>());
    });
    CLONES.load(Ordering::Relaxed) - before
}

/// All in one test: the count is one for the whole process.
#[test]
fn an_input_is_cloned_if_something_may_need_it_once_more_and_else_not() {
    for at_once in [true, false] {
        let dropped = AsyncWait::ordered().on_error(OnFailure::Drop);
        assert_eq!(clones(&dropped, at_once), 0, "{at_once}");
        let timed = dropped.clone().timeout(ms(1)).on_timeout(OnFailure::Drop);
        assert_eq!(clones(&timed, at_once), 0, "{at_once}");
        let retried = dropped.clone().retry(Retry::fixed(ms(1)).max_retries(1));
        assert_eq!(clones(&retried, at_once), 100, "{at_once}");
        let named = AsyncWait::ordered();
        assert_eq!(clones(&named, at_once), 100, "the text of an error, {at_once}");
        let told = dropped.clone().timeout(ms(1));
        assert_eq!(clones(&told, at_once), 100, "the text of a time-out, {at_once}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_at_the_start_and_each_is_told() {
    run(async {
        let zero = AsyncWait::ordered().capacity(0);
        let none = AsyncWait::unordered().timeout(ms(0));
        let endless = AsyncWait::unordered().retry(Retry::fixed(ms(1)));
        let keyed = AsyncWait::key_ordered();
        let flow = Dataflow::new("calls");
        let numbers = flow.source("numbers", Feed::of([]));
        let out = numbers
            .async_wait("zero", zero, |n| async move { Ok(n) })
            .async_wait("none", none, |n| async move { Ok(n) })
            .async_wait("endless", endless, |n| async move { Ok(n) })
            .async_wait("keyed", keyed, |n: u64| async move { Ok(n) })
            .key_by(|n| n % 2)
            .async_wait("keys", AsyncWait::key_ordered().per_key(0), |n| async move { Ok(n) })
            .async_wait("weight", AsyncWait::ordered().weight(0, |_| 1), |n| async move { Ok(n) })
            .async_wait("keyless", AsyncWait::ordered().per_key(2), |n| async move { Ok(n) })
            .collect("out");
        let error = flow.start(Settings::new()).await.err().expect("seven faults").to_string();
        let faults: Vec<&str> = error.lines().skip(1).map(str::trim).collect();
        let zero = |stage: &str, what: &str| {
            let why = "with which nothing could happen: leave it out for none";
            format!("stage {stage:?}: the {what} is zero, {why}")
        };
        let mut expected = vec![
            zero("zero", "capacity"),
            zero("none", "timeout"),
            r#"stage "endless": retries without an end: give a timeout or max_retries"#.to_owned(),
            r#"stage "keyed" is key-ordered, and its stream has no keys: use `key_by` before it"#
                .to_owned(),
            zero("keys", "calls of one key"),
            zero("weight", "weight"),
            r#"stage "keyless": per_key is for calls in the order of keys: begin with "#.to_owned()
                + "AsyncWait::key_ordered",
        ];
        let mut told: Vec<String> = faults.iter().map(|it| (*it).to_owned()).collect();
        told.sort();
        expected.sort();
        assert_eq!(told, expected);
        assert!(out.is_empty());
    });
}

/// Whatever the numbers are: they are limits that are never reached.
#[test]
fn the_greatest_of_all_settings_is_as_good_as_none() {
    for simulated in [true, false] {
        let body = async move {
            let retry = Retry::exponential(Duration::MAX).factor(f64::MAX).jitter(1.0, 7);
            let all = |wait: AsyncWait<u64, u64>| {
                wait.capacity(usize::MAX)
                    .weight(usize::MAX, |_: &u64| usize::MAX)
                    .timeout(Duration::MAX)
                    .retry(retry.clone().max_retries(u32::MAX))
            };
            let flow = Dataflow::new("calls");
            let call = async |n: u64| {
                if n.is_multiple_of(3) {
                    tokio::task::yield_now().await;
                }
                if n == 5 { Err(Failure::new("no")) } else { Ok(n * 10) }
            };
            let ended = |wait: AsyncWait<u64, u64>| {
                all(wait).on_error(OnFailure::fallback(|n: &u64| n + 1_000))
            };
            let [one, two] = flow.source("numbers", Items::from(0..6_u64)).fork();
            let ordered = one.async_wait("ordered", ended(AsyncWait::ordered()), call);
            let ordered = ordered.collect("out");
            let by_key = AsyncWait::key_ordered().per_key(usize::MAX);
            let keyed = two.key_by(|n| n % 2);
            let keyed = keyed.async_wait("keyed", ended(by_key), call);
            let keyed = keyed.collect("keyed out");
            let clock: Arc<dyn Clock> = match simulated {
                true => Arc::new(SimulatedClock::new()),
                false => Arc::new(SystemClock::new()),
            };
            flow.start(Settings::new().clock(clock)).await.unwrap().finished().await.unwrap();
            let expected = [0, 10, 20, 30, 40, 1_005];
            assert_eq!((ordered.take(), keyed.take()), (expected.into(), expected.into()));
        };
        if simulated { run(body) } else { run_on_threads(body) }
    }
}
