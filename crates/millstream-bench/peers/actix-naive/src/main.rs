//! Plain actix's side of the benchmarks: source, operator and sink are three actors on one
//! arbiter, each record is one message, and the sink tells the source what has arrived so that
//! never more than [`UNACKNOWLEDGED_MAX`] records are under way.

mod actors;

use std::collections::HashMap;
use std::io;
use std::iter::Map;
use std::marker::PhantomData;
use std::ops::Range;

use millstream_bench_workload::{
    Keyed, KeyedShare, Outcome, RoundRequest, SideError, Workload, doubled, serve, share,
};

/// What the three actors do in one workload.
trait Job: Default + Unpin + 'static {
    /// What flows.
    type Item: Send + Unpin + 'static;
    /// What the source makes.
    type Numbers: Iterator<Item = Self::Item> + Unpin;

    /// The records that the source makes.
    fn numbers(records: u64) -> Self::Numbers;

    /// What the operator makes of one.
    fn operate(&mut self, item: Self::Item) -> Self::Item;

    /// What the sink adds to the checksum.
    fn digest(item: Self::Item) -> u64;
}

fn main() -> io::Result<()> {
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(Naive::<Doubling>::new("map")),
        Box::new(Naive::<Exchange>::new("exchange")),
        Box::new(Naive::<RunningSum>::new("keyed-sum")),
    ];
    serve(&mut workloads, io::stdin().lock(), io::stdout().lock())
}

/// `map`: the operator doubles.
#[derive(Default)]
struct Doubling;

impl Job for Doubling {
    type Item = u64;
    type Numbers = Range<u64>;

    fn numbers(records: u64) -> Range<u64> {
        share(records, 0, 1)
    }

    fn operate(&mut self, number: u64) -> u64 {
        doubled(number)
    }

    fn digest(number: u64) -> u64 {
        number
    }
}

/// `exchange`: the source doubles, the operator hands on.
#[derive(Default)]
struct Exchange;

impl Job for Exchange {
    type Item = u64;
    type Numbers = Map<Range<u64>, fn(u64) -> u64>;

    fn numbers(records: u64) -> Self::Numbers {
        share(records, 0, 1).map(doubled)
    }

    fn operate(&mut self, number: u64) -> u64 {
        number
    }

    fn digest(number: u64) -> u64 {
        number
    }
}

/// `keyed-sum`: the operator keeps a sum a key.
#[derive(Default)]
struct RunningSum {
    sums: HashMap<u32, u64>,
}

impl Job for RunningSum {
    type Item = Keyed;
    type Numbers = KeyedShare;

    fn numbers(records: u64) -> KeyedShare {
        KeyedShare::new(records, 0, 1)
    }

    fn operate(&mut self, record: Keyed) -> Keyed {
        let sum = self.sums.entry(record.key).or_default();
        *sum = sum.wrapping_add(record.value);
        Keyed { key: record.key, value: *sum }
    }

    fn digest(record: Keyed) -> u64 {
        record.digest()
    }
}

/// A job under its workload's name.
struct Naive<J> {
    name: &'static str,
    job: PhantomData<J>,
}

impl<J: Job> Naive<J> {
    fn new(name: &'static str) -> Self {
        Self { name, job: PhantomData }
    }
}

impl<J: Job> Workload for Naive<J> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        if request.workers != 1 {
            let workers = request.workers;
            return Err(SideError::Workers { workload: self.name, workers, most: 1 });
        }
        actors::run::<J>(request.records).map_err(SideError::failed)
    }
}
