//! Sinks into files: complete or not there at all, and refused at the start where they cannot be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use millstream::prelude::*;
use millstream::{FileError, RowError};
use serde::{Deserialize, Serialize};

use crate::kit::{Failed, Flight, Folder, flight, gunzip, run};

pub(crate) const CSV: &str = "carrier,flight,dep_delay\nUA,1,2.0\n\"A,\"\"A\",2,\n";
const LINES: &str = "{\"carrier\":\"UA\",\"flight\":1,\"dep_delay\":2.0}\n\
                     {\"carrier\":\"A,\\\"A\",\"flight\":2,\"dep_delay\":null}\n";

fn flights() -> Items<[Flight; 2]> {
    Items::from([flight("UA", 1, Some(2.0)), flight("A,\"A", 2, None)])
}

/// A job from flights into a CSV file.
pub(crate) async fn write(path: &Path) -> Result<(), JobError> {
    let flow = Dataflow::new("write");
    let _ = flow.source("flights", flights()).sink("out", Csv::to(path));
    run(&flow, Settings::new()).await
}

#[actix::test]
async fn records_become_rows_under_a_header_of_the_names() {
    let folder = Folder::new();
    write(&folder.path("flights.csv")).await.unwrap();
    assert_eq!(fs::read_to_string(folder.path("flights.csv")).unwrap(), CSV);
    assert_eq!(folder.names(), ["flights.csv"]);
}

#[actix::test]
async fn records_become_lines_of_json() {
    let folder = Folder::new();
    let flow = Dataflow::new("write");
    let _ = flow.source("flights", flights()).sink("out", JsonLines::to(folder.path("f.jsonl")));
    run(&flow, Settings::new()).await.unwrap();
    assert_eq!(fs::read_to_string(folder.path("f.jsonl")).unwrap(), LINES);
    assert_eq!(folder.names(), ["f.jsonl"]);
}

#[actix::test]
async fn a_name_in_gz_is_compressed_with_the_same_bytes_each_time() {
    let folder = Folder::new();
    let mut files = Vec::new();
    for _ in 0..2 {
        let flow = Dataflow::new("write");
        let [csv, json] = flow.source("flights", flights()).fork();
        let _ = csv.sink("csv", Csv::to(folder.path("f.csv.gz")));
        let _ = json.sink("json", JsonLines::to(folder.path("f.jsonl.gz")));
        run(&flow, Settings::new()).await.unwrap();
        files.push(["f.csv.gz", "f.jsonl.gz"].map(|name| fs::read(folder.path(name)).unwrap()));
    }
    assert_eq!(files[0].each_ref().map(|file| gunzip(file)), [CSV.as_bytes(), LINES.as_bytes()]);
    assert_eq!(files[0], files[1]);
}

#[actix::test]
async fn nothing_is_visible_under_the_name_before_the_end() {
    let folder = Folder::new();
    let path = folder.file("out.csv", "old");
    let (seen, part) = (path.clone(), folder.path("out.csv.part"));
    let flow = Dataflow::new("write");
    let rows = flow.source("rows", Generate::new(|n| flight("UA", n as u32, None)).records(50_000));
    let rows = rows.inspect(move |row| {
        if row.flight % 1_000 == 0 {
            assert!(part.exists());
            assert_eq!(fs::read_to_string(&seen).unwrap(), "old");
        }
    });
    let _ = rows.sink("out", Csv::to(&path));
    run(&flow, Settings::new()).await.unwrap();
    assert_eq!(folder.names(), ["out.csv"]);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 50_001);
}

#[actix::test]
async fn a_job_that_fails_leaves_what_was_there_before() {
    let folder = Folder::new();
    let path = folder.file("out.jsonl", "old");
    let input = folder.file("in.jsonl", format!("{}x\n", "1\n".repeat(50_000)));
    for (output, content) in [("out.jsonl", Some("old")), ("new.csv.gz", None)] {
        let flow = Dataflow::new("write");
        let numbers = flow.source("in", JsonLines::<u64>::open(&input));
        let rows = numbers.map(|n| BTreeMap::from([("n".to_owned(), n)]));
        let _ = match output {
            "out.jsonl" => rows.sink("out", JsonLines::to(&path)),
            _ => rows.sink("out", Csv::to(folder.path(output))),
        };
        let failed = Failed::of(run(&flow, Settings::new()).await);
        assert_eq!((failed.task.as_str(), failed.line()), ("write/in/0", Some(50_001)));
        assert_eq!(fs::read_to_string(folder.path(output)).ok().as_deref(), content);
    }
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
}

#[actix::test]
async fn a_job_that_is_cancelled_leaves_nothing() {
    let folder = Folder::new();
    let flow = Dataflow::new("write");
    let _ =
        flow.source("n", Generate::new(|n| n)).sink("out", JsonLines::to(folder.path("n.jsonl")));
    let job = flow.start(Settings::new()).await.unwrap();
    assert_eq!(folder.names(), ["n.jsonl.part"]);
    job.cancel().await.unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

#[actix::test]
async fn a_job_that_is_drained_leaves_what_came_before() {
    let folder = Folder::new();
    let flow = Dataflow::new("write");
    let _ =
        flow.source("n", Generate::new(|n| n)).sink("out", JsonLines::to(folder.path("n.jsonl")));
    let job = flow.start(Settings::new()).await.unwrap();
    job.drain().await.unwrap();
    let text = fs::read_to_string(folder.path("n.jsonl")).unwrap();
    assert!(text.lines().enumerate().all(|(n, line)| line == n.to_string()));
    assert_eq!(folder.names(), ["n.jsonl"]);
}

#[actix::test]
async fn a_file_of_no_records_is_empty() {
    let folder = Folder::new();
    let flow = Dataflow::new("write");
    let [csv, json] = flow.source("none", Items::from(Vec::<Flight>::new())).fork();
    let _ = csv.sink("csv", Csv::to(folder.path("f.csv.gz")));
    let _ = json.sink("json", JsonLines::to(folder.path("f.jsonl")));
    run(&flow, Settings::new()).await.unwrap();
    assert_eq!(gunzip(&fs::read(folder.path("f.csv.gz")).unwrap()), b"");
    assert_eq!(fs::read(folder.path("f.jsonl")).unwrap(), b"");
}

#[actix::test]
async fn folders_that_are_missing_are_made() {
    let folder = Folder::new();
    let path = folder.path("a/b/c/flights.csv");
    write(&path).await.unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), CSV);
}

#[actix::test]
async fn what_an_earlier_run_left_is_written_over() {
    let folder = Folder::new();
    folder.file("flights.csv.part", "x".repeat(1_000));
    write(&folder.path("flights.csv")).await.unwrap();
    assert_eq!(folder.names(), ["flights.csv"]);
    assert_eq!(fs::read_to_string(folder.path("flights.csv")).unwrap(), CSV);
}

/// Writing to a place fails at the start; why.
pub(crate) async fn refused(path: &Path) -> Failed {
    let flow = Dataflow::new("write");
    let _ = flow.source("flights", flights()).sink("out", Csv::to(path));
    let Err(StartError::Failed(error)) = flow.start(Settings::new()).await else {
        panic!("the job has started");
    };
    let failed = Failed::of(Err(error));
    assert_eq!(failed.task, "write/out/0");
    failed
}

#[actix::test]
async fn a_folder_that_cannot_be_made_is_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.file("file", "").join("below/flights.csv");
    let failed = refused(&path).await;
    assert!(matches!(failed.file_error(&path), FileError::Folder(_)), "{failed:?}");
    assert_eq!(folder.names(), ["file"]);
}

#[actix::test]
async fn a_file_that_cannot_be_created_is_an_error_at_the_start() {
    let folder = Folder::new();
    // The name can be had, and the temporary one is too long.
    let path = folder.path(&"f".repeat(252));
    let failed = refused(&path).await;
    assert!(matches!(failed.file_error(&path), FileError::Create(_)), "{failed:?}");
}

#[cfg(unix)]
#[actix::test]
async fn a_folder_that_may_not_be_written_is_an_error_at_the_start() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let locked = folder.path("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    // Whoever may do everything is not refused.
    if fs::write(locked.join("probe"), "").is_err() {
        let path = locked.join("flights.csv");
        let failed = refused(&path).await;
        let FileError::Create(cause) = failed.file_error(&path) else { panic!("{failed:?}") };
        assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
}

#[actix::test]
async fn a_path_that_is_no_name_of_a_file_is_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.path("");
    assert!(matches!(refused(&path).await.file_error(&path), FileError::IsFolder));
    let path = PathBuf::from("");
    assert!(matches!(refused(&path).await.file_error(&path), FileError::NoName));
}

#[actix::test]
async fn two_sinks_into_one_file_are_an_error_at_the_start() {
    let folder = Folder::new();
    let path = folder.path("flights.csv");
    let flow = Dataflow::new("write");
    let [left, right] = flow.source("flights", flights()).fork();
    let _ = left.sink("left", Csv::to(&path));
    let _ = right.sink("right", Csv::to(&path));
    let failed = Failed::of(run(&flow, Settings::new()).await);
    assert!(matches!(failed.file_error(&path), FileError::InUse), "{failed:?}");
    assert_eq!(folder.names(), [""; 0]);
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Nested {
    n: u64,
    inner: Option<Flight>,
}

/// A job into a CSV file fails at a record; the column, why, and the record.
async fn unwritable<T: millstream::Record + Clone>(records: Vec<T>) -> [String; 3] {
    let folder = Folder::new();
    let path = folder.path("out.csv");
    let flow = Dataflow::new("write");
    let _ = flow.source("records", Items::from(records)).sink("out", Csv::to(&path));
    let failed = Failed::of(run(&flow, Settings::new()).await);
    assert_eq!(failed.task, "write/out/0");
    assert_eq!(folder.names(), [""; 0]);
    let RowError::Unwritable(why) = failed.row_error(&path) else { panic!("{failed:?}") };
    let (column, record) = (failed.column().unwrap_or_default(), failed.failure.record().unwrap());
    [column.to_owned(), why.clone(), record.to_owned()]
}

#[actix::test]
async fn a_nested_struct_is_no_row_and_the_record_is_told() {
    let inner = Some(flight("UA", 1, None));
    let [column, why, record] =
        unwritable(vec![Nested { n: 1, inner: None }, Nested { n: 2, inner }]).await;
    assert_eq!((column.as_str(), why.as_str()), ("inner", "one column cannot hold a struct"));
    assert!(record.starts_with("Nested { n: 2, inner: Some(Flight { carrier: \"UA\""), "{record}");
}

#[actix::test]
async fn a_record_without_names_is_no_row() {
    let [_, why, record] = unwritable(vec![("a".to_owned(), 1_u64)]).await;
    assert_eq!(why, "its fields have no names, so there is no header: make a struct of it first");
    assert_eq!(record, "(\"a\", 1)");
}

#[actix::test]
async fn a_record_of_other_fields_than_the_first_is_no_row() {
    let map = |names: &[&str]| -> BTreeMap<String, u64> {
        names.iter().map(|name| ((*name).to_owned(), 1)).collect()
    };
    let [column, why, _] = unwritable(vec![map(&["a", "b"]), map(&["a", "c"])]).await;
    assert_eq!(column, "c");
    assert_eq!(why, "it has a field \"c\" where the first record has \"b\"");
    let [column, why, _] = unwritable(vec![map(&["a"]), map(&["a", "b"])]).await;
    assert_eq!(column, "b");
    assert_eq!(why, "it has a field \"b\" where the first record has no more fields");
    let [column, why, _] = unwritable(vec![map(&["a", "b"]), map(&["a"])]).await;
    assert_eq!(column, "b");
    assert_eq!(why, "it has no field \"b\", and the first record has one");
}

#[actix::test]
async fn a_record_that_json_cannot_hold_is_told() {
    let folder = Folder::new();
    let path = folder.path("out.jsonl");
    let flow = Dataflow::new("write");
    let maps = Items::from([BTreeMap::from([((1, 2), 3)])]);
    let _ = flow.source("maps", maps).sink("out", JsonLines::to(&path));
    let failed = Failed::of(run(&flow, Settings::new()).await);
    assert_eq!(failed.task, "write/out/0");
    assert_eq!(
        failed.row_error(&path).to_string(),
        "the record cannot be written: key must be a string"
    );
    assert_eq!(failed.failure.record(), Some("{(1, 2): 3}"));
    assert_eq!(folder.names(), [""; 0]);
}

#[actix::test]
async fn a_file_is_written_by_one_task_in_the_order_of_arrival() {
    let folder = Folder::new();
    let path = folder.path("n.jsonl");
    let flow = Dataflow::new("write");
    let _ = flow.source("n", Items::from(0..10_000_u64)).sink("out", JsonLines::to(&path));
    run(&flow, Settings::new().parallelism(4)).await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.lines().map(|line| line.parse::<u64>().unwrap()).eq(0..10_000));
}

#[actix::test]
async fn another_delimiter_is_written_and_quoted() {
    let folder = Folder::new();
    let path = folder.path("f.tsv");
    let flow = Dataflow::new("write");
    let rows = Items::from([flight("U\tA", 1, None), flight("U,A", 2, None)]);
    let _ = flow.source("rows", rows).sink("out", Csv::to(&path).delimiter(b'\t'));
    run(&flow, Settings::new()).await.unwrap();
    let expected = "carrier\tflight\tdep_delay\n\"U\tA\"\t1\t\nU,A\t2\t\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}
