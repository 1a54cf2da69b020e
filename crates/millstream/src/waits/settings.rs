//! What a stage of calls is told: order, limits, and what becomes of calls that fail.

use std::sync::Arc;
use std::time::Duration;

use millstream_core::Failure;
use millstream_operators::SideOutput;
use millstream_operators::async_wait::{DeadLetter, Limits, Order, Retry};

type Of<A, B> = Arc<dyn Fn(&A) -> B + Send + Sync>;

/// How a stage of calls behaves.
///
/// `T` is what comes in, `A` what a call gives. Both follow from the stage that it is given to.
///
/// Everything has a limit from the start: 100 records a task, and one call of a key at once. A
/// time-out is only there if you name one. A call that fails or times out fails the job, unless
/// told otherwise.
///
/// # Ordering
///
/// Of an [`ordered`](Self::ordered) stage results leave in the order of the input: one slow call
/// holds up all behind it. Of an [`unordered`](Self::unordered) one they leave as they come, but
/// none crosses a watermark. Of a [`key_ordered`](Self::key_ordered) one the same, and those of one
/// key keep their order and are called one at a time.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream::prelude::*;
///
/// let flow = Dataflow::new("squares");
/// let wait = AsyncWait::unordered()
///     .capacity(256)
///     .timeout(Duration::from_secs(2))
///     .retry(Retry::exponential(Duration::from_millis(50)).max_retries(3))
///     .on_timeout(OnFailure::Drop);
/// let squares = flow
///     .source("numbers", Items::from(0..10_u64))
///     .async_wait("square", wait, |n| async move { Ok(n * n) })
///     .collect("out");
/// ```
#[must_use = "settings do nothing until a stage is given them"]
pub struct AsyncWait<T, A> {
    pub(super) limits: Limits,
    pub(super) weigh: Option<fn(&T) -> usize>,
    pub(super) retry_error: Option<Of<Failure, bool>>,
    pub(super) retry_answer: Option<Of<A, bool>>,
    pub(super) retry_panic: bool,
    pub(super) on_error: OnFailure<T, A>,
    pub(super) on_timeout: OnFailure<T, A>,
}

/// What becomes of a record whose call has failed for good.
pub enum OnFailure<T, A> {
    /// The job fails, with an error that names the record.
    Fail,
    /// The record is dropped, and counted.
    Drop,
    /// An answer in place of the one that did not come, made from the record.
    Fallback(Of<T, A>),
    /// The record leaves by this side output, with the cause and the number of calls made.
    DeadLetter(SideOutput<DeadLetter<T>>),
}

impl<T, A> OnFailure<T, A> {
    /// An answer in place of the one that did not come, made from the record.
    pub fn fallback(answer: impl Fn(&T) -> A + Send + Sync + 'static) -> Self {
        Self::Fallback(Arc::new(answer))
    }

    /// The record leaves by this side output, with the cause and the number of calls made.
    pub fn dead_letter(output: &SideOutput<DeadLetter<T>>) -> Self {
        Self::DeadLetter(output.clone())
    }

    /// Whether the record is needed for it.
    const fn keeps_input(&self) -> bool {
        !matches!(self, Self::Drop)
    }
}

impl<T, A> Clone for OnFailure<T, A> {
    fn clone(&self) -> Self {
        match self {
            Self::Fail => Self::Fail,
            Self::Drop => Self::Drop,
            Self::Fallback(answer) => Self::Fallback(answer.clone()),
            Self::DeadLetter(output) => Self::DeadLetter(output.clone()),
        }
    }
}

impl<T, A> Clone for AsyncWait<T, A> {
    fn clone(&self) -> Self {
        Self {
            limits: self.limits.clone(),
            weigh: self.weigh,
            retry_error: self.retry_error.clone(),
            retry_answer: self.retry_answer.clone(),
            retry_panic: self.retry_panic,
            on_error: self.on_error.clone(),
            on_timeout: self.on_timeout.clone(),
        }
    }
}

impl<T, A> AsyncWait<T, A> {
    /// Results leave in the order of the input.
    pub const fn ordered() -> Self {
        Self::of(Order::Ordered)
    }

    /// Results leave as they come, between two watermarks.
    pub const fn unordered() -> Self {
        Self::of(Order::Unordered)
    }

    /// Results of one key leave in the order of the input, and its calls are made one at a time;
    /// otherwise as [`unordered`](Self::unordered). For streams with a key.
    pub const fn key_ordered() -> Self {
        Self::of(Order::KeyOrdered { per_key: 1 })
    }

    const fn of(order: Order) -> Self {
        Self {
            limits: Limits::new(order),
            weigh: None,
            retry_error: None,
            retry_answer: None,
            retry_panic: false,
            on_error: OnFailure::Fail,
            on_timeout: OnFailure::Fail,
        }
    }

    /// How many records are in each task of the stage at most: called, waiting for their turn to
    /// leave, or to be called again. 100 by default. When it is full the input waits, and nothing
    /// is lost.
    pub const fn capacity(mut self, records: usize) -> Self {
        self.limits.capacity = records;
        self
    }

    /// How much the records in a task of the stage may weigh together, as `weigh` says; besides
    /// their number. One that is heavier by itself is called alone.
    pub const fn weight(mut self, most: usize, weigh: fn(&T) -> usize) -> Self {
        self.limits.weight = Some(most);
        self.weigh = Some(weigh);
        self
    }

    /// How many calls of one key are out at once at most, of a stage in the order of keys; of any
    /// other it is refused. 1 by default. Results keep their order whatever this is.
    pub const fn per_key(mut self, calls: usize) -> Self {
        match &mut self.limits.order {
            Order::KeyOrdered { per_key } => *per_key = calls,
            Order::Ordered | Order::Unordered => self.limits.keyless = true,
        }
        self
    }

    /// How long a record may take from its first call, over all its calls and the delays between
    /// them. Then its call is dropped. None by default.
    pub const fn timeout(mut self, time: Duration) -> Self {
        self.limits.timeout = Some(time);
        self
    }

    /// Makes calls again that failed, by default for every error and for no panic.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.limits.retry = Some(retry);
        self
    }

    /// Makes calls again only for errors that the function says yes to.
    pub fn retry_on_error(mut self, of: impl Fn(&Failure) -> bool + Send + Sync + 'static) -> Self {
        self.retry_error = Some(Arc::new(of));
        self
    }

    /// Makes calls again for answers that the function says yes to. When they may not be made
    /// again any more, the last answer stands.
    pub fn retry_on_answer(mut self, of: impl Fn(&A) -> bool + Send + Sync + 'static) -> Self {
        self.retry_answer = Some(Arc::new(of));
        self
    }

    /// Makes calls again that panicked.
    pub const fn retry_on_panic(mut self) -> Self {
        self.retry_panic = true;
        self
    }

    /// What becomes of a record whose last call gave an error or panicked.
    pub fn on_error(mut self, then: OnFailure<T, A>) -> Self {
        self.on_error = then;
        self
    }

    /// What becomes of a record whose time is over.
    pub fn on_timeout(mut self, then: OnFailure<T, A>) -> Self {
        self.on_timeout = then;
        self
    }

    /// The limits, with what follows from the rest.
    pub(super) fn limits(&self, handles_input: bool) -> Limits {
        let times_out = self.limits.timeout.is_some() && self.on_timeout.keeps_input();
        let keeps_inputs = handles_input || times_out || self.on_error.keeps_input();
        Limits { keeps_inputs, ..self.limits.clone() }
    }
}
