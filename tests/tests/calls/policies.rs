//! What becomes of calls that time out, fail or panic: the job fails, the record is dropped,
//! something stands in its place, or it leaves as a dead letter.

use std::sync::Arc;
use std::time::Duration;

use millstream::prelude::*;
use millstream::{CallError, Cause, DeadLetter};
use millstream_testkit::{ManualClock, run};

use crate::desk::{Bed, Desk, FAILED, Feed, at, came, idle, letters, ms, start};

/// The orders in which a stream without keys may go.
fn orders() -> [AsyncWait<u64, u64>; 2] {
    [AsyncWait::ordered(), AsyncWait::unordered()]
}

fn dead(input: u64, cause: Cause, attempts: u32) -> DeadLetter<u64> {
    DeadLetter { input, cause, attempts }
}

#[test]
fn a_record_whose_time_is_over_fails_the_job_unless_told_otherwise() {
    for wait in orders() {
        run(async {
            let bed = Bed::new(wait.timeout(ms(300))).await;
            bed.comes([1, 2]).await;
            bed.answers(1).await;
            bed.passes(299).await;
            assert_eq!((bed.came(), bed.desk.open()), (vec!["10".to_owned()], vec![2]));
            bed.passes(1).await;
            let (out, desk) = (bed.out.clone(), bed.desk.clone());
            let expected = format!("{FAILED}no answer within 300ms, after 1 call; the record is 2");
            assert_eq!(bed.failed().await, expected);
            assert_eq!((came(&out), desk.dropped()), (vec![], vec![2]));
        });
    }
}

#[test]
fn a_record_whose_time_is_over_is_dropped_and_the_next_one_has_its_place() {
    for wait in orders() {
        run(async {
            let wait = wait.capacity(1).timeout(ms(300)).on_timeout(OnFailure::Drop);
            let bed = Bed::new(wait).await;
            bed.comes([1, 2]).await;
            assert_eq!(bed.desk.open(), [1]);
            bed.passes(300).await;
            assert_eq!((bed.desk.open(), bed.desk.dropped()), (vec![2], vec![1]));
            bed.answers(2).await;
            assert_eq!(bed.letters.len(), 0);
            assert_eq!(bed.ends().await, ["20"]);
        });
    }
}

#[test]
fn a_fallback_stands_where_the_answer_would_have_stood() {
    run(async {
        let fallback = || OnFailure::fallback(|n: &u64| n + 100);
        let wait =
            AsyncWait::ordered().timeout(ms(300)).on_timeout(fallback()).on_error(fallback());
        let bed = Bed::new(wait).await;
        bed.feed.give_stamped([at(1, 10), at(2, 20), at(3, 30)]);
        idle().await;
        bed.answers(3).await;
        bed.fails(2).await;
        assert_eq!(bed.came(), [""; 0], "1 stands in front of both");
        bed.passes(300).await;
        assert_eq!(bed.ends().await, ["101@10", "102@20", "30@30"]);
    });
}

/// A dead letter has the time of its record, the cause, and how many calls were made.
#[test]
fn dead_letters_tell_the_cause_and_how_many_calls_were_made() {
    for wait in orders() {
        run(async {
            let to = OnFailure::dead_letter(&letters());
            let wait = wait
                .timeout(ms(300))
                .retry(Retry::fixed(ms(100)).max_retries(1))
                .on_timeout(to.clone())
                .on_error(to);
            let bed = Bed::new(wait).await;
            bed.feed.give_stamped([at(1, 10), at(2, 20), at(3, 30), at(4, 40)]);
            idle().await;
            // 1 never answers; 2 fails twice; 3 fails once and then never answers; 4 succeeds.
            bed.fails(2).await;
            bed.fails(3).await;
            bed.passes(100).await;
            assert_eq!(bed.desk.made(), [1, 2, 3, 4, 2, 3]);
            bed.fails(2).await;
            bed.answers(4).await;
            bed.passes(200).await;
            let timeout = Cause::Timeout(ms(300));
            let mut all = bed.dead();
            all.sort_by_key(|(letter, _)| letter.input);
            let expected = [
                (dead(1, timeout.clone(), 1), Some(10)),
                (dead(2, Cause::Error("no 2".to_owned()), 2), Some(20)),
                (dead(3, timeout, 2), Some(30)),
            ];
            assert_eq!(all, expected);
            assert_eq!(bed.desk.dropped(), [1, 3]);
            assert_eq!(bed.ends().await, ["40@40"]);
        });
    }
}

#[test]
fn dead_letters_that_nobody_reads_are_dropped_and_counted() {
    run(async {
        let (desk, clock) = (Desk::new(), ManualClock::new());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        let wait = AsyncWait::ordered().on_error(OnFailure::dead_letter(&letters()));
        let out = flow
            .source("numbers", Feed::of((0..100).map(Stamped::new)))
            .async_wait("call", wait, move |n| theirs.call(n))
            .collect("out");
        let job = start(&flow, &clock).await;
        idle().await;
        for n in 0..100 {
            if n % 10 == 0 { desk.fail(n, "no") } else { desk.answer(n, n) }
        }
        job.finished().await.unwrap();
        let expected: Vec<u64> = (0..100).filter(|n| n % 10 != 0).collect();
        assert_eq!(out.take(), expected);
        let numbers = job.status().numbers;
        assert_eq!(numbers.task("call", 0).unwrap().numbers.side_records_dropped, 10);
    });
}

/// Calls that panic: 1 while it is created, 2 while it is polled for the first time, 3 later.
fn panicking(desk: &Desk<u64>) -> impl Fn(u64) -> Calls + Clone + Send + 'static {
    let desk = desk.clone();
    move |n| {
        assert_ne!(n, 1, "no call");
        let desk = desk.clone();
        Box::pin(async move {
            assert_ne!(n, 2, "no poll");
            let answer = desk.call(n).await;
            assert_ne!(n, 3, "no answer");
            answer
        })
    }
}

type Calls = std::pin::Pin<Box<dyn Future<Output = Result<u64, Failure>>>>;

#[test]
fn a_panic_goes_the_way_of_an_error() {
    for wait in orders() {
        run(async {
            let desk = Desk::new();
            let wait = wait
                .on_error(OnFailure::dead_letter(&letters()))
                .retry(Retry::fixed(ms(1)).max_retries(5));
            let bed = Bed::calling(wait, desk.clone(), panicking(&desk)).await;
            bed.comes([1, 2, 3, 4]).await;
            bed.answers(3).await;
            bed.answers(4).await;
            bed.passes(10).await;
            let panic = |n: u64, message: &str| {
                let text = format!("assertion `left != right` failed: {message}");
                (dead(n, Cause::Panic(format!("{text}\n  left: {n}\n right: {n}")), 1), None)
            };
            let expected = [panic(1, "no call"), panic(2, "no poll"), panic(3, "no answer")];
            assert_eq!(bed.dead(), expected, "and none is called again");
            assert_eq!(bed.ends().await, ["40"]);
        });
    }
}

#[test]
fn a_call_that_panicked_is_made_again_where_that_is_asked_for() {
    for n in [1, 2, 3] {
        run(async {
            let desk = Desk::new();
            let wait = AsyncWait::ordered()
                .on_error(OnFailure::dead_letter(&letters()))
                .retry(Retry::fixed(ms(10)).max_retries(2))
                .retry_on_panic();
            let bed = Bed::calling(wait, desk.clone(), panicking(&desk)).await;
            bed.comes([n]).await;
            for _ in 0..3 {
                if n == 3 {
                    bed.answers(n).await;
                }
                bed.passes(10).await;
            }
            let letters = bed.dead();
            let [(letter, None)] = &letters[..] else { panic!("{letters:?}") };
            assert_eq!((letter.input, letter.attempts), (n, 3));
            assert_eq!(bed.ends().await, [""; 0]);
        });
    }
}

#[test]
fn the_text_of_a_panic_that_fails_the_job_says_where_and_about_what() {
    for (n, message) in [(1, "no call"), (2, "no poll")] {
        run(async {
            let desk = Desk::new();
            let bed = Bed::calling(AsyncWait::ordered(), desk.clone(), panicking(&desk)).await;
            bed.comes([n]).await;
            let panic = format!("assertion `left != right` failed: {message}");
            let expected = format!(
                "{FAILED}the call failed, after 1 call: panicked: {panic}\n  left: {n}\n \
                 right: {n}; the record is {n}"
            );
            assert_eq!(bed.failed().await, expected);
        });
    }
}

/// The error of a job whose stage `ask` fails in its second task, for the word of this text: once,
/// and once more when the input ends.
async fn fails_for(text: &str) -> JobError {
    let flow = Dataflow::new("words");
    let words = vec!["fine".to_owned(), text.to_owned()];
    let wait = AsyncWait::unordered().retry(Retry::fixed(ms(5)).max_retries(2));
    let out = flow
        .source("words", Items::from(words))
        .rebalance("spread")
        .parallelism(2)
        .async_wait("ask", wait, |word: String| async move {
            if word == "fine" {
                std::future::pending::<()>().await;
            }
            Err::<String, _>(Failure::new("not today"))
        })
        .parallelism(2)
        .collect("out");
    let settings = Settings::new().batch_records(1).clock(Arc::new(ManualClock::new()));
    let error = flow.start(settings).await.unwrap().finished().await.expect_err("not today");
    assert!(out.is_empty());
    error
}

#[test]
fn an_error_names_job_stage_task_calls_and_record() {
    run(async {
        let error = fails_for("mill").await;
        assert_eq!(
            error.to_string(),
            "task 1 of \"ask\" in job \"words\" failed: \
             the call failed, after 2 calls: not today; the record is \"mill\""
        );
        let JobError::Failed { failure, .. } = &error else { panic!("{error:?}") };
        let call: &CallError = failure.cause().downcast_ref().expect("it came from a call");
        let cause = Cause::Error("not today".to_owned());
        assert_eq!((call.attempts(), call.cause()), (2, &cause));
        let source = std::error::Error::source(call).expect("the error of the call itself");
        assert_eq!(source.to_string(), "not today");
    });
}

#[test]
fn of_a_long_record_an_error_shows_two_hundred_characters() {
    run(async {
        for length in [199, 10_000] {
            let error = fails_for(&"ä".repeat(length)).await.to_string();
            let (_, record) = error.split_once("the record is ").expect("it names the record");
            let shown = format!("\"{}…", "ä".repeat(199));
            assert_eq!(record, shown);
        }
        let error = fails_for(&"ä".repeat(198)).await.to_string();
        assert!(error.ends_with(&format!("the record is \"{}\"", "ä".repeat(198))), "{error}");
    });
}

#[test]
fn the_error_of_a_call_with_a_key_shows_the_key_and_the_record() {
    run(async {
        let (desk, clock) = (Desk::<u64>::new(), ManualClock::new());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        let keyed = flow.source("numbers", Feed::of([at(7, 0)])).key_by(|n| n % 3);
        let out = keyed
            .async_wait("call", AsyncWait::key_ordered(), move |n| theirs.call(n))
            .collect("out");
        let job = start(&flow, &clock).await;
        idle().await;
        desk.fail(7, "no 7");
        let error = job.finished().await.expect_err("it failed").to_string();
        let begin = format!("{FAILED}the call failed, after 1 call: no 7; the record is ");
        assert!(error.starts_with(&begin) && error.contains("key: 1, value: 7"), "{error}");
        assert!(out.is_empty());
    });
}

/// The value that a call of `retries` is about, with the milliseconds at which calls were made.
async fn made_at(retry: Retry, timeout: Option<Duration>, millis: u64) -> Vec<u64> {
    let to = OnFailure::dead_letter(&letters());
    let wait = AsyncWait::ordered().retry(retry).on_error(to.clone()).on_timeout(to);
    let wait = match timeout {
        Some(timeout) => wait.timeout(timeout),
        None => wait,
    };
    let bed = Bed::new(wait).await;
    bed.comes([1]).await;
    let (mut at, mut seen) = (Vec::new(), 0);
    for now in 0..=millis {
        let made = bed.desk.made().len();
        at.extend(std::iter::repeat_n(now, made - seen));
        seen = made;
        if !bed.desk.open().is_empty() {
            bed.fails(1).await;
        }
        bed.passes(1).await;
    }
    let letters = bed.dead();
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(letters[0].0.attempts as usize, at.len());
    assert_eq!(bed.ends().await, [""; 0]);
    at
}

#[test]
fn calls_are_made_again_after_delays_that_are_fixed_or_grow() {
    run(async {
        let fixed = Retry::fixed(ms(10)).max_retries(3);
        assert_eq!(made_at(fixed, None, 50).await, [0, 10, 20, 30]);
        let doubling = Retry::exponential(ms(10)).max_retries(4);
        assert_eq!(made_at(doubling, None, 200).await, [0, 10, 30, 70, 150]);
        let thrice = Retry::exponential(ms(10)).factor(3.0).max_delay(ms(50)).max_retries(4);
        assert_eq!(made_at(thrice, None, 200).await, [0, 10, 40, 90, 140]);
        // The time-out is over all calls, and ends a delay.
        let until_late = Retry::fixed(ms(10));
        assert_eq!(made_at(until_late, Some(ms(35)), 50).await, [0, 10, 20, 30]);
        // With jitter no delay is longer, none is nothing, and a seed is a row of delays.
        let jitter = |seed| Retry::fixed(ms(20)).jitter(0.5, seed).max_retries(6);
        let (one, other) =
            (made_at(jitter(1), None, 130).await, made_at(jitter(2), None, 130).await);
        assert!(one.windows(2).all(|two| (10..=20).contains(&(two[1] - two[0]))), "{one:?}");
        assert_ne!(one, other);
        assert_eq!(one, made_at(jitter(1), None, 130).await);
    });
}

#[test]
fn predicates_say_which_errors_and_which_answers_are_tried_again() {
    run(async {
        let wait = AsyncWait::ordered()
            .retry(Retry::fixed(ms(10)).max_retries(2))
            .retry_on_error(|failure| failure.to_string() == "no 1")
            .retry_on_answer(|answer| answer % 100 != 0)
            .on_error(OnFailure::dead_letter(&letters()));
        let bed = Bed::new(wait).await;
        bed.comes([1, 2, 3, 4]).await;
        bed.fails(1).await;
        bed.fails(2).await;
        bed.desk.answer(3, 301);
        bed.desk.answer(4, 400);
        idle().await;
        assert_eq!(bed.dead(), [], "2 is no letter before its turn");
        bed.passes(10).await;
        assert_eq!(bed.desk.open(), [1, 3], "2 and 4 are over");
        bed.answers(1).await;
        bed.desk.answer(3, 302);
        idle().await;
        bed.passes(10).await;
        assert_eq!(bed.desk.open(), [1, 3], "10 is an answer that is tried again");
        bed.desk.answer(3, 303);
        bed.fails(1).await;
        let letters = [
            (dead(1, Cause::Error("no 1".to_owned()), 3), None),
            (dead(2, Cause::Error("no 2".to_owned()), 1), None),
        ];
        assert_eq!(bed.dead(), letters);
        assert_eq!(bed.desk.made(), [1, 2, 3, 4, 1, 3, 1, 3]);
        assert_eq!(bed.ends().await, ["303", "400"], "the last answer stands");
    });
}

#[test]
fn a_predicate_that_panics_ends_the_job_and_names_the_task() {
    run(async {
        let wait = AsyncWait::ordered()
            .retry(Retry::fixed(ms(10)).max_retries(2))
            .retry_on_error(|_| panic!("undecided"));
        let bed = Bed::new(wait).await;
        bed.comes([1, 2]).await;
        bed.answers(1).await;
        assert_eq!(bed.came(), ["10"]);
        bed.fails(2).await;
        let out = bed.out.clone();
        let expected = r#"task 0 of "call" in job "calls" panicked after 2 records: undecided"#;
        assert_eq!(bed.failed().await, expected);
        assert!(out.is_empty());
    });
}
