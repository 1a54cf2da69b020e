//! Whole jobs of real actors on one arbiter and on simulated time, in the order that a seed says:
//! what is planted is found, and what is not planted is right.

#![expect(clippy::disallowed_methods, reason = "here time is simulated")]

pub(crate) mod planted;

mod job;

use std::time::Duration;

use actix_rt::System;

use job::{Ended, diamond};
use planted::{Fault, plant};

/// How many seeds a fault has to show itself.
const SEEDS: u64 = 1_000;

/// What is wrong with a run, if anything is.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    /// The job has stopped moving.
    Stuck,
    /// More records lay on the channels of a task than they may.
    Overfull,
    /// The job failed, or its result is not the right one.
    Result,
}

/// One run of the job, in the order of a seed.
fn simulate(seed: u64, credits: usize) -> Option<Wrong> {
    let mut paused = tokio::runtime::Builder::new_current_thread();
    paused.enable_time().start_paused(true);
    let system = System::with_tokio_rt(|| paused.build().unwrap());
    system.block_on(async {
        match tokio::time::timeout(Duration::from_secs(3_600), diamond(seed, credits)).await {
            Err(_) => Some(Wrong::Stuck),
            Ok(Ended { overfull: true, .. }) => Some(Wrong::Overfull),
            Ok(Ended { right: false, .. }) => Some(Wrong::Result),
            Ok(_) => None,
        }
    })
}

/// The first seed that shows a fault, and how.
fn find(fault: Fault, credits: usize) -> Option<(u64, Wrong)> {
    let found = (0..SEEDS).find_map(|seed| {
        plant(Some(fault));
        simulate(seed, credits).map(|wrong| (seed, wrong))
    });
    plant(None);
    println!("{fault:?} with {credits} credits: {found:?}");
    found
}

#[test]
fn what_is_not_planted_is_right_in_every_order() {
    for seed in 0..SEEDS {
        let credits = 1 + seed as usize % 3;
        assert_eq!(simulate(seed, credits), None, "seed {seed}, {credits} credits");
    }
}

#[test]
fn a_credit_that_is_returned_twice_is_found() {
    for (times, credits) in [(1, 1), (20, 1), (52, 2)] {
        let found = find(Fault::TwiceIn(times), credits).map(|(_, wrong)| wrong);
        assert_eq!(found, Some(Wrong::Overfull), "once in {times}, {credits} credits");
    }
}

#[test]
fn a_wake_up_that_is_lost_is_found() {
    for (times, credits) in [(1, 1), (100, 1), (58, 2)] {
        let found = find(Fault::LostIn(times), credits).map(|(_, wrong)| wrong);
        assert_eq!(found, Some(Wrong::Stuck), "once in {times}, {credits} credits");
    }
}
