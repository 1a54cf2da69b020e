//! `keyed-sum`: the running sum of each key, every record emitted; `keyed-work` with user work.

use millstream::Dataflow;
use millstream_bench_workload::{
    Keyed, KeyedShare, Outcome, RoundRequest, SideError, Workload, work,
};

use super::shares::Shares;
use super::sum::{Sums, Total};

const SUM: &str = "sum";

pub(super) struct KeyedSum {
    pub(super) name: &'static str,
}

impl Workload for KeyedSum {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let (records, multiplications) = (request.records, request.work);
        let total = Total::default();
        let flow = Dataflow::new(self.name);
        let shares = move |index, of| KeyedShare::new(records, index, of);
        flow.source("numbers", Shares::new(request.workers, shares))
            .key_by(|record| record.key)
            .map_with_state(SUM, move |&key, sum: &mut u64, record: Keyed| {
                *sum = sum.wrapping_add(work(record.value, multiplications));
                Keyed { key, value: *sum }
            })
            .sink("total", Sums::new(&total, Keyed::digest));
        let job = super::finish(flow, request)?;
        Ok(Outcome { batches: super::batches(&job, SUM), ..total.outcome() })
    }
}
