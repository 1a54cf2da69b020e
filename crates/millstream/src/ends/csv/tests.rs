//! Splitting compared with another CSV library, on random texts that come in random pieces.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::rows::CsvRows;
use crate::ends::file::{Fault, RowError, Rows};

/// What a row is: its fields, or how many there are if there are not as many as in the header.
type Row = Result<Vec<String>, usize>;

/// The rows behind the header; and whether the last one is an open quote, which is left out.
fn ours(text: &str, mut pieces: impl Iterator<Item = usize>) -> (Vec<Row>, bool) {
    let mut rows = CsvRows::<Vec<String>>::new(b',', None, false);
    let (mut all, mut rest, mut within) = (Vec::new(), text.as_bytes(), false);
    let give = |rows: &mut CsvRows<_>, all: &mut Vec<Row>| {
        match rows.value(b"") {
            Ok(None) => {}
            Ok(Some(fields)) => all.push(Ok(fields)),
            Err(Fault::Row(RowError::Columns { found, .. }, _)) => all.push(Err(found)),
            Err(_) => panic!("{text:?}"),
        }
        rows.forget();
    };
    while !rest.is_empty() {
        let piece = pieces.next().map_or(rest.len(), |piece| piece.clamp(1, rest.len()));
        let (taken, complete) = rows.take(&rest[..piece]);
        assert!(taken == piece || complete && taken > 0);
        within = !complete;
        let returned = complete && rest[..taken].ends_with(b"\r");
        rest = &rest[taken..];
        if returned {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        if complete {
            give(&mut rows, &mut all);
        }
    }
    let open = within && rows.end().is_err();
    if within && !open {
        give(&mut rows, &mut all);
    }
    (all, open)
}

fn theirs(text: &str) -> Vec<Row> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
    let mut rows = reader.records().map(Result::unwrap);
    let columns = rows.next().map_or(0, |header| header.len());
    let row = |row: csv::StringRecord| {
        let fields: Vec<String> = row.iter().map(str::to_owned).collect();
        if fields.len() == columns { Ok(fields) } else { Err(fields.len()) }
    };
    rows.map(row).collect()
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn rows_are_split_as_by_another_library(
        text in "[,,\"\"\r\n\n aé]{0,40}",
        pieces in prop::collection::vec(1_usize..9, 0..20),
    ) {
        let mut theirs = theirs(&text);
        let (ours, open) = ours(&text, pieces.into_iter());
        if open {
            theirs.pop();
        }
        prop_assert_eq!(ours, theirs);
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn a_row_of_many_and_long_fields_is_split(
        fields in prop::collection::vec("[a,\"\n]{0,100}", 1..100),
        pieces in prop::collection::vec(1_usize..2_000, 0..20),
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let row: Row = Ok(fields);
        for _ in 0..3 {
            writer.write_record(row.as_ref().unwrap()).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let (rows, open) = ours(&text, pieces.into_iter());
        prop_assert!(!open);
        prop_assert_eq!(rows, [row.clone(), row]);
    }
}
