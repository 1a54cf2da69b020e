//! The operator behind every process: one table of states, and what a call of the process comes to.

use std::time::Duration;

use millstream_core::{
    Epoch, Failure, KeyHash, Keyed, Record, Stamped, TaskInfo, Timestamp, codec,
};

use super::context::{EffectsOf, KeyTimer, ProcessContext};
use super::keyed::{Fired, KeyedProcess};
use super::slot::{Own, Slot};
use crate::state::{Change, KeyedTable, Next, Stored};
use crate::{Operator, Records, Restored, Snapshot, SnapshotError, Timer, TimerDomain};

/// Runs a [`KeyedProcess`].
///
/// # On recovery
///
/// The states of all keys come back, with the order in which they appeared.
pub struct ProcessOperator<P: KeyedProcess> {
    process: P,
    table: KeyedTable<P::Key, Slot<P::State, P::Timer>>,
    watermark: Option<Timestamp>,
    /// Keys that callbacks have given up, until their piece of the input has been worked off.
    cleared: Vec<(KeyHash, P::Key)>,
}

impl<P: KeyedProcess> ProcessOperator<P> {
    /// An operator for the keys that a task owns.
    pub fn new(task: &TaskInfo, process: P) -> Self {
        let range = task.key_groups.range(task.subtask, task.parallelism);
        let table = KeyedTable::new(task.key_groups, range);
        Self { process, table, watermark: None, cleared: Vec::new() }
    }

    /// How many keys have a state.
    pub const fn keys(&self) -> usize {
        self.table.len()
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

/// Works off records whose states have been looked for, until there is no more room.
#[inline(always)]
fn work_off<P: KeyedProcess>(
    process: &mut P,
    watermark: Option<Timestamp>,
    cleared: &mut Vec<(KeyHash, P::Key)>,
    mut states: impl Change<P::Key, Slot<P::State, P::Timer>>,
    records: impl Iterator<Item = Stamped<Keyed<P::Key, P::In>>>,
    out: &mut EffectsOf<P>,
) -> Result<(), Failure> {
    let knows_all = P::CLEARS_TIMERS;
    for record in records {
        let at = record.with(());
        let Keyed { hash, key, value } = record.value;
        let gone = states.change(hash, &key, Slot::default, |slot| {
            slot.cleared = false;
            let own = &mut slot.own;
            let mut cx = ProcessContext {
                key: &key,
                hash,
                at,
                watermark,
                own,
                out: &mut *out,
                knows_all,
                clears: false,
            };
            process.on_record(value, &mut slot.state, &mut cx)?;
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

impl<P: KeyedProcess> Operator for ProcessOperator<P> {
    type In = Keyed<P::Key, P::In>;
    type Out = P::Out;
    type Timer = KeyTimer<P::Key, P::Timer>;

    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
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
        let Self { process, table, watermark, cleared } = self;
        while let [next, ..] = records.ahead() {
            table.check(next.value.hash)?;
            let keys = records.ahead().iter().map(|record| (record.value.hash, &record.value.key));
            let (ours, next) = table.look_ahead(keys);
            let ours = records.by_ref().take(ours);
            match next {
                Next::InLeaf(states) => work_off(process, *watermark, cleared, states, ours, out)?,
                Next::InTree(states) => work_off(process, *watermark, cleared, states, ours, out)?,
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
        let (at, passed) = match domain {
            TimerDomain::Event => (Stamped::at((), time), self.watermark),
            TimerDomain::Processing => (Stamped::new(()), Some(out.now())),
        };
        let late = passed.map_or(0, |passed| passed.millis_since(time).max(0));
        let late = Duration::from_millis(late.unsigned_abs());
        let fired = Fired { at: time, domain, late, timer };
        let Self { process, table, watermark, .. } = self;
        // A key without a state has one for this call.
        let mut new = None;
        let slot = match table.get_mut(hash, &key)? {
            Some(slot) => slot,
            None => new.insert(Slot::default()),
        };
        let Slot { state, own, .. } = slot;
        if own.is_some() {
            Own::take(own, |it| it.domain == domain && it.at == time && it.timer == fired.timer);
        }
        let (watermark, knows_all) = (*watermark, P::CLEARS_TIMERS);
        let mut cx =
            ProcessContext { key: &key, hash, at, watermark, own, out, knows_all, clears: false };
        process.on_timer(fired, state, &mut cx)?;
        let gone = cx.settle();
        match new {
            None if gone => drop(table.remove(hash, &key)?),
            Some(slot) if !gone && is_worth_keeping(&slot)? => {
                *table.entry_with(hash, &key, Slot::default)? = slot;
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
        for captured in self.table.take_captured() {
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
