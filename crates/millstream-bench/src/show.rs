//! What the user sees: rows as a table or as JSON, and the list of workloads.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::catalogue::{Side, WORKLOADS};
use crate::error::BenchError;
use crate::figures::{GrowthRow, IdleRow, LatencyRow, RateRow, Row, Subject};

/// A row as one line of JSON.
///
/// # Errors
///
/// [`BenchError::Json`] when it cannot be written.
pub(crate) fn json(row: &Row) -> Result<String, BenchError> {
    Ok(serde_json::to_string(row)?)
}

/// Rows of one workload as a table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    for row in rows {
        let cells = cells(row);
        if table.header().is_none() {
            table.set_header(cells.iter().map(|(title, _)| *title));
        }
        table.add_row(cells.into_iter().map(|(_, text)| text));
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        let alignment = if place < 2 { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    table.to_string()
}

/// The workloads with their peers, and who those are.
pub(crate) fn list() -> String {
    let mut workloads = Table::new();
    workloads.load_style(ASCII_MARKDOWN);
    workloads.set_header(["workload", "what both sides do", "against"]);
    let mut known: Vec<Side> = Vec::new();
    for entry in WORKLOADS {
        workloads.add_row([entry.name, entry.about, &names(entry.peers)]);
        known.extend(entry.peers.iter().filter(|side| !known.contains(side)).collect::<Vec<_>>());
    }
    let mut peers = Table::new();
    peers.load_style(ASCII_MARKDOWN);
    peers.set_header(["peer", "what it is"]);
    for side in known {
        peers.add_row([side.name(), side.about()]);
    }
    format!("{workloads}\n\n{peers}")
}

/// The names of sides, with commas.
pub(crate) fn names(sides: &[Side]) -> String {
    sides.iter().map(|side| side.name()).collect::<Vec<_>>().join(", ")
}

type Cells = Vec<(&'static str, String)>;

fn cells(row: &Row) -> Cells {
    match row {
        Row::Rate(row) => rate_cells(row),
        Row::Latency(row) => latency_cells(row),
        Row::Idle(row) => idle_cells(row),
        Row::Growth(row) => growth_cells(row),
    }
}

fn subject_cells(subject: &Subject) -> Cells {
    vec![
        ("workload", subject.workload.to_owned()),
        ("peer", subject.peer.to_owned()),
        ("workers", subject.workers.to_string()),
    ]
}

fn rate_cells(row: &RateRow) -> Cells {
    let mut cells = subject_cells(&row.subject);
    cells.extend([
        ("ours M/s", millions(row.ours_per_s)),
        ("peer M/s", millions(row.peer_per_s)),
        ("ratio", ratio(row.ratio)),
        ("ours M/CPU-s", millions(row.ours_per_cpu_s)),
        ("peer M/CPU-s", millions(row.peer_per_cpu_s)),
        ("CPU ratio", ratio(row.cpu_ratio)),
        ("ours best", millions(row.ours_best_per_s)),
        ("peer best", millions(row.peer_best_per_s)),
    ]);
    cells.extend(pair_cells(row.pairs, row.disturbed));
    cells
}

fn latency_cells(row: &LatencyRow) -> Cells {
    let both = |ours: f64, peer: f64| format!("{ours:.3} / {peer:.3}");
    let mut cells = subject_cells(&row.subject);
    cells.extend([
        ("p50 ms, ours / peer", both(row.p50_ms, row.peer_p50_ms)),
        ("p99 ms", both(row.p99_ms, row.peer_p99_ms)),
        ("p999 ms", both(row.p999_ms, row.peer_p999_ms)),
        ("source late, p99 ms", both(row.late_p99_ms, row.peer_late_p99_ms)),
        ("p99 ratio", ratio(row.ratio)),
    ]);
    cells.extend(pair_cells(row.pairs, row.disturbed));
    cells
}

fn idle_cells(row: &IdleRow) -> Cells {
    let mut cells = subject_cells(&row.subject);
    cells.extend([
        ("ours, % of a core", format!("{:.4}", row.cpu_percent)),
        ("peer, % of a core", format!("{:.4}", row.peer_cpu_percent)),
    ]);
    cells.extend(pair_cells(row.pairs, row.disturbed));
    cells
}

fn growth_cells(row: &GrowthRow) -> Cells {
    let both = |ours: f64, peer: f64| format!("{ours:.1} / {peer:.1}");
    let mut cells = subject_cells(&row.subject);
    cells.extend([
        ("records", row.records.to_string()),
        ("ms, ours / peer", both(row.ours_ms, row.peer_ms)),
        ("CPU-ms", both(row.ours_cpu_ms, row.peer_cpu_ms)),
        ("ours, twice as many", ratio(row.ours_growth)),
        ("peer", ratio(row.peer_growth)),
    ]);
    cells.extend(pair_cells(row.pairs, row.disturbed));
    cells
}

fn pair_cells(pairs: usize, disturbed: usize) -> Cells {
    vec![("pairs", pairs.to_string()), ("disturbed", disturbed.to_string())]
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Three digits that matter.
fn millions(per_s: u64) -> String {
    let millions = per_s as f64 / 1e6;
    match millions {
        100.0.. => format!("{millions:.0}"),
        10.0..100.0 => format!("{millions:.1}"),
        _ => format!("{millions:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::MODE;

    fn subject(workload: &'static str, peer: &'static str) -> Subject {
        Subject { workload, mode: MODE, workers: 2, peer }
    }

    fn rate() -> Row {
        Row::Rate(RateRow {
            subject: subject("exchange", "renoir"),
            ours_per_s: 170_500_000,
            peer_per_s: 52_000_000,
            ratio: 3.2788,
            pairs: 9,
            ours_per_cpu_s: 168_000_000,
            peer_per_cpu_s: 30_000_000,
            cpu_ratio: 5.6,
            ours_best_per_s: 181_000_000,
            peer_best_per_s: 57_000_000,
            disturbed: 1,
        })
    }

    #[test]
    fn a_row_of_rates_is_exactly_this_line() {
        let meant = concat!(
            r#"{"workload":"exchange","mode":"default","workers":2,"peer":"renoir","#,
            r#""ours_per_s":170500000,"peer_per_s":52000000,"ratio":3.2788,"pairs":9,"#,
            r#""ours_per_cpu_s":168000000,"peer_per_cpu_s":30000000,"cpu_ratio":5.6,"#,
            r#""ours_best_per_s":181000000,"peer_best_per_s":57000000,"disturbed":1}"#
        );
        assert_eq!(json(&rate()).unwrap(), meant);
    }

    #[test]
    fn a_row_of_ages_is_exactly_this_line() {
        let row = Row::Latency(LatencyRow {
            subject: subject("latency", "tokio-channel"),
            p50_ms: 0.1,
            p99_ms: 0.2,
            p999_ms: 0.3,
            late_p99_ms: 0.4,
            peer_p50_ms: 0.5,
            peer_p99_ms: 0.6,
            peer_p999_ms: 0.7,
            peer_late_p99_ms: 0.8,
            ratio: 0.3333,
            pairs: 9,
            disturbed: 0,
        });
        let meant = concat!(
            r#"{"workload":"latency","mode":"default","workers":2,"peer":"tokio-channel","#,
            r#""p50_ms":0.1,"p99_ms":0.2,"p999_ms":0.3,"late_p99_ms":0.4,"#,
            r#""peer_p50_ms":0.5,"peer_p99_ms":0.6,"peer_p999_ms":0.7,"peer_late_p99_ms":0.8,"#,
            r#""ratio":0.3333,"pairs":9,"disturbed":0}"#
        );
        assert_eq!(json(&row).unwrap(), meant);
    }

    #[test]
    fn a_row_of_idling_is_exactly_this_line() {
        let row = Row::Idle(IdleRow {
            subject: subject("idle", "tokio-channel"),
            cpu_percent: 0.05,
            peer_cpu_percent: 0.01,
            pairs: 1,
            disturbed: 0,
        });
        let meant = concat!(
            r#"{"workload":"idle","mode":"default","workers":2,"peer":"tokio-channel","#,
            r#""cpu_percent":0.05,"peer_cpu_percent":0.01,"pairs":1,"disturbed":0}"#
        );
        assert_eq!(json(&row).unwrap(), meant);
    }

    #[test]
    fn a_row_of_growth_is_exactly_this_line() {
        let row = Row::Growth(GrowthRow {
            subject: subject("async-burst", "futures"),
            records: 1_000,
            ours_ms: 102.5,
            peer_ms: 103.0,
            ours_cpu_ms: 1.5,
            peer_cpu_ms: 1.75,
            ours_growth: 2.0,
            peer_growth: 2.25,
            pairs: 9,
            disturbed: 0,
        });
        let meant = concat!(
            r#"{"workload":"async-burst","mode":"default","workers":2,"peer":"futures","#,
            r#""records":1000,"ours_ms":102.5,"peer_ms":103.0,"ours_cpu_ms":1.5,"#,
            r#""peer_cpu_ms":1.75,"ours_growth":2.0,"peer_growth":2.25,"pairs":9,"disturbed":0}"#
        );
        assert_eq!(json(&row).unwrap(), meant);
    }

    #[test]
    fn a_table_has_a_line_a_row_under_one_header() {
        let text = table(&[rate(), rate()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("ours M/CPU-s"), "{text}");
        assert!(lines[2].contains("exchange") && lines[2].contains("3.28"), "{text}");
        assert_eq!(lines[2], lines[3]);
    }

    #[test]
    fn the_list_names_every_workload_and_every_peer() {
        let text = list();
        for entry in WORKLOADS {
            assert!(text.contains(entry.name), "{}", entry.name);
            for side in entry.peers {
                assert!(text.contains(side.about()), "{}", side.name());
            }
        }
    }

    #[test]
    fn a_rate_has_three_digits_that_matter() {
        assert_eq!(millions(2_450_400_000), "2450");
        assert_eq!(millions(51_740_000), "51.7");
        assert_eq!(millions(3_146_000), "3.15");
        assert_eq!(millions(0), "0.00");
    }
}
