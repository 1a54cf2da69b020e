//! What a queue of timers promises, by hand, and a service that comes back from a snapshot.

use std::cell::Cell;
use std::rc::Rc;

use millstream_core::{Failure, KeyGroup, KeyGroups, KeyHash, Timestamp};

use super::super::{Next, TimerClient, TimerHeap, TimerQueue, TimerService};
use crate::{Restored, Snapshot, Timer, TimerDomain};

fn groups() -> KeyGroups {
    KeyGroups::default_for(1)
}

fn timer(domain: TimerDomain, millis: i64, key: u64) -> Timer<u64> {
    let time = Timestamp::from_millis(millis).unwrap();
    Timer { time, domain, hash: KeyHash::of(&key).unwrap(), payload: key }
}

fn event(millis: i64, key: u64) -> Timer<u64> {
    timer(TimerDomain::Event, millis, key)
}

fn heap() -> TimerHeap<u64> {
    TimerHeap::new(groups())
}

/// The earliest one, taken out.
fn poll(queue: &mut TimerHeap<u64>) -> Option<i64> {
    let due = queue.next_due(TimerDomain::Event).unwrap();
    let mut taken = Vec::new();
    queue.take_due(TimerDomain::Event, Timestamp::MAX, 1, &mut taken).unwrap();
    let time = taken.first().map(|timer: &Timer<u64>| timer.time);
    assert_eq!(time, due, "what is due next is what is taken");
    time.map(Timestamp::millis)
}

#[test]
fn t023_all_timers_can_be_looked_at_and_none_is_lost_by_it() {
    let mut queue = heap();
    for timer in [event(10, 1), event(11, 1), event(10, 2), timer(TimerDomain::Processing, 10, 2)] {
        assert!(queue.set(timer).unwrap());
    }
    let mut seen = Vec::new();
    queue.each(&mut |timer| seen.push((timer.domain, timer.payload, timer.time.millis()))).unwrap();
    seen.sort();
    let event = |key, at| (TimerDomain::Event, key, at);
    let all = [event(1, 10), event(1, 11), event(2, 10), (TimerDomain::Processing, 2, 10)];
    assert_eq!(seen, all);
    assert_eq!((queue.len(TimerDomain::Event), queue.len(TimerDomain::Processing)), (3, 1));
}

#[test]
fn t038_polls_never_fall_and_give_every_timer_once() {
    let mut queue = heap();
    let times: Vec<i64> = (0..1_000).map(|n: i64| (n * 7_919) % 907).collect();
    for (key, time) in (0..).zip(&times) {
        assert!(queue.set(event(*time, key)).unwrap());
    }
    // Some are deleted and come back meanwhile.
    let (mut polled, mut last) = (Vec::new(), i64::MIN);
    while let Some(time) = poll(&mut queue) {
        assert!(time >= last, "{time} after {last}");
        last = time;
        polled.push(time);
        assert_eq!(queue.len(TimerDomain::Event), 1_000 - polled.len());
        if polled.len() % 10 == 0 {
            let key = 999 - polled.len() as u64 / 10;
            let of_key = event(times[key as usize], key);
            if queue.delete(&of_key).unwrap() {
                assert!(queue.set(of_key).unwrap());
            }
        }
    }
    let mut all = times;
    all.sort_unstable();
    assert_eq!((polled, poll(&mut queue)), (all, None));
}

#[test]
fn t039_set_and_delete_say_whether_they_changed_anything() {
    let mut queue = heap();
    assert!(queue.set(event(42, 4_711)).unwrap());
    assert!(!queue.set(event(42, 4_711)).unwrap());
    assert_eq!(queue.len(TimerDomain::Event), 1);
    assert!(queue.set(event(23, 815)).unwrap());
    assert_eq!(
        (queue.len(TimerDomain::Event), poll(&mut queue), poll(&mut queue)),
        (2, Some(23), Some(42))
    );
    assert!(!queue.delete(&event(1, 1)).unwrap());
    assert!(queue.set(event(1, 1)).unwrap());
    assert!(queue.delete(&event(1, 1)).unwrap());
    assert!(!queue.delete(&event(1, 1)).unwrap());
    assert!(queue.is_empty());
}

/// A key of a group.
fn key_in(group: u32) -> u64 {
    let is_in = |key: &u64| groups().of(KeyHash::of(key).unwrap()).get() == group;
    (0..).find(is_in).unwrap()
}

/// A whole snapshot: of each group its times.
fn stored(queue: &mut TimerHeap<u64>) -> Vec<(KeyGroup, Vec<i64>)> {
    queue.freeze().unwrap();
    let mut snapshot = Snapshot::default();
    assert!(queue.snapshot(100, &mut snapshot).unwrap());
    let pieces = snapshot.into_pieces().into_iter().map(|piece| {
        let group = piece.group.unwrap();
        let bytes = piece.encode().unwrap();
        let timers: Vec<Timer<u64>> = Restored::new(Some(group), &bytes).read().unwrap();
        (group, timers.iter().map(|timer| timer.time.millis()).collect())
    });
    pieces.collect()
}

#[test]
fn t041_the_timers_of_all_groups_are_one_order_and_each_group_is_stored_by_itself() {
    let mut queue = heap();
    let (first, third) = (key_in(0), key_in(2));
    for (time, key) in [(5, first), (9, first), (3, third), (7, third)] {
        queue.set(event(time, key)).unwrap();
    }
    let by_group: Vec<_> =
        stored(&mut queue).into_iter().map(|(group, times)| (group.get(), times)).collect();
    assert_eq!(by_group, [(0, vec![5, 9]), (2, vec![3, 7])]);
    assert_eq!(queue.len(TimerDomain::Event), 4, "storing them takes none away");
    let polls: Vec<_> = std::iter::from_fn(|| poll(&mut queue)).collect();
    assert_eq!(polls, [3, 5, 7, 9]);
    for (time, key) in [(5, first), (9, first), (3, third), (7, third)] {
        queue.set(event(time, key)).unwrap();
    }
    assert!(queue.delete(&event(3, third)).unwrap());
    assert_eq!(poll(&mut queue), Some(5));
}

#[test]
fn t044_times_of_both_signs_and_the_ends_of_the_range_are_in_order() {
    let mut queue = heap();
    for time in [3, -5, 0, i64::MIN + 1, i64::MAX] {
        queue.set(event(time, 1)).unwrap();
    }
    let polls: Vec<_> = std::iter::from_fn(|| poll(&mut queue)).collect();
    assert_eq!(polls, [i64::MIN + 1, -5, 0, 3, i64::MAX]);
}

#[test]
fn t033_what_is_overdue_after_a_restore_fires_at_once_and_the_next_is_what_it_wakes_for() {
    let mut queue = heap();
    for time in [60, 10] {
        queue.set(timer(TimerDomain::Processing, time, 1)).unwrap();
    }
    queue.freeze().unwrap();
    let mut snapshot = Snapshot::default();
    assert!(queue.snapshot(100, &mut snapshot).unwrap());
    let mut service = TimerService::new(heap(), groups(), 100);
    for piece in snapshot.into_pieces() {
        let (group, bytes) = (piece.group, piece.encode().unwrap());
        service.restore(&Restored::new(group, &bytes)).unwrap();
    }
    let at = |millis| Timestamp::from_millis(millis).unwrap();
    assert_eq!(service.wakes().unwrap(), Some(at(10)));
    let firings = service.due(at(50)).unwrap().unwrap();
    assert_eq!(firings.timers, [timer(TimerDomain::Processing, 10, 1)]);
    assert_eq!(service.due(at(50)).unwrap(), None);
    service
        .edit(super::super::Edit::Handled {
            domain: TimerDomain::Processing,
            list: firings.list,
            timers: 1,
        })
        .unwrap();
    assert_eq!(service.wakes().unwrap(), Some(at(60)));
}

/// A heap that counts how often it is asked for what is due.
struct Counting {
    heap: TimerHeap<u64>,
    asked: Rc<Cell<usize>>,
}

impl TimerQueue<u64> for Counting {
    fn set(&mut self, timer: Timer<u64>) -> Result<bool, Failure> {
        self.heap.set(timer)
    }

    fn delete(&mut self, timer: &Timer<u64>) -> Result<bool, Failure> {
        self.heap.delete(timer)
    }

    fn next_due(&mut self, domain: TimerDomain) -> Result<Option<Timestamp>, Failure> {
        self.heap.next_due(domain)
    }

    fn take_due(
        &mut self,
        domain: TimerDomain,
        up_to: Timestamp,
        most: usize,
        into: &mut Vec<Timer<u64>>,
    ) -> Result<(), Failure> {
        self.asked.set(self.asked.get() + 1);
        self.heap.take_due(domain, up_to, most, into)
    }

    fn len(&self, domain: TimerDomain) -> usize {
        self.heap.len(domain)
    }

    fn each(&mut self, visit: &mut dyn FnMut(&Timer<u64>)) -> Result<(), Failure> {
        self.heap.each(visit)
    }

    fn freeze(&mut self) -> Result<(), Failure> {
        self.heap.freeze()
    }

    fn snapshot(&mut self, timers: usize, into: &mut Snapshot) -> Result<bool, Failure> {
        self.heap.snapshot(timers, into)
    }

    fn abandon(&mut self) {
        self.heap.abandon();
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.heap.restore(piece)
    }
}

#[test]
fn u077_a_watermark_at_which_nothing_is_due_asks_nobody_and_another_one_once() {
    let asked = Rc::new(Cell::new(0));
    let counting = Counting { heap: heap(), asked: asked.clone() };
    let mut service = TimerService::new(counting, groups(), 100_000);
    let mut client = TimerClient::new();
    for key in 0..10_000 {
        client.set(event(1_000_000 + key as i64, key));
    }
    service.edits(client.take_edits().unwrap()).unwrap();
    let at = |millis| Timestamp::from_millis(millis).unwrap();
    for millis in 0..10_000 {
        assert!(!client.watermark(at(millis)));
        assert_eq!((client.take_edits(), client.draw()), (None, Next::Nothing));
    }
    assert_eq!(asked.get(), 0);
    // Many are due at once, and they come with one question.
    assert!(client.watermark(at(1_005_000)));
    service.edits(client.take_edits().unwrap()).unwrap();
    client.firings(service.due(at(0)).unwrap().unwrap());
    let mut fired = 0;
    while let Next::Fire(_) = client.draw() {
        fired += 1;
    }
    assert_eq!((fired, asked.get(), client.step()), (5_001, 1, None));
    // What is due next is known from the answer.
    assert!(!client.watermark(at(1_005_000)));
    assert!(client.watermark(at(1_005_001)));
}
