//! What is counted about flights, and how it is written.

use std::ops::AddAssign;

use millstream::Either;
use serde::{Deserialize, Serialize};

use crate::flight::{Airline, Flight};

/// Counts and a sum of whole minutes: the order of the flights makes no difference, as it would to
/// a mean that is moved along or to a sum of floats.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) flights: u64,
    pub(crate) cancelled: u64,
    /// Flights that left and of which the delay is known.
    delayed: u64,
    delay_minutes: i64,
}

impl Totals {
    pub(crate) fn add(&mut self, flight: &Flight) {
        self.flights += 1;
        self.cancelled += u64::from(flight.is_cancelled());
        if let Some(minutes) = flight.delay() {
            self.delayed += 1;
            self.delay_minutes += minutes;
        }
    }

    /// The mean delay in minutes, if any flight left.
    pub(crate) fn mean_delay(&self) -> Option<f64> {
        (self.delayed > 0).then(|| self.delay_minutes as f64 / self.delayed as f64)
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.flights += other.flights;
        self.cancelled += other.cancelled;
        self.delayed += other.delayed;
        self.delay_minutes += other.delay_minutes;
    }
}

/// The state of a carrier: its name, from one input, and its flights, from the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Carrier {
    pub(crate) name: Option<String>,
    pub(crate) totals: Totals,
}

impl Carrier {
    pub(crate) fn take(&mut self, input: Either<Flight, Airline>) {
        match input {
            Either::Left(flight) => self.totals.add(&flight),
            Either::Right(airline) => self.name = Some(airline.name),
        }
    }
}

/// A line of `carriers.jsonl`.
#[derive(Serialize, Deserialize)]
pub(crate) struct CarrierRow {
    carrier: String,
    name: Option<String>,
    flights: u64,
    cancelled: u64,
    mean_dep_delay: Option<f64>,
}

impl CarrierRow {
    pub(crate) fn new((code, carrier): (String, Carrier)) -> Self {
        let totals = carrier.totals;
        Self {
            carrier: code,
            name: carrier.name,
            flights: totals.flights,
            cancelled: totals.cancelled,
            mean_dep_delay: totals.mean_delay(),
        }
    }
}

/// A line of `origins.jsonl`.
#[derive(Serialize, Deserialize)]
pub(crate) struct OriginRow {
    origin: String,
    day: String,
    flights: u64,
    cancelled: u64,
    mean_dep_delay: Option<f64>,
}

impl OriginRow {
    pub(crate) fn new(((origin, day), totals): ((String, String), Totals)) -> Self {
        let (flights, cancelled) = (totals.flights, totals.cancelled);
        Self { origin, day, flights, cancelled, mean_dep_delay: totals.mean_delay() }
    }
}
