//! Proves that the larger jobs draw their progress on a terminal, and nowhere else.

mod program;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::{Command, Stdio};

use program::{Checked, Said, empty_folder};

/// What the bar says once three rows are read; a piece of the report that follows.
const BAR: &str = "100 % · 3 flights";
const REPORT: &str = "Both tables, the second by day, are in";

/// Says why a test cannot run here, in the form that `cargo xtask test` counts. A test's `println!`
/// would be shown only when it fails.
fn skip(reason: &str) -> Checked {
    let mut out = stdout().lock();
    writeln!(out, "\nskipped: {reason}")?;
    Ok(out.flush()?)
}

/// Whether there is the `script` of util-linux; that of another system takes other arguments.
fn has_terminal() -> bool {
    let version = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("util-linux"))
}

/// A folder with a file of three flights.
fn three_flights(name: &str) -> Result<std::path::PathBuf, Box<dyn std::error::Error>> {
    let folder = empty_folder(name)?;
    let mut text = "year,month,day,dep_time,dep_delay,carrier,origin\n".to_owned();
    text.push_str(&"2013,1,1,517,2,UA,EWR\n".repeat(3));
    fs::write(folder.join("three.csv"), text)?;
    Ok(folder)
}

/// Runs the job with both outputs piped. It is built by that, if need be.
fn piped(folder: &Path) -> Result<Said, Box<dyn std::error::Error>> {
    program::run("flights", &["--input", "three.csv"].map(OsStr::new), folder)
}

/// Runs the job on a terminal of its own, with its outputs sent elsewhere as a shell would, and
/// returns what the terminal was sent.
fn on_terminal(folder: &Path, elsewhere: &str) -> Result<String, Box<dyn std::error::Error>> {
    piped(folder)?;
    shown("flights", folder, elsewhere)
}

/// Runs an example that has been built on a terminal, with the file of three flights.
fn shown(name: &str, folder: &Path, elsewhere: &str) -> Result<String, Box<dyn std::error::Error>> {
    let test = env::current_exe()?;
    let profile_folder = test.ancestors().nth(2).ok_or("a test lies in a folder of its profile")?;
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!("stty cols 100 && \"$PROGRAM\" --input three.csv {elsewhere}"))
        .arg("/dev/null")
        .env("PROGRAM", profile_folder.join("examples").join(name))
        .envs([("SHELL", "/bin/sh"), ("TERM", "xterm")])
        .env_remove("NO_COLOR")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    let shown = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{shown}");
    Ok(shown)
}

/// Nothing of a bar, and nothing that moves a cursor.
fn is_plain(text: &str) -> bool {
    !text.contains(['\u{1b}', '%']) && !text.contains(BAR)
}

#[test]
fn progress_is_drawn_on_a_terminal_and_the_report_stands_below_it() -> Checked {
    if !has_terminal() {
        return skip("no `script` of util-linux");
    }
    let shown = on_terminal(&three_flights("terminal_both")?, "")?;
    let bar = shown.rfind(BAR).ok_or_else(|| format!("no bar in {shown:?}"))?;
    let report = shown.find(REPORT).ok_or_else(|| format!("no report in {shown:?}"))?;
    assert!(bar < report, "{shown:?}");
    Ok(())
}

#[test]
fn each_run_of_the_calls_draws_its_own_progress_and_the_table_stands_below_both() -> Checked {
    if !has_terminal() {
        return skip("no `script` of util-linux");
    }
    let folder = empty_folder("terminal_enrich")?;
    let mut text = "month,day,carrier,flight,origin,dest,tailnum\n".to_owned();
    text.push_str(&"1,1,UA,1545,EWR,IAH,N14228\n".repeat(3));
    fs::write(folder.join("three.csv"), text)?;
    let said = program::run("enrich", &["--input", "three.csv"].map(OsStr::new), &folder)?;
    assert!(is_plain(&said.out) && said.err.is_empty(), "{:?}", said.out);

    let shown = shown("enrich", &folder, "")?;
    // A bar is drawn over itself; the last one of each run stays.
    let drawn = shown.split('\r').filter(|line| line.contains(BAR));
    let last = |mode: &str| drawn.clone().filter(|line| line.contains(mode)).count();
    assert!(last("ordered   █") > 0 && last("unordered █") > 0, "{shown:?}");
    let bars = [shown.rfind("ordered   █"), shown.rfind("unordered █"), shown.find("a second")];
    assert!(bars.is_sorted() && bars[0].is_some(), "{shown:?}");
    Ok(())
}

#[test]
fn no_progress_is_drawn_where_one_of_the_outputs_is_no_terminal() -> Checked {
    if !has_terminal() {
        return skip("no `script` of util-linux");
    }
    let folder = three_flights("terminal_one")?;
    let shown = on_terminal(&folder, "> out")?;
    assert_eq!(shown, "", "a report that is kept needs nothing beside it");
    let kept = fs::read_to_string(folder.join("out"))?;
    assert!(kept.contains(REPORT) && is_plain(&kept), "{kept:?}");

    let shown = on_terminal(&folder, "2> err")?;
    assert!(shown.contains(REPORT) && is_plain(&shown), "{shown:?}");
    assert_eq!(fs::read_to_string(folder.join("err"))?, "");
    Ok(())
}

#[test]
fn no_progress_is_in_either_output_when_both_are_piped() -> Checked {
    let said = piped(&three_flights("terminal_none")?)?;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains(REPORT) && is_plain(&said.out), "{:?}", said.out);
    Ok(())
}
