//! Instants that came in their order: a queue, beside the tree for those that did not.
//!
//! Most timers are set a fixed while ahead of a time that rises: time-outs, windows. Then each is
//! behind all others, and a queue takes it at its end and gives it at its front without a search.
//! An instant that leaves from the middle leaves a gap; when half of the queue is gaps it is closed
//! up, which comes to a few moves for each that left.

use std::collections::VecDeque;

use millstream_core::Timestamp;

use super::bucket::Bucket;

/// Gaps that are not worth closing up.
const FEW: usize = 32;

/// Instants in rising order. The first and the last are no gaps.
#[derive(Debug)]
pub(super) struct Run<P> {
    instants: VecDeque<(Timestamp, Option<Bucket<P>>)>,
    gaps: usize,
}

impl<P> Run<P> {
    pub(super) const fn new() -> Self {
        Self { instants: VecDeque::new(), gaps: 0 }
    }

    pub(super) fn first(&self) -> Option<Timestamp> {
        self.instants.front().map(|(time, _)| *time)
    }

    pub(super) fn last(&self) -> Option<Timestamp> {
        self.instants.back().map(|(time, _)| *time)
    }

    /// Adds an instant behind all others.
    pub(super) fn push(&mut self, time: Timestamp, bucket: Bucket<P>) {
        self.instants.push_back((time, Some(bucket)));
    }

    /// The place of an instant, which may be a gap.
    pub(super) fn find(&self, time: Timestamp) -> Option<usize> {
        match (self.first(), self.last()) {
            (_, Some(last)) if time == last => self.instants.len().checked_sub(1),
            (Some(first), Some(last)) if first <= time && time < last => {
                self.instants.binary_search_by_key(&time, |(time, _)| *time).ok()
            }
            _ => None,
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Bucket<P>> {
        self.instants.get(at)?.1.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Bucket<P>> {
        self.instants.get_mut(at)?.1.as_mut()
    }

    /// Fills a gap.
    pub(super) fn fill(&mut self, at: usize, bucket: Bucket<P>) {
        if let Some((_, gap)) = self.instants.get_mut(at)
            && gap.replace(bucket).is_none()
        {
            self.gaps -= 1;
        }
    }

    /// Takes an instant out.
    pub(super) fn take(&mut self, at: usize) -> Option<Bucket<P>> {
        let taken = self.instants.get_mut(at)?.1.take()?;
        self.gaps += 1;
        while let Some((_, None)) = self.instants.front() {
            self.instants.pop_front();
            self.gaps -= 1;
        }
        while let Some((_, None)) = self.instants.back() {
            self.instants.pop_back();
            self.gaps -= 1;
        }
        if self.gaps > FEW && self.gaps * 2 > self.instants.len() {
            self.instants.retain(|(_, bucket)| bucket.is_some());
            self.gaps = 0;
        }
        Some(taken)
    }

    /// The bucket of the first instant.
    pub(super) fn first_mut(&mut self) -> Option<&mut Bucket<P>> {
        self.instants.front_mut()?.1.as_mut()
    }

    /// Takes the first instant out.
    pub(super) fn take_first(&mut self) -> Option<Bucket<P>> {
        let (_, taken) = self.instants.pop_front()?;
        while let Some((_, None)) = self.instants.front() {
            self.instants.pop_front();
            self.gaps -= 1;
        }
        taken
    }

    /// The first instant that is not before `time`.
    pub(super) fn from(&self, time: Timestamp) -> Option<(Timestamp, &Bucket<P>)> {
        let at = self.instants.partition_point(|(it, _)| *it < time);
        self.instants.iter().skip(at).find_map(|(time, bucket)| Some((*time, bucket.as_ref()?)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Timestamp, &Bucket<P>)> {
        self.instants.iter().filter_map(|(time, bucket)| Some((*time, bucket.as_ref()?)))
    }

    pub(super) fn into_buckets(self) -> impl Iterator<Item = Bucket<P>> {
        self.instants.into_iter().filter_map(|(_, bucket)| bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_closed_up_when_they_are_half_of_it() {
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        let mut run = Run::<u64>::new();
        (0..1_000).for_each(|n| run.push(at(n), Bucket::Many(Box::default())));
        // The first and the last stay, and most between them leave.
        for time in (1..999).filter(|time| time % 100 > 0) {
            let place = run.find(at(time)).unwrap();
            assert!(run.take(place).is_some());
            assert_eq!(run.find(at(time)).and_then(|place| run.get(place)).map(|_| ()), None);
            let kept = run.instants.len();
            assert!(kept <= 2 * (kept - run.gaps) + FEW + 1, "{} gaps of {kept}", run.gaps);
        }
        let left: Vec<i64> = run.iter().map(|(time, _)| time.millis()).collect();
        assert_eq!(left, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 999]);
        assert_eq!(run.from(at(901)).map(|(time, _)| time), Some(at(999)));
    }
}
