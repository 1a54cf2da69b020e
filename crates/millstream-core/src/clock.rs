//! Where time comes from: one trait, so that a test can be the one who says what time it is.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::Timestamp;

/// A point in a clock's monotonic time: nanoseconds since that clock began. Never goes back.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The beginning of the clock.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the clock began.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock began.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to here; zero when `earlier` is the later one.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment `after` later, at most the end of the clock's range (584 years).
    pub fn plus(self, after: Duration) -> Self {
        let nanos = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}

/// Resolves when a clock has reached the moment it was asked for.
pub type Wake = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The only source of time. Everything the runtime does with time goes through one of these.
///
/// A job has one clock: the system's, or in tests a manual or a simulated one. Two jobs may have
/// two clocks, so nothing of a clock may be global.
pub trait Clock: Send + Sync + 'static {
    /// What a clock on the wall shows. It may jump, forwards and back.
    fn wall(&self) -> Timestamp;

    /// Time that never goes back; for deadlines and for measuring.
    fn monotonic(&self) -> Moment;

    /// A future that resolves once [`monotonic`](Self::monotonic) is at or past `moment`.
    fn wake_at(&self, moment: Moment) -> Wake;
}
