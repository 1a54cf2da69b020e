//! Renoir's side of the benchmarks, written as its examples are: local deployment, batches of a
//! fixed size, sources that are as parallel as the rest, `group_by` for keys.

use std::io;

use millstream_bench_workload::{
    Checksum, Keyed, KeyedShare, Outcome, RoundRequest, SideError, Text, Workload, doubled, serve,
    share, tokens, work,
};
use renoir::Stream;
use renoir::operator::Operator;
use renoir::prelude::*;

fn main() -> io::Result<()> {
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(Map),
        Box::new(Exchange),
        Box::new(KeyedSum { name: "keyed-sum" }),
        Box::new(KeyedSum { name: "keyed-work" }),
        Box::new(WordCount { text: None }),
    ];
    serve(&mut workloads, io::stdin().lock(), io::stdout().lock())
}

/// As many replicas of each block as there are workers.
fn local(request: &RoundRequest) -> Result<StreamContext, SideError> {
    let config = RuntimeConfig::local(request.workers).map_err(SideError::failed)?;
    Ok(StreamContext::new(config))
}

fn batches(request: &RoundRequest) -> Result<BatchMode, SideError> {
    let records = usize::try_from(request.batch_records).map_err(SideError::failed)?;
    Ok(BatchMode::fixed(records))
}

/// The records that came out and what they came to, first in each replica, then of all.
type Results = (u64, Checksum);

/// Folds a stream of numbers in each replica and then in one.
fn results<Op>(stream: Stream<Op>) -> StreamOutput<Vec<Results>>
where
    Op: Operator<Out = u64> + 'static,
{
    stream
        .fold_assoc(
            Results::default(),
            |(records, checksum), value| {
                *records += 1;
                checksum.add(value);
            },
            |(records, checksum), (more, other)| {
                *records += more;
                checksum.merge(other);
            },
        )
        .collect_vec()
}

/// Runs the job and hands out what [`results`] has found.
fn outcome(
    context: StreamContext,
    found: StreamOutput<Vec<Results>>,
) -> Result<Outcome, SideError> {
    context.execute_blocking();
    let found = found.get().ok_or_else(|| SideError::failed("the job has no result"))?;
    let (records, checksum) = found.first().copied().unwrap_or_default();
    Ok(Outcome { records, checksum, ..Outcome::default() })
}

struct Map;

impl Workload for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let context = local(request)?;
        let records = request.records;
        let stream = context
            .stream_par_iter(move |index, of| share(records, index, of))
            .batch_mode(batches(request)?)
            .map(doubled);
        let found = results(stream);
        outcome(context, found)
    }
}

struct Exchange;

impl Workload for Exchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let context = local(request)?;
        let records = request.records;
        let stream = context
            .stream_par_iter(move |index, of| share(records, index, of))
            .batch_mode(batches(request)?)
            .map(doubled)
            .shuffle()
            .map(|value| value);
        let found = results(stream);
        outcome(context, found)
    }
}

/// `keyed-sum`, and with user work `keyed-work`.
struct KeyedSum {
    name: &'static str,
}

impl Workload for KeyedSum {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let context = local(request)?;
        let (records, multiplications) = (request.records, request.work);
        let mut sum = 0_u64;
        let stream = context
            .stream_par_iter(move |index, of| KeyedShare::new(records, index, of))
            .batch_mode(batches(request)?)
            .group_by(|record| record.key)
            .rich_map(move |(&key, record)| {
                sum = sum.wrapping_add(work(record.value, multiplications));
                Keyed { key, value: sum }
            })
            .drop_key()
            .map(Keyed::digest);
        let found = results(stream);
        outcome(context, found)
    }
}

struct WordCount {
    text: Option<Text>,
}

impl Workload for WordCount {
    fn name(&self) -> &'static str {
        "word-count"
    }

    fn prepare(&mut self, request: &RoundRequest) -> Result<(), SideError> {
        let lacks = SideError::Lacks { workload: "word-count", field: "text" };
        if self.text.is_none() {
            let path = request.text.as_deref().ok_or(lacks)?;
            self.text = Some(Text::load(path).map_err(SideError::failed)?);
        }
        Ok(())
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "word-count", field: "text" };
        let text = self.text.ok_or(lacks)?;
        let context = local(request)?;
        let words = request.records;
        let counts = context
            .stream_par_iter(move |index, of| text.share(words, index, of))
            .batch_mode(batches(request)?)
            .flat_map(|line| tokens(line).map(str::to_owned))
            .group_by(|word| word.clone())
            .fold(0_u64, |count, _word| *count += 1)
            .collect_vec();
        context.execute_blocking();
        let counts = counts.get().ok_or_else(|| SideError::failed("the job has no result"))?;
        let mut outcome = Outcome::default();
        for (word, count) in counts {
            outcome.records += count;
            outcome.checksum.add_count(&word, count);
        }
        Ok(outcome)
    }
}
