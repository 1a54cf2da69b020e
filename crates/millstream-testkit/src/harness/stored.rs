//! The state of one or more tasks as it lies in a store: pieces of bytes, each of a key group or of
//! an operator as a whole.

use std::collections::BTreeMap;

use millstream_core::{Attempt, KeyGroup, KeyGroups, TaskInfo};

use crate::refuse::refuse;

/// A piece of stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPiece {
    /// The key group it belongs to; none for state of an operator as a whole.
    pub group: Option<KeyGroup>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The state of one or more tasks of a stage: what a snapshot leaves and a restore begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    pub(super) pieces: Vec<StoredPiece>,
    /// Timers are pieces too, of the group of their key, but no operator sees them come back.
    pub(super) timers: Vec<StoredPiece>,
    /// How many key groups there were; unknown where nothing was stored.
    key_groups: Option<KeyGroups>,
    /// How many lives the job has had; those that go on from here are in the next one.
    lives: u32,
}

impl Stored {
    /// Nothing yet, of this task.
    pub(crate) fn by(task: &TaskInfo) -> Self {
        let (key_groups, lives) = (Some(task.key_groups), task.attempt.get() + 1);
        Self { key_groups, lives, ..Self::default() }
    }

    pub(crate) fn push(&mut self, piece: StoredPiece) {
        self.pieces.push(piece);
    }

    /// The card of a task that goes on from here.
    #[track_caller]
    pub(crate) fn task(&self, subtask: usize, parallelism: usize) -> TaskInfo {
        let task = super::task(subtask, parallelism);
        let key_groups = self.key_groups.unwrap_or(task.key_groups);
        TaskInfo { key_groups, attempt: self.next_attempt(), ..task }
    }

    pub(crate) const fn next_attempt(&self) -> Attempt {
        Attempt::new(self.lives)
    }

    /// The state of all tasks of a stage, in their order.
    ///
    /// # Panics
    ///
    /// When they do not agree about the number of key groups.
    #[track_caller]
    pub fn together(tasks: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for task in tasks {
            all.agree(task.key_groups);
            all.key_groups = all.key_groups.or(task.key_groups);
            all.lives = all.lives.max(task.lives);
            all.pieces.extend(task.pieces);
            all.timers.extend(task.timers);
        }
        all
    }

    /// The pieces, in the order in which they are given back.
    pub fn pieces(&self) -> &[StoredPiece] {
        &self.pieces
    }

    /// The bytes of each key group, piece by piece; under none those of operators as a whole.
    pub fn by_group(&self) -> BTreeMap<Option<KeyGroup>, Vec<&[u8]>> {
        let mut groups: BTreeMap<_, Vec<&[u8]>> = BTreeMap::new();
        self.pieces
            .iter()
            .for_each(|piece| groups.entry(piece.group).or_default().push(&piece.bytes));
        groups
    }

    /// How many timers there are.
    pub fn timers(&self) -> usize {
        self.timers.len()
    }

    /// What belongs to this task: the key groups that it owns, and its share of the pieces without
    /// a group, which go to the tasks in turn.
    ///
    /// # Panics
    ///
    /// When the task's job has another number of key groups.
    #[must_use]
    #[track_caller]
    pub fn of_task(&self, task: &TaskInfo) -> Self {
        self.agree(Some(task.key_groups));
        let owned = task.key_groups.range(task.subtask, task.parallelism);
        let mut whole = 0;
        let mut belongs = |piece: &&StoredPiece| match piece.group {
            Some(group) => owned.contains(&group.get()),
            None => {
                whole += 1;
                (whole - 1) % task.parallelism == task.subtask
            }
        };
        Self {
            pieces: self.pieces.iter().filter(&mut belongs).cloned().collect(),
            timers: self.timers.iter().filter(&mut belongs).cloned().collect(),
            ..*self
        }
    }

    /// Their number never changes in the life of a job.
    #[track_caller]
    fn agree(&self, other: Option<KeyGroups>) {
        if let (Some(stored), Some(other)) = (self.key_groups, other)
            && stored != other
        {
            let (stored, other) = (stored.count(), other.count());
            refuse(format!("the state was stored with {stored} key groups, and here are {other}"));
        }
    }
}
