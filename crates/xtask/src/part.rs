//! The parts of the checks: what each runs, in the order in which they run.
//!
//! All parts that compile the workspace select all of it (`--workspace`) and then the targets they
//! want: cargo decides features by the packages selected, so other selections would build the same
//! crates again. What is cheap and fails often comes first.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use crate::targets::Targets;
use crate::workspace::Workspace;

/// One part of the checks.
pub(crate) struct Part {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it checks, for `--list`.
    pub(crate) what: &'static str,
    /// Decides what is to be run.
    pub(crate) plan: fn(&Workspace) -> io::Result<Plan>,
}

/// What a part runs in this workspace.
pub(crate) enum Plan {
    /// One call of cargo.
    Run(Call),
    /// There is nothing to run yet, and why.
    Nothing(&'static str),
}

/// A call of cargo.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// What follows `cargo`.
    pub(crate) arguments: Vec<String>,
    /// Variables set for it.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// It runs tests: at least one must pass.
    pub(crate) is_test: bool,
}

/// All parts, in their order.
pub(crate) const PARTS: [Part; 12] = [
    Part { name: "format", what: "every file is formatted", plan: format },
    Part { name: "clippy", what: "no lint complains", plan: clippy },
    Part { name: "fuzz", what: "the fuzz targets fit what they try", plan: fuzz },
    Part { name: "layering", what: "crates and modules import only downwards", plan: layering },
    Part { name: "tidy", what: "the sources keep the rules of style", plan: tidy },
    Part { name: "tests", what: "unit and integration tests but those below", plan: tests },
    Part { name: "simulation", what: "tests `simulat*`: whole jobs, many seeds", plan: simulation },
    Part { name: "real", what: "tests `real_*`: real servers, disks, kills", plan: real },
    Part { name: "loom", what: "all interleavings of the lock-free parts", plan: loom },
    Part { name: "doctests", what: "every example in the documentation runs", plan: doctests },
    Part { name: "examples", what: "every light example runs", plan: examples },
    Part { name: "docs", what: "the documentation builds without a warning", plan: docs },
];

fn call(arguments: &[&str]) -> Call {
    let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
    Call { arguments, ..Call::default() }
}

fn test_call<'a>(targets: &[&str], names: impl IntoIterator<Item = &'a String>) -> Call {
    let mut call = call(&["test", "--workspace"]);
    call.arguments.extend(targets.iter().map(|&target| target.to_owned()));
    for name in names {
        call.arguments.extend(["--test".to_owned(), name.clone()]);
    }
    call.is_test = true;
    call
}

fn format(_: &Workspace) -> io::Result<Plan> {
    Ok(Plan::Run(call(&["fmt", "--all", "--check"])))
}

fn clippy(_: &Workspace) -> io::Result<Plan> {
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    Ok(Plan::Run(call(&lints)))
}

/// A workspace of its own with a folder of its own. It is not linked, so no C++ is compiled for it.
fn fuzz(workspace: &Workspace) -> io::Result<Plan> {
    let lints = ["clippy", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features"];
    let mut call = call(&lints);
    call.arguments.extend(["--", "-D", "warnings"].map(str::to_owned));
    call.variables.push(("CARGO_TARGET_DIR", workspace.target.join("fuzz").into()));
    Ok(Plan::Run(call))
}

fn layering(_: &Workspace) -> io::Result<Plan> {
    Ok(Plan::Run(test_call(&["--test", "layering"], [])))
}

fn tidy(_: &Workspace) -> io::Result<Plan> {
    Ok(Plan::Run(test_call(&["--test", "tidy"], [])))
}

fn tests(workspace: &Workspace) -> io::Result<Plan> {
    let targets = Targets::find(&workspace.root)?;
    Ok(Plan::Run(test_call(&["--lib", "--bins"], &targets.rest)))
}

fn simulation(workspace: &Workspace) -> io::Result<Plan> {
    let targets = Targets::find(&workspace.root)?;
    if targets.simulation.is_empty() {
        return Ok(Plan::Nothing("no integration test is named `simulat*` yet"));
    }
    Ok(Plan::Run(test_call(&[], &targets.simulation)))
}

fn real(workspace: &Workspace) -> io::Result<Plan> {
    let targets = Targets::find(&workspace.root)?;
    if targets.real.is_empty() {
        return Ok(Plan::Nothing("no integration test is named `real_*` yet"));
    }
    Ok(Plan::Run(test_call(&[], &targets.real)))
}

/// Loom replaces the atomics of the whole build, so it has a folder of its own to build into.
fn loom(workspace: &Workspace) -> io::Result<Plan> {
    let sources = workspace.root.join("crates/millstream-runtime/src");
    if !any_file_holds(&sources, "loom::model")? {
        return Ok(Plan::Nothing("millstream-runtime has no loom test yet"));
    }
    let package = ["test", "--package", "millstream-runtime", "--release", "--lib", "loom"];
    let mut flags = std::env::var_os("RUSTFLAGS").unwrap_or_default();
    flags.push(" --cfg loom");
    let variables =
        vec![("RUSTFLAGS", flags), ("CARGO_TARGET_DIR", workspace.target.join("loom").into())];
    Ok(Plan::Run(Call { variables, is_test: true, ..call(&package) }))
}

fn doctests(_: &Workspace) -> io::Result<Plan> {
    Ok(Plan::Run(test_call(&["--doc"], [])))
}

fn examples(workspace: &Workspace) -> io::Result<Plan> {
    if !workspace.root.join("examples/Cargo.toml").is_file() {
        return Ok(Plan::Nothing("there is no package `examples` yet"));
    }
    let targets = Targets::find(&workspace.root)?;
    Ok(Plan::Run(test_call(&["--examples"], &targets.examples)))
}

fn docs(_: &Workspace) -> io::Result<Plan> {
    let variables = vec![("RUSTDOCFLAGS", "-D warnings".into())];
    Ok(Plan::Run(Call { variables, ..call(&["doc", "--no-deps", "--workspace"]) }))
}

fn any_file_holds(folder: &Path, text: &str) -> io::Result<bool> {
    if !folder.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let holds = if path.is_dir() {
            any_file_holds(&path, text)?
        } else {
            String::from_utf8_lossy(&fs::read(&path)?).contains(text)
        };
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}
