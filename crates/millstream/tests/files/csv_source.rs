//! Faults of CSV files: each is told with file, line and column, and what stood before is
//! delivered.

use std::num::NonZeroUsize;
use std::path::Path;

use millstream::prelude::*;
use millstream::{CsvSource, FileError, RowError};

use crate::kit::{Failed, Flight, Folder, flight, read, read_all, run};

const TASK: &str = "read/file/0";

/// A job over flights that fails: what it delivered before, and why it failed.
async fn fails(source: CsvSource<Flight>) -> (Vec<Flight>, Failed) {
    let (out, ended) = read(source).await;
    let failed = Failed::of(ended);
    assert_eq!(failed.task, TASK);
    (out, failed)
}

/// As `fails`, for a file of these bytes whose two first rows are good.
async fn fails_behind_two(bytes: &[u8], line: u64, column: Option<&str>) -> (RowError, String) {
    let folder = Folder::new();
    let path = folder.file("flights.csv", bytes);
    let (out, failed) = fails(Csv::open(&path)).await;
    assert_eq!(out, [flight("UA", 1, Some(2.0)), flight("AA", 2, None)]);
    assert_eq!((failed.line(), failed.column()), (Some(line), column));
    let record = failed.failure.record().unwrap().to_owned();
    (failed.row_error(&path).clone(), record)
}

const HEAD: &str = "carrier,flight,dep_delay\nUA,1,2\nAA,2,\n";

#[actix::test]
async fn a_missing_file_is_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.path("none.csv");
    let flow = Dataflow::new("read");
    let _ = flow.source("file", Csv::open(&path)).map(|flight: Flight| flight).collect("out");
    let Err(StartError::Failed(error)) = flow.start(Settings::new()).await else {
        panic!("the job has started");
    };
    let failed = Failed::of(Err(error));
    assert_eq!(failed.task, TASK);
    let FileError::Open(cause) = failed.file_error(&path) else { panic!("{failed:?}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
}

#[actix::test]
async fn a_folder_in_place_of_a_file_is_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.path("");
    let (_, failed) = fails(Csv::open(&path)).await;
    assert!(matches!(failed.file_error(&path), FileError::IsFolder));
}

#[actix::test]
async fn a_file_without_rows_ends_without_rows() {
    let folder = Folder::new();
    for content in ["", "\u{feff}", "\n\r\n", "carrier,flight,dep_delay", "carrier,flight\n"] {
        let path = folder.file("flights.csv", content);
        let (out, ended) = read(Csv::<Flight>::open(&path)).await;
        assert_eq!(out, Vec::<Flight>::new());
        ended.unwrap();
    }
}

#[actix::test]
async fn a_row_of_too_few_columns_names_the_first_that_is_missing() {
    let (error, record) =
        fails_behind_two(format!("{HEAD}UA,3\nUA,4,1\n").as_bytes(), 4, Some("dep_delay")).await;
    assert_eq!(error, RowError::Columns { expected: 3, found: 2 });
    assert_eq!(record, "UA,3");
}

#[actix::test]
async fn a_row_of_too_many_columns_names_the_number_of_the_first() {
    let (error, record) =
        fails_behind_two(format!("{HEAD}UA,3,1,,x\n").as_bytes(), 4, Some("4")).await;
    assert_eq!(error, RowError::Columns { expected: 3, found: 5 });
    assert_eq!(record, "UA,3,1,,x");
}

#[actix::test]
async fn a_value_that_does_not_fit_names_its_column() {
    let (error, record) =
        fails_behind_two(format!("{HEAD}UA,12x,1").as_bytes(), 4, Some("flight")).await;
    let cause = "\"12x\" is no u32: invalid digit found in string";
    assert_eq!(error, RowError::Value(cause.to_owned()));
    assert_eq!(record, "UA,12x,1");
}

#[actix::test]
async fn invalid_utf8_names_its_line_and_column() {
    let mut bytes = HEAD.as_bytes().to_vec();
    bytes.extend(b"U\xFF,3,1\nAA,2,1\n");
    let (error, record) = fails_behind_two(&bytes, 4, Some("carrier")).await;
    assert_eq!((error, record.as_str()), (RowError::Utf8, "U\u{fffd},3,1"));
}

#[actix::test]
async fn a_character_that_is_cut_by_a_delimiter_is_invalid_utf8() {
    let folder = Folder::new();
    // The bytes of `é` in two fields: valid if nobody looks at the fields.
    let path = folder.file("t.csv", b"a;b;c\nx;\"\xC3\";\"\xA9\"\n");
    let (out, ended) = read(Csv::<(String, String, String)>::open(&path).delimiter(b';')).await;
    let failed = Failed::of(ended);
    assert_eq!((out.len(), failed.column()), (0, Some("b")));
    assert_eq!(*failed.row_error(&path), RowError::Utf8);
}

#[actix::test]
async fn a_quote_that_is_never_closed_is_told_where_it_began() {
    let text = format!("{HEAD}UA,3,\"1\nUA,4,1\nUA,5,1\n");
    let (error, _) = fails_behind_two(text.as_bytes(), 4, None).await;
    assert_eq!(error, RowError::OpenQuote);
}

#[actix::test]
async fn a_long_row_is_shown_cut() {
    let long = "x".repeat(1_000);
    let (_, record) =
        fails_behind_two(format!("{HEAD}{long}\n").as_bytes(), 4, Some("flight")).await;
    assert_eq!(record, format!("{}…", "x".repeat(200)));
}

#[actix::test]
async fn a_row_longer_than_the_limit_is_an_error_that_names_the_limit() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", format!("{HEAD}UA,3,{}\nUA,4,1\n", "1".repeat(1 << 20)));
    let limit = NonZeroUsize::new(100).unwrap();
    let (out, failed) = fails(Csv::open(&path).line_bytes(limit)).await;
    assert_eq!((out.len(), failed.line()), (2, Some(4)));
    assert_eq!(*failed.row_error(&path), RowError::TooLong { limit: 100 });
    assert_eq!(failed.failure.record().unwrap().chars().count(), 201);
}

#[actix::test]
async fn a_row_of_just_the_limit_is_read() {
    let folder = Folder::new();
    for line_break in ["\n", "\r\n", ""] {
        let path = folder.file("words.csv", format!("word\n12345678{line_break}"));
        let limit = NonZeroUsize::new(8).unwrap();
        assert_eq!(read_all(Csv::<String>::open(&path).line_bytes(limit)).await, ["12345678"]);
        let (_, ended) =
            read(Csv::<String>::open(&path).line_bytes(limit.min(NonZeroUsize::new(7).unwrap())))
                .await;
        assert_eq!(*Failed::of(ended).row_error(&path), RowError::TooLong { limit: 7 });
    }
}

#[actix::test]
async fn a_header_that_is_too_long_is_no_bad_row() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", HEAD);
    let bad = SideOutput::new("bad");
    let source = Csv::open(&path).line_bytes(NonZeroUsize::new(10).unwrap()).bad_rows_to(&bad);
    let (out, failed) = fails(source).await;
    assert_eq!((out.len(), failed.line()), (0, Some(1)));
    let header = failed.file_error(&path);
    assert!(matches!(header, FileError::Header(RowError::TooLong { limit: 10 })), "{header}");
}

/// What is told of a file whose header is refused at the start: the line, and why.
async fn header_error(content: &str) -> (u64, String) {
    let folder = Folder::new();
    let path = folder.file("flights.csv", content);
    let flow = Dataflow::new("read");
    let _ = flow.source("file", Csv::open(&path)).map(|flight: Flight| flight).collect("out");
    let Err(StartError::Failed(error)) = flow.start(Settings::new()).await else {
        panic!("the job has started");
    };
    let failed = Failed::of(Err(error));
    (failed.line().unwrap(), failed.file_error(&path).to_string())
}

#[actix::test]
async fn a_column_that_the_header_lacks_is_an_error_at_the_start() {
    assert_eq!(
        header_error("carrier,number,dep_delay\nUA,1,2\n").await,
        (1, "the header has no column \"flight\"; it has carrier, number, dep_delay".to_owned())
    );
}

#[actix::test]
async fn an_optional_column_that_the_header_lacks_is_an_error_too() {
    assert_eq!(
        header_error("carrier,flight,delay\nUA,1,2\n").await,
        (1, "the header has no column \"dep_delay\"; it has carrier, flight, delay".to_owned())
    );
}

#[actix::test]
async fn an_optional_column_may_be_missing_if_that_is_said() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", "carrier,flight\nUA,1\n");
    let out: Vec<Flight> = read_all(Csv::open(&path).allow_missing_columns()).await;
    assert_eq!(out, [flight("UA", 1, None)]);
}

#[actix::test]
async fn a_column_that_is_there_twice_is_an_error_at_the_start() {
    assert_eq!(
        header_error("carrier,flight,dep_delay,flight\nUA,1,2,3\n").await,
        (1, "the header has column \"flight\" twice".to_owned())
    );
}

#[actix::test]
async fn a_fault_of_the_header_names_the_line_of_the_header() {
    let missing = "the header has no column \"flight\"; it has carrier, dep_delay";
    let twice = "the header has column \"flight\" twice";
    for (blank, line) in [("", 1), ("\n", 2), ("\n\r\n\r", 4)] {
        for behind in ["\n", "\n\n\n"] {
            let content = format!("{blank}carrier,dep_delay{behind}UA,2\n");
            assert_eq!(header_error(&content).await, (line, missing.to_owned()), "{content:?}");
            let content = format!("{blank}carrier,flight,flight,dep_delay{behind}UA,1,2,3\n");
            assert_eq!(header_error(&content).await, (line, twice.to_owned()), "{content:?}");
        }
    }
}

#[actix::test]
async fn a_missing_column_behind_bad_rows_is_told_at_the_first_good_one_with_the_header_s_line() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", "\ncarrier,flight\nUA,x\nUA,y\nUA,1\n");
    let bad = SideOutput::new("bad");
    let flow = Dataflow::new("read");
    let flights = flow.source("file", Csv::<Flight>::open(&path).bad_rows_to(&bad));
    let bad = flights.side_output(&bad).collect("bad");
    let good = flights.collect("good");
    let failed = Failed::of(run(&flow, Settings::new()).await);
    assert_eq!((good.len(), failed.line()), (0, Some(2)));
    assert_eq!(
        failed.file_error(&path).to_string(),
        "the header has no column \"dep_delay\"; it has carrier, flight"
    );
    let lines: Vec<u64> = bad.take().iter().map(|row| row.line).collect();
    assert_eq!(lines, [3, 4]);
}

#[actix::test]
async fn a_header_that_is_no_utf8_is_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", b"carrier,fl\xFFight\nUA,1\n");
    let (_, failed) = fails(Csv::open(&path)).await;
    assert!(matches!(failed.file_error(&path), FileError::HeaderUtf8));
    assert_eq!(failed.line(), Some(1));
}

#[actix::test]
async fn a_delimiter_that_is_none_is_an_error_at_the_start() {
    let path = Path::new("flights.csv");
    for delimiter in [b'"', b'\n', b'\r', 0xE9] {
        let (_, failed) = fails(Csv::open(path).delimiter(delimiter)).await;
        assert!(matches!(failed.file_error(path), FileError::Delimiter { .. }));
    }
}

/// Every kind of bad row, each between good ones.
const BAD: &[u8] = b"carrier,flight,dep_delay\r\n\
    UA,1,1\r\n\
    UA,x,1\r\n\
    \r\n\
    \"U\r\nA\",2,2\r\n\
    UA,3\r\n\
    UA,3,3,\r\n\
    U\xFF,4,4\r\n\
    AA,12345678901234567890123456789012345678901234567890,5\r\n\
    AA,6,6\r\n\
    AA,7,\"7\r\nAA,8,8\r\n";

#[actix::test]
async fn bad_rows_go_to_a_side_output_and_the_good_ones_on() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", BAD);
    let bad = SideOutput::new("bad");
    let flow = Dataflow::new("read");
    let source = Csv::<Flight>::open(&path).bad_rows_to(&bad);
    let flights = flow.source("file", source.line_bytes(NonZeroUsize::new(32).unwrap()));
    let bad = flights.side_output(&bad).collect("bad");
    let good = flights.collect("good");
    run(&flow, Settings::new()).await.unwrap();

    assert_eq!(
        good.take(),
        [flight("UA", 1, Some(1.0)), flight("U\r\nA", 2, Some(2.0)), flight("AA", 6, Some(6.0))]
    );
    let bad = bad.take();
    let seen: Vec<_> = bad
        .iter()
        .map(|row| (row.line, row.column.as_deref().unwrap_or("-"), row.text.as_str()))
        .collect();
    let long = "AA,12345678901234567890123456789012345678901234567890,5";
    assert_eq!(
        seen,
        [
            (3, "flight", "UA,x,1"),
            (7, "dep_delay", "UA,3"),
            (8, "4", "UA,3,3,"),
            (9, "carrier", "U\u{fffd},4,4"),
            (10, "-", long),
            (12, "-", "AA,7,\"7\r\nAA,8,8"),
        ]
    );
    assert!(bad.iter().all(|row| Path::new(&row.file) == path));
    assert_eq!(bad[4].cause, "the row is longer than 32 bytes, the limit `line_bytes`");
    assert_eq!(bad[5].cause, "a quoted field is not closed before the end of the file");
}

#[actix::test]
async fn a_giant_row_is_passed_over_without_being_kept() {
    let folder = Folder::new();
    let path = folder.file("words.csv", format!("word\na\n{}\n\"b\nc\"\n", "x".repeat(5 << 20)));
    let bad = SideOutput::new("bad");
    let flow = Dataflow::new("read");
    let source = Csv::open(&path).line_bytes(NonZeroUsize::new(1 << 10).unwrap()).bad_rows_to(&bad);
    let words = flow.source("file", source);
    let bad = words.side_output(&bad).collect("bad");
    let good = words.map(|word: String| word).collect("good");
    run(&flow, Settings::new()).await.unwrap();
    assert_eq!(good.take(), ["a", "b\nc"]);
    let bad = bad.take();
    assert_eq!((bad.len(), bad[0].line, bad[0].text.chars().count()), (1, 3, 201));
}
