//! The process: a timer a flight, set when it leaves and deleted when it lands.

use serde::{Deserialize, Serialize};

use millstream::Timestamp;
use millstream::prelude::*;

use crate::flight::{Arrival, Departure, FlightKey};

/// What is known of a flight that has not been settled.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Known {
    #[default]
    Nothing,
    /// It has left and is overdue then.
    Left { overdue: i64 },
    /// It has landed, and its departure has not come by its stream: nothing is said about the order
    /// between two streams.
    Landed { at: i64 },
    /// It was told of.
    Told { overdue: i64 },
}

/// A line of the file that is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum News {
    /// It should have landed half an hour ago.
    Overdue { flight: FlightKey, since_ms: i64 },
    /// It was told of, and has landed so many minutes later.
    Landed { flight: FlightKey, minutes: i64 },
}

/// Tells of flights that are overdue, and of their landing.
#[derive(Clone)]
pub(crate) struct Overdue;

impl Overdue {
    /// A flight that was told of has landed.
    fn landed(overdue: i64, at: i64, cx: &mut CoContextOf<'_, Self>) {
        let minutes = (at - overdue) / 60_000;
        cx.emit(News::Landed { flight: cx.key().clone(), minutes });
        cx.clear();
    }
}

impl KeyedCoProcess for Overdue {
    type Key = FlightKey;
    type Left = Departure;
    type Right = Arrival;
    type Out = News;
    type State = Known;
    type Timer = ();

    fn on_left(
        &mut self,
        departure: Departure,
        known: &mut Known,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let overdue = departure.overdue;
        match *known {
            Known::Landed { at } if at <= overdue => cx.clear(),
            Known::Landed { at } => {
                cx.emit(News::Overdue { flight: cx.key().clone(), since_ms: overdue });
                Self::landed(overdue, at, cx);
            }
            _ => {
                *known = Known::Left { overdue };
                cx.event_timer(Timestamp::from_millis(overdue)?, ());
            }
        }
        Ok(())
    }

    fn on_right(
        &mut self,
        arrival: Arrival,
        known: &mut Known,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let at = arrival.at;
        match *known {
            Known::Left { overdue } => {
                cx.delete_event_timer(Timestamp::from_millis(overdue)?, ());
                // The stream of arrivals may be ahead of the watermark, which fires the timer.
                if at > overdue {
                    cx.emit(News::Overdue { flight: cx.key().clone(), since_ms: overdue });
                    Self::landed(overdue, at, cx);
                } else {
                    cx.clear();
                }
            }
            Known::Told { overdue } => Self::landed(overdue, at, cx),
            _ => *known = Known::Landed { at },
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<()>,
        known: &mut Known,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let overdue = fired.at.millis();
        *known = Known::Told { overdue };
        cx.emit(News::Overdue { flight: cx.key().clone(), since_ms: overdue });
        Ok(())
    }
}
