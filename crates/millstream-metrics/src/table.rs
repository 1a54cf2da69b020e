//! A job's numbers as a table for a person at a terminal.

use std::fmt;
use std::time::Duration;

use crate::{CallNumbers, JobNumbers, TaskNumbers};

/// The heads of the columns, and whether what stands below them is text, which begins at the left.
const COLUMNS: [(&str, bool); 16] = [
    ("stage", true),
    ("task", false),
    ("state", true),
    ("records in", false),
    ("records out", false),
    ("batches in", false),
    ("batches out", false),
    ("queued", false),
    ("dropped", false),
    ("busy", false),
    ("idle", false),
    ("held back", false),
    ("waiting", false),
    ("turns", false),
    ("slow", false),
    ("counts", true),
];

impl fmt::Display for JobNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = COLUMNS.map(|(head, _)| head.to_owned());
        let rows: Vec<_> = std::iter::once(head).chain(self.tasks.iter().map(row)).collect();
        let mut widths = [0; COLUMNS.len()];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in &rows {
            let cells = row.iter().zip(widths).zip(COLUMNS).map(|((cell, width), (_, is_text))| {
                if is_text { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

fn row(task: &TaskNumbers) -> [String; COLUMNS.len()] {
    let numbers = &task.numbers;
    let percent = |nanos: u64| match numbers.elapsed_ns() {
        0 => "-".to_owned(),
        elapsed => format!("{:.0}%", nanos as f64 / elapsed as f64 * 100.0),
    };
    let counts = numbers.counts.iter();
    let counts = counts.map(|(name, count)| format!("{}={}", on_a_line(name), grouped(*count)));
    let counts: Vec<_> = numbers.calls.iter().flat_map(calls).chain(counts).collect();
    [
        on_a_line(&task.stage),
        task.subtask.to_string(),
        task.state.to_string(),
        grouped(numbers.records_in),
        grouped(numbers.records_out),
        grouped(numbers.batches_in),
        grouped(numbers.batches_out),
        grouped(numbers.records_queued),
        grouped(numbers.side_records_dropped),
        percent(numbers.busy_ns),
        percent(numbers.idle_ns),
        percent(numbers.back_pressured_ns),
        percent(numbers.waiting_for_cpu_ns),
        grouped(numbers.turns),
        grouped(numbers.slow_turns),
        counts.join(" "),
    ]
}

/// What there is to say about calls: how many were made, and then only what there was.
fn calls(of: &CallNumbers) -> Vec<String> {
    let CallNumbers { attempts, in_flight, retries, timeouts, failures, dropped, .. } = of;
    let counted = [
        ("in_flight", in_flight),
        ("retries", retries),
        ("timeouts", timeouts),
        ("failures", failures),
        ("dropped", dropped),
        ("dead_letters", &of.dead_letters),
    ];
    let counted = counted.into_iter().filter(|(_, count)| **count > 0);
    let counted = std::iter::once(("calls", attempts)).chain(counted);
    let mut all: Vec<_> = counted.map(|(name, n)| format!("{name}={}", grouped(*n))).collect();
    if of.latency.count() > 0 {
        let [p50, p99] = [0.5, 0.99].map(|q| Duration::from_nanos(of.latency.quantile(q)));
        all.extend([format!("p50={p50:.1?}"), format!("p99={p99:.1?}")]);
    }
    all
}

/// A name without what would move the cursor.
fn on_a_line(name: &str) -> String {
    let spell = |c: char| {
        if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
    };
    name.chars().map(spell).collect()
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
