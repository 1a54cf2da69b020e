//! Where things lie: the peers' sources, what is built of them, and what is made once and kept.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::catalogue::{Program, Side};
use crate::error::BenchError;

/// The folders of a run.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// This program.
    program: PathBuf,
    /// The folder that cargo builds into, of which this program was built.
    target: PathBuf,
}

impl Places {
    /// The folders that belong to the program that runs.
    pub(crate) fn of_this_program() -> Result<Self, BenchError> {
        Ok(Self::of(env::current_exe().map_err(BenchError::NoPlace)?))
    }

    /// `program` lies in `<target>/<profile>/`.
    fn of(program: PathBuf) -> Self {
        let target = program.ancestors().nth(2).unwrap_or(Path::new("target")).to_owned();
        Self { program, target }
    }

    /// Where what is made once is kept.
    pub(crate) fn data(&self) -> PathBuf {
        self.target.join("bench-data")
    }

    /// The command that is `side`; a peer is built first.
    pub(crate) fn command(&self, side: Side) -> Result<Command, BenchError> {
        match side.program() {
            Program::Ourselves(served) => {
                let mut command = Command::new(&self.program);
                command.args(["--serve", served.name()]);
                Ok(command)
            }
            Program::Peer(name) => {
                self.build(name)?;
                Ok(Command::new(self.peer(name)))
            }
        }
    }

    /// Where cargo puts a peer's program. All of them have one folder for what they share.
    fn peer(&self, name: &str) -> PathBuf {
        let file = format!("{name}-peer{}", env::consts::EXE_SUFFIX);
        self.target.join("peers").join("release").join(file)
    }

    /// Builds a peer with our own profile. Its lock file holds the versions that it was measured
    /// with; it is no error if a newer version of ours moves one of them.
    fn build(&self, name: &'static str) -> Result<(), BenchError> {
        let manifest = sources().join(name).join("Cargo.toml");
        let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(["build", "--profile", "bench", "--quiet", "--manifest-path"]);
        command.arg(&manifest).arg("--target-dir").arg(self.target.join("peers"));
        // What cargo says while it builds must not stand among the rows.
        command.stdout(Stdio::null());
        let status = command.status().map_err(|source| BenchError::Cargo { peer: name, source })?;
        if status.success() {
            return Ok(());
        }
        Err(BenchError::Build { peer: name, status, command: format!("{command:?}") })
    }
}

/// The folder of the peers' workspaces.
fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::ValueEnum;

    use super::*;

    /// The lines of the table `[profile.bench]` in a manifest.
    fn profile(manifest: &Path) -> Vec<String> {
        let text = fs::read_to_string(manifest).unwrap();
        let table = text.lines().skip_while(|line| *line != "[profile.bench]").skip(1);
        table.take_while(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn a_peer_is_built_with_our_own_profile() {
        let ours = profile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"));
        assert!(ours.iter().any(|line| line == r#"lto = "fat""#), "{ours:?}");
        for side in Side::value_variants() {
            if let Program::Peer(name) = side.program() {
                assert_eq!(profile(&sources().join(name).join("Cargo.toml")), ours, "{name}");
                assert!(sources().join(name).join("Cargo.lock").exists(), "{name}");
            }
        }
    }

    #[test]
    fn a_side_of_this_program_needs_no_build() {
        let places = Places::of("/somewhere/target/release/millstream-bench".into());
        let command = places.command(Side::OneWorker).unwrap();
        assert_eq!(command.get_program(), "/somewhere/target/release/millstream-bench");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["--serve", "millstream"]);
        assert_eq!(places.data(), Path::new("/somewhere/target/bench-data"));
        assert!(places.peer("renoir").starts_with("/somewhere/target/peers/release"));
    }
}
