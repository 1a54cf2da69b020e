//! How watermarks come from the times of records.

use std::time::Duration;

use millstream_core::{Record, Timestamp};

/// How watermarks come from the times of records: a description, of which each split of a source
/// has a state of its own.
///
/// # On recovery
///
/// The state of a split is part of the split's position.
///
/// # Examples
///
/// Every record says how late others may be:
///
/// ```
/// use std::time::Duration;
///
/// use millstream_core::Timestamp;
/// use millstream_operators::progress::WatermarkStrategy;
///
/// struct Sample {
///     others_late: Duration,
/// }
///
/// #[derive(Clone)]
/// struct AsTheySay;
///
/// impl WatermarkStrategy<Sample> for AsTheySay {
///     type State = Option<Timestamp>;
///
///     fn on_record(
///         &self,
///         state: &mut Option<Timestamp>,
///         sample: &Sample,
///         at: Timestamp,
///     ) -> Option<Timestamp> {
///         *state = (*state).max(Some(at.minus(sample.others_late)));
///         None
///     }
///
///     fn current(&self, state: &Option<Timestamp>) -> Option<Timestamp> {
///         *state
///     }
/// }
/// ```
pub trait WatermarkStrategy<T>: Clone + Send + 'static {
    /// What is kept of a split.
    type State: Record + Clone + Default;

    /// A record passes; a watermark that is to follow it at once, if there is one.
    fn on_record(&self, state: &mut Self::State, value: &T, at: Timestamp) -> Option<Timestamp>;

    /// The watermark as far as is known now, if there is one. Asked once an interval.
    fn current(&self, state: &Self::State) -> Option<Timestamp> {
        let _ = state;
        None
    }
}

/// Records are at most so much later than the latest before them.
///
/// The watermark is the greatest time so far, less the bound, less a millisecond: records of that
/// greatest time may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded {
    late: Duration,
}

impl Bounded {
    /// Records are late by at most `late`, in whole milliseconds; by nothing if they come in the
    /// order of their times.
    pub const fn by(late: Duration) -> Self {
        Self { late }
    }
}

impl<T> WatermarkStrategy<T> for Bounded {
    type State = Option<Timestamp>;

    #[inline]
    fn on_record(&self, greatest: &mut Self::State, _: &T, at: Timestamp) -> Option<Timestamp> {
        *greatest = (*greatest).max(Some(at));
        None
    }

    fn current(&self, greatest: &Self::State) -> Option<Timestamp> {
        greatest.map(|greatest| greatest.minus(self.late).minus(Duration::from_millis(1)))
    }
}

/// Some records say that a watermark follows them.
#[derive(Clone, Copy, Debug)]
pub struct Punctuated<F>(pub F);

impl<T, F> WatermarkStrategy<T> for Punctuated<F>
where
    F: Fn(&T, Timestamp) -> Option<Timestamp> + Clone + Send + 'static,
{
    type State = ();

    #[inline]
    fn on_record(&self, (): &mut (), value: &T, at: Timestamp) -> Option<Timestamp> {
        (self.0)(value, at)
    }
}
