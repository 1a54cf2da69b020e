//! What a row says, as instants.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Half an hour, in milliseconds.
const GRACE: i64 = 30 * MINUTE;

/// Hours from UTC at airports that the table does not know: all of them are in the Caribbean.
const CARIBBEAN: i64 = -4;

/// Which flight: a number of a carrier flies once a day.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct FlightKey {
    pub(crate) carrier: String,
    pub(crate) flight: u32,
    /// The day on which it was to leave, by the clocks of New York.
    pub(crate) day: u32,
}

/// A row of the file, as far as it is read. Clock times are hours and minutes in one number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    year: i64,
    month: i64,
    day: u32,
    carrier: String,
    flight: u32,
    origin: String,
    dest: String,
    sched_dep_time: i64,
    sched_arr_time: i64,
    /// Minutes; none if it never left.
    dep_delay: Option<i64>,
    arr_time: Option<i64>,
    /// Minutes; none if it landed elsewhere.
    air_time: Option<i64>,
}

/// An airport and its clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Airport {
    pub(crate) faa: String,
    /// Hours from UTC, in winter.
    pub(crate) tz: Option<i64>,
}

/// A flight has left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Departure {
    pub(crate) key: FlightKey,
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
    /// When it is overdue.
    pub(crate) overdue: i64,
}

/// A flight has landed where it was to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Arrival {
    pub(crate) key: FlightKey,
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// The clocks of all airports.
pub(crate) struct Clocks(BTreeMap<String, i64>);

impl Clocks {
    pub(crate) fn new(airports: Vec<Airport>) -> Self {
        let hours = |it: Airport| it.tz.map(|tz| (it.faa, tz));
        Self(airports.into_iter().filter_map(hours).collect())
    }

    /// The instant at which the clock of an airport shows this time, on this day or the days next
    /// to it: the first one behind `after`.
    fn first(&self, airport: &str, day: i64, clock: i64, after: i64) -> i64 {
        let zone = self.0.get(airport).copied().unwrap_or(CARIBBEAN);
        let minutes = clock / 100 * 60 + clock % 100 - zone * 60;
        let same_day = day * DAY + minutes * MINUTE;
        after + 1 + (same_day - after - 1).rem_euclid(DAY)
    }

    /// What became of the flight of a row: whether it left, and whether it landed.
    pub(crate) fn events(&self, row: &Row) -> (Option<Departure>, Option<Arrival>) {
        let Row { carrier, flight, day, .. } = row;
        let key = FlightKey { carrier: carrier.clone(), flight: *flight, day: *day };
        let Some(delay) = row.dep_delay else { return (None, None) };
        let day = days_since_1970(row.year, row.month, i64::from(*day));
        // The day begins at midnight in New York, which is five hours behind UTC in winter.
        let midnight = day * DAY + 5 * 60 * MINUTE - 1;
        let scheduled = self.first(&row.origin, day, row.sched_dep_time, midnight);
        let due = self.first(&row.dest, day, row.sched_arr_time, scheduled);
        let at = scheduled + delay * MINUTE;
        let departure = Departure { key: key.clone(), at, overdue: due + GRACE };
        let landed = row.arr_time.filter(|_| row.air_time.is_some());
        let landed = landed.map(|clock| self.first(&row.dest, day, clock, at));
        (Some(departure), landed.map(|at| Arrival { key, at }))
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let dates = [(1970, 1, 1), (1970, 3, 1), (2000, 2, 29), (2000, 3, 1), (2013, 1, 1)];
        let days = dates.map(|(year, month, day)| days_since_1970(year, month, day));
        assert_eq!(days, [0, 59, 11_016, 11_017, 15_706]);
    }

    #[test]
    fn a_clock_time_is_the_first_instant_behind_another_one() {
        let clocks = Clocks::new(vec![Airport { faa: "EWR".to_owned(), tz: Some(-5) }]);
        let at = |clock, after| clocks.first("EWR", 0, clock, after) / MINUTE;
        assert_eq!(at(30, 0), 5 * 60 + 30);
        assert_eq!(at(30, 5 * 60 * MINUTE + 30 * MINUTE), 29 * 60 + 30, "behind, not at");
        assert_eq!(at(2_400, 0), 5 * 60, "midnight is the end of a day and the beginning of one");
    }
}
