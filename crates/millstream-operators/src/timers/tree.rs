//! The timers of one domain, by their time: a tree of buckets.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use millstream_core::{Key, Timestamp};

use super::bucket::{Bucket, Held};

/// The timers of one domain.
#[derive(Debug)]
pub(super) struct Tree<P> {
    times: BTreeMap<Timestamp, Bucket<P>>,
    len: usize,
}

impl<P> Tree<P> {
    pub(super) const fn new() -> Self {
        Self { times: BTreeMap::new(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }
}

impl<P: Key> Tree<P> {
    /// Adds a timer; false if it was there.
    pub(super) fn insert(&mut self, time: Timestamp, held: Held<P>) -> bool {
        let new = match self.times.entry(time) {
            Entry::Vacant(vacant) => {
                vacant.insert(Bucket::One(held));
                true
            }
            Entry::Occupied(mut bucket) => bucket.get_mut().insert(held),
        };
        self.len += usize::from(new);
        new
    }

    /// Takes a timer out, if it is there; gives its place among those of its instant, which the
    /// last one of them has now, and how many there are left.
    pub(super) fn remove(&mut self, time: Timestamp, held: &Held<P>) -> Option<(usize, usize)> {
        let Entry::Occupied(mut bucket) = self.times.entry(time) else { return None };
        let removed = if bucket.get().len() == 1 {
            if !bucket.get().contains(held) {
                return None;
            }
            bucket.remove();
            (0, 0)
        } else {
            let at = bucket.get_mut().remove(held)?;
            (at, bucket.get().len())
        };
        self.len -= 1;
        Some(removed)
    }

    pub(super) fn contains(&self, time: Timestamp, held: &Held<P>) -> bool {
        self.times.get(&time).is_some_and(|bucket| bucket.contains(held))
    }

    /// The earliest time.
    pub(super) fn first_time(&self) -> Option<Timestamp> {
        self.times.first_key_value().map(|(time, _)| *time)
    }

    /// Takes out one of the earliest timers, if that is not later than `up_to`: the last of its
    /// instant. With it, how many of that instant are left.
    pub(super) fn pop_due(&mut self, up_to: Timestamp) -> Option<(Timestamp, Held<P>, usize)> {
        let mut first = self.times.first_entry()?;
        let time = *first.key();
        if time > up_to {
            return None;
        }
        let (held, left) = if first.get().len() == 1 {
            (first.remove().into_last()?, 0)
        } else {
            let held = first.get_mut().pop()?;
            (held, first.get().len())
        };
        self.len -= 1;
        Some((time, held, left))
    }

    /// The timers of an instant, each at its place.
    pub(super) fn at(&self, time: Timestamp) -> &[Held<P>] {
        self.times.get(&time).map_or(&[], Bucket::as_slice)
    }

    /// The first instant that is not before `time`, and its timers.
    pub(super) fn from(&self, time: Timestamp) -> Option<(Timestamp, &[Held<P>])> {
        let (time, bucket) = self.times.range(time..).next()?;
        Some((*time, bucket.as_slice()))
    }

    /// All instants with their timers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Timestamp, &[Held<P>])> {
        self.times.iter().map(|(time, bucket)| (*time, bucket.as_slice()))
    }
}
