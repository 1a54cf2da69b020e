//! Where records come from: a description that names its splits, and a reader for each split.

use std::future::Future;
use std::task::{Context, Waker};

use millstream_core::{Clock, Data, Failure, Record, Stamped};
use millstream_operators::{SideBuffers, SideOutput};

use super::TaskContext;

/// The description of a source. It is cloned to each of its tasks and opened there.
///
/// A source consists of *splits*: parts that are read one after another or side by side, such as
/// the files of a folder or the partitions of a topic. Split `i` is read by task `i` modulo the
/// number of tasks. A source never has more tasks than splits.
///
/// # Ordering
///
/// Records of a split leave in the order in which its reader gave them; nothing is said about the
/// order between splits.
///
/// # On recovery
///
/// `open` is called with the position that the reader had given for the newest complete checkpoint;
/// it must go on behind it, with the same records in the same order.
pub trait Source: Clone + Send + 'static {
    /// What it gives.
    type Out: Data;
    /// How far a split has been read.
    type Position: Record + Clone;
    /// What reads a split.
    type Reader: Reader<Out = Self::Out, Position = Self::Position>;

    /// The names of the splits; they must not depend on time or chance. One split by default.
    fn splits(&self) -> Vec<String> {
        vec!["all".to_owned()]
    }

    /// Opens a split, from its beginning or behind `position`. Blocking work belongs into
    /// [`TaskContext::offload`].
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(
        &self,
        split: &str,
        position: Option<Self::Position>,
        task: &TaskContext,
    ) -> impl Future<Output = Result<Self::Reader, Failure>>;
}

/// What a reader says after a call of [`Reader::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// There may be more at once.
    Ready,
    /// There is nothing now. The reader wakes [`ReadContext::waker`] when there is.
    Later,
    /// There will never be more.
    Ended,
}

/// Reads one split.
pub trait Reader: 'static {
    /// What it gives.
    type Out: Data;
    /// How far it has read.
    type Position: Record + Clone;

    /// Gives at most [`ReadContext::budget`] records and says how it goes on. Must not block.
    ///
    /// # Errors
    ///
    /// An error fails the job; what was given before it is still delivered.
    fn read(&mut self, cx: &mut ReadContext<'_, '_, Self::Out>) -> Result<Read, Failure>;

    /// The position behind the last record that was given.
    fn position(&self) -> Self::Position;
}

/// What a reader reads into.
pub struct ReadContext<'a, 'w, T> {
    pub(crate) records: &'a mut Vec<Stamped<T>>,
    pub(crate) sides: &'a mut SideBuffers,
    pub(crate) budget: usize,
    pub(crate) cx: &'a mut Context<'w>,
    pub(crate) clock: &'a dyn Clock,
}

impl<'w, T: Data> ReadContext<'_, 'w, T> {
    /// How many more records may be given in this call.
    pub fn budget(&self) -> usize {
        self.budget.saturating_sub(self.records.len())
    }

    /// Gives a record.
    #[inline]
    pub fn emit(&mut self, record: Stamped<T>) {
        self.records.push(record);
    }

    /// Gives many records: the fast way for a reader that makes them in a loop. The iterator's
    /// length must be at most [`budget`](Self::budget).
    pub fn extend(&mut self, records: impl IntoIterator<Item = Stamped<T>>) {
        self.records.extend(records);
    }

    /// Gives a record to a side output.
    pub fn side<S: Data>(&mut self, output: &SideOutput<S>, record: Stamped<S>) {
        self.sides.push(output, record);
    }

    /// Who has to be woken when there is more after [`Read::Later`].
    pub fn waker(&self) -> &Waker {
        self.cx.waker()
    }

    /// The context for polling futures that wake this task, such as [`Clock::wake_at`].
    pub fn context(&mut self) -> &mut Context<'w> {
        self.cx
    }

    /// The job's clock.
    pub fn clock(&self) -> &dyn Clock {
        self.clock
    }
}
