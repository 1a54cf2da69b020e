//! The side of the crate `futures`, written as its users write it: a stream of calls, of which
//! `buffered` or `buffer_unordered` keeps some in flight, on a runtime of one thread.

use std::convert::Infallible;
use std::io;
use std::pin::pin;

use futures::stream::{self, Stream, StreamExt};
use millstream_bench_workload::{
    BURST_CALLS_MAX, CALLS_MAX, LONG_SLEEP, Outcome, RoundRequest, SLEEPING_CALLS_MAX, SideError,
    Workload, called_at_once, called_with_sleep, called_with_yield, serve, share,
};
use tokio::runtime::Builder;
use tokio::time::sleep;

fn main() -> io::Result<()> {
    let sleeping = |x| called_with_sleep(x, sleep);
    let sleeping_long = |x| called_with_sleep(x, |_| sleep(LONG_SLEEP));
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(Calls::ordered("async-ready", CALLS_MAX, called_at_once)),
        Box::new(Calls::unordered("async-ready-unordered", CALLS_MAX, called_at_once)),
        Box::new(Calls::ordered("async-yield", CALLS_MAX, called_with_yield)),
        Box::new(Calls::unordered("async-yield-unordered", CALLS_MAX, called_with_yield)),
        Box::new(Calls::ordered("async-sleep", SLEEPING_CALLS_MAX, sleeping)),
        Box::new(Calls::unordered("async-sleep-unordered", SLEEPING_CALLS_MAX, sleeping)),
        Box::new(Calls::ordered("async-burst", BURST_CALLS_MAX, sleeping_long)),
        // Without a time-out: what ours costs is measured against a program that has none.
        Box::new(Calls::ordered("async-timeout", CALLS_MAX, called_with_yield)),
    ];
    serve(&mut workloads, io::stdin().lock(), io::stdout().lock())
}

/// What a call gives: one of these cannot fail.
type Answer = Result<u64, Infallible>;

/// A call for each number, so many in flight at most.
struct Calls<C> {
    name: &'static str,
    capacity: usize,
    /// Whether results leave in the order of the numbers, or as they come.
    ordered: bool,
    call: C,
}

impl<C> Calls<C> {
    const fn ordered(name: &'static str, capacity: usize, call: C) -> Self {
        Self { name, capacity, ordered: true, call }
    }

    const fn unordered(name: &'static str, capacity: usize, call: C) -> Self {
        Self { name, capacity, ordered: false, call }
    }
}

impl<C, F> Workload for Calls<C>
where
    C: Fn(u64) -> F + Copy,
    F: Future<Output = Answer>,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        if request.workers != 1 {
            let workers = request.workers;
            return Err(SideError::Workers { workload: self.name, workers, most: 1 });
        }
        let runtime =
            Builder::new_current_thread().enable_time().build().map_err(SideError::failed)?;
        let calls = stream::iter(share(request.records, 0, 1)).map(self.call);
        Ok(if self.ordered {
            runtime.block_on(sum(calls.buffered(self.capacity)))
        } else {
            runtime.block_on(sum(calls.buffer_unordered(self.capacity)))
        })
    }
}

/// Counts the results and adds up their checksum.
async fn sum(results: impl Stream<Item = Answer>) -> Outcome {
    let mut results = pin!(results);
    let mut outcome = Outcome::default();
    while let Some(Ok(result)) = results.next().await {
        outcome.records += 1;
        outcome.checksum.add(result);
    }
    outcome
}
