//! A snapshot of the timers in memory: a walk through what was there when it began.
//!
//! It goes a few timers at a time, and others come and go meanwhile. A timer that comes where the
//! walk has still to go is written down, and the walk passes over it. One that leaves there is kept
//! for the snapshot. So nothing is paid for snapshots while there is none, and what is paid for one
//! follows from what changes while it lasts.

use std::collections::BTreeMap;

use millstream_core::{Key, KeyGroup, KeyGroups, Timestamp};

use super::bucket::Held;
use super::heap::TimerHeap;
use super::tree::Tree;
use crate::{Snapshot, Timer, TimerDomain};

/// A snapshot under way.
#[derive(Debug)]
pub(super) struct Walk<P> {
    /// Where the next timer is that has not been looked at; none at the end.
    next: Option<Place>,
    /// Came after the beginning, to where the walk has still to go.
    new_event: Tree<P>,
    new_processing: Tree<P>,
    /// Left before the walk had come to them.
    kept: Vec<Timer<P>>,
}

/// Timers in the order of the walk: of each domain by time, of each instant by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(TimerDomain, Timestamp, usize);

impl<P: Key> Walk<P> {
    pub(super) const fn new() -> Self {
        Self {
            next: Some(Place(TimerDomain::Event, Timestamp::MIN, 0)),
            new_event: Tree::new(),
            new_processing: Tree::new(),
            kept: Vec::new(),
        }
    }

    const fn new_of(&mut self, domain: TimerDomain) -> &mut Tree<P> {
        match domain {
            TimerDomain::Event => &mut self.new_event,
            TimerDomain::Processing => &mut self.new_processing,
        }
    }

    /// Whether the walk has still to come to this place.
    pub(super) fn is_ahead(&self, domain: TimerDomain, time: Timestamp, at: usize) -> bool {
        self.next.is_some_and(|next| next <= Place(domain, time, at))
    }

    /// A timer has come, behind all others of its instant, and the walk has still to go there.
    pub(super) fn came(&mut self, domain: TimerDomain, time: Timestamp, held: Held<P>) {
        self.new_of(domain).insert(time, held);
    }

    /// A timer has left this place.
    pub(super) fn left(&mut self, domain: TimerDomain, time: Timestamp, at: usize, held: Held<P>) {
        if self.is_ahead(domain, time, at) && self.new_of(domain).remove(time, &held).is_none() {
            let Held { hash, payload } = held;
            self.kept.push(Timer { time, domain, hash, payload });
        }
    }

    /// A timer lies in another place of its instant now, of one that has left.
    pub(super) fn moved(
        &mut self,
        domain: TimerDomain,
        time: Timestamp,
        from: usize,
        to: usize,
        held: Held<P>,
    ) {
        if !self.is_ahead(domain, time, to) {
            self.left(domain, time, from, held);
        }
    }

    /// Takes about so many further timers; true if that was all.
    pub(super) fn goes_on(
        &mut self,
        heap: &TimerHeap<P>,
        timers: usize,
        key_groups: KeyGroups,
        into: &mut Snapshot,
    ) -> bool {
        let mut groups: BTreeMap<KeyGroup, Vec<Timer<P>>> = BTreeMap::new();
        let mut add = |timer: Timer<P>| {
            groups.entry(key_groups.of(timer.hash)).or_default().push(timer);
        };
        let mut left = timers.max(1);
        let from_kept = self.kept.len().saturating_sub(left);
        self.kept.drain(from_kept..).for_each(|timer| {
            left -= 1;
            add(timer);
        });
        while left > 0
            && let Some(Place(domain, time, at)) = self.next
        {
            let Some((time, held, at)) = ahead(heap.tree(domain), time, at) else {
                self.next = match domain {
                    TimerDomain::Event => Some(Place(TimerDomain::Processing, Timestamp::MIN, 0)),
                    TimerDomain::Processing => None,
                };
                continue;
            };
            self.next = Some(Place(domain, time, at + 1));
            left -= 1;
            if !self.new_of(domain).contains(time, held) {
                let Held { hash, payload } = held.clone();
                add(Timer { time, domain, hash, payload });
            }
        }
        groups.into_iter().for_each(|(group, timers)| into.keyed(group, timers));
        self.next.is_none() && self.kept.is_empty()
    }
}

/// The first timer that is not before this place.
fn ahead<P: Key>(
    tree: &Tree<P>,
    time: Timestamp,
    at: usize,
) -> Option<(Timestamp, &Held<P>, usize)> {
    if let Some(held) = tree.at(time).get(at) {
        return Some((time, held, at));
    }
    let behind = Timestamp::from_millis(time.millis().checked_add(1)?).ok()?;
    let (time, held) = tree.from(behind)?;
    Some((time, held.first()?, 0))
}
