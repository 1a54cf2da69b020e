//! What CSV files mean: names, orders and kinds of columns, quotes and line breaks.

use std::collections::BTreeMap;

use millstream::prelude::*;
use serde::{Deserialize, Serialize};

use crate::kit::{Failed, Flight, Folder, flight, read, read_all, run};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Jet,
    #[serde(rename = "prop")]
    Propeller,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Seats(u16);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plane {
    kind: Kind,
    seats: Seats,
    small: i8,
    large: u64,
    huge: i128,
    speed: f64,
    owned: bool,
    class: char,
    name: String,
    #[serde(rename = "Built in")]
    year: Option<u16>,
    #[serde(default)]
    note: String,
}

#[actix::test]
async fn columns_are_found_by_name_in_any_order_and_others_are_passed_over() {
    let folder = Folder::new();
    let text = "Built in,extra,name,class,owned,speed,huge,large,small,seats,kind,note\n\
                1999,?,N1,x,true,-1.5e3,-170141183460469231731687303715884105728,\
                18446744073709551615,-128,65535,prop,hello\n";
    let path = folder.file("planes.csv", text);
    let plane = Plane {
        kind: Kind::Propeller,
        seats: Seats(65535),
        small: -128,
        large: u64::MAX,
        huge: i128::MIN,
        speed: -1500.0,
        owned: true,
        class: 'x',
        name: "N1".to_owned(),
        year: Some(1999),
        note: "hello".to_owned(),
    };
    assert_eq!(read_all(Csv::<Plane>::open(&path)).await, [plane]);
}

#[actix::test]
async fn a_field_with_a_default_needs_no_column() {
    let folder = Folder::new();
    let text = "kind,seats,small,large,huge,speed,owned,class,name,Built in\n\
                Jet,1,1,1,1,1,false,y,,\n";
    let planes: Vec<Plane> = read_all(Csv::open(folder.file("planes.csv", text))).await;
    assert_eq!((planes[0].note.as_str(), planes[0].year), ("", None));
}

/// For each of these values of `kind,owned,class,when`, the column that is wrong.
#[actix::test]
async fn values_of_every_kind_are_told_with_their_column() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Row {
        kind: Kind,
        owned: bool,
        class: char,
        seats: Seats,
    }
    let folder = Folder::new();
    for (row, column, cause) in [
        ("Rocket,true,x,1", "kind", "unknown variant `Rocket`, expected `Jet` or `prop`"),
        ("Jet,yes,x,1", "owned", "\"yes\" is no bool: provided string was not `true` or `false`"),
        ("Jet,true,xy,1", "class", "\"xy\" is no char: too many characters in string"),
        (
            "Jet,true,x,65536",
            "seats",
            "\"65536\" is no u16: number too large to fit in target type",
        ),
    ] {
        let path = folder.file("planes.csv", format!("kind,owned,class,seats\n{row}\n"));
        let (_, ended) = read(Csv::<Row>::open(&path)).await;
        let failed = Failed::of(ended);
        assert_eq!((failed.line(), failed.column()), (Some(2), Some(column)));
        assert_eq!(failed.row_error(&path).to_string(), cause);
    }
}

#[actix::test]
async fn a_field_that_is_the_null_text_is_empty() {
    let folder = Folder::new();
    let path = folder.file("flights.csv", "carrier,flight,dep_delay\nNA,1,NA\nNAN,2,\nna,3,4\n");
    let rows = [flight("", 1, None), flight("NAN", 2, None), flight("na", 3, Some(4.0))];
    assert_eq!(read_all(Csv::<Flight>::open(&path).null("NA")).await, rows);
    let (_, ended) = read(Csv::<Flight>::open(&path)).await;
    assert_eq!(Failed::of(ended).column(), Some("dep_delay"));
}

#[actix::test]
async fn line_breaks_of_every_kind_a_mark_and_a_missing_one_make_no_difference() {
    let folder = Folder::new();
    let rows = [flight("UA", 1, Some(2.5)), flight("A,\"A\"", 2, None)];
    for line_break in ["\n", "\r\n", "\r"] {
        for mark in ["", "\u{feff}"] {
            for last in ["", line_break] {
                let text = ["carrier,flight,dep_delay", "UA,1,2.5", "\"A,\"\"A\"\"\",2,"];
                let text = format!("{mark}{}{last}", text.join(line_break));
                let path = folder.file("flights.csv", text);
                assert_eq!(read_all(Csv::<Flight>::open(&path)).await, rows);
            }
        }
    }
}

#[actix::test]
async fn lines_are_counted_through_quotes_and_blank_lines() {
    let folder = Folder::new();
    for line_break in ["\n", "\r\n", "\r"] {
        let text = "\u{feff}\n\na,b\n1,\"x\ny\n\"\n\n\n2,y\n\n3,z,\n".replace('\n', line_break);
        let path = folder.file("t.csv", text);
        let (out, ended) = read(Csv::<(u32, String)>::open(&path)).await;
        assert_eq!(out.len(), 2);
        // A lone `\r` within quotes is no end of a line for anybody else either.
        let line = if line_break == "\r" { 9 } else { 11 };
        assert_eq!(Failed::of(ended).line(), Some(line), "{line_break:?}");
    }
}

#[actix::test]
async fn another_delimiter_leaves_commas_alone() {
    let folder = Folder::new();
    let path = folder.file("flights.tsv", "carrier\tflight\tdep_delay\nU,A\t1\t2\n");
    let out: Vec<Flight> = read_all(Csv::open(&path).delimiter(b'\t')).await;
    assert_eq!(out, [flight("U,A", 1, Some(2.0))]);
}

#[actix::test]
async fn a_type_without_names_takes_the_columns_in_their_order() {
    let folder = Folder::new();
    let path = folder.file("pairs.csv", "name,n\na,1\nb,2\n");
    let pairs: Vec<(String, u64)> = read_all(Csv::open(&path)).await;
    assert_eq!(pairs, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    let lists: Vec<Vec<String>> = read_all(Csv::open(&path)).await;
    assert_eq!(lists, [["a", "1"], ["b", "2"]]);
    let maps: Vec<BTreeMap<String, String>> = read_all(Csv::open(&path)).await;
    assert_eq!((maps[1]["name"].as_str(), maps[1]["n"].as_str()), ("b", "2"));
}

#[actix::test]
async fn a_type_that_takes_more_or_fewer_columns_than_there_are_is_refused() {
    let folder = Folder::new();
    let path = folder.file("pairs.csv", "name,n\na,1\n");
    let (_, ended) = read(Csv::<String>::open(&path)).await;
    assert_eq!(
        Failed::of(ended).row_error(&path).to_string(),
        "the row has 2 columns, and the type takes 1 of them"
    );
    let (_, ended) = read(Csv::<(String, u64, u64)>::open(&path)).await;
    assert_eq!(
        Failed::of(ended).row_error(&path).to_string(),
        "invalid length 2, expected a tuple of size 3"
    );
}

#[actix::test]
async fn a_name_that_is_there_twice_is_refused_where_it_is_a_key() {
    let folder = Folder::new();
    let path = folder.file("pairs.csv", "n,m,n\n1,2,3\n");
    let lists: Vec<Vec<u8>> = read_all(Csv::open(&path)).await;
    assert_eq!(lists, [[1, 2, 3]]);
    let (_, ended) = read(Csv::<BTreeMap<String, u8>>::open(&path)).await;
    let failed = Failed::of(ended);
    assert_eq!(failed.file_error(&path).to_string(), "the header has column \"n\" twice");
}

#[actix::test]
async fn a_column_that_the_type_forbids_is_an_error_at_the_start() {
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Only {
        n: u32,
    }
    let folder = Folder::new();
    let path = folder.file("only.csv", "n,more\n1,2\n");
    let flow = Dataflow::new("only");
    let _ = flow.source("file", Csv::open(&path)).filter(|only: &Only| only.n > 0).collect("out");
    let Err(StartError::Failed(error)) = flow.start(Settings::new()).await else {
        panic!("the job has started");
    };
    assert_eq!(
        Failed::of(Err(error)).file_error(&path).to_string(),
        "the header has a column \"more\", which the type does not allow"
    );
}

#[actix::test]
async fn a_nested_type_is_refused_with_its_column() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Outer {
        a: u32,
        inner: Flight,
    }
    let folder = Folder::new();
    let path = folder.file("nested.csv", "a,inner\n1,2\n");
    let (_, ended) = read(Csv::<Outer>::open(&path)).await;
    let failed = Failed::of(ended);
    assert_eq!(failed.column(), Some("inner"));
    assert_eq!(failed.row_error(&path).to_string(), "a struct cannot be read from one column");
}

#[actix::test]
async fn a_flattened_struct_is_read() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        day: u32,
        #[serde(flatten)]
        inner: Flight,
    }
    let folder = Folder::new();
    let path = folder.file("flat.csv", "carrier,flight,day,dep_delay\nUA,1,2,\nUA,1,2,-3\n");
    let out: Vec<Outer> = read_all(Csv::open(&path)).await;
    assert_eq!(out[0], Outer { day: 2, inner: flight("UA", 1, None) });
    assert_eq!(out[1].inner.dep_delay, Some(-3.0));
}

#[actix::test]
async fn many_rows_come_whole_and_in_order_whatever_the_batches() {
    let folder = Folder::new();
    let mut text = String::from("n,text\n");
    (0..20_000).for_each(|n| text.push_str(&format!("{n},\"line\n{n}\"\n")));
    let path = folder.file("many.csv", text);
    for batch_records in [1, 7, 1_024] {
        let flow = Dataflow::new("many");
        let out = flow
            .source("file", Csv::open(&path))
            .map(|(n, text): (u64, String)| (n, text.len()))
            .collect("out");
        run(&flow, Settings::new().batch_records(batch_records)).await.unwrap();
        let out = out.take();
        assert_eq!(out.len(), 20_000);
        let expected = |n: usize| (n as u64, "line\n".len() + n.to_string().len());
        assert!(out.into_iter().enumerate().all(|(n, row)| row == expected(n)));
    }
}
