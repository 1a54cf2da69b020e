//! A run: makes what the workload needs, starts both sides, takes the pairs and shows the rows.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use millstream_bench_workload::{RoundRequest, Text, work, write_text};

use crate::args::Args;
use crate::catalogue::{Entry, Measure, Side, find};
use crate::child::SideProcess;
use crate::error::BenchError;
use crate::figures::{MODE, Row, Subject, growth_row, idle_row, latency_row, rate_row};
use crate::load::Machine;
use crate::places::Places;
use crate::rounds::Rounds;
use crate::show;

/// What decides the data that is drawn by chance; one for all runs, so that they compare.
const SEED: u64 = 1;

/// The length of the text of `word-count`.
const TEXT_BYTES: u64 = 100_000_000;

/// User work a record, where there is some.
const WORK: Duration = Duration::from_nanos(200);

/// How long a round of `latency` goes on.
const LATENCY_SECONDS: u64 = 2;

/// How long a round of `idle` goes on.
const IDLE_SECONDS: f64 = 30.0;

/// Records in the first round of the warm-up. No more than last long enough where calls sleep: the
/// warm-up finds when more are needed, never when fewer would do.
const FIRST_RECORDS: u64 = 1 << 18;

/// Does what the command line says.
pub(crate) fn run(args: &Args) -> Result<(), BenchError> {
    let Some(entry) = args.workload.as_deref().and_then(find) else { return Ok(()) };
    let against = against(entry, args)?;
    let places = Places::of_this_program()?;
    let (request, quantum) = request(entry, &places)?;
    let mut rows = Vec::new();
    for peer in against {
        let of_peer = compare(entry, args, peer, &request, quantum, &places)?;
        if args.json {
            for row in &of_peer {
                println!("{}", show::json(row)?);
            }
        }
        rows.extend(of_peer);
    }
    if !args.json {
        println!("{}", show::table(&rows));
    }
    Ok(())
}

/// The peers of this run: those named, or the workload's first.
fn against(entry: &Entry, args: &Args) -> Result<Vec<Side>, BenchError> {
    let known = |side: &Side| entry.peers.contains(side) || *side == args.ours;
    if let Some(peer) = args.against.iter().find(|side| !known(side)) {
        return Err(BenchError::NotAgainst {
            workload: entry.name,
            peer: peer.name(),
            peers: show::names(entry.peers),
        });
    }
    let first = || entry.peers.iter().take(1).copied().collect();
    Ok(if args.against.is_empty() { first() } else { args.against.clone() })
}

/// One round of the workload, and what the number of its records must be a multiple of.
fn request(entry: &Entry, places: &Places) -> Result<(RoundRequest, u64), BenchError> {
    let mut request =
        RoundRequest { seed: SEED, records: FIRST_RECORDS, ..RoundRequest::new(entry.name) };
    let mut quantum = entry.quantum;
    match entry.measure {
        Measure::Rate => {}
        Measure::Latency { rate } => {
            request.records = rate * LATENCY_SECONDS;
            request.rate = Some(rate);
        }
        Measure::Growth { from, .. } => request.records = from,
        Measure::Idle => {
            request.records = 0;
            request.idle_seconds = Some(IDLE_SECONDS);
        }
    }
    if entry.work {
        request.work = multiplications(WORK);
    }
    if entry.text {
        let path = text(places)?;
        quantum = Text::load(&path)?.words();
        request.text = Some(path);
    }
    Ok((request, quantum))
}

/// The text, made now if no run before has made it.
fn text(places: &Places) -> Result<PathBuf, BenchError> {
    let folder = places.data();
    let path = folder.join(format!("words-{SEED}-{TEXT_BYTES}.txt"));
    if !path.exists() {
        let made = fs::create_dir_all(&folder).and_then(|()| write_text(&path, SEED, TEXT_BYTES));
        made.map_err(|source| BenchError::Write { path: path.clone(), source })?;
    }
    Ok(path)
}

/// How many multiplications of [`work`] take as long as `time` on this machine.
fn multiplications(time: Duration) -> u32 {
    const PROBES: u32 = 20;
    const RECORDS: u32 = 10_000;
    let nanos = |count: u32| {
        let probe = || {
            let begin = Instant::now();
            let sum = (0..u64::from(RECORDS)).fold(0_u64, |sum, value| {
                sum.wrapping_add(work(value, std::hint::black_box(count)))
            });
            std::hint::black_box(sum);
            begin.elapsed().as_secs_f64() * 1e9 / f64::from(RECORDS)
        };
        // The fastest probe is the one that nobody disturbed.
        (0..PROBES).map(|_| probe()).fold(f64::INFINITY, f64::min)
    };
    let wanted = time.as_secs_f64() * 1e9;
    // What a call costs besides its multiplications matters less the more there are: twice.
    (0..2).fold(100, |count, _| {
        let count = f64::from(count) * wanted / nanos(count);
        count.round().clamp(1.0, 1e6) as u32
    })
}

/// The rows of one peer: one, or one for each number of records.
fn compare(
    entry: &Entry,
    args: &Args,
    peer: Side,
    request: &RoundRequest,
    quantum: u64,
    places: &Places,
) -> Result<Vec<Row>, BenchError> {
    let bar = progress(entry, args, peer);
    bar.set_message("building");
    let mut ours = SideProcess::start(args.ours.name(), places.command(args.ours)?)?;
    let mut other = SideProcess::start(peer.name(), places.command(peer)?)?;
    let mut rounds = Rounds {
        ours: &mut ours,
        peer: &mut other,
        ours_asked: asked(entry, args, args.ours, request),
        peer_asked: asked(entry, args, peer, request),
        batches_counted: entry.exchange && args.ours.is_ours(),
        meter: &mut Machine::new(),
    };
    bar.set_message("warming up");
    match entry.measure {
        Measure::Rate => rounds.calibrate(quantum)?,
        Measure::Latency { .. } | Measure::Growth { .. } => rounds.warm_up()?,
        Measure::Idle => {}
    }
    let records = rounds.ours_asked.records;
    let doublings =
        if let Measure::Growth { doublings, .. } = entry.measure { doublings } else { 0 };
    let sizes: Vec<u64> = (0..=doublings).map(|times| records << times).collect();
    let mut sized = vec![Vec::new(); sizes.len()];
    for _ in 0..args.pairs.unwrap_or(entry.pairs) {
        for (pairs, &records) in sized.iter_mut().zip(&sizes) {
            bar.set_message(format!("{records} records a round"));
            rounds.ask_for(records);
            pairs.push(rounds.pair()?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let pairs = &sized[0];
    let subject =
        Subject { workload: entry.name, mode: MODE, workers: args.workers, peer: peer.name() };
    Ok(match entry.measure {
        Measure::Rate => vec![Row::Rate(rate_row(subject, pairs))],
        Measure::Latency { .. } => {
            vec![Row::Latency(latency_row(subject, args.ours.name(), pairs)?)]
        }
        Measure::Idle => vec![Row::Idle(idle_row(subject, pairs))],
        Measure::Growth { .. } => {
            let steps = sized.windows(2);
            steps.map(|it| Row::Growth(growth_row(subject.clone(), &it[0], &it[1]))).collect()
        }
    })
}

/// What a side is asked, where `request` is what the workload needs.
fn asked(entry: &Entry, args: &Args, side: Side, request: &RoundRequest) -> RoundRequest {
    RoundRequest {
        workload: side.workload(entry.name).to_owned(),
        workers: side.workers(args.workers),
        ..request.clone()
    }
}

/// A bar on the standard error while that is a terminal; it hides itself elsewhere.
fn progress(entry: &Entry, args: &Args, peer: Side) -> ProgressBar {
    let bar = ProgressBar::new(u64::from(args.pairs.unwrap_or(entry.pairs)));
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} pairs, {msg}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(format!("{} against {}", entry.name, peer.name()));
    bar
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn args(words: &[&str]) -> Args {
        Args::try_parse_from([&["millstream-bench"], words].concat()).unwrap()
    }

    fn chosen(words: &[&str]) -> Result<Vec<Side>, BenchError> {
        let args = args(words);
        against(find(args.workload.as_deref().unwrap()).unwrap(), &args)
    }

    #[test]
    fn the_first_peer_is_the_one_if_none_is_named() {
        assert_eq!(chosen(&["exchange"]).unwrap(), [Side::Renoir]);
        assert_eq!(chosen(&["keyed-work"]).unwrap(), [Side::OneWorker]);
    }

    #[test]
    fn peers_that_are_named_have_a_row_each() {
        let words = ["exchange", "--against", "actix-naive", "--against", "one-worker"];
        assert_eq!(chosen(&words).unwrap(), [Side::ActixNaive, Side::OneWorker]);
    }

    #[test]
    fn a_peer_that_cannot_do_the_workload_is_refused_with_those_that_can() {
        let error = chosen(&["idle", "--against", "renoir"]).unwrap_err();
        let text = r#""idle" cannot be measured against "renoir", only against tokio-channel"#;
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_peer_against_itself_measures_this_program() {
        let words = ["exchange", "--ours", "renoir", "--against", "renoir"];
        assert_eq!(chosen(&words).unwrap(), [Side::Renoir]);
    }

    #[test]
    fn a_side_is_asked_for_its_own_workload_and_workers() {
        let (entry, args) =
            (find("async-keyed").unwrap(), args(&["async-keyed", "--workers", "2"]));
        let request = RoundRequest { records: 7, ..RoundRequest::new(entry.name) };
        let asked = |side| {
            let asked = asked(entry, &args, side, &request);
            assert_eq!(asked.records, 7);
            (asked.workload, asked.workers)
        };
        assert_eq!(asked(Side::Millstream), ("async-keyed".to_owned(), 2));
        assert_eq!(asked(Side::OneWorker), ("async-keyed".to_owned(), 1));
        assert_eq!(asked(Side::AsyncYield), ("async-yield".to_owned(), 2));
    }

    #[test]
    fn a_round_asks_for_what_its_workload_needs() {
        let places = Places::of_this_program().unwrap();
        let asked = |name| request(find(name).unwrap(), &places).unwrap().0;
        assert_eq!((asked("latency").rate, asked("latency").records), (Some(100_000), 200_000));
        assert_eq!(asked("idle").idle_seconds, Some(30.0));
        assert!(asked("keyed-work").work > 1);
        let map = asked("map");
        assert_eq!((map.work, map.rate, map.idle_seconds, map.text), (0, None, None, None));
    }
}
