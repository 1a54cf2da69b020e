//! What users write: a function of one key at a time, with its state in hand.

use std::time::Duration;

use millstream_core::{Data, Failure, Key, Record, TaskInfo, Timestamp};

use super::{ProcessContext, TimeToLive};
use crate::TimerDomain;

/// A function with a state and timers for each key.
///
/// # Ordering
///
/// `open`, then `on_record` and `on_timer` in the order of the input, then `close`. Records of a
/// key keep their order, and at a watermark the timers that are due fire by time before it is
/// passed on.
///
/// # On recovery
///
/// The states and timers of all keys come back as they were at the checkpoint. What a process keeps
/// in itself is gone.
///
/// # Examples
///
/// A key that has been silent for a minute of event time is told of, with what it had counted:
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::Failure;
/// use millstream_operators::process::{ContextOf, Fired, KeyedProcess};
///
/// struct Silence;
///
/// impl KeyedProcess for Silence {
///     type Key = String;
///     type In = u64;
///     type Out = (String, u64);
///     type State = u64;
///     type Timer = ();
///
///     fn on_record(
///         &mut self,
///         amount: u64,
///         sum: &mut u64,
///         cx: &mut ContextOf<'_, Self>,
///     ) -> Result<(), Failure> {
///         *sum += amount;
///         if let Some(at) = cx.timestamp() {
///             cx.replace_event_timer(at.plus(Duration::from_secs(60)), ());
///         }
///         Ok(())
///     }
///
///     fn on_timer(
///         &mut self,
///         _: Fired<()>,
///         sum: &mut u64,
///         cx: &mut ContextOf<'_, Self>,
///     ) -> Result<(), Failure> {
///         cx.emit((cx.key().clone(), *sum));
///         cx.clear();
///         Ok(())
///     }
/// }
/// ```
pub trait KeyedProcess: Sized + 'static {
    /// What the stream is keyed by.
    type Key: Key;
    /// What comes in.
    type In: Data;
    /// What goes out.
    type Out: Data;
    /// What is kept for each key.
    type State: Record + Clone + Default;
    /// What tells one kind of timer of a key from another; `()` if there is one kind.
    type Timer: Key;

    /// Whether [`ProcessContext::clear`] deletes all timers of the key, not only those that were
    /// put in place of others. Then the timers of a key are kept beside its state as well.
    const CLEARS_TIMERS: bool = false;

    /// Whether processing timers that are set when the input has ended fire then, instead of being
    /// dropped and counted.
    const FIRES_AT_END: bool = false;

    /// How long the state of a key lives without being used; for ever if nothing is said. Asked
    /// once, when the process is opened.
    fn time_to_live(&self) -> Option<TimeToLive> {
        None
    }

    /// Called once, before anything else.
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
        let _ = task;
        Ok(())
    }

    /// A record of the key came.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_record(
        &mut self,
        record: Self::In,
        state: &mut Self::State,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure>;

    /// A timer of the key is due.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_timer(
        &mut self,
        fired: Fired<Self::Timer>,
        state: &mut Self::State,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let _ = (fired, state, cx);
        Ok(())
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

/// What a process is told and where it writes, by the process.
pub type ContextOf<'a, P> = ProcessContext<
    'a,
    <P as KeyedProcess>::Key,
    <P as KeyedProcess>::Out,
    <P as KeyedProcess>::Timer,
>;

/// A timer that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired<T> {
    /// The time that it was set for.
    pub at: Timestamp,
    /// By which time it went.
    pub domain: TimerDomain,
    /// How long ago that was: by the watermark, or by the clock on the wall.
    pub late: Duration,
    /// What it carries.
    pub timer: T,
}
