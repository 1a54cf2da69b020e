//! What a task has in hand: a list, and in its midst what callbacks have set meanwhile.

use millstream_core::{Key, Timestamp};

use super::bucket::Held;
use super::listed::Listed;
use super::tree::Tree;
use crate::{Timer, TimerDomain};

/// A list in hand.
#[derive(Debug)]
pub(super) struct Hand<P> {
    pub(super) listed: Listed<P>,
    /// How many of it the service has been told of.
    pub(super) told: usize,
    domain: TimerDomain,
    /// What callbacks have set that is due before the last one of the list.
    own: Tree<P>,
}

/// What is to be fired next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Drawn<P> {
    /// One of the list.
    Listed(Timer<P>),
    /// One that a callback has set.
    Own(Timer<P>),
}

fn held<P: Clone>(timer: &Timer<P>) -> Held<P> {
    Held { hash: timer.hash, payload: timer.payload.clone() }
}

impl<P: Key> Hand<P> {
    pub(super) fn new(domain: TimerDomain, list: u64, timers: Vec<Timer<P>>) -> Self {
        Self { listed: Listed::new(list, timers), told: 0, domain, own: Tree::new() }
    }

    /// A callback sets a timer that the list covers and does not hold.
    pub(super) fn set(&mut self, timer: &Timer<P>) {
        self.own.insert(timer.time, held(timer));
    }

    /// A timer is deleted; nothing happens if it is not in the hand.
    pub(super) fn delete(&mut self, timer: &Timer<P>) {
        self.listed.delete(timer);
        if self.own.len() > 0 {
            self.own.remove(timer.time, &held(timer));
        }
    }

    /// Draws the next timer; none if there is none left.
    pub(super) fn draw(&mut self) -> Option<Drawn<P>> {
        let listed = self.listed.next_time();
        if let Some(own) = self.own.first_time()
            && listed.is_none_or(|listed| own < listed)
        {
            let (time, Held { hash, payload }, _) = self.own.pop_due(Timestamp::MAX)?;
            return Some(Drawn::Own(Timer { time, domain: self.domain, hash, payload }));
        }
        self.listed.take_next().map(Drawn::Listed)
    }
}
