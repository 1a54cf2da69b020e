//! The timers in memory beside a plain sorted set, with snapshots under way.

use std::collections::BTreeSet;

use millstream_core::{KeyGroups, KeyHash, Timestamp};

use super::super::{TimerHeap, TimerQueue};
use super::chance::Chance;
use crate::{Restored, Snapshot, Timer, TimerDomain};

type Set = BTreeSet<Timer<u64>>;

fn timer(domain: TimerDomain, millis: i64, payload: u64) -> Timer<u64> {
    let time = Timestamp::from_millis(millis).unwrap();
    // Of few keys many timers.
    let hash = KeyHash::of(&(payload % 3)).unwrap();
    Timer { time, domain, hash, payload }
}

fn all(heap: &mut TimerHeap<u64>) -> Set {
    let mut all = Set::new();
    heap.each(&mut |timer| assert!(all.insert(timer.clone()), "{timer:?} twice")).unwrap();
    all
}

/// The pieces of a snapshot, put back.
fn restored(snapshot: Snapshot, groups: KeyGroups) -> Set {
    let mut heap = TimerHeap::new(groups);
    let mut count = 0;
    for piece in snapshot.into_pieces() {
        let group = piece.group;
        let bytes = piece.encode().unwrap();
        let piece = Restored::new(group, &bytes);
        count += piece.read::<Vec<Timer<u64>>>().unwrap().len();
        heap.restore(&piece).unwrap();
    }
    let all = all(&mut heap);
    assert_eq!(all.len(), count, "each is stored once");
    all
}

/// So many operations; `spread` is how many instants there are, `rise` how much later they become
/// with each operation.
fn compare(seed: u64, spread: u64, payloads: u64, rise: i64) {
    let mut chance = Chance::of(seed);
    let groups = KeyGroups::default_for(1);
    let (mut heap, mut set) = (TimerHeap::new(groups), Set::new());
    let mut under_way: Option<(Set, Snapshot)> = None;
    for n in 0..600 {
        let domain =
            if chance.below(3) == 0 { TimerDomain::Processing } else { TimerDomain::Event };
        let millis = chance.below(spread) as i64 - 3 + n * rise;
        let mut timer = timer(domain, millis, chance.below(payloads));
        if rise > 0 && chance.below(3) == 0 {
            // Else what rises would hardly meet what is there.
            let at = chance.below(set.len().max(1) as u64) as usize;
            timer = set.iter().nth(at).cloned().unwrap_or(timer);
        }
        match chance.below(40) {
            0 => {
                let (up_to, most) = (timer.time, chance.below(9) as usize);
                let mut taken = Vec::new();
                heap.take_due(domain, up_to, most, &mut taken).unwrap();
                let mut due: Vec<_> =
                    set.iter().filter(|it| it.domain == domain && it.time <= up_to).collect();
                due.sort();
                let times = |of: &[&Timer<u64>]| of.iter().map(|it| it.time).collect::<Vec<_>>();
                let first = times(&due[..most.min(due.len())]);
                assert_eq!(times(&taken.iter().collect::<Vec<_>>()), first);
                taken.iter().for_each(|timer| assert!(set.remove(timer), "{timer:?}"));
            }
            1 if under_way.is_none() => {
                heap.freeze().unwrap();
                under_way = Some((set.clone(), Snapshot::default()));
            }
            2 if chance.below(10) == 0 => {
                heap.abandon();
                under_way = None;
            }
            3..8 => {
                if let Some((_, snapshot)) = &mut under_way
                    && heap.snapshot(1 + chance.below(20) as usize, snapshot).unwrap()
                    && let Some((frozen, snapshot)) = under_way.take()
                {
                    assert_eq!(restored(snapshot, groups), frozen);
                }
            }
            8..22 => assert_eq!(heap.delete(&timer).unwrap(), set.remove(&timer)),
            _ => assert_eq!(heap.set(timer.clone()).unwrap(), set.insert(timer)),
        }
        for domain in [TimerDomain::Event, TimerDomain::Processing] {
            let of = set.iter().filter(|it| it.domain == domain);
            assert_eq!(heap.len(domain), of.clone().count());
            assert_eq!(heap.next_due(domain).unwrap(), of.map(|it| it.time).min());
        }
    }
    assert_eq!(all(&mut heap), set);
}

#[test]
fn timers_in_memory_are_a_sorted_set() {
    for seed in 0..80 {
        // Many of one instant, which have an index; few of each; one of each.
        for (spread, payloads) in [(2, 100), (20, 10), (2_000, 3)] {
            compare(seed, spread, payloads, 0);
        }
        // In their order, and nearly so.
        for (spread, payloads) in [(1, 3), (5, 3), (300, 5)] {
            compare(seed, spread, payloads, 2);
        }
    }
}

#[test]
fn a_timer_of_another_group_is_refused() {
    let groups = KeyGroups::default_for(1);
    let mut heap = TimerHeap::new(groups);
    heap.set(timer(TimerDomain::Event, 5, 7)).unwrap();
    heap.freeze().unwrap();
    let mut snapshot = Snapshot::default();
    assert!(heap.snapshot(10, &mut snapshot).unwrap());
    let piece = snapshot.into_pieces().remove(0);
    let own = piece.group.unwrap();
    let other = (0..).map(|n| groups.of(KeyHash::from_raw(n << 24))).find(|it| *it != own);
    let bytes = piece.encode().unwrap();
    let failure = heap.restore(&Restored::new(other, &bytes)).unwrap_err();
    assert!(failure.to_string().contains("another number of key groups"), "{failure}");
}
