//! Random rows that were written are read again as they were, and as another CSV library has them.

use std::path::Path;

use millstream::prelude::*;
use millstream::{Record, Sink, Source};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde::{Deserialize, Serialize};

use crate::kit::{Folder, read_all, run};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Jet,
    #[serde(rename = "a \"prop\", old")]
    Propeller,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    name: String,
    n: i64,
    wide: u128,
    mean: f64,
    small: f32,
    sure: bool,
    class: char,
    kind: Option<Kind>,
    #[serde(rename = "a,\n\"b\"")]
    note: Option<String>,
}

/// Texts with everything that could be taken for something else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,6}", "[,;\"\r\n\t\\\\ \u{feff}aé]{0,8}", any::<String>()]
}

/// CSV knows no difference between no text and an empty one.
fn note() -> impl Strategy<Value = Option<String>> {
    prop::option::of(text().prop_filter("not empty", |text| !text.is_empty()))
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has no other", |number| number.is_finite())
}

fn row() -> impl Strategy<Value = Row> {
    let kind = prop::option::of(prop_oneof![Just(Kind::Jet), Just(Kind::Propeller)]);
    let numbers = (any::<i64>(), any::<u128>(), finite(), -1e30_f32..1e30);
    (text(), numbers, any::<bool>(), any::<char>(), kind, note()).prop_map(
        |(name, (n, wide, mean, small), sure, class, kind, note)| Row {
            name,
            n,
            wide,
            mean,
            small,
            sure,
            class,
            kind,
            note,
        },
    )
}

async fn write<T: Record + Clone>(rows: &[T], sink: impl Sink<In = T>) {
    let flow = Dataflow::new("write");
    let _ = flow.source("rows", Items::from(rows.to_vec())).sink("file", sink);
    run(&flow, Settings::new()).await.unwrap();
}

/// Writes and reads again.
async fn there_and_back<T: Record + Clone>(
    rows: &[T],
    sink: impl Sink<In = T>,
    source: impl Source<Out = T>,
) -> Vec<T> {
    write(rows, sink).await;
    read_all(source).await
}

fn by_another_library(path: &Path, delimiter: u8) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn config() -> Config {
    Config { cases: 32, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rows_of_csv_are_read_as_they_were_written(rows in prop::collection::vec(row(), 0..12)) {
        actix::System::new().block_on(async {
            let folder = Folder::new();
            for (name, delimiter) in [("r.csv", b','), ("r.csv.gz", b';'), ("r.tsv", b'\t')] {
                let path = folder.path(name);
                let sink = Csv::to(&path).delimiter(delimiter);
                let source = Csv::open(&path).delimiter(delimiter);
                prop_assert_eq!(&there_and_back(&rows, sink, source).await, &rows);
                if !name.ends_with(".gz") {
                    prop_assert_eq!(&by_another_library(&path, delimiter), &rows);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn lines_of_json_are_read_as_they_were_written(rows in prop::collection::vec(row(), 0..12)) {
        actix::System::new().block_on(async {
            let folder = Folder::new();
            for name in ["r.jsonl", "r.jsonl.gz"] {
                let path = folder.path(name);
                let (sink, source) = (JsonLines::to(&path), JsonLines::open(&path));
                prop_assert_eq!(&there_and_back(&rows, sink, source).await, &rows);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_single_column_is_read_as_it_was_written(texts in prop::collection::vec(text(), 0..12)) {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        struct One {
            #[serde(rename = "")]
            text: String,
        }
        actix::System::new().block_on(async {
            let folder = Folder::new();
            let path = folder.path("one.csv");
            let rows: Vec<One> = texts.into_iter().map(|text| One { text }).collect();
            let back = there_and_back(&rows, Csv::to(&path), Csv::open(&path)).await;
            prop_assert_eq!(&back, &rows);
            Ok(())
        })?;
    }
}
