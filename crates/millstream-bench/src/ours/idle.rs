//! `idle`: a row of operators that wait for records which never come.

use std::time::Duration;

use millstream::{Dataflow, Failure, Read, ReadContext, Reader, Settings, Source, TaskContext};
use millstream_bench_workload::{Outcome, RoundRequest, SideError, Workload};

const OPERATORS: usize = 20;

pub(super) struct Idle;

impl Workload for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "idle", field: "idle_seconds" };
        let idle = Duration::try_from_secs_f64(request.idle_seconds.ok_or(lacks)?)
            .map_err(SideError::failed)?;
        let flow = Dataflow::new("idle");
        let mut stream = flow.source("nothing", Nothing);
        for operator in 0..OPERATORS {
            stream = stream.rebalance(&format!("operator {operator}"));
        }
        stream.for_each("out", |_: u64| {});
        actix::System::new().block_on(async move {
            let job = flow.start(Settings::new()).await.map_err(SideError::failed)?;
            tokio::time::sleep(idle).await;
            job.drain().await.map_err(SideError::failed)?;
            Ok(Outcome::default())
        })
    }
}

/// A source that has nothing now, and never will.
#[derive(Clone)]
struct Nothing;

impl Source for Nothing {
    type Out = u64;
    type Position = ();
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<()>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Reader for Nothing {
    type Out = u64;
    type Position = ();

    fn read(&mut self, _: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        Ok(Read::Later)
    }

    fn position(&self) {}
}
