//! The graph: flights in, a stage of calls, flights with their planes and airports out.

use std::fmt;
use std::time::Duration;

use examples::{data, rows};
use millstream::prelude::*;
use millstream::{Clock, Collected, SystemClock, call_id};

use crate::arguments::Arguments;
use crate::rows::{Airport, Enriched, Flight, Plane, Shown};
use crate::service::Service;

/// The name of the stage of calls.
pub(crate) const STAGE: &str = "enrich";

/// A service that does not answer at all fails the job, and does not keep it for ever.
const TIMEOUT: Duration = Duration::from_secs(30);

/// In which order the results leave the stage.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Ordered,
    Unordered,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ordered => "ordered",
            Self::Unordered => "unordered",
        })
    }
}

/// Those that are asked.
#[derive(Clone)]
pub(crate) struct Services {
    planes: Service<Plane>,
    airports: Service<Airport>,
}

impl Services {
    pub(crate) async fn load(seed: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let planes: Vec<Plane> = rows(&data("planes.csv.gz")).await?;
        let airports: Vec<Airport> = rows(&data("airports.csv.gz")).await?;
        let planes = planes.into_iter().map(|plane| (plane.tailnum.clone(), plane));
        let airports = airports.into_iter().map(|airport| (airport.faa.clone(), airport));
        // The next seed, so that one is not slow because the other is.
        let next = seed.wrapping_add(1);
        Ok(Self { planes: Service::new(seed, planes), airports: Service::new(next, airports) })
    }

    /// Two requests, one after the other. That nothing is found is an answer, not an error.
    async fn enrich(&self, flight: Flight) -> Enriched {
        // All calls for one record have this number, and those of no other record in this run: what
        // an outside system needs to know a request that it has seen before.
        let request = call_id().map_or(0, |id| id.number);
        let plane = match &flight.tailnum {
            Some(tailnum) => self.planes.get(tailnum, request).await,
            None => None,
        };
        let airport = self.airports.get(&flight.dest, request).await;
        Enriched { flight, plane, airport }
    }
}

/// The flow of this mode. What the report needs of each flight comes with it.
pub(crate) fn build(
    mode: Mode,
    arguments: &Arguments,
    services: &Services,
    clock: SystemClock,
) -> (Dataflow, Collected<Shown>) {
    let wait = match mode {
        Mode::Ordered => AsyncWait::ordered(),
        Mode::Unordered => AsyncWait::unordered(),
    };
    let wait = wait.capacity(arguments.capacity.get()).timeout(TIMEOUT);
    let services = services.clone();

    let flow = Dataflow::new("enrich");
    let [rows, shown] = flow
        .source("flights", Csv::open(arguments.input()).null("NA"))
        .async_wait(STAGE, wait, move |flight: Flight| {
            let services = services.clone();
            async move {
                let began = clock.monotonic();
                Ok((began, services.enrich(flight).await))
            }
        })
        // The order of the file is that of one task.
        .parallelism(1)
        // This runs in the stage's task when the result leaves it. A call that has answered may
        // have waited until then: in order, for all calls in front of it.
        .map(move |(began, row)| (clock.monotonic().since(began), row))
        .fork();
    let file = arguments.out.join(format!("{mode}.jsonl"));
    rows.map(|(_, row)| row).sink("rows", JsonLines::to(file));
    let shown = shown.map(|(stayed, row)| Shown::new(stayed, &row)).collect("shown");
    (flow, shown)
}
