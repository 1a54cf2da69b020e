//! What a process is told, and the sheet on which it writes what it wants done.

use std::fmt;

use millstream_core::{Data, Key, KeyHash, Stamped, Timestamp};
use serde::{Deserialize, Serialize};

use super::KeyedProcess;
use super::slot::{Own, Owned};
use crate::{Effects, SideOutput, Timer, TimerDomain, TimerEdit};

/// What a timer of a process carries: its key, and the process's own value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyTimer<K, T> {
    /// The key.
    pub key: K,
    /// What it is for.
    pub timer: KeyTimerFor<T>,
}

/// What a timer of a process is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyTimerFor<T> {
    /// The process has set it, with this value.
    Process(T),
    /// The key's [time to live](super::TimeToLive) may be over.
    TimeToLive,
}

pub(super) type EffectsOf<P> = Effects<
    <P as KeyedProcess>::Out,
    KeyTimer<<P as KeyedProcess>::Key, <P as KeyedProcess>::Timer>,
>;

/// What a process is told about a record or a timer, and where it writes what it wants done.
pub struct ProcessContext<'a, K, U, T> {
    pub(super) key: &'a K,
    pub(super) hash: KeyHash,
    /// The time that what is emitted has.
    pub(super) at: Stamped<()>,
    pub(super) watermark: Option<Timestamp>,
    pub(super) own: &'a mut Option<Box<Own<T>>>,
    pub(super) out: &'a mut Effects<U, KeyTimer<K, T>>,
    /// Whether all timers of the key are to be known.
    pub(super) knows_all: bool,
    pub(super) clears: bool,
}

impl<K: Key, U: Data, T: Key> ProcessContext<'_, K, U, T> {
    /// The key.
    #[inline]
    pub const fn key(&self) -> &K {
        self.key
    }

    /// The time of the record, or of the event timer, that this call is for. None for a record
    /// without a time and for a processing timer.
    #[inline]
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.at.timestamp()
    }

    /// The watermark of the task: records before it are late. None before the first.
    #[inline]
    pub const fn watermark(&self) -> Option<Timestamp> {
        self.watermark
    }

    /// What the clock on the wall showed when the task last looked.
    #[inline]
    pub const fn now(&self) -> Timestamp {
        self.out.now()
    }

    /// Sends a value on, with the [time](Self::timestamp) of this call.
    #[inline]
    pub fn emit(&mut self, value: U) {
        self.out.emit(self.at.with(value));
    }

    /// Sends a value on with a time of its own.
    #[inline]
    pub fn emit_at(&mut self, value: U, at: Timestamp) {
        self.out.emit(Stamped::at(value, at));
    }

    /// Sends a value to a side output, with the [time](Self::timestamp) of this call; if nothing
    /// reads it, it is dropped and counted.
    pub fn side<V: Data>(&mut self, output: &SideOutput<V>, value: V) {
        self.out.side(output, self.at.with(value));
    }

    /// Adds to a counter of the task that shows under this name in its metrics.
    pub fn count(&mut self, name: &'static str, n: u64) {
        self.out.count(name, n);
    }

    /// Sets a timer that fires when the watermark has come to `at`. If it has already, at the next
    /// one; from a callback of a timer that fires at the watermark of the task, at once.
    #[inline]
    pub fn event_timer(&mut self, at: Timestamp, timer: T) {
        self.set(TimerDomain::Event, at, timer);
    }

    /// Sets a timer that fires when the clock on the wall shows `at`; at once if it does already.
    #[inline]
    pub fn processing_timer(&mut self, at: Timestamp, timer: T) {
        self.set(TimerDomain::Processing, at, timer);
    }

    /// Deletes a timer that was set for `at`; nothing happens if there is none.
    #[inline]
    pub fn delete_event_timer(&mut self, at: Timestamp, timer: T) {
        self.delete(TimerDomain::Event, at, timer);
    }

    /// Deletes a timer that was set for `at`; nothing happens if there is none.
    #[inline]
    pub fn delete_processing_timer(&mut self, at: Timestamp, timer: T) {
        self.delete(TimerDomain::Processing, at, timer);
    }

    /// Sets a timer in place of the one of this value that was last set so: there is one of them
    /// for each key.
    pub fn replace_event_timer(&mut self, at: Timestamp, timer: T) {
        self.replace(TimerDomain::Event, at, timer);
    }

    /// Sets a timer in place of the one of this value that was last set so: there is one of them
    /// for each key.
    pub fn replace_processing_timer(&mut self, at: Timestamp, timer: T) {
        self.replace(TimerDomain::Processing, at, timer);
    }

    /// Deletes the timer of this value that was set by
    /// [`replace_event_timer`](Self::replace_event_timer); nothing happens if there is none.
    pub fn cancel_event_timer(&mut self, timer: &T) {
        self.cancel(TimerDomain::Event, timer);
    }

    /// Deletes the timer of this value that was set by
    /// [`replace_processing_timer`](Self::replace_processing_timer); nothing happens if there is
    /// none.
    pub fn cancel_processing_timer(&mut self, timer: &T) {
        self.cancel(TimerDomain::Processing, timer);
    }

    /// Forgets the key's state when this call returns, and deletes those of its timers that were
    /// put in place of others; all of them if the process [says
    /// so](KeyedProcess::CLEARS_TIMERS). Another timer of the key still fires, and finds a new
    /// state.
    pub const fn clear(&mut self) {
        self.clears = true;
    }

    fn timer(&self, domain: TimerDomain, time: Timestamp, timer: T) -> Timer<KeyTimer<K, T>> {
        let payload = KeyTimer { key: self.key.clone(), timer: KeyTimerFor::Process(timer) };
        Timer { time, domain, hash: self.hash, payload }
    }

    #[inline]
    fn set(&mut self, domain: TimerDomain, at: Timestamp, timer: T) {
        if self.knows_all {
            let single = false;
            Own::add(self.own, Owned { domain, at, timer: timer.clone(), single });
        }
        let timer = self.timer(domain, at, timer);
        self.out.timer(TimerEdit::Set(timer));
    }

    #[inline]
    fn delete(&mut self, domain: TimerDomain, at: Timestamp, timer: T) {
        if self.own.is_some() {
            let is_it = |it: &Owned<_>| it.domain == domain && it.at == at && it.timer == timer;
            Own::take(self.own, is_it);
        }
        let timer = self.timer(domain, at, timer);
        self.out.timer(TimerEdit::Delete(timer));
    }

    fn replace(&mut self, domain: TimerDomain, at: Timestamp, timer: T) {
        self.cancel(domain, &timer);
        Own::add(self.own, Owned { domain, at, timer: timer.clone(), single: true });
        let timer = self.timer(domain, at, timer);
        self.out.timer(TimerEdit::Set(timer));
    }

    fn cancel(&mut self, domain: TimerDomain, timer: &T) {
        let is_it = |it: &Owned<_>| it.single && it.domain == domain && it.timer == *timer;
        if let Some(Owned { at, timer, .. }) = Own::take(self.own, is_it) {
            let timer = self.timer(domain, at, timer);
            self.out.timer(TimerEdit::Delete(timer));
        }
    }

    fn delete_own(&mut self) {
        for Owned { domain, at, timer, .. } in Own::take_all(self.own) {
            let timer = self.timer(domain, at, timer);
            self.out.timer(TimerEdit::Delete(timer));
        }
    }

    /// The state's time to live is over: it is a new one from here on.
    pub(super) fn expire(&mut self) {
        self.delete_own();
        self.out.count("states expired", 1);
    }

    /// The state is looked at again then, whether its time to live is over.
    pub(super) fn look_at(&mut self, at: Timestamp) {
        let payload = KeyTimer { key: self.key.clone(), timer: KeyTimerFor::TimeToLive };
        let (domain, hash) = (TimerDomain::Processing, self.hash);
        self.out.timer(TimerEdit::Set(Timer { time: at, domain, hash, payload }));
    }

    /// Deletes all timers that are known; whether the state is given up.
    pub(super) fn settle(&mut self) -> bool {
        if self.clears {
            self.delete_own();
        }
        self.clears
    }
}

impl<K: Key, U: Data, T: Key> fmt::Debug for ProcessContext<'_, K, U, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessContext")
            .field("timestamp", &self.timestamp())
            .field("watermark", &self.watermark)
            .finish_non_exhaustive()
    }
}
