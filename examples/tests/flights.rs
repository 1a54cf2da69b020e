//! Proves that the main job computes the right tables, and fails without leaving half of one.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use program::{Checked, Said, empty_folder};

const FILES: [&str; 2] = ["carriers.jsonl", "origins.jsonl"];

/// Runs the job in a folder, with arguments that are paths or text.
fn flights(folder: &Path, arguments: &[&str]) -> Result<Said, Box<dyn std::error::Error>> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    program::run("flights", &arguments, folder)
}

/// The two files in a folder, and nothing beside them.
fn written(folder: &Path) -> Result<[String; 2], Box<dyn std::error::Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, FILES, "{}", folder.display());
    Ok([fs::read_to_string(folder.join(FILES[0]))?, fs::read_to_string(folder.join(FILES[1]))?])
}

/// The job fails: one sentence, no panic, and under the final names nothing.
fn fails(folder: &Path, arguments: &[&str], parts: &[&str]) -> Checked {
    let said = flights(folder, arguments)?;
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert!(said.err.starts_with("flights: ") && !said.err.contains("panicked"), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    for part in parts {
        assert!(said.err.contains(part), "{part:?} is not in {:?}", said.err);
    }
    for name in FILES {
        assert!(!folder.join("target/flights").join(name).is_file(), "{name} was written");
    }
    Ok(())
}

#[test]
fn the_tables_of_january_are_right_and_sorted_by_key() -> Checked {
    let folder = empty_folder("flights_january")?;
    let said = flights(&folder, &[])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let [carriers, origins] = written(&folder.join("target/flights"))?;

    assert_eq!((carriers.lines().count(), origins.lines().count()), (16, 93));
    // What stands before the first number begins with the key.
    let is_sorted =
        |text: &str| text.lines().map(|row| row.split("\"flights\"").next()).is_sorted();
    assert!(is_sorted(&carriers) && carriers.ends_with("}\n"));
    assert!(is_sorted(&origins) && origins.ends_with("}\n"));

    let carrier = |code: &str, name: &str, flights: u64, cancelled: u64, mean: &str| {
        let row = format!(
            "{{\"carrier\":\"{code}\",\"name\":\"{name}\",\"flights\":{flights},\
             \"cancelled\":{cancelled},\"mean_dep_delay\":{mean}}}"
        );
        assert!(carriers.lines().any(|line| line == row), "{row}");
    };
    carrier("EV", "ExpressJet Airlines Inc.", 4_171, 182, "24.228879418400602");
    carrier("UA", "United Air Lines Inc.", 4_637, 32, "8.326167209554832");
    carrier("OO", "SkyWest Airlines Inc.", 1, 0, "67.0");
    let newark = r#"{"origin":"EWR","day":"2013-01-01","flights":305,"cancelled":1,"#;
    let newark = format!("{newark}\"mean_dep_delay\":17.48355263157895}}");
    assert!(origins.lines().any(|line| line == newark), "{newark}");
    Ok(())
}

#[test]
fn the_report_shows_carriers_and_airports_with_their_sums() -> Checked {
    let folder = empty_folder("flights_report")?;
    let said = flights(&folder, &["--out", "here"])?;
    let row = |words: &[&str]| {
        let is = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(said.out.lines().any(is), "no line with {words:?} in\n{}", said.out);
    };
    row(&["EV", "ExpressJet Airlines Inc.", "4,171", "182", "24.2 min"]);
    row(&["all", "27,004", "521"]);
    row(&["EWR", "9,893"]);
    row(&["JFK", "9,161"]);
    row(&["LGA", "7,950"]);
    row(&["are in here"]);
    assert!(
        !said.out.contains('\u{1b}'),
        "nothing moves the cursor of a terminal that is not there"
    );
    written(&folder.join("here")).map(drop)
}

#[test]
fn every_parallelism_writes_the_same_bytes() -> Checked {
    let folder = empty_folder("flights_parallelism")?;
    let mut results = Vec::new();
    for parallelism in ["1", "2", "4"] {
        let said = flights(&folder, &["--parallelism", parallelism, "--out", parallelism])?;
        assert_eq!(said.code, Some(0), "{}", said.err);
        results.push(written(&folder.join(parallelism))?);
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
    Ok(())
}

#[test]
fn another_file_of_these_columns_is_read() -> Checked {
    let folder = empty_folder("flights_input")?;
    let text = "origin,carrier,day,month,year,dep_delay,dep_time,other\n\
                JFK,MQ,2,1,2014,10,900,x\nJFK,MQ,2,1,2014,NA,NA,x\nJFK,MQ,2,1,2014,-3,1957,\n\
                LGA,ZZ,11,10,2014,NA,NA,x";
    fs::write(folder.join("few.csv"), text)?;
    let said = flights(&folder, &["--input", "few.csv", "--parallelism", "3"])?;
    assert_eq!(said.code, Some(0), "{}", said.err);
    let [carriers, origins] = written(&folder.join("target/flights"))?;
    let expected = [
        r#"{"carrier":"MQ","name":"Envoy Air","flights":3,"cancelled":1,"mean_dep_delay":3.5}"#,
        r#"{"carrier":"ZZ","name":null,"flights":1,"cancelled":1,"mean_dep_delay":null}"#,
    ];
    assert_eq!(carriers.lines().collect::<Vec<_>>(), expected);
    let expected = [
        r#"{"origin":"JFK","day":"2014-01-02","flights":3,"cancelled":1,"mean_dep_delay":3.5}"#,
        r#"{"origin":"LGA","day":"2014-10-11","flights":1,"cancelled":1,"mean_dep_delay":null}"#,
    ];
    assert_eq!(origins.lines().collect::<Vec<_>>(), expected);
    Ok(())
}

#[test]
fn a_file_without_rows_makes_empty_tables() -> Checked {
    let folder = empty_folder("flights_empty")?;
    fs::write(folder.join("none.csv"), "year,month,day,dep_time,dep_delay,carrier,origin\n")?;
    let said = flights(&folder, &["--input", "none.csv"])?;
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(written(&folder.join("target/flights"))?, ["", ""]);
    Ok(())
}

#[test]
fn the_plan_is_a_chart_with_both_tables_and_nothing_runs() -> Checked {
    let folder = empty_folder("flights_plan")?;
    let said = flights(&folder, &["--plan", "--parallelism", "4"])?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with("flowchart LR\n"), "{}", said.out);
    for stage in ["by carrier<br/>operator × 4", "by origin and day<br/>operator × 4"] {
        assert!(said.out.contains(stage), "{stage:?} is not in\n{}", said.out);
    }
    assert_eq!(fs::read_dir(&folder)?.count(), 0);
    Ok(())
}

#[test]
fn the_help_names_every_option() -> Checked {
    let said = flights(&empty_folder("flights_help")?, &["--help"])?;
    assert_eq!(said.code, Some(0));
    for option in ["--input <FILE>", "--out <DIR>", "--parallelism <TASKS>", "--plan", "--help"] {
        assert!(said.out.contains(option), "{option}");
    }
    Ok(())
}

#[test]
fn a_file_that_is_not_there_is_named() -> Checked {
    let folder = empty_folder("flights_missing")?;
    fails(&folder, &["--input", "no-such-file.csv"], &["no-such-file.csv"])
}

#[test]
fn a_file_of_other_columns_is_named_with_the_column_that_is_missing() -> Checked {
    let folder = empty_folder("flights_columns")?;
    fs::write(folder.join("other.csv"), "faa,name\nJFK,Kennedy\n")?;
    fails(&folder, &["--input", "other.csv"], &["other.csv"])
}

#[test]
fn a_bad_row_in_the_middle_leaves_no_half_of_a_table() -> Checked {
    let folder = empty_folder("flights_bad_row")?;
    let mut text = "year,month,day,dep_time,dep_delay,carrier,origin\n".to_owned();
    text.push_str(&"2013,1,1,517,2,UA,EWR\n".repeat(5_000));
    text.push_str("2013,1,1,518,late,UA,EWR\n");
    fs::write(folder.join("bad.csv"), text)?;
    fails(&folder, &["--input", "bad.csv"], &["bad.csv", "line 5002", "dep_delay"])
}

#[test]
fn an_output_folder_that_cannot_be_made_is_named() -> Checked {
    let folder = empty_folder("flights_output")?;
    fs::write(folder.join("file"), "")?;
    fails(&folder, &["--out", "file/results"], &["file/results"])
}

#[test]
fn a_name_that_a_folder_has_taken_is_told() -> Checked {
    let folder = empty_folder("flights_taken")?;
    fs::create_dir_all(folder.join("target/flights/carriers.jsonl"))?;
    let said = flights(&folder, &[])?;
    assert_eq!(said.code, Some(1), "{}", said.out);
    assert!(said.err.contains("carriers.jsonl") && !said.err.contains("panicked"), "{}", said.err);
    Ok(())
}

#[test]
fn what_an_earlier_run_has_written_survives_a_failure() -> Checked {
    let folder = empty_folder("flights_earlier")?;
    flights(&folder, &[])?;
    let before = written(&folder.join("target/flights"))?;
    fs::write(folder.join("other.csv"), "faa,name\nJFK,Kennedy\n")?;
    assert_eq!(flights(&folder, &["--input", "other.csv"])?.code, Some(1));
    assert_eq!(written(&folder.join("target/flights"))?, before);
    Ok(())
}
