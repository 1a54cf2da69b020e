//! The table that is shown at the end: what the order of the results has cost.

use std::time::Duration;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use examples::grouped;

use crate::graph::Mode;
use crate::rows::Shown;

/// Of every latency, what half stay below and what 99 of 100 do.
pub(crate) const QUANTILES: [f64; 2] = [0.5, 0.99];

/// What one run has come to.
pub(crate) struct Run {
    mode: Mode,
    flights: usize,
    planes: usize,
    airports: usize,
    took: Duration,
    /// From a call to its answer.
    calls: [Duration; 2],
    /// From a call to when its result has left the stage.
    stays: [Duration; 2],
}

impl Run {
    pub(crate) fn new(mode: Mode, took: Duration, call_ns: [u64; 2], shown: &[Shown]) -> Self {
        let planes = shown.iter().filter(|flight| flight.has_plane).count();
        let airports = shown.iter().filter(|flight| flight.has_airport).count();
        let mut stayed: Vec<Duration> = shown.iter().map(|flight| flight.stayed).collect();
        stayed.sort_unstable();
        let stays = QUANTILES.map(|share| quantile(&stayed, share));
        let calls = call_ns.map(Duration::from_nanos);
        Self { mode, flights: shown.len(), planes, airports, took, calls, stays }
    }

    /// What the services knew, in a line.
    fn found(&self) -> String {
        let Self { mode, .. } = self;
        let [flights, planes, airports] =
            [self.flights, self.planes, self.airports].map(|count| grouped(count as u64));
        format!("{mode:<10}{flights} flights, {planes} with a plane, {airports} with an airport\n")
    }

    fn per_second(&self) -> f64 {
        self.flights as f64 / self.took.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The value that this share of the values does not exceed; zero if there are none.
fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

/// Both runs in a table, and what they found.
pub(crate) fn text(ordered: &Run, unordered: &Run) -> String {
    let mut table = Table::new();
    let header = [
        "results",
        "flights\na second",
        "a call\np50",
        "a call\np99",
        "in the stage\np50",
        "in the stage\np99",
    ];
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for run in [ordered, unordered] {
        let [call_p50, call_p99] = run.calls.map(millis);
        let [stay_p50, stay_p99] = run.stays.map(millis);
        let rate = grouped(run.per_second().round() as u64);
        table.add_row([run.mode.to_string(), rate, call_p50, call_p99, stay_p50, stay_p99]);
    }
    format!(
        "{table}\n\n{}{}\n\
         A call takes the same time in both. In order its result waits for those in front of it, \
         and keeps\nits place meanwhile, so that fewer calls are out.\n",
        ordered.found(),
        unordered.found(),
    )
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let millis: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        let quantiles = QUANTILES.map(|share| quantile(&millis, share).as_millis());
        assert_eq!(quantiles, [100, 198]);
        assert_eq!(quantile(&millis[..1], 0.99), millis[0]);
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }
}
