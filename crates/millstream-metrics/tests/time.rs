//! Proves that a task's time goes into exactly one of four sums, and all of it.

use std::sync::Arc;

use millstream_core::Moment;
use millstream_metrics::{Activity, Numbers, TaskMetrics, TaskTime};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const ACTIVITIES: [Activity; 4] =
    [Activity::Busy, Activity::Idle, Activity::BackPressured, Activity::Waiting];

fn times(numbers: &Numbers) -> [u64; 4] {
    let &Numbers { busy_ns, idle_ns, back_pressured_ns, waiting_for_cpu_ns, .. } = numbers;
    [busy_ns, idle_ns, back_pressured_ns, waiting_for_cpu_ns]
}

#[test]
fn what_is_going_on_is_counted_until_the_reader_s_moment() {
    let metrics = Arc::new(TaskMetrics::default());
    let mut time = TaskTime::new(metrics.clone());
    let at = |nanos| times(&metrics.numbers(Moment::from_nanos(nanos)));
    assert_eq!(at(50), [0; 4], "nothing was told yet");
    time.enter(Activity::BackPressured, Moment::from_nanos(100));
    assert_eq!(at(1_000), [0, 0, 900, 0]);
    assert_eq!(at(99), [0; 4], "a reader may be late with its moment");
    time.enter(Activity::BackPressured, Moment::from_nanos(200));
    assert_eq!(at(1_000), [0, 0, 900, 0], "entering the same again changes nothing");
    time.enter(Activity::Waiting, Moment::from_nanos(300));
    assert_eq!(at(310), [0, 0, 200, 10]);
    time.stop(Moment::from_nanos(320));
    assert_eq!(at(1_000), [0, 0, 200, 20], "after the end, time stands still");
    assert_eq!(time.activity(), None);
}

#[test]
fn another_life_goes_on_with_the_sums_and_leaves_out_the_time_between() {
    let metrics = Arc::new(TaskMetrics::default());
    let mut first = TaskTime::new(metrics.clone());
    first.enter(Activity::Busy, Moment::from_nanos(0));
    first.stop(Moment::from_nanos(10));
    let mut second = TaskTime::new(metrics.clone());
    second.enter(Activity::Busy, Moment::from_nanos(90));
    assert_eq!(times(&metrics.numbers(Moment::from_nanos(100))), [20, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The model: of every nanosecond, who owned it. Moments may go back, and then count as the
    /// latest one before.
    #[test]
    fn the_four_sums_are_the_time_that_has_passed(
        told in vec((select(ACTIVITIES.to_vec()), 0_u64..500), 1..60),
        read_after in 0_u64..700,
    ) {
        let metrics = Arc::new(TaskMetrics::default());
        let mut time = TaskTime::new(metrics.clone());
        let mut owners: Vec<Activity> = Vec::new();
        let first = told[0].1;
        let mut latest = first;
        let mut doing = told[0].0;
        for (activity, nanos) in told {
            time.enter(activity, Moment::from_nanos(nanos));
            // A repeated activity is no change, so it does not move the latest moment either.
            if activity != doing {
                let now = nanos.max(latest);
                owners.resize(owners.len() + (now - latest) as usize, doing);
                (latest, doing) = (now, activity);
            }
            prop_assert_eq!(time.activity(), Some(doing));
            let now = latest + read_after;
            let sum = metrics.numbers(Moment::from_nanos(now)).elapsed_ns();
            prop_assert_eq!(sum, now - first, "whoever looks sees all of the time");
        }
        let end = latest + read_after;
        owners.resize(owners.len() + read_after as usize, doing);
        time.stop(Moment::from_nanos(end));
        time.stop(Moment::from_nanos(end + 1_000));
        let expected =
            ACTIVITIES.map(|activity| owners.iter().filter(|&&a| a == activity).count() as u64);
        let numbers = metrics.numbers(Moment::from_nanos(end + 5_000));
        prop_assert_eq!(times(&numbers), expected);
        prop_assert_eq!(numbers.elapsed_ns(), end - first);
        let TaskMetrics { busy_ns, idle_ns, back_pressured_ns, waiting_for_cpu_ns, .. } = &*metrics;
        let counters = [busy_ns, idle_ns, back_pressured_ns, waiting_for_cpu_ns];
        prop_assert_eq!(counters.map(|counter| counter.get()), expected);
    }
}
