//! The state of an operator on its way out and back in, a few entries at a time.

use millstream_core::{Epoch, Failure, KeyGroup, TaskInfo, codec};
use millstream_operators::{Operator, Restored, Snapshot, Timer, TimerDomain};

use super::stored::{Stored, StoredPiece};
use super::{Harness, Phase};
use crate::refuse::refuse;

/// Calls of `snapshot` after which an operator is said to go on for ever.
const SWEEPS: usize = 1_000_000;

impl<O: Operator> Harness<O> {
    /// Takes a whole snapshot, `entries` entries at a time.
    ///
    /// # Panics
    ///
    /// When one is under way, when the operator fails, or when it gives state of a key group that
    /// its task does not own.
    #[track_caller]
    pub fn snapshot(&mut self, entries: usize) -> Stored {
        self.snapshot_while(entries, |_, _| ())
    }

    /// As [`snapshot`](Self::snapshot), and between two pieces something else happens. It is told
    /// how many pieces have been taken.
    ///
    /// # Panics
    ///
    /// As [`snapshot`](Self::snapshot).
    #[track_caller]
    pub fn snapshot_while(
        &mut self,
        entries: usize,
        mut between: impl FnMut(&mut Self, usize),
    ) -> Stored {
        self.freeze();
        for taken in 1..=SWEEPS {
            if self.sweep(entries) {
                return self.take_stored();
            }
            between(self, taken);
        }
        refuse(format!("the operator still has state after {SWEEPS} calls of `snapshot`"))
    }

    /// A snapshot begins: what changes from here on is not in it. The next epoch's number is
    /// counted up by it.
    ///
    /// # Panics
    ///
    /// When one is under way, or the operator fails.
    #[track_caller]
    pub fn freeze(&mut self) -> Epoch {
        let ready = self.ready("a snapshot");
        self.well(ready);
        if self.snapshot.is_some() {
            refuse(format!("the snapshot of epoch {} is still under way", self.epoch));
        }
        self.epoch = Epoch::new(self.epoch.get() + 1);
        let frozen = self.operator.freeze(self.epoch);
        self.well(frozen);
        let mut stored = Stored::by(&self.task);
        for domain in [TimerDomain::Event, TimerDomain::Processing] {
            for timer in self.timers(domain) {
                let group = Some(self.task.key_groups.of(timer.hash));
                match codec::encode(&timer) {
                    Ok(bytes) => stored.timers.push(StoredPiece { group, bytes }),
                    Err(error) => refuse(format!("a timer cannot be stored: {error}")),
                }
            }
        }
        self.snapshot = Some(stored);
        self.epoch
    }

    /// Takes about so many further entries; true if that was all.
    ///
    /// # Panics
    ///
    /// As [`snapshot`](Self::snapshot), and when none is under way.
    #[track_caller]
    pub fn sweep(&mut self, entries: usize) -> bool {
        let mut taken = Snapshot::default();
        let swept = self.operator.snapshot(entries, &mut taken);
        let all = match swept {
            Ok(all) => all,
            Err(failure) => refuse(format!("the operator fails to give its state: {failure}")),
        };
        for piece in taken.into_pieces() {
            let group = piece.group;
            group.iter().for_each(|group| self.owns(*group, "a piece of state"));
            let bytes = match piece.encode() {
                Ok(bytes) => bytes,
                Err(error) => refuse(format!("a piece of state cannot be stored: {error}")),
            };
            match &mut self.snapshot {
                Some(stored) => stored.pieces.push(StoredPiece { group, bytes }),
                None => refuse("no snapshot is under way: begin one by `freeze`"),
            }
        }
        all
    }

    /// The snapshot that is under way is complete.
    ///
    /// # Panics
    ///
    /// When none is under way.
    #[track_caller]
    pub fn take_stored(&mut self) -> Stored {
        match self.snapshot.take() {
            Some(stored) => stored,
            None => refuse("no snapshot is under way: begin one by `freeze`"),
        }
    }

    /// The snapshot that is under way is given up; nothing happens if there is none.
    pub fn abandon(&mut self) -> &mut Self {
        self.snapshot = None;
        self.operator.abandon(self.epoch);
        self
    }

    /// Gives back what of this state belongs to this task, whatever the parallelism was when it was
    /// stored.
    ///
    /// # Panics
    ///
    /// After the first input, and when the operator fails.
    #[track_caller]
    pub fn restore(&mut self, stored: &Stored) -> &mut Self {
        let restored = self.try_restore(stored);
        self.well(restored)
    }

    /// As [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// What the operator returns.
    ///
    /// # Panics
    ///
    /// After the first input.
    #[track_caller]
    pub fn try_restore(&mut self, stored: &Stored) -> Result<(), Failure> {
        self.ready("stored state")?;
        if self.phase != Phase::Open {
            refuse("stored state comes back before the first input");
        }
        let mine = stored.of_task(&self.task);
        for piece in &mine.pieces {
            let restored = self.operator.restore(&Restored::new(piece.group, &piece.bytes));
            restored.inspect_err(|_| self.phase = Phase::Failed)?;
        }
        for piece in &mine.timers {
            let timer: Timer<O::Timer> = codec::decode(&piece.bytes)?;
            self.timers.set(timer);
        }
        Ok(())
    }

    /// All tasks of a stage of this parallelism, each with what of this state belongs to it.
    ///
    /// # Panics
    ///
    /// When an operator fails.
    #[track_caller]
    pub fn restored(
        parallelism: usize,
        stored: &Stored,
        factory: impl Fn(&TaskInfo) -> O,
    ) -> Vec<Self> {
        let restore = |subtask| {
            let mut harness = Self::made_for(stored.task(subtask, parallelism), &factory);
            harness.restore(stored);
            harness
        };
        (0..parallelism).map(restore).collect()
    }

    /// What concerns a key group must concern one of this task.
    #[track_caller]
    pub(super) fn owns(&self, group: KeyGroup, what: &str) {
        let owned = self.task.key_groups.range(self.task.subtask, self.task.parallelism);
        if !owned.contains(&group.get()) {
            refuse(format!("{what} of key group {group}: {} owns {owned:?}", self.task));
        }
    }
}
