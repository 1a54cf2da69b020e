//! The command line.

use clap::builder::PossibleValuesParser;
use clap::{Parser, value_parser};

use crate::catalogue::{Side, WORKLOADS};

/// Measures Millstream against its peers, in turns and in one run.
///
/// Prints a table, or with --json one line of JSON a row. Exits with 1 when a side fails, when
/// the results of both sides differ, or when an exchange was none.
#[derive(Debug, Parser)]
#[command(name = "millstream-bench", version)]
pub(crate) struct Args {
    /// What is measured; --list tells what each one is.
    #[arg(
        required_unless_present_any = ["list", "serve"],
        value_parser = PossibleValuesParser::new(WORKLOADS.iter().map(|entry| entry.name)),
    )]
    pub(crate) workload: Option<String>,

    /// Workers of each side.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        value_parser = value_parser!(u64).range(1..=64),
    )]
    pub(crate) workers: u64,

    /// The other side, one row each; the workload's first peer when it is left out.
    #[arg(long, value_enum, value_name = "PEER")]
    pub(crate) against: Vec<Side>,

    /// Pairs of rounds; the figures are medians. Nine, or what suits the workload.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub(crate) pairs: Option<u32>,

    /// One line of JSON a row.
    #[arg(long)]
    pub(crate) json: bool,

    /// Lists the workloads and their peers.
    #[arg(long)]
    pub(crate) list: bool,

    /// Who plays our side. A peer against itself tells how well this program measures.
    #[arg(long, value_enum, value_name = "PEER", default_value = "millstream")]
    pub(crate) ours: Side,

    /// Is a side: takes rounds on the standard input.
    #[arg(long, value_enum, value_name = "SIDE", hide = true)]
    pub(crate) serve: Option<Side>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("millstream-bench").chain(words.iter().copied()))
    }

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_workload_alone_is_enough() {
        let args = parse(&["exchange"]).unwrap();
        assert_eq!(args.workload.as_deref(), Some("exchange"));
        assert_eq!((args.workers, args.pairs, args.json), (1, None, false));
        assert_eq!((args.ours, args.against), (Side::Millstream, vec![]));
    }

    #[test]
    fn everything_can_be_said() {
        let args = parse(&[
            "keyed-work",
            "--workers",
            "2",
            "--against",
            "one-worker",
            "--pairs",
            "3",
            "--json",
        ]);
        let args = args.unwrap();
        assert_eq!(args.against, [Side::OneWorker]);
        assert_eq!((args.workers, args.pairs, args.json), (2, Some(3), true));
    }

    #[test]
    fn zero_workers_zero_pairs_and_no_workload_are_refused() {
        assert!(parse(&["map", "--workers", "0"]).is_err());
        assert!(parse(&["map", "--pairs", "0"]).is_err());
        assert!(parse(&[]).is_err());
        assert!(parse(&["--list"]).is_ok());
    }

    #[test]
    fn an_unknown_workload_is_told_the_known_ones() {
        let error = parse(&["mapp"]).unwrap_err().to_string();
        assert!(error.contains("keyed-sum"), "{error}");
    }
}
