//! What is allowed to calls, and what becomes of those that fail.

use std::time::Duration;

use millstream_core::{Failure, KeyHash};

use super::Order;

/// What a stage of calls was told about its limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// In which order results go out.
    pub order: Order,
    /// How many calls of a key may be out at once was said, and the order knows no keys.
    pub keyless: bool,
    /// Records that are admitted and have not gone out.
    pub capacity: usize,
    /// How much they may weigh together, if they are weighed. A record that is heavier by itself
    /// is admitted alone.
    pub weight: Option<usize>,
    /// How long a record may take from the start of its first call, over all calls and the delays
    /// between them.
    pub timeout: Option<Duration>,
    /// Whether and when a failed call is made again.
    pub retry: Option<Retry>,
    /// Whether inputs are kept until their result has gone out: for checkpoints, retries, dead
    /// letters, or for the text of an error.
    pub keeps_inputs: bool,
}

impl Limits {
    /// The limits of an order: 100 records, nothing else.
    pub const fn new(order: Order) -> Self {
        Self {
            order,
            keyless: false,
            capacity: 100,
            weight: None,
            timeout: None,
            retry: None,
            keeps_inputs: true,
        }
    }

    /// Whether a stage can keep them.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be meant.
    pub fn check(&self) -> Result<(), SettingError> {
        let zero = |what| Err(SettingError::Zero { what });
        match self {
            Self { capacity: 0, .. } => zero("capacity"),
            Self { order: Order::KeyOrdered { per_key: 0 }, .. } => zero("calls of one key"),
            Self { keyless: true, .. } => Err(SettingError::PerKey),
            Self { weight: Some(0), .. } => zero("weight"),
            Self { timeout: Some(Duration::ZERO), .. } => zero("timeout"),
            Self { retry: Some(retry), timeout, .. } => retry.check(timeout.is_some()),
            _ => Ok(()),
        }
    }
}

/// A setting of a stage of calls that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A limit of zero, with which nothing could ever happen.
    #[error("the {what} is zero, with which nothing could happen: leave it out for none")]
    Zero {
        /// Which one.
        what: &'static str,
    },
    /// A limit of the calls of one key, where there is no order of keys.
    #[error("per_key is for calls in the order of keys: begin with AsyncWait::key_ordered")]
    PerKey,
    /// Nothing ends the retries.
    #[error("retries without an end: give a timeout or max_retries")]
    EndlessRetry,
    /// A factor by which delays would shrink.
    #[error("the factor of the retry delays is below 1 or no number")]
    Factor,
    /// A share of a delay that is none.
    #[error("the jitter of the retry delays is not between 0 and 1")]
    Jitter,
}

/// Whether and when a failed call is made again.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use millstream_operators::async_wait::Retry;
///
/// let retry = Retry::exponential(Duration::from_millis(10))
///     .max_delay(Duration::from_millis(35))
///     .max_retries(5);
/// let delays = (1..5).map(|failed| retry.delay(failed, 0).as_millis());
/// assert_eq!(delays.collect::<Vec<_>>(), [10, 20, 35, 35]);
/// ```
#[derive(Clone, Debug)]
pub struct Retry {
    delay: RetryDelay,
    max_retries: Option<u32>,
    jitter: f64,
    seed: u64,
}

/// How long after a failure a call is made again.
#[derive(Clone, Debug)]
enum RetryDelay {
    /// Always the same.
    Fixed(Duration),
    /// Each time longer.
    Exponential {
        /// After the first failure.
        first: Duration,
        /// By what each delay is longer than the one before it.
        factor: f64,
        /// No delay is longer.
        max: Duration,
    },
}

impl Retry {
    /// The same delay after each failure.
    pub const fn fixed(delay: Duration) -> Self {
        Self::with(RetryDelay::Fixed(delay))
    }

    /// Each delay twice as long as the one before it.
    pub const fn exponential(first: Duration) -> Self {
        Self::with(RetryDelay::Exponential { first, factor: 2.0, max: Duration::MAX })
    }

    const fn with(delay: RetryDelay) -> Self {
        Self { delay, max_retries: None, jitter: 0.0, seed: 0 }
    }

    /// By what each delay is longer than the one before it, cut to whole milliseconds: a delay of
    /// 1 ms stays what it is unless the factor is 2 or more. Means nothing for a fixed one.
    #[must_use]
    pub const fn factor(mut self, by: f64) -> Self {
        if let RetryDelay::Exponential { factor, .. } = &mut self.delay {
            *factor = by;
        }
        self
    }

    /// No delay is longer than this, the first one neither.
    #[must_use]
    pub fn max_delay(mut self, longest: Duration) -> Self {
        match &mut self.delay {
            RetryDelay::Fixed(delay) => *delay = longest.min(*delay),
            RetryDelay::Exponential { max, .. } => *max = longest,
        }
        self
    }

    /// How often a record's call is made again at most. Without it only the time-out ends retries.
    #[must_use]
    pub const fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Shortens each delay by up to this share of it, by chance, so that calls that failed together
    /// do not come back together. The chance follows from the seed, the record and the attempt.
    #[must_use]
    pub const fn jitter(mut self, share: f64, seed: u64) -> Self {
        (self.jitter, self.seed) = (share, seed);
        self
    }

    fn check(&self, has_timeout: bool) -> Result<(), SettingError> {
        let shortest = match self.delay {
            RetryDelay::Fixed(delay) => delay,
            RetryDelay::Exponential { first, max, .. } => first.min(max),
        };
        match (&self.delay, self.max_retries) {
            _ if shortest.is_zero() => Err(SettingError::Zero { what: "retry delay" }),
            (_, Some(0)) => Err(SettingError::Zero { what: "number of retries" }),
            (_, None) if !has_timeout => Err(SettingError::EndlessRetry),
            (RetryDelay::Exponential { factor, .. }, _) if !(1.0..=f64::MAX).contains(factor) => {
                Err(SettingError::Factor)
            }
            _ if !(0.0..=1.0).contains(&self.jitter) => Err(SettingError::Jitter),
            _ => Ok(()),
        }
    }

    /// Whether a call that has failed so often may be made again.
    pub fn allows(&self, failed: u32) -> bool {
        self.max_retries.is_none_or(|max| failed <= max)
    }

    /// How long a record waits after its call has failed so often, in whole milliseconds and at
    /// least one.
    pub fn delay(&self, failed: u32, record: u64) -> Duration {
        let millis = match self.delay {
            RetryDelay::Fixed(delay) => whole_millis(delay),
            RetryDelay::Exponential { first, factor, max } => {
                let (mut millis, max) = (whole_millis(first), whole_millis(max));
                for _ in 1..failed {
                    let next = (millis as f64 * factor) as u64;
                    if millis >= max || next == millis {
                        break;
                    }
                    millis = next;
                }
                millis.min(max)
            }
        };
        if self.jitter == 0.0 {
            return Duration::from_millis(millis);
        }
        let chance = mixed(self.seed ^ mixed(record ^ mixed(u64::from(failed)))) >> 11;
        let share = chance as f64 / (1_u64 << 53) as f64;
        let shorter = millis as f64 * self.jitter * share;
        Duration::from_millis(millis.saturating_sub(shorter as u64).max(1))
    }
}

/// Rounded up, so that a delay that was asked for is never none.
fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The finisher of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014): each bit of the number decides about all bits of the result.
const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What becomes of a record whose call has failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<R> {
    /// The job fails.
    Fail,
    /// It is dropped, and counted.
    Drop,
    /// These results stand in its place.
    Fallback(R),
    /// It leaves by the side output of dead letters. Without its input, which is not there if
    /// inputs are not kept, the job fails.
    DeadLetter,
}

/// What a stage was told to do with calls and records that fail. All of it is the user's code.
pub trait Handlers<I, R> {
    /// The key that an input belongs to, by its hash. Only looked at in key order.
    fn key(&self, input: &I) -> Option<KeyHash> {
        let _ = input;
        None
    }

    /// How much an input weighs.
    fn weight(&self, input: &I) -> usize {
        let _ = input;
        0
    }

    /// Whether a call that gave this error is made again. Only asked if it may be.
    fn retries_error(&mut self, failure: &Failure) -> bool {
        let _ = failure;
        true
    }

    /// Whether a call that panicked is made again.
    fn retries_panic(&mut self, failure: &Failure) -> bool {
        let _ = failure;
        false
    }

    /// Whether a call that gave these results is made again.
    fn retries_results(&mut self, results: &R) -> bool {
        let _ = results;
        false
    }

    /// What becomes of a record whose last call gave an error or panicked. The input is there if
    /// inputs are kept.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_error(&mut self, input: Option<&I>, failure: &Failure) -> Result<Verdict<R>, Failure> {
        let _ = (input, failure);
        Ok(Verdict::Fail)
    }

    /// What becomes of a record whose time is over. The input is there if inputs are kept.
    ///
    /// # Errors
    ///
    /// An error fails the job.
    fn on_timeout(&mut self, input: Option<&I>) -> Result<Verdict<R>, Failure> {
        let _ = input;
        Ok(Verdict::Fail)
    }
}
