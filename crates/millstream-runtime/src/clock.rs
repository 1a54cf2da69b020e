//! The system's clock.

#![expect(clippy::disallowed_methods, reason = "this is the clock")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use millstream_core::{Clock, Moment, Timestamp, Wake};

/// Time as the system tells it; wake-ups by tokio's timer, which counts in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    began: Instant,
}

impl SystemClock {
    /// A clock that begins now.
    pub fn new() -> Self {
        Self { began: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_millis()).map_or(i64::MIN + 1, |ms| -ms)
            }
        };
        Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN)
    }

    fn monotonic(&self) -> Moment {
        Moment::ZERO.plus(self.began.elapsed())
    }
    fn wake_at(&self, moment: Moment) -> Wake {
        let due = self.began + Duration::from_nanos(moment.nanos());
        Box::pin(async move { tokio::time::sleep_until(due.into()).await })
    }
}
