//! The timers of the workloads that set some: when each is due, and what a firing comes to.

/// How many keys set timers near by.
pub const TIMER_KEYS: u64 = 1_000;

/// How much later than its record a timer near by is due, in milliseconds.
const DELAY: i64 = 500;

/// Records between two watermarks; each is the time of the last of them.
pub const WATERMARK_EVERY: u64 = 1_000;

/// How many keys set timers far away.
pub const FAR_KEYS: u64 = 1_000_000;

/// How many timers are set far away in a round, at least.
pub const FAR_TIMERS: u64 = 2_000_000;

/// How many timers one record sets in the past.
pub const PAST_TIMERS: u64 = 150_000;

/// A round of timers whose time has passed.
pub fn past_times(record: u64) -> impl Iterator<Item = i64> + use<> {
    let first = -(record as i64 + 1) * PAST_TIMERS as i64;
    first..first + PAST_TIMERS as i64
}

/// When the timer of record `i` is due that is set near by. The record's own time is `i`.
#[inline]
pub const fn near_time(i: u64) -> i64 {
    i as i64 + DELAY
}

/// When the timer of record `i` is due that is set far away.
#[inline]
pub const fn far_time(i: u64) -> i64 {
    1_000_000_000 + (i.wrapping_mul(2_654_435_761) % 1_000_003) as i64
}

/// What a firing adds to the checksum.
#[inline]
pub const fn fired(key: u64, time: i64) -> u64 {
    key.wrapping_mul(31).wrapping_add(time as u64)
}
