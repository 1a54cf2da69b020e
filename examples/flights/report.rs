//! The tables that are shown at the end.

use std::collections::BTreeMap;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use examples::grouped;

use crate::totals::{Carrier, Totals};

/// The carriers, and the airports with their days summed up.
pub(crate) fn text(
    carriers: &[(String, Carrier)],
    origins: &[((String, String), Totals)],
) -> String {
    format!("{}\n\n{}\n", carrier_table(carriers), origin_table(origins))
}

fn carrier_table(carriers: &[(String, Carrier)]) -> Table {
    let mut table = table(["carrier", "name", "flights", "cancelled", "mean delay"], 2);
    let mut all = Totals::default();
    for (code, carrier) in carriers {
        let name = carrier.name.clone().unwrap_or_default();
        table.add_row([&[code.clone(), name][..], &numbers(&carrier.totals)[..]].concat());
        all += carrier.totals;
    }
    table.add_row([&["all".to_owned(), String::new()][..], &numbers(&all)[..]].concat());
    table
}

/// An airport: its days together, how many they are, and the one with the longest delays.
#[derive(Default)]
struct Airport {
    totals: Totals,
    days: u64,
    worst: Option<(String, f64)>,
}

fn origin_table(origins: &[((String, String), Totals)]) -> Table {
    let mut airports: BTreeMap<&str, Airport> = BTreeMap::new();
    for ((origin, day), totals) in origins {
        let airport = airports.entry(origin).or_default();
        airport.totals += *totals;
        airport.days += 1;
        let worst_delay = airport.worst.as_ref().map_or(f64::NEG_INFINITY, |(_, delay)| *delay);
        if let Some(delay) = totals.mean_delay().filter(|delay| *delay > worst_delay) {
            airport.worst = Some((day.clone(), delay));
        }
    }
    let header = ["origin", "worst day", "its mean", "days", "flights", "cancelled", "mean delay"];
    let mut table = table(header, 2);
    for (origin, airport) in airports {
        let (day, delay) = airport.worst.unzip();
        let first = [origin.to_owned(), day.unwrap_or_default(), minutes(delay)];
        let days = [grouped(airport.days)];
        table.add_row([&first[..], &days[..], &numbers(&airport.totals)[..]].concat());
    }
    table
}

/// An empty table, its columns flush right from number `first_number` on.
fn table<const N: usize>(header: [&str; N], first_number: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn numbers(totals: &Totals) -> [String; 3] {
    [grouped(totals.flights), grouped(totals.cancelled), minutes(totals.mean_delay())]
}

fn minutes(delay: Option<f64>) -> String {
    delay.map_or_else(|| "–".to_owned(), |delay| format!("{delay:.1} min"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(minutes(None), "–");
        assert_eq!(minutes(Some(-0.26)), "-0.3 min");
    }
}
