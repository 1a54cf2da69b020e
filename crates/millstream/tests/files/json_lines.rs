//! JSON Lines files: what they mean, and what is told of their faults.

use std::num::NonZeroUsize;
use std::path::Path;

use millstream::prelude::*;
use millstream::{FileError, RowError};

use crate::kit::{Failed, Flight, Folder, flight, read, read_all, run};

const HEAD: &str = "{\"carrier\":\"UA\",\"flight\":1,\"dep_delay\":2}\n\
                    {\"dep_delay\":null,\"flight\":2,\"carrier\":\"A\\nA\",\"more\":[1]}\n";

fn head() -> [Flight; 2] {
    [flight("UA", 1, Some(2.0)), flight("A\nA", 2, None)]
}

#[actix::test]
async fn each_line_is_a_value_whatever_the_line_breaks() {
    let folder = Folder::new();
    for text in [
        HEAD.to_owned(),
        HEAD.trim_end().to_owned(),
        HEAD.replace('\n', "\r\n"),
        format!("\u{feff}{HEAD}"),
        HEAD.replace('\n', "\n\n  \t\r\n"),
    ] {
        let path = folder.file("flights.jsonl", text);
        assert_eq!(read_all(JsonLines::<Flight>::open(&path)).await, head());
    }
}

#[actix::test]
async fn a_file_without_lines_ends_without_records() {
    let folder = Folder::new();
    for text in ["", "\u{feff}", "\n\r\n   \n "] {
        let path = folder.file("flights.jsonl", text);
        assert_eq!(read_all(JsonLines::<Flight>::open(&path)).await, []);
    }
}

#[actix::test]
async fn a_missing_file_and_a_folder_are_errors_at_the_start() {
    let folder = Folder::new();
    let (missing, a_folder) = (folder.path("none.jsonl"), folder.path(""));
    let (_, ended) = read(JsonLines::<Flight>::open(&missing)).await;
    let failed = Failed::of(ended);
    assert_eq!(failed.task, "read/file/0");
    assert!(matches!(failed.file_error(&missing), FileError::Open(_)));
    let (_, ended) = read(JsonLines::<Flight>::open(&a_folder)).await;
    assert!(matches!(Failed::of(ended).file_error(&a_folder), FileError::IsFolder));
}

/// The job fails at line 3; what is wrong there, in which column, and the line as it is shown.
async fn fails_at_line_three(line: &[u8]) -> (RowError, String, String) {
    let folder = Folder::new();
    let path = folder.file("flights.jsonl", [HEAD.as_bytes(), line].concat());
    let (out, ended) = read(JsonLines::<Flight>::open(&path)).await;
    assert_eq!(out, head());
    let failed = Failed::of(ended);
    assert_eq!((failed.task.as_str(), failed.line()), ("read/file/0", Some(3)));
    let (column, record) = (failed.column().unwrap(), failed.failure.record().unwrap());
    (failed.row_error(&path).clone(), column.to_owned(), record.to_owned())
}

#[actix::test]
async fn a_value_that_does_not_fit_names_line_and_place() {
    let line = r#"{"carrier":"UA","flight":-1,"dep_delay":2}"#;
    let (error, column, record) = fails_at_line_three(line.as_bytes()).await;
    assert_eq!(error.to_string(), "invalid value: integer `-1`, expected u32");
    assert_eq!((column.as_str(), record.as_str()), ("27", line));
}

#[actix::test]
async fn a_cause_that_repeats_a_giant_value_is_cut() {
    let line = format!("{{\"carrier\":\"UA\",\"flight\":\"{}\"}}", "x".repeat(100_000));
    let (error, _, record) = fails_at_line_three(line.as_bytes()).await;
    assert!(error.to_string().starts_with("invalid type: string \"xxx"));
    assert_eq!((error.to_string().chars().count(), record.chars().count()), (1_001, 201));
}

#[actix::test]
async fn a_field_that_is_missing_names_the_field() {
    let (error, ..) = fails_at_line_three(b"{\"carrier\":\"UA\"}\n").await;
    assert_eq!(error.to_string(), "missing field `flight`");
}

#[actix::test]
async fn a_last_line_that_is_cut_short_is_bad() {
    let (error, _, record) = fails_at_line_three(b"{\"carrier\":\"U").await;
    assert_eq!(error.to_string(), "EOF while parsing a string");
    assert_eq!(record, "{\"carrier\":\"U");
}

#[actix::test]
async fn two_values_in_a_line_are_bad() {
    let line = HEAD.lines().next().unwrap();
    let (error, ..) = fails_at_line_three(format!("{line} {line}\n").as_bytes()).await;
    assert_eq!(error.to_string(), "trailing characters");
}

#[actix::test]
async fn invalid_utf8_names_line_and_byte() {
    let (error, column, record) = fails_at_line_three(b"{\"more\":\"\xFF\"}\n").await;
    assert_eq!((error, column.as_str()), (RowError::Utf8, "10"));
    assert_eq!(record, "{\"more\":\"\u{fffd}\"}");
}

#[actix::test]
async fn a_line_longer_than_the_limit_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("n.jsonl", "1\n22\n333\n4444\n");
    let limit = NonZeroUsize::new(3).unwrap();
    let (out, ended) = read(JsonLines::<u32>::open(&path).line_bytes(limit)).await;
    let failed = Failed::of(ended);
    assert_eq!(out, [1, 22, 333]);
    assert_eq!(*failed.row_error(&path), RowError::TooLong { limit: 3 });
    assert_eq!(failed.line(), Some(4));
}

#[actix::test]
async fn bad_lines_go_to_a_side_output_and_the_good_ones_on() {
    let folder = Folder::new();
    let long = format!("\"{}\"", "x".repeat(100_000));
    let text = format!("1\nx\r\n{long}\n\n2\n[1\n-3\n3");
    let path = folder.file("n.jsonl", text);
    let bad = SideOutput::new("bad");
    let flow = Dataflow::new("read");
    let source = JsonLines::open(&path).line_bytes(NonZeroUsize::new(1_000).unwrap());
    let numbers = flow.source("file", source.bad_rows_to(&bad));
    let bad = numbers.side_output(&bad).collect("bad");
    let good = numbers.map(|n: u32| n).collect("good");
    run(&flow, Settings::new()).await.unwrap();
    assert_eq!(good.take(), [1, 2, 3]);
    let bad = bad.take();
    let lines: Vec<u64> = bad.iter().map(|row| row.line).collect();
    assert_eq!(lines, [2, 3, 6, 7]);
    assert_eq!(bad[0].text, "x");
    assert_eq!((bad[0].cause.as_str(), bad[0].column.as_deref()), ("expected value", Some("1")));
    assert_eq!(bad[1].cause, "the row is longer than 1000 bytes, the limit `line_bytes`");
    assert!(bad.iter().all(|row| Path::new(&row.file) == path));
}
