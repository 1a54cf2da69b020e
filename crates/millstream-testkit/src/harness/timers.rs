//! The timers of a harness: two plain sorted sets.

use std::collections::BTreeMap;

use millstream_core::{Key, KeyHash, Record, Timestamp, codec};
use millstream_operators::{Timer, TimerDomain};

use crate::refuse::refuse;

/// What makes a timer the same timer: time, key, and the bytes of what it carries.
type Name = (Timestamp, KeyHash, Vec<u8>);

/// The timers that are set, by time.
pub(super) struct Timers<P> {
    event: BTreeMap<Name, Timer<P>>,
    processing: BTreeMap<Name, Timer<P>>,
}

impl<P: Key> Timers<P> {
    pub(super) const fn new() -> Self {
        Self { event: BTreeMap::new(), processing: BTreeMap::new() }
    }

    /// Setting a timer twice is setting it once.
    #[track_caller]
    pub(super) fn set(&mut self, timer: Timer<P>) {
        let name = name(&timer);
        self.of(timer.domain).insert(name, timer);
    }

    /// Deleting one that is not there does nothing.
    #[track_caller]
    pub(super) fn delete(&mut self, timer: &Timer<P>) {
        self.take(timer);
    }

    /// Deletes one; false if it is not there.
    #[track_caller]
    pub(super) fn take(&mut self, timer: &Timer<P>) -> bool {
        let name = name(timer);
        self.of(timer.domain).remove(&name).is_some()
    }

    /// Deletes all.
    pub(super) fn clear(&mut self) {
        self.event.clear();
        self.processing.clear();
    }

    /// The earliest timer that is due, which is forgotten before it fires.
    pub(super) fn due(&mut self, domain: TimerDomain, now: Timestamp) -> Option<Timer<P>> {
        let timers = self.of(domain);
        let first = timers.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// All of a domain, earliest first.
    pub(super) fn all(&self, domain: TimerDomain) -> Vec<Timer<P>> {
        let timers = match domain {
            TimerDomain::Event => &self.event,
            TimerDomain::Processing => &self.processing,
        };
        timers.values().cloned().collect()
    }

    fn of(&mut self, domain: TimerDomain) -> &mut BTreeMap<Name, Timer<P>> {
        match domain {
            TimerDomain::Event => &mut self.event,
            TimerDomain::Processing => &mut self.processing,
        }
    }
}

#[track_caller]
fn name<P: Record>(timer: &Timer<P>) -> Name {
    match codec::encode(&timer.payload) {
        Ok(payload) => (timer.time, timer.hash, payload),
        Err(error) => refuse(format!("a timer's payload cannot be stored: {error}")),
    }
}
