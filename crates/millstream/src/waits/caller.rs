//! A user's function and the settings of its stage, as the runtime calls them.

use std::future::Future;
use std::marker::PhantomData;

use millstream_core::{Failure, Key, KeyHash, Keyed, Record, Stamped};
use millstream_operators::Effects;
use millstream_operators::async_wait::{DeadLetter, Handlers, Limits, Verdict};
use millstream_runtime::{Caller, TaskContext};

use super::{AsyncFunction, AsyncWait, OnFailure};

/// A value travels as it is.
pub(crate) struct Plain;

/// A value travels with its key.
pub(crate) struct ByKey<K>(PhantomData<fn(K)>);

/// What travels to the stage for a value.
pub(crate) trait Way<T>: 'static {
    type In: Record + Clone;
    fn value(input: &Self::In) -> &T;
    fn into_value(input: Self::In) -> T;
    fn hash(input: &Self::In) -> Option<KeyHash>;
}

impl<T: Record + Clone> Way<T> for Plain {
    type In = T;

    fn value(input: &T) -> &T {
        input
    }

    fn into_value(input: T) -> T {
        input
    }

    fn hash(_: &T) -> Option<KeyHash> {
        None
    }
}

impl<K: Key, T: Record + Clone> Way<T> for ByKey<K> {
    type In = Keyed<K, T>;

    fn value(input: &Keyed<K, T>) -> &T {
        &input.value
    }

    fn into_value(input: Keyed<K, T>) -> T {
        input.value
    }

    fn hash(input: &Keyed<K, T>) -> Option<KeyHash> {
        Some(input.hash)
    }
}

/// A user's function with the settings of its stage.
pub(crate) struct Called<W, A: AsyncFunction> {
    function: A,
    settings: AsyncWait<A::In, A::Answer>,
    way: PhantomData<fn(W)>,
}

impl<W, A: AsyncFunction> Called<W, A> {
    pub(crate) const fn new(function: A, settings: AsyncWait<A::In, A::Answer>) -> Self {
        Self { function, settings, way: PhantomData }
    }
}

impl<T: Record + Clone, A: 'static> AsyncWait<T, A> {
    /// A function with these settings as a task runs it, and the limits of the task. A test by hand
    /// needs them.
    pub fn caller<F>(self, function: F) -> (impl Caller<In = T, Answer = A, Out = F::Out>, Limits)
    where
        F: AsyncFunction<In = T, Answer = A>,
    {
        let limits = self.limits(F::HANDLES_INPUT);
        (Called::<Plain, F>::new(function, self), limits)
    }

    /// As [`caller`](Self::caller), for values that travel with their keys.
    pub fn keyed_caller<K: Key, F>(
        self,
        function: F,
    ) -> (impl Caller<In = Keyed<K, T>, Answer = A, Out = F::Out>, Limits)
    where
        F: AsyncFunction<In = T, Answer = A>,
    {
        let limits = self.limits(F::HANDLES_INPUT);
        (Called::<ByKey<K>, F>::new(function, self), limits)
    }
}

fn verdict<T, A>(then: &OnFailure<T, A>, input: Option<&T>) -> Verdict<A> {
    match (then, input) {
        (OnFailure::Fallback(answer), Some(input)) => Verdict::Fallback(answer(input)),
        (OnFailure::DeadLetter(_), Some(_)) => Verdict::DeadLetter,
        (OnFailure::Drop, _) => Verdict::Drop,
        (OnFailure::Fail | OnFailure::Fallback(_) | OnFailure::DeadLetter(_), _) => Verdict::Fail,
    }
}

impl<W: Way<A::In>, A: AsyncFunction> Handlers<W::In, A::Answer> for Called<W, A> {
    fn key(&self, input: &W::In) -> Option<KeyHash> {
        W::hash(input)
    }

    fn weight(&self, input: &W::In) -> usize {
        self.settings.weigh.map_or(0, |weigh| weigh(W::value(input)))
    }

    fn retries_error(&mut self, failure: &Failure) -> bool {
        let settings = || self.settings.retry_error.as_ref().is_none_or(|of| of(failure));
        self.function.retries_error(failure).unwrap_or_else(settings)
    }

    fn retries_panic(&mut self, _: &Failure) -> bool {
        self.settings.retry_panic
    }

    fn retries_results(&mut self, answer: &A::Answer) -> bool {
        let settings = || self.settings.retry_answer.as_ref().is_some_and(|of| of(answer));
        self.function.retries_answer(answer).unwrap_or_else(settings)
    }

    fn on_error(
        &mut self,
        input: Option<&W::In>,
        failure: &Failure,
    ) -> Result<Verdict<A::Answer>, Failure> {
        let input = input.map(W::value);
        if let Some(input) = input
            && let Some(answer) = self.function.on_error(input, failure)?
        {
            return Ok(Verdict::Fallback(answer));
        }
        Ok(verdict(&self.settings.on_error, input))
    }

    fn on_timeout(&mut self, input: Option<&W::In>) -> Result<Verdict<A::Answer>, Failure> {
        let input = input.map(W::value);
        if let Some(input) = input
            && let Some(answer) = self.function.on_timeout(input)?
        {
            return Ok(Verdict::Fallback(answer));
        }
        Ok(verdict(&self.settings.on_timeout, input))
    }
}

impl<W: Way<A::In>, A: AsyncFunction> Caller for Called<W, A> {
    type In = W::In;
    type Answer = A::Answer;
    type Out = A::Out;
    type Call = A::Call;

    fn open(self, task: TaskContext) -> impl Future<Output = Result<Self, Failure>> + 'static {
        let Self { function, settings, way } = self;
        let opening = function.open(task);
        async move { Ok(Self { function: opening.await?, settings, way }) }
    }

    #[inline]
    fn call(&mut self, input: W::In) -> A::Call {
        self.function.call(W::into_value(input))
    }

    #[inline]
    fn emit(&mut self, at: Stamped<()>, answer: A::Answer, out: &mut Effects<A::Out>) {
        out.extend(self.function.results(answer).into_iter().map(|value| at.with(value)));
    }

    fn dead_letter(&mut self, letter: Stamped<DeadLetter<W::In>>, out: &mut Effects<A::Out>) {
        let timed_out = letter.value.is_timeout();
        let AsyncWait { on_error, on_timeout, .. } = &self.settings;
        if let OnFailure::DeadLetter(output) = if timed_out { on_timeout } else { on_error } {
            out.side(output, letter.map(|letter| letter.map(W::into_value)));
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.function.close()
    }
}
