//! What is stored, and that a restored task calls it again, in order, before anything new.

use std::collections::BTreeSet;

use millstream_core::{Attempt, Failure, KeyGroups, KeyHash, TaskInfo};

use super::super::{Admission, Limits, Retry};
use super::notation::{Stone, stored};
use super::rig::{Rig, results};
use super::settings::{Rules, both, keyed, ms, ordered, task, unordered};
use crate::Snapshot;

fn doubled(rig: &mut Rig) {
    rig.at_once = |value, _| Some(results([2 * value]));
}

#[test]
fn a084_inputs_are_stored_and_never_results() {
    let mut rig = Rig::plain(ordered(5));
    rig.feed("1@1, 2@2, W2, 3@3");
    rig.complete(2, [20]);
    let state = rig.snapshot();
    assert_eq!(stored(&state), ["1@1", "2@2", "W2", "3@3"]);
    // Taking it has changed nothing.
    assert_eq!((stored(&rig.snapshot()), rig.open()), (stored(&state), vec![1, 3]));
    rig.complete(1, [10]);
    assert_eq!(rig.sent(), ["10@1", "20@2", "W2"]);
    assert_eq!(stored(&rig.snapshot()), ["3@3"]);
}

#[test]
fn a086_what_is_stored_stands_in_the_order_of_the_input() {
    for limits in [unordered(8), keyed(8)] {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, 2@2, 3@3, W5, 4@6");
        // Their results have come and have not gone out.
        for value in [3, 4] {
            let call = rig.calls.iter().find(|call| call.value == value).unwrap();
            let (ticket, answer) = (call.ticket(), results([value]));
            rig.wait.answered(ticket, 1, answer, &mut rig.rules).unwrap();
        }
        assert_eq!(stored(&rig.snapshot()), ["1@1", "2@2", "3@3", "W5", "4@6"]);
        // An element that has gone out is not in it.
        rig.turn();
        assert_eq!(rig.sent(), ["3@3"]);
        assert_eq!(stored(&rig.snapshot()), ["1@1", "2@2", "W5", "4@6"]);
    }
}

#[test]
fn a087_restored_inputs_are_called_again_before_new_ones() {
    let mut first = Rig::plain(ordered(4));
    first.feed("1@1, 2@2, 3@3, 4@4");
    let state = first.snapshot();
    let mut rig = Rig::plain(ordered(6));
    rig.restore(&state);
    rig.feed("5@5, 6@6, 7@7");
    assert_eq!(rig.open(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(stored(&rig.barrier(2)), ["1@1", "2@2", "3@3", "4@4", "5@5", "6@6", "7@7"]);
    rig.feed("8@8");
    rig.end();
    while let Some(value) = rig.open().pop() {
        rig.complete(value, [2 * value]);
    }
    let sent = ["B2", "2@1", "4@2", "6@3", "8@4", "10@5", "12@6", "14@7", "16@8"];
    assert_eq!((rig.sent(), rig.called()), (sent.map(String::from).to_vec(), (1..=8).collect()));
    assert!(rig.is_done());
}

#[test]
fn a088_a_full_queue_comes_back() {
    for limits in both(10).into_iter().chain([keyed(10)]) {
        let mut first = Rig::plain(limits.clone());
        first.feed("0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
        let state = first.snapshot();
        let mut rig = Rig::plain(limits);
        doubled(&mut rig);
        rig.restore(&state);
        rig.end();
        assert_eq!(rig.sent(), ["0", "2", "4", "6", "8", "10", "12", "14", "16", "18"]);
        assert!(rig.is_done());
    }
}

#[test]
fn more_than_the_capacity_comes_back_bit_by_bit() {
    let mut first = Rig::plain(ordered(200));
    for value in 0..150 {
        first.feed(&format!("{value}@{value}"));
    }
    first.feed("W149");
    let state = first.snapshot();
    assert_eq!(state.len(), 3);
    let mut rig = Rig::plain(ordered(2));
    rig.restore(&state);
    rig.feed("150@150");
    assert_eq!((rig.open(), rig.waiting()), (vec![0, 1], 1));
    for value in 0..=150 {
        assert!(rig.open().len() <= 2);
        rig.complete(value, [value]);
    }
    let mut sent: Vec<_> = (0..=150).map(|value| format!("{value}@{value}")).collect();
    sent.insert(150, "W149".into());
    assert_eq!((rig.sent(), rig.called()), (sent, (0..=150).collect()));
}

#[test]
fn a090_what_has_gone_out_is_not_called_again() {
    let mut first = Rig::plain(ordered(3));
    first.feed("1, 2");
    first.complete(1, [10]);
    assert_eq!(first.sent(), ["10"]);
    let state = first.snapshot();
    let mut rig = Rig::plain(ordered(3));
    rig.restore(&state);
    rig.complete(2, [20]);
    assert_eq!(
        (rig.sent(), first.called(), rig.called()),
        (vec!["20".into()], vec![1, 2], vec![2])
    );
}

#[test]
fn a094_every_element_comes_back_once_at_another_parallelism() {
    let parts: Vec<_> = [(0, "1@1, 2@2, 3@3, 4@4"), (1, "5@1, 6@2")]
        .map(|(subtask, elements)| {
            let mut rig = Rig::of(ordered(9), Rules::default(), &task(subtask, 2));
            rig.feed(elements);
            rig.snapshot()
        })
        .concat();
    let mut called = Vec::new();
    for subtask in 0..3 {
        let dealt: Vec<_> = parts.iter().skip(subtask).step_by(3).cloned().collect();
        let mut rig = Rig::of(ordered(9), Rules::default(), &task(subtask, 3));
        rig.restore(&dealt);
        called.push(rig.called());
    }
    assert_eq!(called, [vec![1, 2, 3, 4], vec![5, 6], vec![]]);
    let mut rig = Rig::of(ordered(9), Rules::default(), &task(0, 1));
    rig.restore(&parts);
    assert_eq!(rig.called(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn at_another_parallelism_the_least_of_the_newest_watermarks_stands_behind_all() {
    let part = |subtask, elements: &str| {
        let mut rig = Rig::of(ordered(9), Rules::default(), &task(subtask, 2));
        rig.feed(elements);
        rig.snapshot()
    };
    let restored = |parts: &[Stone]| {
        let mut rig = Rig::of(ordered(9), Rules::default(), &task(0, 1));
        doubled(&mut rig);
        rig.restore(parts);
        rig.sent()
    };
    let both = [part(0, "1@1, W2, 2@3, W7"), part(1, "W3, 3@9, W9")].concat();
    assert_eq!(restored(&both), ["2@1", "4@3", "6@9", "W7"]);
    // A watermark counts that has long gone out.
    let both = [part(0, "W2"), part(1, "3@9, W9")].concat();
    assert_eq!(restored(&both), ["6@9", "W2"]);
    // No watermark stands for one that knows of none.
    let both = [part(0, "1@1"), part(1, "3@9, W9")].concat();
    assert_eq!(restored(&both), ["2@1", "6@9"]);
}

#[test]
fn among_pieces_of_other_tasks_the_watermarks_of_its_own_have_no_place() {
    let part = |subtask, elements: &str| {
        let mut rig = Rig::of(ordered(9), Rules::default(), &task(subtask, 2));
        rig.feed(elements);
        rig.snapshot()
    };
    let mut rig = Rig::of(ordered(9), Rules::default(), &task(0, 2));
    doubled(&mut rig);
    rig.restore(&[part(0, "1@1, W2, 2@3, W7"), part(1, "3@1, W9")].concat());
    assert_eq!(rig.sent(), ["2@1", "4@3", "6@1", "W7"]);
}

#[test]
fn at_the_same_parallelism_watermarks_come_back_to_their_places() {
    for limits in both(9).into_iter().chain([keyed(9)]) {
        let mut first = Rig::of(limits.clone(), Rules::default(), &task(1, 2));
        first.feed("W1, 1@1, W2, 2@3, 3@4, W7");
        let state = first.snapshot();
        let mut rig = Rig::of(limits, Rules::default(), &task(1, 2));
        rig.restore(&state);
        assert_eq!(stored(&rig.snapshot()), ["1@1", "W2", "2@3", "3@4", "W7"]);
        for value in [3, 2, 1] {
            rig.complete(value, [value]);
        }
        assert_eq!(rig.sent().iter().position(|sent| sent == "W2"), Some(1));
    }
}

#[test]
fn a097_a_barrier_waits_for_no_call() {
    let mut rig = Rig::plain(ordered(3));
    rig.feed("1, 2");
    let state = rig.barrier(7);
    assert_eq!((rig.sent(), stored(&state)), (vec!["B7".into()], vec!["1".into(), "2".into()]));
    rig.feed("3");
    rig.complete(1, [10]);
    rig.complete(2, [20]);
    rig.complete(3, [30]);
    assert_eq!(
        (rig.sent(), rig.called()),
        (vec!["10".into(), "20".into(), "30".into()], vec![1, 2, 3])
    );
}

#[test]
fn a_call_has_the_same_name_after_a_restore_and_new_ones_have_new_names() {
    let mut first = Rig::of(ordered(2), Rules::default(), &task(1, 2));
    first.feed("1, 2, 3, 4");
    first.complete(1, [10]);
    let state = first.barrier(1);
    let next_life = TaskInfo { attempt: Attempt::new(2), ..task(1, 2) };
    let mut rig = Rig::of(ordered(9), Rules::default(), &next_life);
    rig.restore(&state);
    rig.feed("5");
    let names: Vec<_> = rig.calls.iter().map(|call| (call.value, call.admission)).collect();
    let name = |life, number| Admission { life: Attempt::new(life), subtask: 1, number };
    assert_eq!(names, [(2, name(1, 1)), (3, name(1, 2)), (4, name(1, 3)), (5, name(2, 0))]);
}

#[test]
fn no_two_records_have_one_name_after_one_task_has_become_two_again() {
    let mut lives = 0;
    let mut life = |subtask, parallelism| {
        lives += 1;
        let info = TaskInfo { attempt: Attempt::new(lives), ..task(subtask, parallelism) };
        Rig::of(ordered(9), Rules::default(), &info)
    };
    let mut two = [life(0, 2), life(1, 2)];
    two[0].feed("1, 2");
    two[1].feed("3, 4");
    let both: Vec<_> = two.iter_mut().flat_map(|rig| rig.barrier(1)).collect();
    let mut one = life(0, 1);
    one.restore(&both);
    one.feed("5, 6");
    let state = one.barrier(2);
    let mut again = [life(0, 2), life(1, 2)];
    again[0].restore(&state);
    again[1].restore(&[]);
    again[0].feed("7");
    again[1].feed("8, 9");
    let calls = again.iter().flat_map(|rig| &rig.calls);
    let names: BTreeSet<_> = calls.map(|call| call.admission).collect();
    assert_eq!(names.len(), 9);
}

#[test]
fn time_and_attempts_begin_anew_after_a_restore() {
    let retry = Some(Retry::fixed(ms(10)).max_retries(1));
    let limits = Limits { retry, timeout: Some(ms(100)), ..ordered(2) };
    let mut first = Rig::plain(limits.clone());
    first.feed("1");
    first.fail(1, "first");
    first.clock(90);
    assert_eq!(first.called(), [1, 1]);
    let state = first.snapshot();
    let mut rig = Rig::plain(limits);
    rig.clock(95);
    rig.restore(&state);
    rig.fail(1, "first again");
    rig.clock(105);
    rig.clock(194);
    assert_eq!((rig.called_at(1), rig.failed_with()), (vec![95, 105], vec![]));
    rig.clock(195);
    assert_eq!(rig.failed_with(), ["no answer within 100ms, after 2 calls"]);
}

#[test]
fn inputs_that_are_not_kept_cannot_be_stored() {
    let mut rig = Rig::plain(Limits { keeps_inputs: false, ..ordered(2) });
    assert!(rig.wait.freeze(&rig.rules).is_ok());
    rig.feed("1");
    let error: Failure = rig.wait.freeze(&rig.rules).unwrap_err();
    assert_eq!(error.to_string(), "a snapshot is asked for, and no input is kept");
}

#[test]
fn state_that_is_given_up_is_stored_no_more_and_not_in_the_next_one() {
    for limits in both(2).into_iter().chain([keyed(2)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1");
        rig.wait.freeze(&rig.rules).unwrap();
        rig.wait.abandon();
        let mut snapshot = Snapshot::default();
        assert!(rig.wait.snapshot(9, &mut snapshot));
        assert_eq!(snapshot.into_pieces().len(), 0);
        // Nor is state that was taken and never given up.
        rig.wait.freeze(&rig.rules).unwrap();
        rig.complete(1, [10]);
        rig.feed("2");
        assert_eq!(stored(&rig.snapshot()), ["2"]);
    }
}

#[test]
fn the_newest_watermark_lives_on_in_the_next_state() {
    for limits in both(9).into_iter().chain([keyed(9)]) {
        let part = |subtask| Rig::of(limits.clone(), Rules::default(), &task(subtask, 2));
        let mut first = part(0);
        first.feed("W5");
        // It comes back, hears of no watermark, and is stored once more.
        let mut second = part(0);
        second.restore(&first.snapshot());
        assert_eq!(second.sent(), [""; 0]);
        let mut rig = Rig::of(limits.clone(), Rules::default(), &task(0, 1));
        rig.restore(&second.snapshot());
        assert_eq!(rig.sent(), ["W5"]);
    }
}

#[test]
fn state_is_frozen_while_it_is_stored() {
    let mut rig = Rig::plain(ordered(200));
    for value in 0..130 {
        rig.feed(&format!("{value}"));
    }
    rig.wait.freeze(&rig.rules).unwrap();
    rig.complete(0, [0]);
    rig.feed("130");
    let mut snapshot = Snapshot::default();
    assert!(!rig.wait.snapshot(2, &mut snapshot) && rig.wait.snapshot(2, &mut snapshot));
    let pieces = snapshot.into_pieces().into_iter();
    let state: Vec<_> = pieces.map(|it| (it.group, it.encode().unwrap())).collect();
    assert_eq!(stored(&state), (0..130).map(|value| value.to_string()).collect::<Vec<_>>());
}

#[test]
fn keys_go_to_the_tasks_that_own_their_groups() {
    let mut first = Rig::plain(keyed(99));
    first.feed("1@1, 2@2, 3@3, 4@4, W4, 5@5, 6@6, 1@7");
    let state = first.snapshot();
    let groups = KeyGroups::new(128).unwrap();
    let mut all = Vec::new();
    for subtask in 0..3 {
        let owned = |(group, _): &&Stone| match group {
            Some(group) => groups.owner(*group, 3) == subtask,
            None => subtask == 2,
        };
        let dealt: Vec<_> = state.iter().filter(owned).cloned().collect();
        let mut rig = Rig::of(keyed(99), Rules::default(), &task(subtask, 3));
        doubled(&mut rig);
        rig.restore(&dealt);
        for value in rig.called() {
            let group = groups.of(KeyHash::of(&value).unwrap());
            assert_eq!(groups.owner(group, 3), subtask);
            all.push(value);
        }
        // What comes of one task stands before its newest watermark, wherever it goes.
        assert_eq!(rig.sent().last().unwrap(), "W4");
    }
    all.sort_unstable();
    assert_eq!(all, [1, 1, 2, 3, 4, 5, 6]);
}
