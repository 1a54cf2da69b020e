//! `exchange`: a source and a step, then an exchange to a second actor, a step, and a sink.

use millstream::Dataflow;
use millstream_bench_workload::{Outcome, RoundRequest, SideError, Workload, doubled, share};

use super::shares::Shares;
use super::sum::{Sums, Total};

const SECOND: &str = "second";

pub(super) struct Exchange;

impl Workload for Exchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let (records, total) = (request.records, Total::default());
        let flow = Dataflow::new("exchange");
        flow.source("numbers", Shares::new(request.workers, move |i, of| share(records, i, of)))
            .map(doubled)
            .rebalance(SECOND)
            .map(|value| value)
            .sink("sum", Sums::new(&total, |value: u64| value));
        let job = super::finish(flow, request)?;
        Ok(Outcome { batches: super::batches(&job, SECOND), ..total.outcome() })
    }
}
