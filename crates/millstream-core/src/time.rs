//! Event time: a point on the line that records and watermarks share.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in event time: milliseconds since 1970-01-01T00:00:00Z, negative before it.
///
/// `i64::MIN` is no timestamp. It is the mark of a record *without* one, so that a record carries
/// its time in eight bytes; [`Timestamp::from_millis`] refuses it where it enters.
///
/// # Examples
///
/// ```
/// use millstream_core::Timestamp;
///
/// let noon = Timestamp::from_millis(43_200_000)?;
/// assert_eq!(noon.millis(), 43_200_000);
/// assert!(Timestamp::from_millis(i64::MIN).is_err());
/// # Ok::<(), millstream_core::ReservedTimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Timestamp(i64);

/// `i64::MIN` was given as a timestamp; it stands for "no timestamp".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timestamp {} is reserved: it stands for a record without a timestamp", i64::MIN)]
pub struct ReservedTimestamp;

impl Timestamp {
    /// The latest time. A watermark of this value is the final one: no record follows it.
    pub const MAX: Self = Self(i64::MAX);
    /// The earliest time that a record or a watermark can have.
    pub const MIN: Self = Self(i64::MIN + 1);

    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The time `millis` milliseconds after the epoch.
    ///
    /// # Errors
    ///
    /// [`ReservedTimestamp`] for `i64::MIN`.
    pub const fn from_millis(millis: i64) -> Result<Self, ReservedTimestamp> {
        if millis == i64::MIN { Err(ReservedTimestamp) } else { Ok(Self(millis)) }
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whether a watermark of this time is the final one.
    pub const fn is_final(self) -> bool {
        self.0 == i64::MAX
    }

    /// Milliseconds from `earlier` to here, negative if that is the later one; at the ends of the
    /// range, as many as can be told.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time `after` later, in whole milliseconds, at most [`MAX`](Self::MAX).
    pub fn plus(self, after: Duration) -> Self {
        Self::nearest(i128::from(self.0) + whole_millis(after))
    }

    /// The time `before` earlier, in whole milliseconds, at least [`MIN`](Self::MIN).
    pub fn minus(self, before: Duration) -> Self {
        Self::nearest(i128::from(self.0) - whole_millis(before))
    }

    /// This time, or the latest multiple of `step` milliseconds before it, so that times which lie
    /// near each other come to one: timers that are set for it fire together. A step of less than
    /// a millisecond is one of a millisecond.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use millstream_core::Timestamp;
    ///
    /// let second = Duration::from_secs(1);
    /// let at = Timestamp::from_millis;
    /// let rounded = |millis| at(millis).map(|at| at.rounded_to(second).millis());
    /// assert_eq!((rounded(10_999)?, rounded(11_000)?, rounded(-1)?), (10_000, 11_000, -1_000));
    /// # Ok::<(), millstream_core::ReservedTimestamp>(())
    /// ```
    #[must_use]
    pub fn rounded_to(self, step: Duration) -> Self {
        let (at, step) = (i128::from(self.0), whole_millis(step).max(1));
        Self::nearest(at.div_euclid(step) * step)
    }

    fn nearest(millis: i128) -> Self {
        let within = millis.clamp(i128::from(Self::MIN.0), i128::from(Self::MAX.0));
        Self(i64::try_from(within).unwrap_or(i64::MAX))
    }

    pub(crate) const fn trusted(millis: i64) -> Self {
        Self(millis)
    }
}

fn whole_millis(duration: Duration) -> i128 {
    i128::try_from(duration.as_millis()).unwrap_or(i128::from(u64::MAX))
}

impl TryFrom<i64> for Timestamp {
    type Error = ReservedTimestamp;

    fn try_from(millis: i64) -> Result<Self, Self::Error> {
        Self::from_millis(millis)
    }
}

impl From<Timestamp> for i64 {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_within_their_range() {
        let at = Timestamp::trusted;
        let (ms, long) = (Duration::from_millis, Duration::from_secs(u64::MAX));
        assert_eq!((at(5).plus(ms(7)), at(5).minus(ms(7))), (at(12), at(-2)));
        assert_eq!(at(5).plus(Duration::from_micros(1_999)), at(6));
        assert_eq!((at(5).plus(long), at(5).minus(long)), (Timestamp::MAX, Timestamp::MIN));
        assert_eq!((at(5).millis_since(at(8)), at(8).millis_since(at(5))), (-3, 3));
        assert_eq!(Timestamp::MIN.millis_since(Timestamp::MAX), i64::MIN);
        assert_eq!(Timestamp::MAX.millis_since(Timestamp::MIN), i64::MAX);
    }

    #[test]
    fn the_mark_of_no_timestamp_is_refused() {
        assert_eq!(Timestamp::from_millis(i64::MIN), Err(ReservedTimestamp));
        assert_eq!(Timestamp::from_millis(i64::MIN + 1), Ok(Timestamp::MIN));
        assert_eq!(Timestamp::from_millis(i64::MAX), Ok(Timestamp::MAX));
        let bytes = rmp_serde::to_vec(&i64::MIN).unwrap();
        assert!(rmp_serde::from_slice::<Timestamp>(&bytes).is_err());
    }
}
