//! `async-…`: a source, a stage of calls, a sink. In the order of the input, as results come, or
//! in the order of keys.

use std::time::Duration;

use millstream::{AsyncWait, Dataflow, Failure, Source};
use millstream_bench_workload::{
    BURST_CALLS_MAX, CALLS_MAX, KEYS, LONG_SLEEP, Outcome, RoundRequest, SLEEPING_CALLS_MAX,
    SideError, Workload, called_at_once, called_with_sleep, called_with_yield, share,
};
use tokio::time::sleep;

use super::shares::Shares;
use super::sum::{Sums, Total};

type Wait = AsyncWait<u64, u64>;

/// The time-out of `async-timeout`: far away, so that none is ever due.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The workloads with calls.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    let ordered = || Wait::ordered().capacity(CALLS_MAX);
    let unordered = || Wait::unordered().capacity(CALLS_MAX);
    let sleeping = |x| called_with_sleep(x, sleep);
    let sleeping_long = |x| called_with_sleep(x, |_| sleep(LONG_SLEEP));
    let all = BURST_CALLS_MAX;
    let many = SLEEPING_CALLS_MAX;
    vec![
        Box::new(Calls::new("async-ready", ordered(), called_at_once)),
        Box::new(Calls::new("async-ready-unordered", unordered(), called_at_once)),
        Box::new(Calls::new("async-yield", ordered(), called_with_yield)),
        Box::new(Calls::new("async-yield-unordered", unordered(), called_with_yield)),
        Box::new(Calls::new("async-sleep", ordered().capacity(many), sleeping)),
        Box::new(Calls::new("async-sleep-unordered", unordered().capacity(many), sleeping)),
        Box::new(Calls::new("async-burst", ordered().capacity(all), sleeping_long)),
        Box::new(Calls::new("async-timeout", ordered().timeout(TIMEOUT), called_with_yield)),
        Box::new(KeyedCalls),
    ]
}

/// A call for each number.
struct Calls<C> {
    name: &'static str,
    wait: Wait,
    call: C,
}

impl<C> Calls<C> {
    const fn new(name: &'static str, wait: Wait, call: C) -> Self {
        Self { name, wait, call }
    }
}

impl<C, F> Workload for Calls<C>
where
    C: Fn(u64) -> F + Copy + Send + 'static,
    F: Future<Output = Result<u64, Failure>> + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let (call, total) = (self.call, Total::default());
        let flow = Dataflow::new(self.name);
        flow.source("numbers", numbers(request))
            .async_wait("call", self.wait.clone(), call)
            .sink("sum", Sums::new(&total, |value: u64| value));
        super::finish(flow, request)?;
        Ok(total.outcome())
    }
}

/// `async-keyed`: a call that yields for each number, one of a key at a time.
struct KeyedCalls;

impl Workload for KeyedCalls {
    fn name(&self) -> &'static str {
        "async-keyed"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let total = Total::default();
        let flow = Dataflow::new("async-keyed");
        let wait = Wait::key_ordered().capacity(CALLS_MAX);
        flow.source("numbers", numbers(request))
            .key_by(|x| x % u64::from(KEYS))
            .async_wait("call", wait, called_with_yield)
            .sink("sum", Sums::new(&total, |value: u64| value));
        super::finish(flow, request)?;
        Ok(total.outcome())
    }
}

/// The numbers that flow.
fn numbers(request: &RoundRequest) -> impl Source<Out = u64> + use<> {
    let records = request.records;
    Shares::new(request.workers, move |index, of| share(records, index, of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::WORKLOADS;

    #[test]
    fn every_call_comes_out_once_whatever_the_order() {
        for workload in &mut workloads() {
            for records in [0, 1, 2_345] {
                let request = RoundRequest { records, ..RoundRequest::new(workload.name()) };
                let outcome = workload.round(&request).unwrap();
                let sum = (0..records).map(|x| 2 * x).sum();
                let came = (outcome.records, outcome.checksum.value());
                assert_eq!(came, (records, sum), "{}", workload.name());
            }
        }
    }

    #[test]
    fn the_workloads_with_calls_are_those_of_the_catalogue() {
        let ours: Vec<&str> = workloads().iter().map(|workload| workload.name()).collect();
        let listed = WORKLOADS.iter().map(|entry| entry.name);
        let listed: Vec<&str> = listed.filter(|name| name.starts_with("async-")).collect();
        assert_eq!(ours, listed);
    }
}
