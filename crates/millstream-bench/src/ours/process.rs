//! `keyed-process`: `keyed-sum` by a process, whose state is a struct of 64 bytes or of 4 KiB.

use millstream::Record;
use millstream::prelude::*;
use millstream_bench_workload::{Keyed, KeyedShare, Outcome, RoundRequest, SideError, Workload};
use serde::{Deserialize, Serialize};

use super::shares::Shares;
use super::sum::{Sums, Total};

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(KeyedProcessing { name: "keyed-process", run: run::<Small> }),
        Box::new(KeyedProcessing { name: "keyed-process-large", run: run::<Large> }),
    ]
}

struct KeyedProcessing {
    name: &'static str,
    run: fn(&'static str, &RoundRequest) -> Result<Outcome, SideError>,
}

impl Workload for KeyedProcessing {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        (self.run)(self.name, request)
    }
}

/// A state of some size with a sum in it.
trait State: Record + Clone + Default {
    fn sum(&mut self) -> &mut u64;
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Small {
    sum: u64,
    others: [u64; 7],
}

impl State for Small {
    fn sum(&mut self) -> &mut u64 {
        &mut self.sum
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Large {
    sum: u64,
    first: [u64; 31],
    others: [[[u64; 32]; 3]; 5],
}

impl State for Large {
    fn sum(&mut self) -> &mut u64 {
        &mut self.sum
    }
}

fn run<S: State>(name: &'static str, request: &RoundRequest) -> Result<Outcome, SideError> {
    let records = request.records;
    let total = Total::default();
    let flow = Dataflow::new(name);
    let shares = move |index, of| KeyedShare::new(records, index, of);
    flow.source("numbers", Shares::new(request.workers, shares))
        .key_by(|record: &Keyed| record.key)
        .process_fn(
            "sum",
            |record: Keyed, state: &mut S, cx| {
                let sum = state.sum();
                *sum = sum.wrapping_add(record.value);
                cx.emit(Keyed { key: record.key, value: *sum });
            },
            |_: Fired<()>, _, _| {},
        )
        .sink("total", Sums::new(&total, Keyed::digest));
    super::finish(flow, request)?;
    Ok(total.outcome())
}
