//! What a task of calls runs of the user's code.

use std::future::{Future, ready};

use millstream_core::{Data, Failure, Record, Stamped};
use millstream_operators::Effects;
use millstream_operators::async_wait::{DeadLetter, Handlers};

use crate::ends::TaskContext;

/// Makes the calls of one task, and says what becomes of their answers.
///
/// All of it is called on the task's own arbiter, one at a time.
pub trait Caller: Handlers<Self::In, Self::Answer> + Sized + 'static {
    /// What comes in.
    type In: Record + Clone;
    /// What a call gives.
    type Answer: 'static;
    /// What goes out.
    type Out: Data;
    /// A call.
    type Call: Future<Output = Result<Self::Answer, Failure>> + 'static;

    /// Called once, before anything else.
    ///
    /// # Errors
    ///
    /// An error fails the start of the job.
    fn open(self, task: TaskContext) -> impl Future<Output = Result<Self, Failure>> + 'static {
        let _ = task;
        ready(Ok(self))
    }

    /// Creates a call. It is polled at once.
    fn call(&mut self, input: Self::In) -> Self::Call;

    /// Writes what becomes of an answer, all of it at the time of its record.
    fn emit(&mut self, at: Stamped<()>, answer: Self::Answer, out: &mut Effects<Self::Out>);

    /// Writes a record whose call failed for good to where its policy says.
    fn dead_letter(&mut self, letter: Stamped<DeadLetter<Self::In>>, out: &mut Effects<Self::Out>);

    /// Called last, when everything has been passed on. Not called after a failure or a cancel.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
