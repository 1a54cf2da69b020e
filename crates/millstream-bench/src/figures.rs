//! From pairs of rounds to a row: medians, because a machine has neighbours, and ratios within a
//! pair, because neighbours come and go.

use millstream_bench_workload::{Latency, RoundReport};
use serde::Serialize;

use crate::error::BenchError;
use crate::rounds::Pair;

/// A workload has one form unless it says otherwise.
pub(crate) const MODE: &str = "default";

/// What a row is about; the first fields of every row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Subject {
    /// The workload.
    pub(crate) workload: &'static str,
    /// Its form.
    pub(crate) mode: &'static str,
    /// Workers of our side.
    pub(crate) workers: u64,
    /// The other side.
    pub(crate) peer: &'static str,
}

/// A row of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Row {
    /// Of a workload that measures rates.
    Rate(RateRow),
    /// Of one that measures ages.
    Latency(LatencyRow),
    /// Of one that measures what idling costs.
    Idle(IdleRow),
    /// Of one that measures what twice as many records cost.
    Growth(GrowthRow),
}

/// Records a second of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RateRow {
    /// What it is about.
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// Records a second, ours.
    pub(crate) ours_per_s: u64,
    /// Records a second, the peer's.
    pub(crate) peer_per_s: u64,
    /// The median of the pairs' ratios, ours to the peer's.
    pub(crate) ratio: f64,
    /// How many pairs.
    pub(crate) pairs: usize,
    /// Records a second of processor time, ours.
    pub(crate) ours_per_cpu_s: u64,
    /// Records a second of processor time, the peer's.
    pub(crate) peer_per_cpu_s: u64,
    /// The median of the pairs' ratios of those.
    pub(crate) cpu_ratio: f64,
    /// Our best round.
    pub(crate) ours_best_per_s: u64,
    /// The peer's best round.
    pub(crate) peer_best_per_s: u64,
    /// Pairs during which others were at work, in each of their tries.
    pub(crate) disturbed: usize,
}

/// Ages of records on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LatencyRow {
    /// What it is about.
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// Half of our records were younger.
    pub(crate) p50_ms: f64,
    /// 99 of 100 of ours were younger.
    pub(crate) p99_ms: f64,
    /// 999 of 1,000 of ours were younger.
    pub(crate) p999_ms: f64,
    /// How late our source made its records, 99 of 100.
    pub(crate) late_p99_ms: f64,
    /// The same of the peer.
    pub(crate) peer_p50_ms: f64,
    /// The same of the peer.
    pub(crate) peer_p99_ms: f64,
    /// The same of the peer.
    pub(crate) peer_p999_ms: f64,
    /// The same of the peer.
    pub(crate) peer_late_p99_ms: f64,
    /// The median of the pairs' ratios of p99: above one, ours were older.
    pub(crate) ratio: f64,
    /// How many pairs.
    pub(crate) pairs: usize,
    /// Pairs during which others were at work, in each of their tries.
    pub(crate) disturbed: usize,
}

/// What an idle job costs on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct IdleRow {
    /// What it is about.
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// Our share of one core.
    pub(crate) cpu_percent: f64,
    /// The peer's share of one core.
    pub(crate) peer_cpu_percent: f64,
    /// How many pairs.
    pub(crate) pairs: usize,
    /// Pairs during which others were at work, in each of their tries.
    pub(crate) disturbed: usize,
}

/// What a number of records costs on both sides, and what twice as many do.
///
/// The growth is that of the processor's time: how long calls sleep is the same for any number, and
/// would hide what grows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GrowthRow {
    /// What it is about.
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// How many records.
    pub(crate) records: u64,
    /// How long ours took.
    pub(crate) ours_ms: f64,
    /// How long the peer took.
    pub(crate) peer_ms: f64,
    /// Processor time, ours.
    pub(crate) ours_cpu_ms: f64,
    /// Processor time, the peer's.
    pub(crate) peer_cpu_ms: f64,
    /// How much more processor time twice as many records take: the median of the pairs' ratios.
    pub(crate) ours_growth: f64,
    /// The same of the peer.
    pub(crate) peer_growth: f64,
    /// How many pairs.
    pub(crate) pairs: usize,
    /// Pairs during which others were at work, in each of their tries.
    pub(crate) disturbed: usize,
}

/// The row of a workload that measures rates.
pub(crate) fn rate_row(subject: Subject, pairs: &[Pair]) -> RateRow {
    let best = |rates: Vec<f64>| rates.into_iter().fold(0.0, f64::max).round() as u64;
    RateRow {
        ours_per_s: middle(&of(pairs, |pair| per_s(&pair.ours))),
        peer_per_s: middle(&of(pairs, |pair| per_s(&pair.peer))),
        ratio: digits(median(&of(pairs, |pair| per_s(&pair.ours) / per_s(&pair.peer)))),
        pairs: pairs.len(),
        ours_per_cpu_s: middle(&of(pairs, |pair| per_cpu_s(&pair.ours))),
        peer_per_cpu_s: middle(&of(pairs, |pair| per_cpu_s(&pair.peer))),
        cpu_ratio: digits(median(&of(pairs, |pair| per_cpu_s(&pair.ours) / per_cpu_s(&pair.peer)))),
        ours_best_per_s: best(of(pairs, |pair| per_s(&pair.ours))),
        peer_best_per_s: best(of(pairs, |pair| per_s(&pair.peer))),
        disturbed: disturbed(pairs),
        subject,
    }
}

/// The row of a workload that measures ages.
///
/// # Errors
///
/// [`BenchError::NoLatency`] when a side, `ours` or the peer, has reported none.
pub(crate) fn latency_row(
    subject: Subject,
    ours: &'static str,
    pairs: &[Pair],
) -> Result<LatencyRow, BenchError> {
    let ours = latencies(ours, pairs.iter().map(|pair| &pair.ours))?;
    let peer = latencies(subject.peer, pairs.iter().map(|pair| &pair.peer))?;
    let middle = |of: &[Latency], take: fn(&Latency) -> f64| {
        digits(median(&of.iter().map(take).collect::<Vec<_>>()))
    };
    let ratios: Vec<f64> =
        ours.iter().zip(&peer).map(|(ours, peer)| ours.p99_ms / peer.p99_ms).collect();
    Ok(LatencyRow {
        p50_ms: middle(&ours, |latency| latency.p50_ms),
        p99_ms: middle(&ours, |latency| latency.p99_ms),
        p999_ms: middle(&ours, |latency| latency.p999_ms),
        late_p99_ms: middle(&ours, |latency| latency.late_p99_ms),
        peer_p50_ms: middle(&peer, |latency| latency.p50_ms),
        peer_p99_ms: middle(&peer, |latency| latency.p99_ms),
        peer_p999_ms: middle(&peer, |latency| latency.p999_ms),
        peer_late_p99_ms: middle(&peer, |latency| latency.late_p99_ms),
        ratio: digits(median(&ratios)),
        pairs: pairs.len(),
        disturbed: disturbed(pairs),
        subject,
    })
}

/// The row of a workload that measures what idling costs.
pub(crate) fn idle_row(subject: Subject, pairs: &[Pair]) -> IdleRow {
    let percent = |report: &RoundReport| 100.0 * report.cpu_seconds / report.seconds;
    IdleRow {
        cpu_percent: digits(median(&of(pairs, |pair| percent(&pair.ours)))),
        peer_cpu_percent: digits(median(&of(pairs, |pair| percent(&pair.peer)))),
        pairs: pairs.len(),
        disturbed: disturbed(pairs),
        subject,
    }
}

/// A row of a workload that measures what twice as many records cost: pairs of so many, and of
/// twice as many.
pub(crate) fn growth_row(subject: Subject, once: &[Pair], twice: &[Pair]) -> GrowthRow {
    let ms = |take: fn(&Pair) -> f64| digits(1e3 * median(&of(once, take)));
    let growth = |take: fn(&Pair) -> f64| {
        let ratios: Vec<f64> = once.iter().zip(twice).map(|(a, b)| take(b) / take(a)).collect();
        digits(median(&ratios))
    };
    GrowthRow {
        records: once.first().map_or(0, |pair| pair.ours.records),
        ours_ms: ms(|pair| pair.ours.seconds),
        peer_ms: ms(|pair| pair.peer.seconds),
        ours_cpu_ms: ms(|pair| pair.ours.cpu_seconds),
        peer_cpu_ms: ms(|pair| pair.peer.cpu_seconds),
        ours_growth: growth(|pair| pair.ours.cpu_seconds),
        peer_growth: growth(|pair| pair.peer.cpu_seconds),
        pairs: once.len(),
        disturbed: disturbed(once),
        subject,
    }
}

/// The middle one; of an even number the mean of the two in the middle; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.get(half), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(&middle), 1) => middle,
        (Some(&upper), _) => f64::midpoint(sorted[half - 1], upper),
    }
}

fn of(pairs: &[Pair], take: impl Fn(&Pair) -> f64) -> Vec<f64> {
    pairs.iter().map(take).collect()
}

fn middle(rates: &[f64]) -> u64 {
    median(rates).round() as u64
}

fn disturbed(pairs: &[Pair]) -> usize {
    pairs.iter().filter(|pair| pair.disturbed).count()
}

fn latencies<'a>(
    side: &'static str,
    reports: impl Iterator<Item = &'a RoundReport>,
) -> Result<Vec<Latency>, BenchError> {
    reports.map(|report| report.latency.ok_or(BenchError::NoLatency { side })).collect()
}

fn per_s(report: &RoundReport) -> f64 {
    report.records as f64 / report.seconds
}

fn per_cpu_s(report: &RoundReport) -> f64 {
    // The kernel counts in microseconds at best; a round that used none of them used one.
    report.records as f64 / report.cpu_seconds.max(1e-6)
}

/// Four digits behind the point: more would be noise.
fn digits(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn report(seconds: f64, cpu_seconds: f64) -> RoundReport {
        RoundReport { records: 1_000, seconds, cpu_seconds, checksum: 1, batches: 1, latency: None }
    }

    fn pair(ours: (f64, f64), peer: (f64, f64)) -> Pair {
        let (ours, peer) = (report(ours.0, ours.1), report(peer.0, peer.1));
        Pair { ours, peer, disturbed: false }
    }

    fn subject() -> Subject {
        Subject { workload: "exchange", mode: MODE, workers: 1, peer: "renoir" }
    }

    #[test]
    fn a_median_is_the_middle_one_or_between_the_two() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), 3.0);
    }

    #[test]
    fn the_ratio_is_the_median_of_the_pairs_ratios_and_not_the_ratio_of_medians() {
        // A slow hour halves both sides of a pair: 2, 2 and 4 times as fast.
        let pairs = [
            pair((1.0, 1.0), (2.0, 2.0)),
            pair((4.0, 4.0), (8.0, 8.0)),
            pair((1.0, 1.0), (4.0, 4.0)),
        ];
        let row = rate_row(subject(), &pairs);
        assert_eq!(row.ratio, 2.0);
        assert_eq!((row.ours_per_s, row.peer_per_s), (1_000, 250));
        assert_eq!((row.ours_best_per_s, row.peer_best_per_s), (1_000, 500));
    }

    #[test]
    fn a_side_with_many_threads_pays_for_them() {
        let pairs = [pair((1.0, 1.0), (1.0, 2.0))];
        let row = rate_row(subject(), &pairs);
        assert_eq!((row.ratio, row.cpu_ratio), (1.0, 2.0));
        assert_eq!((row.ours_per_cpu_s, row.peer_per_cpu_s), (1_000, 500));
    }

    #[test]
    fn idling_is_a_share_of_one_core() {
        let pairs = [pair((30.0, 0.03), (30.0, 0.015))];
        let row = idle_row(subject(), &pairs);
        assert_eq!((row.cpu_percent, row.peer_cpu_percent), (0.1, 0.05));
    }

    #[test]
    fn growth_is_that_of_the_processors_time_within_a_pair() {
        let once = [pair((0.1, 0.01), (0.1, 0.02)), pair((0.1, 0.02), (0.1, 0.04))];
        let twice = [pair((0.1, 0.02), (0.1, 0.08)), pair((0.1, 0.06), (0.2, 0.08))];
        let row = growth_row(subject(), &once, &twice);
        assert_eq!((row.records, row.pairs, row.disturbed), (1_000, 2, 0));
        assert_eq!((row.ours_ms, row.peer_ms), (100.0, 100.0));
        assert_eq!((row.ours_cpu_ms, row.peer_cpu_ms), (15.0, 30.0));
        assert_eq!((row.ours_growth, row.peer_growth), (2.5, 3.0));
    }

    #[test]
    fn a_side_without_ages_is_named() {
        let mut pairs = [pair((1.0, 1.0), (1.0, 1.0))];
        let error = latency_row(subject(), "millstream", &pairs).unwrap_err();
        assert!(matches!(error, BenchError::NoLatency { side: "millstream" }), "{error}");
        let ages = Latency { p50_ms: 0.1, p99_ms: 0.5, p999_ms: 0.9, late_p99_ms: 1.0 };
        pairs[0].ours.latency = Some(ages);
        let error = latency_row(subject(), "millstream", &pairs).unwrap_err();
        assert!(matches!(error, BenchError::NoLatency { side: "renoir" }), "{error}");
        pairs[0].peer.latency = Some(Latency { p99_ms: 0.25, ..ages });
        assert_eq!(latency_row(subject(), "millstream", &pairs).unwrap().ratio, 2.0);
    }

    #[test]
    fn disturbed_pairs_are_counted() {
        let mut pairs = vec![pair((1.0, 1.0), (1.0, 1.0)); 3];
        pairs[1].disturbed = true;
        assert_eq!(rate_row(subject(), &pairs).disturbed, 1);
    }
}
