//! One operator by hand: what happens is told to it, and what it wants done lies there to be looked
//! at.

mod input;
mod snapshot;
mod stored;
mod timers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_core::{
    Attempt, Data, Epoch, Grammar, Key, KeyGroups, KeyHash, Keyed, Mark, StageId, Stamped,
    TaskInfo, Timestamp,
};
use millstream_operators::{
    Effects, Operator, SideBuffer, SideBuffers, SideOutput, Timer, TimerDomain, TimerEdit,
};

use crate::refuse::refuse;
use timers::Timers;

pub use stored::{Stored, StoredPiece};

/// What leaves an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element<T> {
    /// A record.
    Record(Stamped<T>),
    /// A mark that is passed on.
    Mark(Mark),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Created,
    /// Open, and stored state may come back.
    Open,
    /// The first input has come.
    Running,
    Ended,
    Failed,
}

/// Runs one operator by hand.
///
/// It does for the operator what a task does: opens it, calls [`more`](Operator::more) until no
/// work is left, keeps its timers, takes its snapshot piece by piece. What the contract of an
/// [`Operator`] forbids it refuses by a panic. Call what is about to fail by its `try_…` form.
///
/// # Ordering
///
/// A watermark is told to the operator first; then the event timers that are due fire, earliest
/// first, those too that are set meanwhile; then it is passed on.
///
/// # Examples
///
/// ```
/// use millstream_operators::keyed::{Emit, Fold, KeyedOperator};
/// use millstream_testkit::{Harness, keyed, task};
///
/// let operator = |task: &_| {
///     let sum = Fold::new(0, |sum: &mut u64, n: u64| *sum += n);
///     KeyedOperator::new(task, Emit::EachRecord, sum)
/// };
/// let mut one = Harness::made_for(task(0, 1), operator);
/// one.record(keyed('a', 3)).record(keyed('b', 4)).record(keyed('a', 5));
/// assert_eq!(one.take(), [('a', 3), ('b', 4), ('a', 8)]);
///
/// // One entry a piece, and two tasks go on where the one was.
/// let stored = one.snapshot(1);
/// let mut two = Harness::restored(2, &stored, operator);
/// for key in ['a', 'b'] {
///     let record = keyed(key, 1);
///     let owner = two[0].task().key_groups.owner_of(record.hash, 2);
///     two[owner].record(record);
/// }
/// let mut sums: Vec<(char, u64)> = two.iter_mut().flat_map(|task| task.take()).collect();
/// sums.sort();
/// assert_eq!(sums, [('a', 9), ('b', 5)]);
/// ```
pub struct Harness<O: Operator> {
    operator: O,
    task: TaskInfo,
    phase: Phase,
    /// What has come in.
    grammar: Grammar,
    effects: Effects<O::Out, O::Timer>,
    /// How the buffers of the side outputs are made that are looked at.
    sides: Vec<Box<dyn Fn() -> SideBuffer>>,
    output: Vec<Element<O::Out>>,
    timers: Timers<O::Timer>,
    edits: Vec<TimerEdit<O::Timer>>,
    counts: BTreeMap<&'static str, u64>,
    epoch: Epoch,
    snapshot: Option<Stored>,
}

/// With so many records at once a task hands on what its operator has written.
const ENOUGH: usize = 1_024;

/// The card of a task for tests: stage `"operator"` of job `"harness"`, with the default key
/// groups.
///
/// # Panics
///
/// When there is no such subtask.
#[track_caller]
pub fn task(subtask: usize, parallelism: usize) -> TaskInfo {
    if subtask >= parallelism {
        refuse(format!("there is no task {subtask} of {parallelism}"));
    }
    TaskInfo {
        job: Arc::from("harness"),
        stage: Arc::from("operator"),
        id: StageId::new(0),
        subtask,
        parallelism,
        attempt: Attempt::new(0),
        key_groups: KeyGroups::default_for(parallelism),
    }
}

/// A value with its key, as it comes out of an exchange.
///
/// # Panics
///
/// When the key cannot be hashed.
#[track_caller]
pub fn keyed<K: Key, V>(key: K, value: V) -> Keyed<K, V> {
    match KeyHash::of(&key) {
        Ok(hash) => Keyed { hash, key, value },
        Err(error) => refuse(format!("the key cannot be hashed: {error}")),
    }
}

impl<O: Operator> Harness<O> {
    /// Runs this operator as the only task of its stage. It is opened by the first call that needs
    /// it open.
    #[track_caller]
    pub fn new(operator: O) -> Self {
        Self::made_for(task(0, 1), |_| operator)
    }

    /// Runs the operator that a factory makes for this task.
    pub fn made_for(task: TaskInfo, factory: impl FnOnce(&TaskInfo) -> O) -> Self {
        let mut effects = Effects::new(SideBuffers::default(), ENOUGH);
        // The clock on the wall begins there, as a manual one does.
        effects.set_now(Timestamp::EPOCH);
        Self {
            operator: factory(&task),
            task,
            phase: Phase::Created,
            grammar: Grammar::default(),
            effects,
            sides: Vec::new(),
            output: Vec::new(),
            timers: Timers::new(),
            edits: Vec::new(),
            counts: BTreeMap::new(),
            epoch: Epoch::new(0),
            snapshot: None,
        }
    }

    /// The same, and what is written to this side output is kept for
    /// [`take_side`](Self::take_side). What is written to any other is dropped, as by a task.
    ///
    /// # Panics
    ///
    /// After the first input.
    #[must_use]
    #[track_caller]
    pub fn with_side<T: Data>(mut self, output: &SideOutput<T>) -> Self {
        if self.phase != Phase::Created {
            refuse("say which side outputs are looked at before anything happens");
        }
        let output = output.clone();
        self.sides.push(Box::new(move || SideBuffer::of(&output)));
        let sides = SideBuffers::new(self.sides.iter().map(|of| of()).collect());
        let now = self.effects.now();
        self.effects = Effects::new(sides, ENOUGH);
        self.effects.set_now(now);
        self
    }

    /// Which task it is.
    pub const fn task(&self) -> &TaskInfo {
        &self.task
    }

    /// The operator itself.
    pub const fn operator(&self) -> &O {
        &self.operator
    }

    /// The values that have left since the last look at the output.
    pub fn take(&mut self) -> Vec<O::Out> {
        self.take_records().into_iter().map(|record| record.value).collect()
    }

    /// The records that have left since the last look at the output. Marks between them are
    /// forgotten.
    pub fn take_records(&mut self) -> Vec<Stamped<O::Out>> {
        let record = |element| match element {
            Element::Record(record) => Some(record),
            Element::Mark(_) => None,
        };
        self.take_elements().into_iter().filter_map(record).collect()
    }

    /// Everything that has left since the last look at the output, in order.
    pub fn take_elements(&mut self) -> Vec<Element<O::Out>> {
        std::mem::take(&mut self.output)
    }

    /// The records that have left by a side output since the last look at it.
    ///
    /// # Panics
    ///
    /// When [`with_side`](Self::with_side) has not said that it is looked at.
    #[track_caller]
    pub fn take_side<T: Data>(&mut self, output: &SideOutput<T>) -> Vec<Stamped<T>> {
        let mut buffers = self.effects.sides().buffers().iter_mut();
        let buffer = buffers.find(|buffer| buffer.name() == output.name());
        match buffer.and_then(SideBuffer::records) {
            Some(records) => std::mem::take(records),
            None => refuse(format!("{output:?} is not looked at: say so by `with_side`")),
        }
    }

    /// How many records were written to side outputs that nobody looks at, since the last call.
    pub fn take_unread(&mut self) -> u64 {
        self.effects.sides().take_unread()
    }

    /// The timers of a domain that are set, earliest first.
    pub fn timers(&self, domain: TimerDomain) -> Vec<Timer<O::Timer>> {
        self.timers.all(domain)
    }

    /// What the operator has said about timers since the last call, in order.
    pub fn take_timer_edits(&mut self) -> Vec<TimerEdit<O::Timer>> {
        std::mem::take(&mut self.edits)
    }

    /// What the operator has counted under this name.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}
