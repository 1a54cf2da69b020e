//! The timers of one domain, by their time: instants that came in order, and a tree of the others.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use millstream_core::{Key, Timestamp};

use super::bucket::{Bucket, Held};
use super::run::Run;

/// The timers of one domain. An instant is in the run or in the tree, never in both.
#[derive(Debug)]
pub(super) struct Tree<P> {
    run: Run<P>,
    times: BTreeMap<Timestamp, Bucket<P>>,
    /// No instant of the tree is behind this.
    latest: Timestamp,
    len: usize,
}

impl<P> Tree<P> {
    pub(super) const fn new() -> Self {
        Self { run: Run::new(), times: BTreeMap::new(), latest: Timestamp::MIN, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }
}

impl<P: Key> Tree<P> {
    /// Adds a timer; false if it was there.
    pub(super) fn insert(&mut self, time: Timestamp, held: Held<P>) -> bool {
        let new = self.put(time, held);
        self.len += usize::from(new);
        new
    }

    fn put(&mut self, time: Timestamp, held: Held<P>) -> bool {
        if let Some(at) = self.run.find(time) {
            return match self.run.get_mut(at) {
                Some(bucket) => bucket.insert(held),
                None => {
                    self.run.fill(at, Bucket::One(held));
                    true
                }
            };
        }
        let behind = self.run.last().is_none_or(|last| time > last);
        if behind && (self.times.is_empty() || time > self.latest) {
            self.run.push(time, Bucket::One(held));
            return true;
        }
        match self.times.entry(time) {
            Entry::Occupied(mut bucket) => bucket.get_mut().insert(held),
            Entry::Vacant(_) if behind => {
                self.run.push(time, Bucket::One(held));
                true
            }
            Entry::Vacant(vacant) => {
                vacant.insert(Bucket::One(held));
                self.latest = self.latest.max(time);
                true
            }
        }
    }

    fn bucket(&self, time: Timestamp) -> Option<&Bucket<P>> {
        match self.run.find(time) {
            Some(at) => self.run.get(at),
            None => self.times.get(&time),
        }
    }

    /// Takes a timer out, if it is there; gives its place among those of its instant, which the
    /// last one of them has now, and how many there are left.
    pub(super) fn remove(&mut self, time: Timestamp, held: &Held<P>) -> Option<(usize, usize)> {
        let left = if let Some(at) = self.run.find(time) {
            let left = Left::of(self.run.get_mut(at)?, held)?;
            if matches!(left, Left::Nothing) {
                self.run.take(at);
            }
            left
        } else {
            let Entry::Occupied(mut bucket) = self.times.entry(time) else { return None };
            let left = Left::of(bucket.get_mut(), held)?;
            if matches!(left, Left::Nothing) {
                bucket.remove();
            }
            left
        };
        self.len -= 1;
        Some(match left {
            Left::Nothing => (0, 0),
            Left::Others { at, left } => (at, left),
        })
    }

    pub(super) fn contains(&self, time: Timestamp, held: &Held<P>) -> bool {
        self.bucket(time).is_some_and(|bucket| bucket.contains(held))
    }

    /// The earliest time.
    pub(super) fn first_time(&self) -> Option<Timestamp> {
        let in_tree = self.times.first_key_value().map(|(time, _)| *time);
        [self.run.first(), in_tree].into_iter().flatten().min()
    }

    /// Takes out one of the earliest timers, if that is not later than `up_to`: the last of its
    /// instant. With it, how many of that instant are left.
    pub(super) fn pop_due(&mut self, up_to: Timestamp) -> Option<(Timestamp, Held<P>, usize)> {
        let in_run = self.run.first();
        let in_tree = self.times.first_key_value().map(|(time, _)| *time);
        let (time, held, left) = match (in_run, in_tree) {
            (Some(time), in_tree) if time <= up_to && in_tree.is_none_or(|it| time < it) => {
                match self.run.first_mut()?.pop() {
                    Some((held, left)) => (time, held, left),
                    None => (time, self.run.take_first()?.into_last()?, 0),
                }
            }
            (_, Some(time)) if time <= up_to => {
                let mut first = self.times.first_entry()?;
                match first.get_mut().pop() {
                    Some((held, left)) => (time, held, left),
                    None => (time, first.remove().into_last()?, 0),
                }
            }
            _ => return None,
        };
        self.len -= 1;
        Some((time, held, left))
    }

    /// The timers of an instant, each at its place.
    pub(super) fn at(&self, time: Timestamp) -> &[Held<P>] {
        self.bucket(time).map_or(&[], Bucket::as_slice)
    }

    /// The first instant that is not before `time`, and its timers.
    pub(super) fn from(&self, time: Timestamp) -> Option<(Timestamp, &[Held<P>])> {
        let in_tree = self.times.range(time..).next().map(|(time, bucket)| (*time, bucket));
        let both = [self.run.from(time), in_tree].into_iter().flatten();
        let (time, bucket) = both.min_by_key(|(time, _)| *time)?;
        Some((time, bucket.as_slice()))
    }

    /// All instants with their timers, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Timestamp, &[Held<P>])> {
        let in_tree = self.times.iter().map(|(time, bucket)| (*time, bucket));
        self.run.iter().chain(in_tree).map(|(time, bucket)| (time, bucket.as_slice()))
    }
}

/// What is left of an instant that a timer was taken out of.
enum Left {
    /// Nothing: it was the only one, and its bucket is to go.
    Nothing,
    /// So many others, of which the last one has its place now.
    Others { at: usize, left: usize },
}

impl Left {
    /// Takes a timer out of its instant; nothing happens if it is not there.
    fn of<P: Key>(bucket: &mut Bucket<P>, held: &Held<P>) -> Option<Self> {
        if bucket.len() > 1 {
            let at = bucket.remove(held)?;
            return Some(Self::Others { at, left: bucket.len() });
        }
        bucket.contains(held).then_some(Self::Nothing)
    }
}

impl<P> Drop for Tree<P> {
    /// Keys are the user's, and more than one may panic when it is dropped.
    fn drop(&mut self) {
        let run = std::mem::replace(&mut self.run, Run::new());
        let times = std::mem::take(&mut self.times);
        run.into_buckets().chain(times.into_values()).for_each(Bucket::let_go);
    }
}
