//! `map`: a source, a step, a sink.

use millstream::Dataflow;
use millstream_bench_workload::{Outcome, RoundRequest, SideError, Workload, doubled, share};

use super::shares::Shares;
use super::sum::{Sums, Total};

pub(super) struct Map {
    /// Without it the sink doubles, as it reads the records: nothing is left but the way to it.
    pub(super) step: bool,
}

impl Workload for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let (records, total) = (request.records, Total::default());
        let flow = Dataflow::new("map");
        let numbers = Shares::new(request.workers, move |i, of| share(records, i, of));
        let numbers = flow.source("numbers", numbers);
        if self.step {
            numbers.map(doubled).sink("sum", Sums::new(&total, |value: u64| value));
        } else {
            numbers.sink("sum", Sums::new(&total, doubled));
        }
        super::finish(flow, request)?;
        Ok(total.outcome())
    }
}
