//! Sessions: what one user does without a break of half an hour is one visit.
//!
//! A visit is over when nothing has come for half an hour of event time: a timer that each click
//! moves. A click that is later than that begins a new visit, whether or not the timer has fired by
//! then; so the visits do not depend on how fast the clicks were read.
//!
//! Run it: `cargo run --release --example sessions`

use std::error::Error;
use std::time::Duration;

use millstream::prelude::*;
use serde::{Deserialize, Serialize};

const BREAK: Duration = Duration::from_secs(30 * 60);

/// A click of a user, in minutes.
type Click = (String, i64);

/// The visit that is open: its first and its last click, and how many there were.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Visit(Option<(Timestamp, Timestamp, u32)>);

impl Visit {
    fn over(&mut self, user: &str) -> Option<String> {
        let (first, last, clicks) = self.0.take()?;
        let minute = |at: Timestamp| at.millis() / 60_000;
        Some(format!("{user} from {} to {}, clicks: {clicks}", minute(first), minute(last)))
    }
}

#[derive(Clone)]
struct Sessions;

impl KeyedProcess for Sessions {
    type Key = String;
    type In = Click;
    type Out = String;
    type State = Visit;
    type Timer = ();

    fn on_record(
        &mut self,
        _: Click,
        visit: &mut Visit,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let Some(at) = cx.timestamp() else { return Ok(()) };
        if visit.0.is_some_and(|(_, last, _)| at > last.plus(BREAK)) {
            visit.over(cx.key()).into_iter().for_each(|it| cx.emit(it));
        }
        let (first, last, clicks) = visit.0.unwrap_or((at, at, 0));
        visit.0 = Some((first.min(at), last.max(at), clicks + 1));
        cx.replace_event_timer(last.max(at).plus(BREAK), ());
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: Fired<()>,
        visit: &mut Visit,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        visit.over(cx.key()).into_iter().for_each(|it| cx.emit(it));
        cx.clear();
        Ok(())
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clicks = [("ada", 0), ("bob", 5), ("ada", 20), ("ada", 14), ("bob", 36), ("ada", 55)];
    let clicks = clicks.map(|(user, minute)| (user.to_owned(), minute));
    let flow = Dataflow::new("sessions");
    let late = Watermarks::bounded(Duration::from_secs(10 * 60));
    let visits = flow
        .source("clicks", Items::from(clicks))
        .event_time(|(_, minute)| minute * 60_000, late)
        .key_by(|(user, _)| user.clone())
        .process("sessions", Sessions)
        .collect("visits");
    flow.start(Settings::new()).await?.finished().await?;
    let mut visits = visits.take();
    visits.sort();
    visits.iter().for_each(|visit| println!("{visit}"));
    Ok(())
}
