//! The one door: everything that a change must pass, in one command that needs only cargo.
//!
//! `cargo xtask test` runs the parts of [`part::PARTS`] in their order and stops at the first that
//! fails; `cargo xtask bench` passes on to the benchmarks. It depends on no other crate, so it is
//! built in a second.

mod part;
mod run;
mod tally;
mod targets;
mod workspace;

use std::env;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

use part::{PARTS, Part};
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask test [PART...]   run all checks, or only those parts
cargo xtask test --list      name the parts
cargo xtask bench ARGS...    run the benchmarks; `cargo xtask bench --list` names them";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["test", "--list"] => list(),
        ["test", ref names @ ..] => test(names),
        ["bench", ref rest @ ..] => bench(rest),
        ["help" | "--help" | "-h"] => say(USAGE).map(|()| true),
        _ => say(USAGE).map(|()| false),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If even this cannot be written, the exit code still says it.
            let _ = writeln!(io::stderr(), "xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

fn list() -> io::Result<bool> {
    for part in &PARTS {
        say(&format!("{:12} {}", part.name, part.what))?;
    }
    Ok(true)
}

fn test(names: &[&str]) -> io::Result<bool> {
    let unknown = names.iter().find(|name| !PARTS.iter().any(|part| part.name == **name));
    if let Some(name) = unknown {
        say(&format!("there is no part `{name}`; the parts are:"))?;
        return list().map(|_| false);
    }
    let chosen: Vec<&Part> =
        PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name)).collect();
    let workspace = Workspace::here()?;
    let in_ci = env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let execute = |part: &Part| run::execute(&workspace, part);
    run::run(&chosen, in_ci, execute, &mut io::stdout())
}

fn bench(arguments: &[&str]) -> io::Result<bool> {
    let workspace = Workspace::here()?;
    let arguments = match arguments {
        ["--", rest @ ..] => rest,
        all => all,
    };
    let status = Command::new(workspace.cargo)
        .args(["run", "--profile", "bench", "--quiet", "--package", "millstream-bench", "--"])
        .args(arguments)
        .status()?;
    Ok(status.success())
}
