//! The half of the timers that keeps them: an actor's state, without the actor.

use std::collections::BTreeMap;

use millstream_core::{Failure, Key, KeyGroup, KeyGroups, Timestamp};

use super::error::Crossed;
use super::listed::Listed;
use super::protocol::{Edit, Edits, Firings};
use super::queue::TimerQueue;
use crate::{Restored, Snapshot, Timer, TimerDomain};

/// The half of the timers that keeps them.
///
/// It is told what the [client](super::TimerClient) has said, and what time it is; it gives out
/// lists of what is due. A timer that is out is still kept, for snapshots, until the client says
/// that it has been handled.
#[derive(Debug)]
pub struct TimerService<P, Q> {
    queue: Q,
    key_groups: KeyGroups,
    /// Timers of one list at most.
    batch: usize,
    /// How many edits have come.
    known: u64,
    event: Domain<P>,
    processing: Domain<P>,
    /// The watermark at which the client asks for what is due.
    asked: Option<Timestamp>,
    /// Whether the timers that are set are given out now that the input has ended.
    ending: Option<bool>,
    /// How many have been dropped since; none once that has been told.
    dropped: Option<usize>,
    /// What was out when the snapshot began, by group, until it has been taken.
    frozen: BTreeMap<KeyGroup, Vec<Timer<P>>>,
}

#[derive(Debug)]
struct Domain<P> {
    /// How many lists there have been.
    lists: u64,
    out: Option<Listed<P>>,
}

impl<P: Key, Q: TimerQueue<P>> TimerService<P, Q> {
    /// Keeps timers in this queue, of a job with so many key groups, and gives them out at most
    /// `batch` at once.
    pub fn new(queue: Q, key_groups: KeyGroups, batch: usize) -> Self {
        let domain = || Domain { lists: 0, out: None };
        Self {
            queue,
            key_groups,
            batch: batch.max(1),
            known: 0,
            event: domain(),
            processing: domain(),
            asked: None,
            ending: None,
            dropped: Some(0),
            frozen: BTreeMap::new(),
        }
    }

    const fn domain(&mut self, domain: TimerDomain) -> &mut Domain<P> {
        match domain {
            TimerDomain::Event => &mut self.event,
            TimerDomain::Processing => &mut self.processing,
        }
    }

    /// The client has said this.
    ///
    /// # Errors
    ///
    /// What the queue returns, and when edits are missing before these.
    pub fn edits(&mut self, edits: Edits<P>) -> Result<(), Failure> {
        self.begin(&edits)?;
        edits.edits.into_iter().try_for_each(|edit| self.edit(edit))
    }

    /// A list comes, whose edits are given one by one.
    ///
    /// # Errors
    ///
    /// When edits are missing before these.
    pub fn begin(&self, edits: &Edits<P>) -> Result<(), Failure> {
        if edits.before != self.known {
            return Err(Crossed { known: self.known, before: edits.before }.into());
        }
        Ok(())
    }

    /// The client has said this, as the next of its list.
    ///
    /// # Errors
    ///
    /// What the queue returns.
    pub fn edit(&mut self, edit: Edit<P>) -> Result<(), Failure> {
        self.known += 1;
        match edit {
            Edit::Set(timer) if self.ending.is_some() => {
                // One that is out, or still there, is the same timer.
                let out = &mut self.domain(timer.domain).out;
                if !out.as_mut().is_some_and(|out| out.contains(&timer))
                    && self.queue.set(timer.clone())?
                {
                    self.queue.delete(&timer)?;
                    self.dropped = self.dropped.map(|dropped| dropped + 1);
                }
            }
            Edit::Set(timer) => {
                let out = &mut self.domain(timer.domain).out;
                if !out.as_mut().is_some_and(|out| out.contains(&timer)) {
                    self.queue.set(timer)?;
                }
            }
            Edit::Delete(timer) => {
                let out = &mut self.domain(timer.domain).out;
                if !out.as_mut().is_some_and(|out| out.delete(&timer)) {
                    self.queue.delete(&timer)?;
                }
            }
            Edit::Handled { domain, list, timers } => {
                let out = &mut self.domain(domain).out;
                if let Some(listed) = out.as_mut().filter(|out| out.list == list)
                    && listed.handle(timers)
                {
                    *out = None;
                }
            }
            Edit::Step(watermark) => self.asked = Some(watermark),
            Edit::Freeze(_) => self.freeze()?,
            Edit::End { fire } => self.ending = Some(fire),
        }
        Ok(())
    }

    /// How many edits have come.
    pub const fn known(&self) -> u64 {
        self.known
    }

    /// The list that is to be sent at this time of the clock on the wall, if there is one.
    ///
    /// # Errors
    ///
    /// What the queue returns.
    pub fn due(&mut self, now: Timestamp) -> Result<Option<Firings<P>>, Failure> {
        if self.event.out.is_none()
            && let Some(watermark) = self.asked.take()
        {
            return self.list(TimerDomain::Event, watermark).map(Some);
        }
        if self.wakes()?.is_some_and(|time| time <= now) {
            return self.list(TimerDomain::Processing, now).map(Some);
        }
        match self.ending {
            Some(fire) if self.processing.out.is_none() => self.end(fire),
            _ => Ok(None),
        }
    }

    /// The input has ended, and no processing timer is out.
    fn end(&mut self, fire: bool) -> Result<Option<Firings<P>>, Failure> {
        if fire && self.queue.len(TimerDomain::Processing) > 0 {
            return self.list(TimerDomain::Processing, Timestamp::MAX).map(Some);
        }
        let Some(dropped) = self.dropped.take() else { return Ok(None) };
        let mut left = 0;
        for domain in [TimerDomain::Event, TimerDomain::Processing] {
            left += self.queue.len(domain);
            self.queue.clear(domain)?;
        }
        let mut firings = self.list(TimerDomain::Processing, Timestamp::MIN)?;
        firings.dropped = Some(dropped + left);
        Ok(Some(firings))
    }

    /// When the clock on the wall has to be looked at next.
    ///
    /// # Errors
    ///
    /// What the queue returns.
    pub fn wakes(&mut self) -> Result<Option<Timestamp>, Failure> {
        if self.processing.out.is_some() {
            return Ok(None);
        }
        self.queue.next_due(TimerDomain::Processing)
    }

    fn list(&mut self, domain: TimerDomain, up_to: Timestamp) -> Result<Firings<P>, Failure> {
        let mut timers = Vec::new();
        self.queue.take_due(domain, up_to, self.batch, &mut timers)?;
        let next = self.queue.next_due(domain)?;
        let knows = self.known;
        let of = self.domain(domain);
        of.lists += 1;
        let list = of.lists;
        of.out = Some(Listed::new(list, timers.clone())).filter(|_| !timers.is_empty());
        let last = next.is_none_or(|next| next > up_to);
        Ok(Firings { domain, list, knows, timers, last, next, dropped: None })
    }

    /// How many timers of a domain are kept, those that are out among them.
    pub fn len(&self, domain: TimerDomain) -> usize {
        let Domain { out, .. } = match domain {
            TimerDomain::Event => &self.event,
            TimerDomain::Processing => &self.processing,
        };
        self.queue.len(domain) + out.as_ref().map_or(0, |out| out.iter().count())
    }

    fn freeze(&mut self) -> Result<(), Failure> {
        self.queue.freeze()?;
        self.frozen.clear();
        for timer in [&self.event, &self.processing].into_iter().flat_map(|it| &it.out) {
            for timer in timer.iter() {
                let group = self.key_groups.of(timer.hash);
                self.frozen.entry(group).or_default().push(timer.clone());
            }
        }
        Ok(())
    }

    /// Takes about so many further timers of the snapshot, by key group; true if that was all.
    ///
    /// # Errors
    ///
    /// What the queue returns.
    pub fn snapshot(&mut self, timers: usize, into: &mut Snapshot) -> Result<bool, Failure> {
        // At most two lists.
        for (group, timers) in std::mem::take(&mut self.frozen) {
            into.keyed(group, timers);
        }
        self.queue.snapshot(timers, into)
    }

    /// The snapshot that is under way is given up.
    pub fn abandon(&mut self) {
        self.frozen.clear();
        self.queue.abandon();
    }

    /// A piece of a snapshot comes back, before anything else.
    ///
    /// # Errors
    ///
    /// What the queue returns.
    pub fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.queue.restore(piece)
    }
}
