//! Proves that a registry gives one set of numbers a task, in the order of the plan, and sums them.

use std::sync::Arc;
use std::thread;

use millstream_core::Moment;
use millstream_metrics::{Activity, JobNumbers, Registry, TaskState, TaskTime};
use serde_json::json;

/// A job of three stages in the middle of its work, its last stage registered first.
fn flights() -> JobNumbers {
    let registry = Registry::new("flights", ["lines", "per carrier", "out"]);
    registry.task("out", 0);
    for subtask in [1, 0] {
        let totals = registry.task("per carrier", subtask);
        totals.set_state(TaskState::Running);
        totals.records_in.add(1_234_567);
        totals.batches_in.add(1_206);
        totals.records_out.add(16);
        totals.batches_out.inc();
        totals.side_records_dropped.add(2);
        totals.records_queued.add(1_024 * (subtask as i64 + 1));
        totals.records_queued.sub(1_000);
        totals.turns.add(999);
        totals.slow_turns.add(subtask as u64);
        totals.count("late", 3);
        totals.count("lost\n\u{1b}", 1_000 * subtask as u64);
        let mut time = TaskTime::new(totals);
        time.enter(Activity::Busy, Moment::from_nanos(0));
        time.enter(Activity::Waiting, Moment::from_nanos(725));
    }
    let lines = registry.task("lines", 0);
    lines.records_in.add(2_469_134);
    lines.set_state(TaskState::Ended);
    registry.numbers(Moment::from_nanos(1_000))
}

#[test]
fn tasks_stand_in_the_order_of_the_plan_whoever_came_first() {
    let registry = Registry::new("job", ["z", "a", "m"]);
    for (stage, subtask) in [("m", 0), ("new", 0), ("a", 10), ("z", 0), ("a", 2), ("else", 0)] {
        registry.task(stage, subtask);
    }
    let numbers = registry.numbers(Moment::ZERO);
    let order: Vec<_> = numbers.tasks.iter().map(|t| (t.stage.as_str(), t.subtask)).collect();
    assert_eq!(order, [("z", 0), ("a", 2), ("a", 10), ("m", 0), ("else", 0), ("new", 0)]);
    let stages: Vec<_> = numbers.stages.iter().map(|s| (s.stage.as_str(), s.tasks)).collect();
    assert_eq!(stages, [("z", 1), ("a", 2), ("m", 1), ("else", 1), ("new", 1)]);
}

#[test]
fn every_thread_and_every_handle_gets_the_same_numbers_of_a_task() {
    let registry = Registry::new("job", ["stage"]);
    thread::scope(|scope| {
        for _ in 0..4 {
            let registry = registry.clone();
            scope.spawn(move || {
                for turn in 0..1_000 {
                    let task = registry.task("stage", turn % 10);
                    task.records_in.inc();
                    task.count(if turn % 2 == 0 { "even" } else { "odd" }, 2);
                    assert!(registry.numbers(Moment::ZERO).tasks.len() <= 10);
                }
            });
        }
    });
    assert!(Arc::ptr_eq(&registry.task("stage", 3), &registry.task("stage", 3)));
    let total = registry.numbers(Moment::ZERO).total();
    assert_eq!(total.records_in, 4_000);
    assert_eq!((total.counts["even"], total.counts["odd"]), (4_000, 4_000));
}

#[test]
fn a_task_that_is_seen_to_be_over_is_seen_with_its_last_numbers() {
    for _ in 0..200 {
        let registry = Registry::new("job", ["stage"]);
        let task = registry.task("stage", 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                (0..100).for_each(|_| task.records_out.inc());
                task.set_state(TaskState::Ended);
            });
            loop {
                let numbers = registry.numbers(Moment::ZERO);
                if numbers.tasks[0].state.is_over() {
                    assert_eq!(numbers.tasks[0].numbers.records_out, 100);
                    break;
                }
                thread::yield_now();
            }
        });
    }
}

#[test]
fn the_numbers_of_a_stage_are_the_sums_of_its_tasks() {
    let numbers = flights();
    let sums = &numbers.stage("per carrier").unwrap().numbers;
    assert_eq!((sums.records_in, sums.records_out), (2_469_134, 32));
    assert_eq!((sums.batches_in, sums.batches_out), (2_412, 2));
    assert_eq!((sums.records_queued, sums.records_queued_peak), (1_072, 3_072));
    assert_eq!((sums.turns, sums.slow_turns, sums.side_records_dropped), (1_998, 1, 4));
    assert_eq!((sums.busy_ns, sums.waiting_for_cpu_ns, sums.elapsed_ns()), (1_450, 550, 2_000));
    assert_eq!((sums.counts["late"], sums.counts["lost\n\u{1b}"]), (6, 1_000));
    assert_eq!(numbers.total().records_in, 4_938_268);
    assert!(numbers.stage("nobody").is_none() && numbers.task("out", 1).is_none());
}

#[test]
fn the_table_is_as_written_down() {
    assert_eq!(flights().to_string(), include_str!("golden/flights.txt"));
}

#[test]
fn a_job_without_tasks_is_a_table_of_heads() {
    let numbers = Registry::new("job", ["stage"]).numbers(Moment::ZERO);
    assert_eq!(numbers.to_string().lines().count(), 1);
    assert!(numbers.stages.is_empty());
}

#[test]
fn the_numbers_serialise_flat_with_states_in_words() {
    let registry = Registry::new("job", ["stage"]);
    let task = registry.task("stage", 1);
    task.set_state(TaskState::Cancelled);
    task.records_in.add(7);
    task.count("late", 2);
    let numbers = json!({
        "records_in": 7, "records_out": 0, "batches_in": 0, "batches_out": 0,
        "side_records_dropped": 0, "records_queued": 0, "records_queued_peak": 0,
        "turns": 0, "slow_turns": 0, "busy_ns": 0, "idle_ns": 0, "back_pressured_ns": 0,
        "waiting_for_cpu_ns": 0, "counts": { "late": 2 },
    });
    let with = |mut fields: serde_json::Value| {
        let object = fields.as_object_mut().unwrap();
        object.extend(numbers.as_object().unwrap().clone());
        fields
    };
    assert_eq!(
        serde_json::to_value(registry.numbers(Moment::ZERO)).unwrap(),
        json!({
            "job": "job",
            "tasks": [with(json!({ "stage": "stage", "subtask": 1, "state": "cancelled" }))],
            "stages": [with(json!({ "stage": "stage", "tasks": 1 }))],
        })
    );
}
