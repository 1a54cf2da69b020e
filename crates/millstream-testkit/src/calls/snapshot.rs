//! The state of a task of calls on its way out and back in.

use millstream_core::{Failure, TaskInfo};
use millstream_operators::async_wait::Limits;
use millstream_operators::{Restored, Snapshot};
use millstream_runtime::{Caller, CallsByHand};

use super::{CallHarness, State};
use crate::ManualClock;
use crate::harness::{Element, Stored, StoredPiece};
use crate::refuse::refuse;

impl<C: Caller> CallHarness<C> {
    /// Takes a whole snapshot, so many pieces at a time. A barrier stands behind all that has come,
    /// so what waits for room is in it.
    ///
    /// # Panics
    ///
    /// When the task is not open or fails, after the end of the input, and when a piece cannot be
    /// stored.
    #[track_caller]
    pub fn snapshot(&mut self, pieces: usize) -> Stored {
        match self.try_snapshot(pieces) {
            Ok(stored) => stored,
            Err(failure) => refuse(format!("the task fails to give its state: {failure}")),
        }
    }

    /// As [`snapshot`](Self::snapshot).
    ///
    /// # Errors
    ///
    /// When a piece cannot be stored: it names the task, nothing has been stored, and the task goes
    /// on.
    ///
    /// # Panics
    ///
    /// When the task is not open or fails, and after the end of the input.
    #[track_caller]
    pub fn try_snapshot(&mut self, pieces: usize) -> Result<Stored, Failure> {
        self.turn();
        let State::Open(running) = &mut self.state else {
            refuse("a snapshot of a task that is not open");
        };
        if self.grammar.ended() {
            refuse("a snapshot after the end: no barrier follows it");
        }
        for element in self.input.drain(..) {
            match element {
                Element::Record(record) => running.wait().park(record),
                Element::Mark(mark) => running.wait().mark(mark),
            }
        }
        let stored = running.freeze().and_then(|()| sweep(running, pieces, &self.task));
        stored.inspect_err(|_| running.wait().abandon())
    }

    /// All tasks of a stage of this parallelism, each with what of this state belongs to it, each
    /// on a clock of its own.
    ///
    /// # Panics
    ///
    /// When a task fails.
    #[track_caller]
    pub fn restored(
        parallelism: usize,
        stored: &Stored,
        factory: impl Fn(&TaskInfo) -> (C, Limits),
    ) -> Vec<Self> {
        Self::restored_on(&ManualClock::new(), parallelism, stored, factory)
    }

    /// As [`restored`](Self::restored), all on this clock.
    ///
    /// # Panics
    ///
    /// When a task fails.
    #[track_caller]
    pub fn restored_on(
        clock: &ManualClock,
        parallelism: usize,
        stored: &Stored,
        factory: impl Fn(&TaskInfo) -> (C, Limits),
    ) -> Vec<Self> {
        let restore = |subtask| {
            let mut harness = Self::made_for(stored.task(subtask, parallelism), clock, &factory);
            harness.restore(stored);
            harness
        };
        (0..parallelism).map(restore).collect()
    }

    /// Gives back what of this state belongs to this task, and makes its calls.
    ///
    /// # Panics
    ///
    /// After the first turn, and when the task fails.
    #[track_caller]
    pub fn restore(&mut self, stored: &Stored) -> &mut Self {
        if !matches!(self.state, State::Created(_)) {
            refuse("stored state comes back before the first turn");
        }
        self.task.attempt = stored.next_attempt();
        self.stored = Some(stored.of_task(&self.task));
        self.turn()
    }
}

/// All pieces of what is frozen.
fn sweep<C: Caller>(
    running: &mut CallsByHand<C>,
    pieces: usize,
    task: &TaskInfo,
) -> Result<Stored, Failure> {
    let mut stored = Stored::by(task);
    loop {
        let mut taken = Snapshot::default();
        let all = running.wait().snapshot(pieces.max(1), &mut taken);
        for piece in taken.into_pieces() {
            let group = piece.group;
            let bytes = piece.encode().map_err(|error| Failure::new(format!("{task}: {error}")))?;
            stored.push(StoredPiece { group, bytes });
        }
        if all {
            return Ok(stored);
        }
    }
}

/// What was stored comes back.
pub(super) fn give_back<C: Caller>(
    running: &mut CallsByHand<C>,
    stored: &Stored,
) -> Result<(), Failure> {
    let mut pieces = stored.pieces().iter();
    pieces.try_for_each(|it| running.wait().restore(&Restored::new(it.group, &it.bytes)))
}
