//! A list of timers that is out: sent by the service and not handled by the task. Both have one.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use millstream_core::{Key, Timestamp};

use crate::Timer;

/// A list that is out, and how far it has been handled.
#[derive(Debug)]
pub(super) struct Listed<P> {
    pub(super) list: u64,
    /// In order; one that was deleted or has been handled is none.
    timers: Vec<Option<Timer<P>>>,
    /// How many of them have been handled, from the beginning.
    pub(super) handled: usize,
    /// The time of the last one.
    last: Timestamp,
    /// The places of all, made when one is looked for: what crosses a list is rare.
    index: Option<HashTable<u32>>,
}

fn hash_of<P: Hash>(timer: &Timer<P>) -> u64 {
    FixedState::with_seed(0).hash_one(timer)
}

impl<P: Key> Listed<P> {
    pub(super) fn new(list: u64, timers: Vec<Timer<P>>) -> Self {
        let last = timers.last().map_or(Timestamp::MIN, |timer| timer.time);
        let timers = timers.into_iter().map(Some).collect();
        Self { list, timers, handled: 0, last, index: None }
    }

    /// Whether a timer of this time would have its place in the list.
    pub(super) fn covers(&self, time: Timestamp) -> bool {
        !self.timers.is_empty() && time <= self.last
    }

    /// Where a timer is that has not been handled or deleted.
    fn find(&mut self, timer: &Timer<P>) -> Option<usize> {
        if !self.covers(timer.time) {
            return None;
        }
        let Self { timers, index, .. } = self;
        let at = |at: &u32| timers.get(*at as usize).and_then(Option::as_ref);
        let index = index.get_or_insert_with(|| {
            let mut index = HashTable::with_capacity(timers.len());
            for (place, timer) in timers.iter().enumerate() {
                if let Some(timer) = timer {
                    index.insert_unique(hash_of(timer), place as u32, |it| {
                        at(it).map_or(0, hash_of)
                    });
                }
            }
            index
        });
        index.find(hash_of(timer), |it| at(it) == Some(timer)).map(|place| *place as usize)
    }

    /// Whether a timer is here that has not been handled or deleted.
    pub(super) fn contains(&mut self, timer: &Timer<P>) -> bool {
        self.find(timer).is_some()
    }

    /// Deletes a timer; false if it is not here.
    pub(super) fn delete(&mut self, timer: &Timer<P>) -> bool {
        let found = self.find(timer);
        found.and_then(|at| self.timers[at].take()).is_some()
    }

    /// When the next one is due. What was deleted before it counts as handled.
    pub(super) fn next_time(&mut self) -> Option<Timestamp> {
        while let Some(None) = self.timers.get(self.handled) {
            self.handled += 1;
        }
        self.timers.get(self.handled)?.as_ref().map(|timer| timer.time)
    }

    /// The next one is handled.
    pub(super) fn take_next(&mut self) -> Option<Timer<P>> {
        self.next_time()?;
        let next = self.timers.get_mut(self.handled)?.take();
        self.handled += 1;
        next
    }

    /// So many have been handled; true if those are all.
    pub(super) fn handle(&mut self, up_to: usize) -> bool {
        let up_to = up_to.min(self.timers.len());
        for timer in self.timers.iter_mut().take(up_to).skip(self.handled) {
            *timer = None;
        }
        self.handled = self.handled.max(up_to);
        self.handled == self.timers.len()
    }

    /// Those that have not been handled or deleted.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Timer<P>> {
        self.timers.iter().flatten()
    }
}
