//! Whether a split has been silent for long.

use std::time::Duration;

use millstream_core::Moment;

/// Whether a split has been silent for long, by looks at the clock now and then.
///
/// A split is idle when it has been silent for more than its time-out, counted from the first look
/// at which nothing had come since the look before. Time in which records could not be passed on
/// does not count: then silence says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Idleness {
    after: Duration,
    /// Something has come since the last look.
    came: bool,
    quiet_since: Option<Moment>,
    idle: bool,
}

impl Idleness {
    /// Idle after this time. Zero counts as a nanosecond.
    pub fn after(after: Duration) -> Self {
        Self { after, came: false, quiet_since: None, idle: false }
    }

    /// A record came.
    #[inline]
    pub const fn comes(&mut self) {
        self.came = true;
    }

    /// A look at the clock; whether the split is idle. `blocked` if records could not be passed on
    /// at some time since the last look.
    pub fn look(&mut self, now: Moment, blocked: bool) -> bool {
        if std::mem::take(&mut self.came) {
            (self.quiet_since, self.idle) = (None, false);
        } else if blocked && !self.idle {
            self.quiet_since = Some(now);
        } else {
            let since = *self.quiet_since.get_or_insert(now);
            self.idle |= now.since(since) > self.after;
        }
        self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(millis: u64) -> Moment {
        Moment::ZERO.plus(Duration::from_millis(millis))
    }

    #[test]
    fn m019_idle_after_more_than_the_time_out_since_the_first_quiet_look() {
        let mut of = Idleness::after(Duration::from_millis(10));
        assert!(!of.look(moment(0), false));
        assert!(!of.look(moment(10), false));
        assert!(of.look(moment(11), false));
        assert!(of.look(moment(12), false));
        of.comes();
        assert!(!of.look(moment(13), false));
        assert!(!of.look(moment(14), false), "the first quiet look");
        assert!(!of.look(moment(24), false));
        assert!(of.look(moment(25), false));
    }

    #[test]
    fn m021_time_without_room_does_not_count() {
        let mut of = Idleness::after(Duration::from_millis(100));
        assert!((0..20).all(|n| !of.look(moment(100 * n), true)));
        let idle: Vec<_> = (20..30).map(|n| of.look(moment(100 * n), false)).collect();
        assert_eq!(idle, [[false].as_slice(), &[true; 9]].concat());
    }
}
