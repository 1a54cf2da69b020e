//! The operator behind every process: one table of states, and what a call of the process comes to.

use std::time::Duration;

use millstream_core::{
    Data, Epoch, Failure, Key, KeyHash, Keyed, Record, Stamped, TaskInfo, Timestamp, codec,
};

use super::context::{EffectsOf, KeyTimer, KeyTimerFor, ProcessContext};
use super::keyed::{Fired, KeyedProcess};
use super::slot::{Own, Slot};
use super::ttl::{TimeToLive, TimeToLiveError};
use crate::state::{Change, KeyedTable, Next, Stored};
use crate::{Operator, Records, Restored, Snapshot, SnapshotError, Timer, TimerDomain, TimerEdit};

/// Runs a [`KeyedProcess`].
///
/// # On recovery
///
/// The states of all keys come back, with the order in which they appeared.
pub struct ProcessOperator<P: KeyedProcess> {
    process: P,
    table: KeyedTable<P::Key, Slot<P::State, P::Timer>>,
    watermark: Option<Timestamp>,
    time_to_live: Option<TimeToLive>,
    /// What the clock on the wall showed when something came last.
    now: Timestamp,
    /// Keys that callbacks have given up, until their piece of the input has been worked off.
    cleared: Vec<(KeyHash, P::Key)>,
}

impl<P: KeyedProcess> ProcessOperator<P> {
    /// An operator for the keys that a task owns.
    pub fn new(task: &TaskInfo, process: P) -> Self {
        let range = task.key_groups.range(task.subtask, task.parallelism);
        let table = KeyedTable::new(task.key_groups, range);
        let (watermark, time_to_live, now) = (None, None, Timestamp::MIN);
        Self { process, table, watermark, time_to_live, now, cleared: Vec::new() }
    }

    /// How many keys have a state.
    pub const fn keys(&self) -> usize {
        self.table.len()
    }

    /// A timer that is due, and the time that what its callback emits has.
    fn fired(
        &self,
        time: Timestamp,
        domain: TimerDomain,
        timer: P::Timer,
    ) -> (Stamped<()>, Fired<P::Timer>) {
        let (at, passed) = match domain {
            TimerDomain::Event => (Stamped::at((), time), self.watermark),
            TimerDomain::Processing => (Stamped::new(()), Some(self.now)),
        };
        let late = passed.map_or(0, |passed| passed.millis_since(time).max(0));
        let late = Duration::from_millis(late.unsigned_abs());
        (at, Fired { at: time, domain, late, timer })
    }

    /// The state of a key goes if its time to live is over. When it is to be looked at again if it
    /// stays.
    fn goes_if_over(
        &mut self,
        hash: KeyHash,
        key: &P::Key,
        out: &mut EffectsOf<P>,
    ) -> Result<Option<Timestamp>, Failure> {
        let Self { table, watermark, time_to_live: Some(time_to_live), .. } = self else {
            return Ok(None);
        };
        let Some(Slot { own, used: Some(used), .. }) = table.get_mut(hash, key)? else {
            return Ok(None);
        };
        let end = time_to_live.end(*used);
        if end > out.now() {
            return Ok(Some(end));
        }
        let (at, watermark, knows_all, clears) = (Stamped::new(()), *watermark, false, false);
        ProcessContext { key, hash, at, watermark, own, out, knows_all, clears }.expire();
        table.remove(hash, key)?;
        Ok(None)
    }

    /// Keys that were given up and have not come back have no state any more.
    fn forget_cleared(&mut self) -> Result<(), Failure> {
        for (hash, key) in self.cleared.drain(..) {
            if self.table.get(hash, &key)?.is_some_and(|slot| slot.cleared) {
                self.table.remove(hash, &key)?;
            }
        }
        Ok(())
    }
}

/// What all calls of a process have in common while a batch is worked off.
#[derive(Clone, Copy)]
struct Around {
    watermark: Option<Timestamp>,
    time_to_live: Option<TimeToLive>,
}

/// Works off records whose states have been looked for, until there is no more room.
#[inline(always)]
fn work_off<P: KeyedProcess>(
    process: &mut P,
    around: Around,
    cleared: &mut Vec<(KeyHash, P::Key)>,
    mut states: impl Change<P::Key, Slot<P::State, P::Timer>>,
    records: impl Iterator<Item = Stamped<Keyed<P::Key, P::In>>>,
    out: &mut EffectsOf<P>,
) -> Result<(), Failure> {
    let Around { watermark, time_to_live } = around;
    let (knows_all, clears) = (P::CLEARS_TIMERS, false);
    for record in records {
        let at = record.with(());
        let Keyed { hash, key, value } = record.value;
        let gone = states.change(hash, &key, Slot::default, |slot| {
            slot.cleared = false;
            let Slot { state, own, used, .. } = slot;
            let (key, out) = (&key, &mut *out);
            let mut cx = ProcessContext { key, hash, at, watermark, own, out, knows_all, clears };
            if let Some(time_to_live) = time_to_live {
                use_state(state, used, time_to_live, &mut cx);
            }
            process.on_record(value, state, &mut cx)?;
            let gone = cx.settle();
            if gone {
                *slot = Slot { cleared: true, ..Slot::default() };
            }
            Ok::<_, Failure>(gone)
        })?;
        if gone {
            cleared.push((hash, key));
        }
        if out.is_full() {
            break;
        }
    }
    Ok(())
}

/// A state is used now. One whose time is over is a new one.
fn use_state<S: Default, K: Key, U: Data, T: Key>(
    state: &mut S,
    used: &mut Option<Timestamp>,
    time_to_live: TimeToLive,
    cx: &mut ProcessContext<'_, K, U, T>,
) {
    let now = cx.now();
    match *used {
        // It has no timer yet. Later ones are set by the one before.
        None => cx.look_at(time_to_live.end(now)),
        Some(used) if time_to_live.end(used) <= now => {
            cx.expire();
            *state = S::default();
        }
        Some(_) => {}
    }
    *used = Some(now);
}

impl<P: KeyedProcess> Operator for ProcessOperator<P> {
    type In = Keyed<P::Key, P::In>;
    type Out = P::Out;
    type Timer = KeyTimer<P::Key, P::Timer>;

    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
        self.time_to_live = self.process.time_to_live();
        if self.time_to_live.is_some_and(|it| it.after < Duration::from_millis(1)) {
            return Err(TimeToLiveError::Zero.into());
        }
        self.process.open(task)
    }

    fn on_record(
        &mut self,
        record: Stamped<Self::In>,
        out: &mut EffectsOf<P>,
    ) -> Result<(), Failure> {
        self.on_records(&mut Records::new(&mut vec![record].drain(..), 1), out)
    }

    #[inline]
    fn on_records(
        &mut self,
        records: &mut Records<'_, '_, Self::In>,
        out: &mut EffectsOf<P>,
    ) -> Result<(), Failure> {
        self.now = out.now();
        let Self { process, table, watermark, time_to_live, cleared, .. } = self;
        let around = Around { watermark: *watermark, time_to_live: *time_to_live };
        while let [next, ..] = records.ahead() {
            table.check(next.value.hash)?;
            let keys = records.ahead().iter().map(|record| (record.value.hash, &record.value.key));
            let (ours, next) = table.look_ahead(keys);
            let ours = records.by_ref().take(ours);
            match next {
                Next::InLeaf(states) => work_off(process, around, cleared, states, ours, out)?,
                Next::InTree(states) => work_off(process, around, cleared, states, ours, out)?,
            }
            if out.is_full() {
                break;
            }
        }
        self.forget_cleared()
    }

    fn on_watermark(&mut self, watermark: Timestamp, _: &mut EffectsOf<P>) -> Result<(), Failure> {
        self.watermark = Some(watermark);
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer<Self::Timer>,
        out: &mut EffectsOf<P>,
    ) -> Result<(), Failure> {
        let Timer { time, domain, hash, payload: KeyTimer { key, timer } } = timer;
        self.now = out.now();
        let look_again = self.goes_if_over(hash, &key, out)?;
        let KeyTimerFor::Process(timer) = timer else {
            if let Some(time) = look_again {
                let payload = KeyTimer { key, timer: KeyTimerFor::TimeToLive };
                out.timer(TimerEdit::Set(Timer { time, domain, hash, payload }));
            }
            return Ok(());
        };
        let (at, fired) = self.fired(time, domain, timer);
        let Self { process, table, watermark, time_to_live, .. } = self;
        // A key without a state has one for this call.
        let mut new = None;
        let slot = match table.get_mut(hash, &key)? {
            Some(slot) => slot,
            None => new.insert(Slot::default()),
        };
        let Slot { state, own, used, .. } = slot;
        if own.is_some() {
            Own::take(own, |it| it.domain == domain && it.at == time && it.timer == fired.timer);
        }
        let (watermark, knows_all, clears) = (*watermark, P::CLEARS_TIMERS, false);
        let mut cx = ProcessContext { key: &key, hash, at, watermark, own, out, knows_all, clears };
        if time_to_live.is_some_and(|it| it.timers_use) {
            *used = used.map(|_| cx.now());
        }
        process.on_timer(fired, state, &mut cx)?;
        let gone = cx.settle();
        match new {
            None if gone => drop(table.remove(hash, &key)?),
            Some(slot) if !gone && is_worth_keeping(&slot)? => {
                let kept = table.entry_with(hash, &key, Slot::default)?;
                *kept = slot;
                if let Some(time_to_live) = *time_to_live {
                    let own = &mut kept.own;
                    let mut cx = ProcessContext {
                        key: &key,
                        hash,
                        at,
                        watermark,
                        own,
                        out,
                        knows_all,
                        clears,
                    };
                    use_state(&mut kept.state, &mut kept.used, time_to_live, &mut cx);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn fires_at_end(&self) -> bool {
        P::FIRES_AT_END
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.process.close()
    }

    fn freeze(&mut self, epoch: Epoch) -> Result<(), Failure> {
        Ok(self.table.begin_capture(epoch)?)
    }

    fn snapshot(&mut self, entries: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        let left = self.table.sweep(entries);
        let over = |slot: &Slot<_, _>| match (self.time_to_live, slot.used) {
            (Some(time_to_live), Some(used)) => time_to_live.end(used) <= self.now,
            _ => false,
        };
        for mut captured in self.table.take_captured() {
            captured.entries.retain(|stored| !over(&stored.value));
            snapshot.keyed(captured.group, captured.entries);
        }
        Ok(!left)
    }

    fn abandon(&mut self, epoch: Epoch) {
        if self.table.capturing().is_some_and(|open| open <= epoch) {
            drop(self.table.abandon_capture());
        }
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        let group = piece
            .group
            .ok_or(SnapshotError::Kind { found: "a whole operator", expected: "key groups" })?;
        for stored in piece.read::<Vec<Stored<P::Key, Slot<P::State, P::Timer>>>>()? {
            let (has, has_now) = (stored.value.used.is_some(), self.time_to_live.is_some());
            if has != has_now {
                return Err(TimeToLiveError::Changed { stored: has }.into());
            }
            self.table.restore(group, stored)?;
        }
        Ok(())
    }
}

/// Whether a timer has left a state behind at a key that had none. A state that is stored as a new
/// one is none: else every timer of a key that was cleared would bring it back.
fn is_worth_keeping<S, T>(slot: &Slot<S, T>) -> Result<bool, Failure>
where
    S: Record + Default,
{
    if slot.own.is_some() {
        return Ok(true);
    }
    let new = S::default();
    let (left, new) = (codec::encode(&slot.state), codec::encode(&new));
    match (left, new) {
        (Ok(left), Ok(new)) => Ok(left != new),
        (Err(error), _) | (_, Err(error)) => Err(Failure::new(error).about(&slot.state)),
    }
}
