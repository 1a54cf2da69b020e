//! The graph: two files in, two keyed tables, two files out.

use std::path::Path;

use millstream::Collected;
use millstream::prelude::*;

use crate::flight::{Airline, Flight};
use crate::sorted::Sorted;
use crate::totals::{Carrier, CarrierRow, OriginRow, Totals};

/// What the report shows when the job has ended; both in the order of their keys.
pub(crate) struct Tables {
    pub(crate) carriers: Collected<(String, Carrier)>,
    /// By airport and day.
    pub(crate) origins: Collected<((String, String), Totals)>,
}

/// The flow from these files into this folder. Nothing is opened before it starts.
pub(crate) fn build(flights: &Path, airlines: &Path, out: &Path) -> (Dataflow, Tables) {
    let flow = Dataflow::new("flights");
    let [of_carriers, of_origins] = flow.source("flights", Csv::open(flights).null("NA")).fork();
    let airlines = flow.source("airlines", Csv::open(airlines));

    // A carrier's name and its flights come by two ways and meet in the task that has the carrier.
    let [rows, shown] = of_carriers
        .key_by(|flight: &Flight| flight.carrier.clone())
        .connect(airlines.key_by(|airline: &Airline| airline.carrier.clone()))
        .at_end()
        .fold("by carrier", Carrier::default(), Carrier::take)
        .filter(|(_, carrier)| carrier.totals.flights > 0)
        .operator("carriers in order", |_| Sorted::new())
        .parallelism(1)
        .fork();
    rows.map(CarrierRow::new).sink("carriers.jsonl", JsonLines::to(out.join("carriers.jsonl")));
    let carriers = shown.collect("carriers shown");

    let [rows, shown] = of_origins
        .key_by(|flight: &Flight| (flight.origin.clone(), flight.date()))
        .at_end()
        .fold("by origin and day", Totals::default(), |totals, flight| totals.add(&flight))
        .operator("origins in order", |_| Sorted::new())
        .parallelism(1)
        .fork();
    rows.map(OriginRow::new).sink("origins.jsonl", JsonLines::to(out.join("origins.jsonl")));
    let origins = shown.collect("origins shown");

    (flow, Tables { carriers, origins })
}
