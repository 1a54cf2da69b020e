//! Many operators, many tasks, a slow sink: nothing hangs, and what is queued is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::prelude::*;

#[actix::test]
async fn a_thousand_operators_in_a_row_pass_everything_on() {
    let flow = Dataflow::new("deep");
    let mut stream = flow.source("numbers", Items::from(0..100_000_u64)).boxed();
    for stage in 0..1_000 {
        stream = stream.rebalance(&format!("stage {stage}"));
    }
    let sum = stream.key_by(|_| 0_u8).at_end().fold("sum", (0, 0), |all, n| {
        *all = (all.0 + 1, all.1 + n);
    });
    let sum = sum.collect("out");
    flow.start(Settings::new()).await.unwrap().finished().await.unwrap();
    assert_eq!(sum.take(), [(0, (100_000, (0..100_000).sum()))]);
}

#[actix::test]
async fn two_hundred_tasks_on_one_arbiter_with_a_hundred_thousand_records_each() {
    const TASKS: u64 = 200;
    const EACH: u64 = 100_000;
    let flow = Dataflow::new("wide");
    let counts = flow
        .source("numbers", Generate::new(|n| n).records(TASKS * EACH).splits(TASKS))
        .parallelism(TASKS as usize)
        .map(|n| n % TASKS)
        .key_by(|key| *key)
        .at_end()
        .count("count")
        .collect("out");
    let settings = Settings::new().parallelism(1);
    flow.start(settings).await.unwrap().finished().await.unwrap();
    let mut counts = counts.take();
    counts.sort_unstable();
    assert_eq!(counts, (0..TASKS).map(|key| (key, EACH)).collect::<Vec<_>>());
}

/// A sink a thousand times slower than its source: it does the work of a thousand records for each.
#[actix::test]
async fn a_slow_sink_holds_the_source_back() {
    const RECORDS: u64 = 10_000_000;
    const TAKEN: u64 = 20_000;
    let flow = Dataflow::new("slow");
    let taken = Arc::new(AtomicU64::new(0));
    let given = Arc::new(AtomicU64::new(0));
    let (gives, takes) = (given.clone(), taken.clone());
    let _ = flow
        .source("numbers", Generate::new(|n| n).records(RECORDS))
        .inspect(move |_| {
            gives.fetch_add(1, Ordering::Relaxed);
        })
        .rebalance("middle")
        .for_each("slow", move |n: u64| {
            let work = (0..1_000).fold(n, |x, y| std::hint::black_box(x.wrapping_mul(31) ^ y));
            std::hint::black_box(work);
            takes.fetch_add(1, Ordering::Relaxed);
        });
    let job = flow.start(Settings::new()).await.unwrap();
    let limit = 4 * 1_024;
    while taken.load(Ordering::Relaxed) < TAKEN {
        tokio::task::yield_now().await;
        let ahead = given.load(Ordering::Relaxed) - taken.load(Ordering::Relaxed);
        // Two channels, and beside them what each of the three tasks holds of one batch.
        assert!(ahead <= 2 * limit + 3 * 2 * 1_024, "{ahead} records are under way");
    }
    let numbers = job.status().numbers;
    for stage in ["middle", "slow"] {
        let task = numbers.task(stage, 0).expect("the task is known");
        let peak = task.numbers.records_queued_peak;
        assert!(peak <= limit, "{peak} records were queued for {stage}");
    }
    job.cancel().await.unwrap();
}
