//! Proves that the job which watches for what has not happened tells of exactly those flights that
//! a column says are late, which it does not read.

mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use program::{Checked, Said, empty_folder};

fn alerts(folder: &Path, arguments: &[&str]) -> Result<Said, Box<dyn Error>> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    program::run("alerts", &arguments, folder)
}

/// Carrier, number and day.
type Flight = [String; 3];

/// A line of the output: its kind, its flight and the number beside it.
fn told(line: &str) -> Option<(&str, Flight, i64)> {
    let words: Vec<&str> =
        line.split(['{', '}', '"', ':', ',']).filter(|word| !word.is_empty()).collect();
    let [kind, "flight", "carrier", carrier, "flight", flight, "day", day, _, number] = words[..]
    else {
        return None;
    };
    Some((kind, [carrier, flight, day].map(str::to_owned), number.parse().ok()?))
}

/// What the column of delays says of each flight that has left.
fn oracle() -> Result<BTreeMap<Flight, Option<i64>>, Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/flights-2013-01.csv.gz");
    let mut text = String::new();
    GzDecoder::new(fs::File::open(file)?).read_to_string(&mut text)?;
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let left = rows.filter(|row| row[3] != "NA");
    let flight = |row: &[&str]| [row[9], row[10], row[2]].map(str::to_owned);
    Ok(left.map(|row| (flight(&row), row[8].parse().ok())).collect())
}

#[test]
fn january_has_3825_alerts_of_which_3740_landed_later_and_85_never() -> Checked {
    let folder = empty_folder("alerts-january")?;
    let said = alerts(&folder, &[])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let text = "26,483 flights left, 26,398 landed where they were to.\n\
                3,825 alerts: 3,740 landed later than that, 85 never did.\n\n\
                They are in target/alerts.jsonl\n";
    assert_eq!(said.out, text);
    let lines = fs::read_to_string(folder.join("target/alerts.jsonl"))?;
    let told: Vec<_> = lines.lines().filter_map(told).collect();
    assert_eq!(told.len(), lines.lines().count());
    let of = |kind| {
        let of_kind = told.iter().filter(move |(it, ..)| *it == kind);
        of_kind.map(|(_, flight, number)| (flight.clone(), *number))
    };
    let oracle = oracle()?;
    let late: BTreeSet<_> = oracle
        .iter()
        .filter(|(_, delay)| delay.is_none_or(|delay| delay > 30))
        .map(|(flight, _)| flight.clone())
        .collect();
    assert_eq!(of("Overdue").count(), 3_825, "each is told of once");
    assert_eq!(of("Overdue").map(|(flight, _)| flight).collect::<BTreeSet<_>>(), late);
    let landed: BTreeMap<_, _> = of("Landed").collect();
    let later = oracle.into_iter().filter_map(|(flight, delay)| Some((flight, delay? - 30)));
    assert_eq!(landed, later.filter(|(_, minutes)| *minutes > 0).collect());
    Ok(())
}

#[test]
fn a_file_that_is_missing_is_named() -> Checked {
    let folder = empty_folder("alerts-missing")?;
    let said = alerts(&folder, &["--input", "nowhere.csv"])?;
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.starts_with("alerts: ") && said.err.contains("nowhere.csv"), "{}", said.err);
    assert!(!folder.join("target").exists());
    Ok(())
}
