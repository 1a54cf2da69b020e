//! The rows that are read, and what is made of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A flight; of its columns those that tell one from another, and what is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flight {
    month: u32,
    day: u32,
    carrier: String,
    flight: u32,
    origin: String,
    pub(crate) dest: String,
    /// A flight that was cancelled may have none.
    pub(crate) tailnum: Option<String>,
}

/// A plane, known by its `tailnum`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plane {
    pub(crate) tailnum: String,
    year: Option<u32>,
    manufacturer: String,
    model: String,
    seats: u32,
}

/// An airport, known by its `faa`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Airport {
    pub(crate) faa: String,
    name: String,
}

/// A line of the files that are written. A service that knows no plane has answered all the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Enriched {
    pub(crate) flight: Flight,
    pub(crate) plane: Option<Plane>,
    pub(crate) airport: Option<Airport>,
}

/// What the report needs to know of a flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// From its call to its leaving the stage.
    pub(crate) stayed: Duration,
    pub(crate) has_plane: bool,
    pub(crate) has_airport: bool,
}

impl Shown {
    pub(crate) const fn new(stayed: Duration, row: &Enriched) -> Self {
        let (has_plane, has_airport) = (row.plane.is_some(), row.airport.is_some());
        Self { stayed, has_plane, has_airport }
    }
}
