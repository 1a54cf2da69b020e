//! Delays of retries, and settings that cannot be meant.

use std::time::Duration;

use proptest::prelude::*;

use super::super::{Limits, Retry, SettingError};
use super::settings::{both, ms, ordered};

fn delays(retry: &Retry, count: u32) -> Vec<u128> {
    (1..=count).map(|failed| retry.delay(failed, 0).as_millis()).collect()
}

fn check(retry: Retry) -> Result<(), SettingError> {
    Limits { retry: Some(retry), ..ordered(1) }.check()
}

const fn zero(what: &'static str) -> Result<(), SettingError> {
    Err(SettingError::Zero { what })
}

#[test]
fn a001_a_capacity_of_zero_is_refused_when_the_stage_is_built() {
    for limits in both(0) {
        assert_eq!(limits.check(), zero("capacity"));
    }
    for limits in both(1) {
        assert_eq!(limits.check(), Ok(()));
    }
}

#[test]
fn a044_a_timeout_of_zero_is_refused() {
    let limits = Limits { timeout: Some(Duration::ZERO), ..ordered(1) };
    assert_eq!(limits.check(), zero("timeout"));
}

#[test]
fn a059_settings_of_a_retry_that_cannot_be_meant_are_refused() {
    assert_eq!(check(Retry::fixed(ms(10)).max_retries(0)), zero("number of retries"));
    assert_eq!(check(Retry::fixed(ms(0)).max_retries(1)), zero("retry delay"));
    assert_eq!(check(Retry::exponential(ms(0)).max_retries(1)), zero("retry delay"));
    let capped = Retry::exponential(ms(10)).max_delay(ms(0)).max_retries(1);
    assert_eq!(check(capped), zero("retry delay"));
    for factor in [0.1, 0.999, -1.0, f64::NAN, f64::INFINITY] {
        let shrinking = Retry::exponential(ms(10)).factor(factor).max_retries(1);
        assert_eq!(check(shrinking), Err(SettingError::Factor), "{factor}");
    }
    for share in [-0.1, 1.1, f64::NAN] {
        let jitter = Retry::fixed(ms(10)).jitter(share, 1).max_retries(1);
        assert_eq!(check(jitter), Err(SettingError::Jitter), "{share}");
    }
    assert_eq!(check(Retry::exponential(ms(1)).factor(1.0).jitter(1.0, 1).max_retries(1)), Ok(()));
}

#[test]
fn a059_a_retry_needs_a_timeout_or_a_most() {
    let retry = Retry::fixed(ms(10));
    assert_eq!(check(retry.clone()), Err(SettingError::EndlessRetry));
    assert_eq!(check(retry.clone().max_retries(1)), Ok(()));
    let timed = Limits { retry: Some(retry), timeout: Some(ms(1)), ..ordered(1) };
    assert_eq!(timed.check(), Ok(()));
}

#[test]
fn a060_exponential_delays_are_whole_milliseconds_and_end_with_the_retries() {
    let retry = Retry::exponential(ms(10)).max_delay(ms(35)).max_retries(5);
    assert_eq!(delays(&retry, 5), [10, 20, 35, 35, 35]);
    assert!(retry.allows(5) && !retry.allows(6));
    let retry = Retry::exponential(ms(10)).max_delay(ms(1_000)).factor(1.5);
    assert_eq!(delays(&retry, 4), [10, 15, 22, 33]);
    assert!(retry.allows(u32::MAX));
}

#[test]
fn a062_the_longest_delay_holds_for_the_first_one_too() {
    assert_eq!(delays(&Retry::exponential(ms(100)).max_delay(ms(35)), 2), [35, 35]);
    assert_eq!(delays(&Retry::fixed(ms(100)).max_delay(ms(35)), 2), [35, 35]);
}

#[test]
fn a_delay_that_was_asked_for_is_never_none() {
    assert_eq!(delays(&Retry::fixed(Duration::from_nanos(1)), 1), [1]);
    let retry = Retry::exponential(Duration::from_micros(500)).max_delay(Duration::from_nanos(1));
    assert_eq!(delays(&retry, 3), [1, 1, 1]);
    assert_eq!(delays(&Retry::fixed(ms(1)).jitter(1.0, 7), 100), [1; 100]);
}

#[test]
fn the_longest_of_all_delays_overflows_nothing() {
    let retry = Retry::exponential(Duration::MAX).factor(f64::MAX).jitter(1.0, 1);
    assert!(retry.delay(u32::MAX, u64::MAX) <= Duration::from_millis(u64::MAX));
    assert_eq!(delays(&Retry::fixed(Duration::MAX), 1), [u128::from(u64::MAX)]);
    assert_eq!(Retry::exponential(ms(1)).delay(u32::MAX, 0), Duration::from_millis(u64::MAX));
}

#[test]
fn records_that_failed_together_do_not_come_back_together() {
    let retry = Retry::fixed(ms(1_000)).jitter(0.5, 42);
    let mut delays: Vec<_> = (0..100).map(|record| retry.delay(1, record)).collect();
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 80, "{} delays", delays.len());
    let (low, high) = (delays[0], delays[delays.len() - 1]);
    assert!(ms(500) <= low && low < ms(550) && ms(950) < high && high <= ms(1_000));
    assert_ne!(retry.delay(1, 0), retry.delay(2, 0));
    assert_ne!(retry.delay(1, 0), Retry::fixed(ms(1_000)).jitter(0.5, 43).delay(1, 0));
}

proptest! {
    #[test]
    fn a_delay_is_the_one_before_it_times_the_factor_up_to_the_longest(
        first in 1_u64..1_000,
        factor in 1.0_f64..4.0,
        max in 1_u64..100_000,
        failed in 1_u32..60,
    ) {
        let retry = Retry::exponential(ms(first)).factor(factor).max_delay(ms(max));
        let mut expected = first;
        for _ in 1..failed {
            expected = (expected as f64 * factor) as u64;
        }
        assert_eq!(retry.delay(failed, 0), ms(expected.min(max)));
    }

    #[test]
    fn jitter_only_shortens_by_its_share_and_is_the_same_each_time(
        delay in 1_u64..100_000,
        share in 0.0_f64..=1.0,
        seed: u64,
        failed in 1_u32..10,
        record: u64,
    ) {
        let retry = Retry::fixed(ms(delay)).jitter(share, seed);
        let chosen = retry.delay(failed, record);
        let shortest = (delay as f64 * (1.0 - share)).floor() as u64;
        assert!(ms(shortest.max(1)) <= chosen && chosen <= ms(delay));
        assert_eq!(retry.delay(failed, record), chosen);
    }
}
