//! How many are admitted, what takes a place, and when it is free again.

use std::cell::Cell;

use millstream_core::{Mark, Timestamp};

use super::super::{Limits, Order, Popped, Queue, Room, Unemitted};
use super::notation::stored;
use super::rig::Rig;
use super::settings::{Rules, both, keyed, limits, unordered};

const NEITHER: Room = Room { record: false, mark: false };
const EITHER: Room = Room { record: true, mark: true };
const ORDERS: [Order; 2] = [Order::Ordered, Order::Unordered];

fn watermark(millis: i64) -> Mark {
    Mark::Watermark(Timestamp::from_millis(millis).unwrap())
}

#[test]
fn a002_without_a_capacity_a_hundred_calls_are_in_flight() {
    let mut rig = Rig::plain(Limits::new(Order::Unordered));
    for value in 1..=101 {
        rig.feed(&format!("{value}"));
    }
    assert_eq!(rig.called(), (1..=100).collect::<Vec<_>>());
    assert_eq!((rig.waiting(), rig.sent()), (1, vec![]));
    rig.complete(57, [570]);
    assert_eq!(rig.called(), (1..=101).collect::<Vec<_>>());
    assert_eq!((rig.waiting(), rig.sent()), (0, vec!["570".to_owned()]));
}

#[test]
fn a003_a_full_queue_has_no_room_and_keeps_what_it_has() {
    for order in ORDERS {
        let mut queue = Queue::<i64, i64>::new(order, 2);
        queue.mark(watermark(0));
        queue.admit(42, None);
        assert_eq!((queue.records() + queue.marks(), queue.room()), (2, NEITHER));
        let kept = [Unemitted::Mark(0, watermark(0)), Unemitted::Record(1, &42)];
        assert_eq!(queue.unemitted(), kept);
    }
}

#[test]
fn a004_a_place_is_free_when_its_element_has_gone_out() {
    for order in ORDERS {
        let mut queue = Queue::new(order, 1);
        let (first, _) = queue.admit(42, None);
        assert_eq!(queue.room(), NEITHER);
        queue.resolve(first, 1_764).unwrap();
        assert_eq!(queue.room(), NEITHER);
        assert_eq!(queue.pop(), Some(Popped::Record(42, 1_764)));
        assert_eq!(queue.room(), EITHER);
        queue.admit(43, None);
        assert_eq!((queue.room(), queue.pop()), (NEITHER, None));

        let mut queue = Queue::new(order, 2);
        queue.mark(watermark(0));
        let (only, _) = queue.admit(42, None);
        assert_eq!(queue.pop(), Some(Popped::Mark(watermark(0))));
        assert_eq!((queue.records(), queue.marks(), queue.pop()), (1, 0, None));
        queue.resolve(only, 1_764).unwrap();
        assert_eq!(queue.pop(), Some(Popped::Record(42, 1_764)));
        assert!(queue.is_empty());
    }
}

#[test]
fn a006_a_result_that_goes_out_makes_room_although_an_older_call_is_open() {
    let mut rig = Rig::plain(unordered(2));
    rig.feed("1@1, 2@2, 3@3");
    assert_eq!(rig.open(), [1, 2]);
    rig.complete(2, [20]);
    assert_eq!(rig.sent(), ["20@2"]);
    assert_eq!((rig.open(), rig.called()), (vec![1, 3], vec![1, 2, 3]));
}

#[test]
fn a007_a_watermark_takes_a_slot() {
    for limits in both(2) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, W1, 2@2");
        assert_eq!((rig.called(), rig.waiting(), rig.sent()), (vec![1], 1, vec![]));
        rig.complete(1, [10]);
        assert_eq!(rig.sent(), ["10@1", "W1"]);
        assert_eq!((rig.called(), rig.waiting()), (vec![1, 2], 0));
    }
}

#[test]
fn a009_a_watermark_with_nothing_in_front_leaves_at_once() {
    for limits in both(1).into_iter().chain([keyed(1)]) {
        let mut rig = Rig::plain(limits);
        for watermark in ["W1", "W2", "W3"] {
            rig.feed(watermark);
            assert_eq!(rig.sent(), [watermark]);
            assert!(rig.wait.is_empty());
        }
    }
}

#[test]
fn a011_a_barrier_is_taken_while_the_queue_is_full() {
    for limits in both(1) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, 2@2, W2");
        let state = rig.barrier(1);
        assert_eq!(stored(&state), ["1@1", "2@2", "W2"]);
        assert_eq!((rig.sent(), rig.open()), (vec!["B1".to_owned()], vec![1]));
        // What is parked stays in front of what comes.
        rig.feed("3@3");
        rig.complete(1, [10]);
        assert_eq!((rig.sent(), rig.called()), (vec!["10@1".to_owned()], vec![1, 2]));
        rig.complete(2, [20]);
        assert_eq!((rig.sent(), rig.called()), (vec!["20@2".into(), "W2".into()], vec![1, 2, 3]));
    }
}

#[test]
fn idleness_is_parked_in_its_place_and_not_stored() {
    for limits in both(1).into_iter().chain([keyed(1)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, 2@2, IDLE, ACTIVE, W2");
        assert_eq!(stored(&rig.barrier(1)), ["1@1", "2@2", "W2"]);
        rig.complete(1, [10]);
        rig.complete(2, [20]);
        assert_eq!(rig.sent(), ["B1", "10@1", "20@2", "IDLE", "ACTIVE", "W2"]);
    }
}

#[test]
fn a_watermark_in_front_of_a_barrier_needs_no_room() {
    for limits in both(1) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, W2");
        assert_eq!(rig.waiting(), 1);
        assert_eq!(stored(&rig.barrier(1)), ["1@1", "W2"]);
        rig.feed("2@2");
        rig.complete(1, [10]);
        assert_eq!(rig.sent(), ["B1", "10@1", "W2"]);
        assert_eq!(rig.called(), [1, 2]);
    }
}

#[test]
fn watermarks_take_no_place_of_a_record_in_key_order() {
    let mut rig = Rig::plain(keyed(2));
    rig.feed("1@1, W1, W2, W3, 2@2");
    assert_eq!((rig.called(), rig.waiting()), (vec![1], 2));
    let mut rig = Rig::plain(keyed(2));
    rig.feed("1@1, W1, 2@2, W2, 3@3");
    assert_eq!((rig.called(), rig.waiting()), (vec![1, 2], 1));
}

fn weighed() -> Rules {
    Rules { weight: |value| usize::try_from(value).unwrap(), ..Rules::default() }
}

#[test]
fn records_weigh_together_at_most_the_limit() {
    let heavy = Limits { weight: Some(10), ..limits(Order::Unordered, 100) };
    let mut rig = Rig::new(heavy, weighed());
    rig.feed("4, 6, 0, 1, 2");
    assert_eq!((rig.called(), rig.waiting()), (vec![4, 6, 0], 2));
    rig.complete(0, []);
    assert_eq!(rig.called(), [4, 6, 0]);
    rig.complete(4, [40]);
    assert_eq!((rig.called(), rig.waiting()), (vec![4, 6, 0, 1, 2], 0));
}

#[test]
fn a_record_that_is_too_heavy_goes_alone() {
    for limits in both(100) {
        let mut rig = Rig::new(Limits { weight: Some(10), ..limits }, weighed());
        rig.feed("3, 99, 1, 2");
        assert_eq!(rig.called(), [3]);
        rig.complete(3, [30]);
        assert_eq!(rig.called(), [3, 99]);
        rig.complete(99, [990]);
        assert_eq!(rig.called(), [3, 99, 1, 2]);
        assert_eq!(rig.sent(), ["30", "990"]);
    }
}

/// The most that a record can weigh, twice, is more than the greatest limit.
#[test]
fn the_greatest_weights_and_limits_overflow_nothing() {
    for limits in both(100) {
        let rules = Rules { weight: |_| usize::MAX, ..Rules::default() };
        let mut rig = Rig::new(Limits { weight: Some(usize::MAX), ..limits }, rules);
        rig.feed("1, 2, 3");
        for n in 1..=3 {
            assert_eq!((rig.calls.len(), rig.waiting()), (n, 3 - n));
            rig.complete(n as i64, [10 * n as i64]);
        }
        assert_eq!(rig.sent(), ["10", "20", "30"]);
    }
}

/// A record is weighed when room is looked for, and once more when it is admitted.
#[test]
fn a_weight_that_is_another_the_second_time_is_taken_back_as_it_was() {
    thread_local! {
        static ASKED: Cell<usize> = const { Cell::new(0) };
    }
    let weight = |_| match ASKED.replace(ASKED.get() + 1) {
        0 => 1,
        1 => 0,
        _ => usize::MAX,
    };
    for limits in both(100) {
        ASKED.set(0);
        let rules = Rules { weight, ..Rules::default() };
        let mut rig = Rig::new(Limits { weight: Some(1), ..limits }, rules);
        rig.feed("1, 2, 3");
        assert_eq!((rig.called(), rig.waiting()), (vec![1, 2], 1));
        for n in 1..=3 {
            rig.complete(n, [10 * n]);
        }
        assert_eq!((rig.sent().join(" "), rig.waiting()), ("10 20 30".to_owned(), 0));
    }
}

#[test]
fn a_watermark_finds_room_behind_a_record_that_is_heavy_enough() {
    let limits = Limits { weight: Some(10), ..unordered(3) };
    let mut rig = Rig::new(limits, weighed());
    rig.feed("10@1, W1, 1@2");
    assert_eq!((rig.called(), rig.waiting()), (vec![10], 1));
    rig.complete(10, [7]);
    assert_eq!((rig.sent(), rig.called()), (vec!["7@1".into(), "W1".into()], vec![10, 1]));
}

#[test]
fn what_was_parked_keeps_to_the_weight() {
    let limits = Limits { weight: Some(10), ..unordered(100) };
    let mut rig = Rig::new(limits, weighed());
    rig.feed("6, 5, 2");
    rig.barrier(1);
    rig.feed("1");
    // 5 waits, and nothing passes it.
    assert_eq!((rig.called(), rig.waiting()), (vec![6], 1));
    rig.complete(6, [60]);
    assert_eq!((rig.called(), rig.waiting()), (vec![6, 5, 2, 1], 0));
}
