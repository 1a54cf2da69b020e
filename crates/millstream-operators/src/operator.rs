//! The contract of an operator: what it is told, and in which order.

use serde::{Deserialize, Serialize};

use millstream_core::{Data, Epoch, Failure, Key, Stamped, TaskInfo, Timestamp};

use crate::{Effects, Records, Restored, Snapshot, SnapshotError, Timer, drained};

/// Logic that is run by a task: told what happened, it writes what it wants done to [`Effects`].
///
/// A factory makes one for each subtask, on the subtask's own thread, so an operator need not be
/// `Send`. Its methods are called one at a time. None of them may block or wait: a call that takes
/// long holds up every task of its worker.
///
/// # Ordering
///
/// `open`, then `restore` once for each stored piece, then `on_record`, `on_watermark` and
/// `on_timer` in the order of the input, then `on_end`, then `close`. After a call that said
/// [`Effects::more`], `more` is called until it no longer says so; no record, watermark or end
/// comes in between, but a `freeze` may. After an error or a panic nothing is called any more.
///
/// # On recovery
///
/// A new operator is made, opened and given back the pieces of the newest complete checkpoint.
/// What is not in a snapshot is gone. At a changed parallelism the pieces of a key group go to the
/// subtask that now owns the group, and pieces of the operator as a whole to any one subtask.
///
/// # Examples
///
/// An operator that passes on every `n`-th record:
///
/// ```
/// use millstream_core::{Failure, Stamped};
/// use millstream_operators::{Effects, NoTimer, Operator};
///
/// struct Sample {
///     n: u64,
///     seen: u64,
/// }
///
/// impl Operator for Sample {
///     type In = String;
///     type Out = String;
///     type Timer = NoTimer;
///
///     fn on_record(
///         &mut self,
///         record: Stamped<String>,
///         out: &mut Effects<String>,
///     ) -> Result<(), Failure> {
///         self.seen += 1;
///         if self.seen % self.n == 0 {
///             out.emit(record);
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Operator: 'static {
    /// What comes in. Two inputs arrive as one type, [`Either`].
    type In: Data;
    /// What goes out.
    type Out: Data;
    /// What its timers carry; [`NoTimer`](crate::NoTimer) if it sets none.
    type Timer: Key;

    /// Called once, before anything else.
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
        let _ = task;
        Ok(())
    }

    /// A record came.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_record(
        &mut self,
        record: Stamped<Self::In>,
        out: &mut Effects<Self::Out, Self::Timer>,
    ) -> Result<(), Failure>;

    /// Whether [`on_batch`](Self::on_batch) is called instead of `on_records`: for an operator that
    /// does so little for each record that whole batches cannot hold up its worker.
    const BATCHES: bool = false;

    /// A batch came, or what the turn has room for: takes all of it, however much it makes.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_batch(
        &mut self,
        batch: &mut Vec<Stamped<Self::In>>,
        out: &mut Effects<Self::Out, Self::Timer>,
    ) -> Result<(), Failure> {
        drained(batch, |records| records.try_for_each(|record| self.on_record(record, out)))
    }

    /// Records came: takes them in order, until there are no more or [`Effects::is_full`] says so.
    /// It must take at least one; those that it leaves come again. After an error none of those
    /// that are left is taken.
    ///
    /// This is what the runtime calls. An operator whose [`on_record`](Self::on_record) is short
    /// may do here what need not be done for each record.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_records(
        &mut self,
        records: &mut Records<'_, '_, Self::In>,
        out: &mut Effects<Self::Out, Self::Timer>,
    ) -> Result<(), Failure> {
        for record in records {
            self.on_record(record, out)?;
            if out.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// No record at or before `watermark` is to be expected any more, except late ones. The
    /// watermark is passed on after the effects of this call.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_watermark(
        &mut self,
        watermark: Timestamp,
        out: &mut Effects<Self::Out, Self::Timer>,
    ) -> Result<(), Failure> {
        let _ = (watermark, out);
        Ok(())
    }

    /// A timer that this operator has set is due.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_timer(
        &mut self,
        timer: Timer<Self::Timer>,
        out: &mut Effects<Self::Out, Self::Timer>,
    ) -> Result<(), Failure> {
        let _ = (timer, out);
        Ok(())
    }

    /// What becomes of processing timers that are still set when the input has ended: they fire
    /// once, whatever the clock says, or they are dropped and counted. Those that are set meanwhile
    /// are dropped.
    fn fires_at_end(&self) -> bool {
        false
    }

    /// The input has ended. The end is passed on after the effects of this call and of the calls of
    /// `more` that it asks for.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_end(&mut self, out: &mut Effects<Self::Out, Self::Timer>) -> Result<(), Failure> {
        let _ = out;
        Ok(())
    }

    /// Work that was announced by [`Effects::more`], in a piece of bounded size. Announce again
    /// what is still left.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn more(&mut self, out: &mut Effects<Self::Out, Self::Timer>) -> Result<(), Failure> {
        let _ = out;
        Ok(())
    }

    /// From here on changes no longer belong to the snapshot of `epoch`: remember what it was, or
    /// copy it now if it is small.
    ///
    /// # Errors
    ///
    /// An error fails the checkpoint.
    fn freeze(&mut self, epoch: Epoch) -> Result<(), Failure> {
        let _ = epoch;
        Ok(())
    }

    /// Puts at most about `entries` further entries of the frozen state into `snapshot` and says
    /// whether that was all. Called in turns, with records and watermarks in between.
    ///
    /// # Errors
    ///
    /// An error fails the checkpoint.
    fn snapshot(&mut self, entries: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        let _ = (entries, snapshot);
        Ok(true)
    }

    /// The snapshot of `epoch` is given up.
    fn abandon(&mut self, epoch: Epoch) {
        let _ = epoch;
    }

    /// A piece of the stored state comes back.
    ///
    /// # Errors
    ///
    /// State that this operator cannot have written is an error, and fails the restore.
    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        let _ = piece;
        Err(Failure::new(SnapshotError::Stateless))
    }

    /// Called last, when everything has been passed on. Not called after a failure or a cancel.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The input of an operator with two inputs.
///
/// Names the input that a record came by. Records of one input keep their order; nothing is said
/// about the order between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Either<L, R> {
    /// From the first input.
    Left(L),
    /// From the second input.
    Right(R),
}
