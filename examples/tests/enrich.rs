//! Proves that the job of calls finds what there is to find, in order and not, and shows what it
//! took.

mod program;

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use program::{Checked, Said, empty_folder};

const FILES: [&str; 2] = ["ordered.jsonl", "unordered.jsonl"];

/// Three flights: one with plane and airport, one of a plane that is not known, one that has none
/// and goes where no airport is known.
const FEW: &str = "dest,tailnum,origin,flight,carrier,day,month,other\n\
                   IAH,N14228,EWR,1545,UA,2,1,x\nMIA,N9,LGA,1141,AA,2,1,\nXYZ,NA,JFK,9,ZZ,11,10,x";

/// What is to be written about them.
const FEW_ENRICHED: [&str; 3] = [
    "{\"flight\":{\"month\":1,\"day\":2,\"carrier\":\"UA\",\"flight\":1545,\"origin\":\"EWR\",\
     \"dest\":\"IAH\",\"tailnum\":\"N14228\"},\"plane\":{\"tailnum\":\"N14228\",\"year\":1999,\
     \"manufacturer\":\"BOEING\",\"model\":\"737-824\",\"seats\":149},\
     \"airport\":{\"faa\":\"IAH\",\"name\":\"George Bush Intercontinental\"}}",
    "{\"flight\":{\"month\":1,\"day\":2,\"carrier\":\"AA\",\"flight\":1141,\"origin\":\"LGA\",\
     \"dest\":\"MIA\",\"tailnum\":\"N9\"},\"plane\":null,\
     \"airport\":{\"faa\":\"MIA\",\"name\":\"Miami Intl\"}}",
    "{\"flight\":{\"month\":10,\"day\":11,\"carrier\":\"ZZ\",\"flight\":9,\"origin\":\"JFK\",\
     \"dest\":\"XYZ\",\"tailnum\":null},\"plane\":null,\"airport\":null}",
];

/// Runs the job in a folder, with arguments that are paths or text.
fn enrich(folder: &Path, arguments: &[&str]) -> Result<Said, Box<dyn Error>> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    program::run("enrich", &arguments, folder)
}

/// The lines of both files in a folder, and nothing beside them.
fn written(folder: &Path) -> Result<[Vec<String>; 2], Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, FILES, "{}", folder.display());
    let lines = |name: &str| {
        let text = fs::read_to_string(folder.join(name))?;
        Ok::<_, Box<dyn Error>>(text.lines().map(str::to_owned).collect())
    };
    Ok([lines(FILES[0])?, lines(FILES[1])?])
}

fn sorted(lines: &[String]) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    lines.sort_unstable();
    lines
}

/// The flight of a line that was written, as it stands in the file that was read: without quotes,
/// `NA` for what is missing.
fn flight(line: &str) -> Option<String> {
    let (flight, _) = line.strip_prefix("{\"flight\":{")?.split_once('}')?;
    let values = flight.split(',').map(|field| field.split_once(':').map(|(_, value)| value));
    let values: Option<Vec<&str>> = values.collect();
    Some(values?.join(",").replace('"', "").replace("null", "NA"))
}

/// The flights of January as they stand in their file, with the columns that are written.
fn january() -> Result<Vec<String>, Box<dyn Error>> {
    let mut text = String::new();
    let file = fs::File::open(examples::data("flights-2013-01.csv.gz"))?;
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text)?;
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().ok_or("the file is empty")?;
    let columns = ["month", "day", "carrier", "flight", "origin", "dest", "tailnum"];
    let place = |column: &str| header.iter().position(|name| name.trim_matches('"') == column);
    let places: Option<Vec<usize>> = columns.into_iter().map(place).collect();
    let places = places.ok_or("a column is missing")?;
    let row = |line: Vec<&str>| {
        let values: Vec<&str> = places.iter().map(|place| line[*place].trim_matches('"')).collect();
        values.join(",")
    };
    Ok(lines.map(row).collect())
}

/// The job fails: one sentence, no panic, and under the final names nothing.
fn fails(folder: &Path, arguments: &[&str], parts: &[&str]) -> Checked {
    let said = enrich(folder, arguments)?;
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert!(said.err.starts_with("enrich: ") && !said.err.contains("panicked"), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    for part in parts {
        assert!(said.err.contains(part), "{part:?} is not in {:?}", said.err);
    }
    for name in FILES {
        assert!(!folder.join("target/enrich").join(name).exists(), "{name} was written");
    }
    Ok(())
}

#[test]
fn the_flights_of_january_find_their_planes_and_airports_in_order_and_not() -> Checked {
    let folder = empty_folder("enrich_january")?;
    let said = enrich(&folder, &[])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let [ordered, unordered] = written(&folder.join("target/enrich"))?;

    let flights: Vec<String> = ordered.iter().filter_map(|line| flight(line)).collect();
    assert_eq!(flights.len(), 27_004);
    assert!(flights == january()?, "the flights are those of the file, in its order");
    let found = |what: &str| ordered.iter().filter(|line| line.contains(what)).count();
    assert_eq!((found("\"plane\":{"), found("\"plane\":null")), (22_525, 4_479));
    assert_eq!((found("\"airport\":{"), found("\"airport\":null")), (26_324, 680));
    // The answer to a flight is the one to its question.
    let row = r#"{"flight":{"month":1,"day":1,"carrier":"B6","flight":725,"origin":"JFK","#;
    let row = format!("{row}\"dest\":\"BQN\",\"tailnum\":\"N804JB\"}},");
    let plane = r#""plane":{"tailnum":"N804JB","year":2012,"manufacturer":"AIRBUS","#;
    let line = ordered.iter().find(|line| line.starts_with(&row)).ok_or("a flight is missing")?;
    assert!(line.contains(plane) && line.ends_with("\"airport\":null}"), "{line}");

    assert!(sorted(&ordered) == sorted(&unordered), "both hold the same rows");
    assert!(ordered != unordered, "one of them as the answers came");

    // What the order costs is shown, and never the same twice.
    let line = |words: &[&str]| {
        let is = |line: &&str| words.iter().all(|word| line.contains(word));
        said.out.lines().filter(is).count()
    };
    assert_eq!(line(&["flights", "a call", "in the stage"]), 1, "{}", said.out);
    assert_eq!(line(&["a second", "p50", "p99"]), 1, "{}", said.out);
    for mode in [" ordered ", " unordered "] {
        assert_eq!(line(&["│", mode, " ms"]), 1, "{mode} in\n{}", said.out);
    }
    let found = "27,004 flights, 22,525 with a plane, 26,324 with an airport";
    for mode in ["ordered   ", "unordered "] {
        let whole = format!("{mode}{found}");
        assert_eq!(said.out.lines().filter(|line| *line == whole).count(), 1, "{}", said.out);
    }
    assert!(said.out.ends_with("are in target/enrich\n") && !said.out.contains('\u{1b}'));
    Ok(())
}

#[test]
fn another_file_of_these_columns_is_read_whatever_chance_and_capacity_are() -> Checked {
    let folder = empty_folder("enrich_input")?;
    fs::write(folder.join("few.csv"), FEW)?;
    for arguments in [&[][..], &["--seed", "7"], &["--capacity", "1"], &["--capacity", "9999"]] {
        let said =
            enrich(&folder, &[&["--input", "few.csv", "--out", "here"], arguments].concat())?;
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{arguments:?}");
        let [ordered, unordered] = written(&folder.join("here"))?;
        assert_eq!(ordered, FEW_ENRICHED, "{arguments:?}");
        let mut expected = FEW_ENRICHED;
        expected.sort_unstable();
        assert_eq!(sorted(&unordered), expected, "{arguments:?}");
        assert!(said.out.contains("3 flights, 1 with a plane, 2 with an airport"), "{}", said.out);
        assert!(said.out.contains("are in here"), "{}", said.out);
    }
    Ok(())
}

#[test]
fn a_file_without_rows_makes_empty_files_and_a_table() -> Checked {
    let folder = empty_folder("enrich_empty")?;
    fs::write(folder.join("none.csv"), "month,day,carrier,flight,origin,dest,tailnum\n")?;
    let said = enrich(&folder, &["--input", "none.csv"])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(written(&folder.join("target/enrich"))?, [[""; 0]; 2]);
    assert!(said.out.contains("0 flights, 0 with a plane, 0 with an airport"), "{}", said.out);
    Ok(())
}

#[test]
fn the_help_names_every_option() -> Checked {
    let said = enrich(&empty_folder("enrich_help")?, &["--help"])?;
    assert_eq!(said.code, Some(0));
    for option in ["--input <FILE>", "--out <DIR>", "--seed <NUMBER>", "--capacity <FLIGHTS>"] {
        assert!(said.out.contains(option), "{option}");
    }
    Ok(())
}

#[test]
fn a_capacity_of_nothing_is_refused_by_its_name() -> Checked {
    let folder = empty_folder("enrich_capacity")?;
    for (capacity, why) in [("0", "zero"), ("-1", ""), ("many", "invalid digit")] {
        let said = enrich(&folder, &[&format!("--capacity={capacity}")])?;
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
        assert!(
            said.err.contains("--capacity <FLIGHTS>") && said.err.contains(why),
            "{}",
            said.err
        );
    }
    assert_eq!(fs::read_dir(&folder)?.count(), 0);
    Ok(())
}

#[test]
fn a_file_that_is_not_there_is_named() -> Checked {
    let folder = empty_folder("enrich_missing")?;
    fails(&folder, &["--input", "no-such-file.csv"], &["no-such-file.csv"])
}

#[test]
fn a_bad_row_in_the_middle_leaves_no_half_of_a_file() -> Checked {
    let folder = empty_folder("enrich_bad_row")?;
    let mut text = "month,day,carrier,flight,origin,dest,tailnum\n".to_owned();
    text.push_str(&"1,1,UA,1545,EWR,IAH,N14228\n".repeat(2_000));
    text.push_str("1,1,UA,late,EWR,IAH,N14228\n");
    fs::write(folder.join("bad.csv"), text)?;
    fails(&folder, &["--input", "bad.csv"], &["bad.csv", "line 2002", "flight"])
}

#[test]
fn an_output_folder_that_cannot_be_made_is_named() -> Checked {
    let folder = empty_folder("enrich_output")?;
    fs::write(folder.join("file"), "")?;
    fails(&folder, &["--out", "file/results"], &["file/results"])
}
