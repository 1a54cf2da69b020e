//! Proves that a test fails when an actor outlives it or nothing can happen any more, and not else.

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use millstream::prelude::*;
use millstream_core::{Clock, Moment};
use millstream_runtime::{actix_rt, census};
use millstream_testkit::{ManualClock, SimulatedClock, run, run_on_threads, run_within, until};

/// A flow that never ends: a number a second.
fn endless() -> Dataflow {
    let flow = Dataflow::new("endless");
    let numbers = Generate::new(|n| n).per_second(NonZeroU64::MIN);
    let _ = flow.source("numbers", numbers).rebalance("exchange").collect("out");
    flow
}

fn simulated() -> Settings {
    Settings::new().clock(Arc::new(SimulatedClock::new()))
}

/// The words with which a test fails; none if it does not.
fn failure(test: impl FnOnce()) -> String {
    match catch_unwind(AssertUnwindSafe(test)) {
        Ok(()) => String::new(),
        Err(words) => words.downcast::<String>().map(|words| *words).unwrap_or_default(),
    }
}

#[test]
fn a_job_that_is_left_running_fails_the_test_with_its_tasks() {
    let said = failure(|| {
        run(async {
            endless().start(simulated()).await.unwrap();
        });
    });
    for stage in ["numbers", "exchange", "out"] {
        let task = format!("task 0 of \"{stage}\" in job \"endless\"");
        assert!(said.contains(&task), "{said}");
    }
}

#[test]
fn a_job_that_is_cancelled_or_has_finished_leaves_nothing() {
    run(async {
        let job = endless().start(simulated()).await.unwrap();
        assert_eq!(census().len(), 3);
        job.cancel().await.unwrap();
        assert_eq!(census(), []);
        let job = endless().start(simulated()).await.unwrap();
        job.drain().await.unwrap();
        assert_eq!(census(), []);
    });
}

#[test]
fn a_job_that_is_left_running_on_threads_fails_the_test_too() {
    let said = failure(|| {
        run_on_threads(async {
            let workers = Workers::Own(2.try_into().unwrap());
            endless().start(Settings::new().workers(workers)).await.unwrap();
        });
    });
    assert!(said.contains("\"numbers\""), "{said}");
    run_on_threads(async {
        let workers = Workers::Own(2.try_into().unwrap());
        let job = endless().start(Settings::new().workers(workers)).await.unwrap();
        job.cancel().await.unwrap();
    });
}

#[test]
fn a_body_that_hangs_fails_at_once_in_simulated_time() {
    let said = failure(|| run(std::future::pending()));
    assert!(said.contains("the body has not ended after 2592000s"), "{said}");
}

#[test]
fn a_job_that_goes_on_longer_than_its_test_is_told() {
    let said = failure(|| {
        run_within(Duration::from_secs(5), async {
            let job = endless().start(simulated()).await.unwrap();
            let _ = job.finished().await;
        });
    });
    assert!(said.contains("after 5s") && said.contains("\"exchange\""), "{said}");
}

#[test]
fn a_body_that_panics_says_what_it_said() {
    let caught = catch_unwind(|| {
        run(async {
            let _job = endless().start(simulated()).await.unwrap();
            panic!("by itself");
        });
    });
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"by itself"));
}

#[test]
fn a_job_that_is_cancelled_by_its_handle_is_waited_for() {
    run(async {
        drop(endless().start(simulated()).await.unwrap().cancel_on_drop());
        until(|| census().is_empty()).await;
    });
}

#[test]
fn a_manual_clock_drives_a_job_on_several_arbiters() {
    let clock = ManualClock::new();
    run_on_threads(async {
        let flow = Dataflow::new("ticks");
        let numbers = Generate::new(|n| n).per_second(10.try_into().unwrap()).splits(2);
        let ticks = flow.source("numbers", numbers).parallelism(2).collect("ticks");
        let settings = Settings::new()
            .workers(Workers::Own(2.try_into().unwrap()))
            .clock(Arc::new(clock.clone()));
        let job = flow.start(settings).await.unwrap();
        for second in 1..=3 {
            clock.advance(Duration::from_secs(1));
            until(|| ticks.len() == 10 * second).await;
        }
        assert_eq!(clock.monotonic(), Moment::ZERO.plus(Duration::from_secs(3)));
        job.drain().await.unwrap();
    });
}

#[test]
fn tests_that_run_side_by_side_do_not_see_each_others_tasks() {
    let other = std::thread::spawn(|| {
        run(async {
            let job = endless().start(simulated()).await.unwrap();
            std::thread::yield_now();
            let seen = census().len();
            job.cancel().await.unwrap();
            seen
        })
    });
    run(async {
        for _ in 0..100 {
            assert_eq!(census(), []);
            actix_rt::task::yield_now().await;
        }
    });
    assert_eq!(other.join().unwrap(), 3);
}
