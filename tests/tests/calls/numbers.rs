//! What the registry shows about the calls of a job: how many, since when, and how long they took.

use std::time::Duration;

use millstream::prelude::*;
use millstream_testkit::{ManualClock, run};

use crate::desk::{Bed, Desk, Feed, idle, letters, ms, start};

/// How many latencies there are, the sum of all and the longest, in milliseconds.
fn latencies(job: &Job) -> (u64, u64, u64) {
    let numbers = job.status().numbers;
    let latency = &numbers.stage("call").unwrap().numbers.calls.as_ref().unwrap().latency;
    let millis = |nanos| Duration::from_nanos(nanos).as_millis() as u64;
    (latency.count(), millis(latency.sum()), millis(latency.max()))
}

/// How long the oldest call has been out, in milliseconds.
fn oldest(bed: &Bed) -> Option<u64> {
    let numbers = bed.job.status().numbers;
    let oldest = numbers.stage("call").unwrap().numbers.calls.as_ref().unwrap().oldest_ns;
    oldest.map(|nanos| nanos / 1_000_000)
}

/// The numbers of the stage of calls, in a line.
fn numbers(job: &Job) -> String {
    let status = job.status();
    let calls = status.numbers.stage("call").and_then(|it| it.numbers.calls.clone()).unwrap();
    let counts = [
        ("out", calls.in_flight),
        ("queued", calls.queued),
        ("completed", calls.completed),
        ("attempts", calls.attempts),
        ("retries", calls.retries),
        ("time-outs", calls.timeouts),
        ("failures", calls.failures),
        ("dropped", calls.dropped),
        ("dead", calls.dead_letters),
    ];
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = some.map(|(name, count)| format!("{count} {name}")).collect();
    let oldest =
        calls.oldest_ns.map_or(String::new(), |ns| format!(", oldest {} ms", ns / 1_000_000));
    counts.join(", ") + &oldest
}

#[test]
fn a_latency_lasts_until_the_answer_however_long_the_task_has_slept() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        run(async {
            let bed = Bed::new(wait).await;
            bed.comes([1, 2]).await;
            bed.passes(7).await;
            assert_eq!((latencies(&bed.job), oldest(&bed)), ((0, 0, 0), Some(7)));
            bed.answers(2).await;
            assert_eq!((latencies(&bed.job), oldest(&bed)), ((1, 7, 7), Some(7)));
            bed.passes(10).await;
            bed.answers(1).await;
            assert_eq!((latencies(&bed.job), oldest(&bed)), ((2, 24, 17), None));
            // Of a record that comes while the task sleeps too, it begins with its call.
            bed.passes(100).await;
            bed.comes([3]).await;
            bed.passes(5).await;
            assert_eq!(oldest(&bed), Some(5));
            bed.answers(3).await;
            assert_eq!(latencies(&bed.job), (3, 29, 17));
            bed.ends().await;
        });
    }
}

#[test]
fn a_latency_is_over_all_calls_of_a_record_and_lasts_until_it_is_given_up() {
    run(async {
        let wait = AsyncWait::ordered()
            .timeout(ms(50))
            .retry(Retry::fixed(ms(10)).max_retries(1))
            .on_timeout(OnFailure::Drop);
        let bed = Bed::new(wait).await;
        bed.comes([1, 2]).await;
        bed.passes(5).await;
        bed.fails(1).await;
        assert_eq!((latencies(&bed.job), oldest(&bed)), ((0, 0, 0), Some(5)));
        bed.passes(10).await;
        bed.passes(3).await;
        bed.answers(1).await;
        assert_eq!((latencies(&bed.job), oldest(&bed)), ((1, 18, 18), Some(18)));
        bed.passes(32).await;
        assert_eq!((latencies(&bed.job), oldest(&bed)), ((2, 68, 50), None));
        assert_eq!(bed.ends().await, ["10"]);
    });
}

#[test]
fn a_stage_shows_what_is_out_what_waits_and_how_long_the_oldest_has() {
    run(async {
        let bed = Bed::new(AsyncWait::ordered().capacity(3)).await;
        assert_eq!(numbers(&bed.job), "");
        bed.comes([1, 2]).await;
        bed.passes(30).await;
        bed.comes([3, 4]).await;
        assert_eq!(numbers(&bed.job), "3 out, 3 queued, 3 attempts, oldest 30 ms");
        // An answer behind one that is open keeps its place, and the oldest is still out.
        bed.answers(2).await;
        assert_eq!(numbers(&bed.job), "2 out, 3 queued, 3 attempts, oldest 30 ms");
        bed.passes(20).await;
        assert_eq!(numbers(&bed.job), "2 out, 3 queued, 3 attempts, oldest 50 ms");
        bed.answers(1).await;
        // The fourth has come in.
        let both = "2 out, 2 queued, 2 completed, 4 attempts, oldest 20 ms";
        assert_eq!(numbers(&bed.job), both);
        bed.answers(3).await;
        assert_eq!(numbers(&bed.job), "1 out, 1 queued, 3 completed, 4 attempts, oldest 0 ms");
        bed.answers(4).await;
        assert_eq!(numbers(&bed.job), "4 completed, 4 attempts");
        // 0, 20, 30 and 50 ms.
        assert_eq!(latencies(&bed.job), (4, 100, 50));
        bed.ends().await;
    });
}

#[test]
fn each_way_in_which_a_record_ends_is_counted() {
    run(async {
        let wait = AsyncWait::unordered()
            .timeout(ms(100))
            .retry(Retry::fixed(ms(10)).max_retries(1))
            .on_error(OnFailure::dead_letter(&letters()))
            .on_timeout(OnFailure::Drop);
        let bed = Bed::new(wait).await;
        bed.comes([1, 2, 3]).await;
        bed.answers(1).await;
        bed.fails(2).await;
        // A record that waits for its next call is out.
        assert_eq!(numbers(&bed.job), "2 out, 2 queued, 1 completed, 3 attempts, oldest 0 ms");
        bed.passes(10).await;
        let again = "2 out, 2 queued, 1 completed, 4 attempts, 1 retries, oldest 10 ms";
        assert_eq!(numbers(&bed.job), again);
        bed.fails(2).await;
        let dead = "1 out, 1 queued, 1 completed, 4 attempts, 1 retries, 1 failures, 1 dead";
        assert_eq!(numbers(&bed.job), format!("{dead}, oldest 10 ms"));
        bed.passes(90).await;
        let all = "1 completed, 4 attempts, 1 retries, 1 time-outs, 1 failures, 1 dropped, 1 dead";
        assert_eq!(numbers(&bed.job), all);
        assert_eq!(latencies(&bed.job), (3, 110, 100));
        bed.ends().await;
    });
}

#[test]
fn each_task_has_numbers_of_its_own_and_a_stage_has_those_of_all() {
    run(async {
        let (feed, clock, desk) = (Feed::default(), ManualClock::new(), Desk::<u64>::new());
        let flow = Dataflow::new("calls");
        let theirs = desk.clone();
        flow.source("numbers", feed.clone())
            .key_by(|n| *n)
            .async_wait("call", AsyncWait::key_ordered(), move |n| theirs.call(n))
            .parallelism(3)
            .for_each("out", |_| ());
        let job = start(&flow, &clock).await;
        feed.give(0..30);
        idle().await;
        assert_eq!(numbers(&job), "30 out, 30 queued, 30 attempts, oldest 0 ms");
        let status = job.status();
        let tasks = status.numbers.tasks.iter().filter(|task| task.stage == "call");
        let each: Vec<u64> =
            tasks.map(|task| task.numbers.calls.as_ref().unwrap().attempts).collect();
        assert_eq!((each.len(), each.iter().sum::<u64>()), (3, 30));
        assert!(each.iter().all(|attempts| *attempts > 0), "{each:?}");
        (0..30).for_each(|n| desk.answer(n, n));
        feed.end();
        job.finished().await.unwrap();
        assert_eq!(numbers(&job), "30 completed, 30 attempts");
        // A task without calls has none of these.
        assert!(job.status().numbers.stage("out").unwrap().numbers.calls.is_none());
    });
}

#[test]
fn calls_that_are_ready_at_once_are_counted_as_well() {
    run(async {
        let flow = Dataflow::new("calls");
        flow.source("numbers", Items::from(0..1_000_u64))
            .async_wait("call", AsyncWait::ordered(), |n| async move { Ok(n) })
            .for_each("out", |_| ());
        let job = start(&flow, &ManualClock::new()).await;
        job.finished().await.unwrap();
        assert_eq!(numbers(&job), "1000 completed, 1000 attempts");
        assert_eq!(latencies(&job), (1_000, 0, 0));
    });
}
