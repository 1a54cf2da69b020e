//! A process with two inputs: records of one key meet in one state, whichever they come by.

use millstream_core::{Data, Failure, Key, Record, TaskInfo};

use super::context::ProcessContext;
use super::keyed::{ContextOf, Fired, KeyedProcess};
use super::ttl::TimeToLive;
use crate::Either;

/// A [`KeyedProcess`] with two inputs, which share the state and the timers of each key.
///
/// Nothing is said about the order between the two inputs. Event time is the lesser of both.
pub trait KeyedCoProcess: Sized + 'static {
    /// What both streams are keyed by.
    type Key: Key;
    /// What comes by the first input.
    type Left: Data;
    /// What comes by the second input.
    type Right: Data;
    /// What goes out.
    type Out: Data;
    /// What is kept for each key.
    type State: Record + Clone + Default;
    /// What tells one kind of timer of a key from another; `()` if there is one kind.
    type Timer: Key;

    /// As [`KeyedProcess::CLEARS_TIMERS`].
    const CLEARS_TIMERS: bool = false;

    /// As [`KeyedProcess::FIRES_AT_END`].
    const FIRES_AT_END: bool = false;

    /// As [`KeyedProcess::time_to_live`].
    fn time_to_live(&self) -> Option<TimeToLive> {
        None
    }

    /// As [`KeyedProcess::open`].
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
        let _ = task;
        Ok(())
    }

    /// A record of the key came by the first input.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_left(
        &mut self,
        record: Self::Left,
        state: &mut Self::State,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure>;

    /// A record of the key came by the second input.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_right(
        &mut self,
        record: Self::Right,
        state: &mut Self::State,
        cx: &mut CoContextOf<'_, Self>,
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
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let _ = (fired, state, cx);
        Ok(())
    }

    /// As [`KeyedProcess::close`].
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a process with two inputs is told and where it writes, by the process.
pub type CoContextOf<'a, P> = ProcessContext<
    'a,
    <P as KeyedCoProcess>::Key,
    <P as KeyedCoProcess>::Out,
    <P as KeyedCoProcess>::Timer,
>;

/// A process with two inputs as one with an input of either.
#[derive(Clone, Copy, Debug)]
pub struct CoProcess<P>(pub P);

impl<P: KeyedCoProcess> KeyedProcess for CoProcess<P> {
    type Key = P::Key;
    type In = Either<P::Left, P::Right>;
    type Out = P::Out;
    type State = P::State;
    type Timer = P::Timer;

    const CLEARS_TIMERS: bool = P::CLEARS_TIMERS;
    const FIRES_AT_END: bool = P::FIRES_AT_END;

    fn time_to_live(&self) -> Option<TimeToLive> {
        self.0.time_to_live()
    }

    fn open(&mut self, task: &TaskInfo) -> Result<(), Failure> {
        self.0.open(task)
    }

    #[inline]
    fn on_record(
        &mut self,
        record: Self::In,
        state: &mut Self::State,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        match record {
            Either::Left(record) => self.0.on_left(record, state, cx),
            Either::Right(record) => self.0.on_right(record, state, cx),
        }
    }

    fn on_timer(
        &mut self,
        fired: Fired<Self::Timer>,
        state: &mut Self::State,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        self.0.on_timer(fired, state, cx)
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.0.close()
    }
}
