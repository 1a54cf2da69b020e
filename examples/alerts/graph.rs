//! What happened by the file, and the graph that watches it.

use std::error::Error;
use std::path::Path;

use examples::{data, rows};
use millstream::Collected;
use millstream::prelude::*;

use crate::flight::{Arrival, Clocks, Departure};
use crate::overdue::{News, Overdue};

/// The departures and arrivals of a file, each in its order.
pub(crate) async fn events(input: &Path) -> Result<(Vec<Departure>, Vec<Arrival>), Box<dyn Error>> {
    let clocks = Clocks::new(rows(&data("airports.csv.gz")).await?);
    let (mut departures, mut arrivals) = (Vec::new(), Vec::new());
    for row in rows(input).await? {
        let (left, landed) = clocks.events(&row);
        departures.extend(left);
        arrivals.extend(landed);
    }
    departures.sort_by_key(|it| it.at);
    arrivals.sort_by_key(|it| it.at);
    Ok((departures, arrivals))
}

/// The graph that watches them, and what it tells.
pub(crate) fn build(
    departures: Vec<Departure>,
    arrivals: Vec<Arrival>,
    out: &Path,
) -> (Dataflow, Collected<News>) {
    let flow = Dataflow::new("alerts");
    let departures = flow
        .source("departures", Items::from(departures))
        .event_time(|it| it.at, Watermarks::ascending())
        .key_by(|it| it.key.clone());
    let arrivals = flow
        .source("arrivals", Items::from(arrivals))
        .event_time(|it| it.at, Watermarks::ascending())
        .key_by(|it| it.key.clone());
    let [news, told] = departures.connect(arrivals).co_process("overdue", Overdue).fork();
    let _ = news.sink("out", JsonLines::to(out));
    (flow, told.collect("told"))
}
