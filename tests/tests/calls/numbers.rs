//! What the registry shows about the calls of a job: how many, since when, and how long they took.

use std::time::Duration;

use millstream::prelude::*;
use millstream_testkit::run;

use crate::desk::{Bed, ms};

/// How many latencies there are, the sum of all and the longest, in milliseconds.
fn latencies(bed: &Bed) -> (u64, u64, u64) {
    let numbers = bed.job.status().numbers;
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

#[test]
fn a_latency_lasts_until_the_answer_however_long_the_task_has_slept() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        run(async {
            let bed = Bed::new(wait).await;
            bed.comes([1, 2]).await;
            bed.passes(7).await;
            assert_eq!((latencies(&bed), oldest(&bed)), ((0, 0, 0), Some(7)));
            bed.answers(2).await;
            assert_eq!((latencies(&bed), oldest(&bed)), ((1, 7, 7), Some(7)));
            bed.passes(10).await;
            bed.answers(1).await;
            assert_eq!((latencies(&bed), oldest(&bed)), ((2, 24, 17), None));
            // Of a record that comes while the task sleeps too, it begins with its call.
            bed.passes(100).await;
            bed.comes([3]).await;
            bed.passes(5).await;
            assert_eq!(oldest(&bed), Some(5));
            bed.answers(3).await;
            assert_eq!(latencies(&bed), (3, 29, 17));
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
        assert_eq!((latencies(&bed), oldest(&bed)), ((0, 0, 0), Some(5)));
        bed.passes(10).await;
        bed.passes(3).await;
        bed.answers(1).await;
        assert_eq!((latencies(&bed), oldest(&bed)), ((1, 18, 18), Some(18)));
        bed.passes(32).await;
        assert_eq!((latencies(&bed), oldest(&bed)), ((2, 68, 50), None));
        assert_eq!(bed.ends().await, ["10"]);
    });
}
