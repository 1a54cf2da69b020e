//! Plain numbers that one thread writes and another reads, without a lock.
//!
//! All of them are relaxed atomics: each number by itself is right, but two numbers read one after
//! the other need not be of the same instant, and none of them may order other memory.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A number that only rises.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// One more.
    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    /// `count` more; at the most that there is it stays.
    pub fn add_saturating(&self, count: u64) {
        self.0.fetch_update(Relaxed, Relaxed, |now| Some(now.saturating_add(count))).ok();
    }

    /// `count` more. It is not checked whether there is such a number: what is counted one by one
    /// does not come to the end of it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// How many so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A number that rises and falls, and remembers how high it has been.
///
/// # Examples
///
/// ```
/// use millstream_core::Gauge;
///
/// let queued = Gauge::new();
/// queued.add(3);
/// queued.sub(2);
/// assert_eq!((queued.get(), queued.peak()), (1, 3));
/// ```
#[derive(Debug, Default)]
pub struct Gauge {
    now: AtomicI64,
    peak: AtomicI64,
}

impl Gauge {
    /// A gauge at zero.
    pub const fn new() -> Self {
        Self { now: AtomicI64::new(0), peak: AtomicI64::new(0) }
    }

    /// It stands at `value` now.
    #[inline]
    pub fn set(&self, value: i64) {
        self.now.store(value, Relaxed);
        self.raise_peak(value);
    }

    /// `by` higher.
    #[inline]
    pub fn add(&self, by: i64) {
        let before = self.now.fetch_add(by, Relaxed);
        self.raise_peak(before.wrapping_add(by));
    }

    /// `by` lower.
    #[inline]
    pub fn sub(&self, by: i64) {
        self.now.fetch_sub(by, Relaxed);
    }

    /// Where it stands.
    #[inline]
    pub fn get(&self) -> i64 {
        self.now.load(Relaxed)
    }

    /// The highest it has stood at; at least zero, where it began.
    #[inline]
    pub fn peak(&self) -> i64 {
        self.peak.load(Relaxed)
    }

    #[inline]
    fn raise_peak(&self, value: i64) {
        // A peak is rarely new: the plain read spares the exchange that `fetch_max` is made of.
        if value > self.peak.load(Relaxed) {
            self.peak.fetch_max(value, Relaxed);
        }
    }
}

/// Each doubling of the value is cut into this many buckets.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 4;
/// Values below `STEPS` have a bucket each; the 60 doublings above have `STEPS` each.
const BUCKETS: usize = STEPS * (64 - STEP_BITS as usize + 1);

/// How values of very different sizes are distributed, to within a sixteenth of each value.
///
/// The buckets are fixed, 976 of eight bytes, so recording never allocates and never fails. One
/// thread may record, and any may look.
///
/// # Examples
///
/// ```
/// use millstream_core::Histogram;
///
/// let nanos = Histogram::new();
/// (1..=1_000).for_each(|value| nanos.record(value));
/// let view = nanos.view();
/// assert_eq!((view.count(), view.sum(), view.max()), (1_000, 500_500, 1_000));
/// assert!((500..=531).contains(&view.quantile(0.5)));
/// assert_eq!(view.quantile(1.0), 1_000);
/// ```
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// A histogram of nothing yet.
    pub fn new() -> Self {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self { buckets, sum: AtomicU64::new(0), max: AtomicU64::new(0) }
    }

    /// One more value.
    #[inline]
    pub fn record(&self, value: u64) {
        self.record_many(value, 1);
    }

    /// So many more of the same value.
    #[inline]
    pub fn record_many(&self, value: u64, times: u64) {
        // One thread writes, so that what it reads here is what it wrote.
        let add = |to: &AtomicU64, more| to.store(to.load(Relaxed).wrapping_add(more), Relaxed);
        if let Some(bucket) = self.buckets.get(bucket_of(value)) {
            add(bucket, times);
        }
        add(&self.sum, value.wrapping_mul(times));
        if times > 0 && value > self.max.load(Relaxed) {
            self.max.store(value, Relaxed);
        }
    }

    /// The histogram as it is now, to be asked in peace.
    pub fn view(&self) -> HistogramView {
        let buckets: Box<[u64]> = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        HistogramView {
            count: buckets.iter().sum(),
            buckets,
            sum: self.sum.load(Relaxed),
            max: self.max.load(Relaxed),
        }
    }
}

/// What a [`Histogram`] held at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramView {
    buckets: Box<[u64]>,
    count: u64,
    sum: u64,
    max: u64,
}

impl Default for HistogramView {
    /// What a histogram of nothing shows.
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), count: 0, sum: 0, max: 0 }
    }
}

impl AddAssign<&Self> for HistogramView {
    fn add_assign(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.wrapping_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

impl HistogramView {
    /// How many values there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, wrapping round at 2⁶⁴.
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// The largest of them; 0 if there was none.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The value that a fraction `q` of the values does not exceed, at most a sixteenth too high.
    /// 0 if there was no value; `q` is taken as if it were within 0 and 1.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return highest_of(bucket).min(self.max);
            }
        }
        self.max
    }
}

/// The number of the bucket that holds a value.
#[inline]
const fn bucket_of(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let doubling = value.ilog2() - STEP_BITS;
    // The value's leading `STEP_BITS + 1` bits are `STEPS` to `2 * STEPS - 1`.
    doubling as usize * STEPS + (value >> doubling) as usize
}

/// The highest value that a bucket holds.
const fn highest_of(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let doubling = bucket / STEPS - 1;
    let lead = (bucket % STEPS + STEPS) as u64;
    (lead << doubling) | ((1 << doubling) - 1)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_counter_loses_nothing_between_threads() {
        let counter = Counter::new();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| counter.inc()));
            }
        });
        counter.add(2);
        assert_eq!(counter.get(), 40_002);
    }

    #[test]
    fn a_gauge_remembers_its_peak() {
        let gauge = Gauge::new();
        gauge.add(5);
        gauge.sub(7);
        assert_eq!((gauge.get(), gauge.peak()), (-2, 5));
        gauge.set(9);
        gauge.set(1);
        assert_eq!((gauge.get(), gauge.peak()), (1, 9));
    }

    #[test]
    fn every_value_has_a_bucket_that_is_a_sixteenth_wide_at_most() {
        let mut last = 0;
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit).wrapping_sub(1), 1 << bit, 3 << bit]);
        let mut values: Vec<u64> = edges.chain(0..5_000).chain([u64::MAX]).collect();
        values.sort_unstable();
        for value in values {
            let bucket = bucket_of(value);
            assert!(bucket >= last && bucket < BUCKETS, "{value} in {bucket}");
            last = bucket;
            let highest = highest_of(bucket);
            assert!(highest >= value && highest - value <= value / 16, "{value} is {highest}");
        }
        assert_eq!(last, BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_found_to_a_sixteenth() {
        let histogram = Histogram::new();
        assert_eq!(histogram.view().quantile(0.5), 0);
        (0..100_000).for_each(|i| histogram.record(i * 1_000));
        let view = histogram.view();
        for (q, exact) in [(0.0, 0), (0.5, 50_000_000), (0.99, 99_000_000), (1.0, 99_999_000)] {
            let found = view.quantile(q);
            assert!(found + 1_000 >= exact && found <= exact + exact / 16, "{q}: {found}");
        }
        assert_eq!(view.quantile(f64::NAN), 0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.view().quantile(1.0), u64::MAX);
    }
}
