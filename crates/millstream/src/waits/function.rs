//! The user's calls: a trait for those that need more than a function.

use std::future::{Future, ready};
use std::iter::once;
use std::marker::PhantomData;

use millstream_core::{Data, Failure, Record};
use millstream_runtime::TaskContext;

/// Makes the calls of one task. For those who need to open something first, or to decide about
/// failures with more at hand than the record; an async function serves all others.
///
/// Made by a factory for each task, on the task's arbiter; everything is called there, one at a
/// time, so it need not be `Send`, nor need its calls. A call must not block its thread: every
/// other task of the arbiter would wait.
///
/// # On recovery
///
/// A record whose results had not gone out is called again: at least once, perhaps more often. Give
/// the outside system the [`call_id`](crate::call_id), so that it can tell.
pub trait AsyncFunction: Sized + 'static {
    /// What comes in. Kept and cloned where something may need it once more.
    type In: Record + Clone;
    /// What a call gives.
    type Answer: 'static;
    /// What goes out.
    type Out: Data;
    /// A call; `Pin<Box<dyn Future<Output = …>>>` if it has no name.
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

    /// Creates a call, which is polled at once.
    fn call(&mut self, input: Self::In) -> Self::Call;

    /// What goes out for an answer; all of it together, at the time of the record.
    fn results(&mut self, answer: Self::Answer) -> impl IntoIterator<Item = Self::Out>;

    /// Whether a call that gave this error is made again, if the settings let it. By default what
    /// the settings say.
    fn retries_error(&mut self, failure: &Failure) -> Option<bool> {
        let _ = failure;
        None
    }

    /// Whether a call that gave this answer is made again, if the settings let it. By default what
    /// the settings say.
    fn retries_answer(&mut self, answer: &Self::Answer) -> Option<bool> {
        let _ = answer;
        None
    }

    /// An answer for a record whose last call failed; none for what the settings say.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_error(
        &mut self,
        input: &Self::In,
        failure: &Failure,
    ) -> Result<Option<Self::Answer>, Failure> {
        let _ = (input, failure);
        Ok(None)
    }

    /// An answer for a record whose time is over; none for what the settings say.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_timeout(&mut self, input: &Self::In) -> Result<Option<Self::Answer>, Failure> {
        let _ = input;
        Ok(None)
    }

    /// Called last, when everything has been passed on. Not called after a failure or a cancel.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn close(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether `on_error` or `on_timeout` look at the input. True unless said otherwise.
    const HANDLES_INPUT: bool = true;
}

/// A function that makes calls, and another that says what goes out for an answer.
pub(super) struct Calling<F, E, T, A, U> {
    pub(super) call: F,
    pub(super) results: E,
    types: PhantomData<fn(T) -> (A, U)>,
}

impl<F, E, T, A, U> Calling<F, E, T, A, U> {
    pub(super) const fn new(call: F, results: E) -> Self {
        Self { call, results, types: PhantomData }
    }
}

impl<F, E, Fut, T, A, I> AsyncFunction for Calling<F, E, T, A, I>
where
    F: Fn(T) -> Fut + 'static,
    Fut: Future<Output = Result<A, Failure>> + 'static,
    E: Fn(A) -> I + 'static,
    I: IntoIterator<Item: Data> + 'static,
    T: Record + Clone,
    A: 'static,
{
    type In = T;
    type Answer = A;
    type Out = I::Item;
    type Call = Fut;

    const HANDLES_INPUT: bool = false;

    #[inline]
    fn call(&mut self, input: T) -> Fut {
        (self.call)(input)
    }

    #[inline]
    fn results(&mut self, answer: A) -> impl IntoIterator<Item = I::Item> {
        (self.results)(answer)
    }
}

/// A stage of calls that is one async function with one result, as [`async_wait`] makes it: for
/// those who need it as a value.
///
/// [`async_wait`]: crate::Stream::async_wait
pub fn call_fn<T, U, Call, Function>(
    function: Function,
) -> impl AsyncFunction<In = T, Answer = U, Out = U>
where
    T: Record + Clone,
    U: Data,
    Call: Future<Output = Result<U, Failure>> + 'static,
    Function: Fn(T) -> Call + 'static,
{
    Calling::new(function, once)
}
