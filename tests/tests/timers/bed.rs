//! What the tests of timers share: an operator whose records say which timers to set.

use std::sync::Arc;
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Clock, Collected, KeyHash, Keyed, Timer, TimerDomain, TimerEdit};
use millstream_testkit::{Feed, ManualClock, until};
use serde::{Deserialize, Serialize};

use TimerDomain::{Event, Processing};

/// What a record says to the operator about its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Say {
    Set(TimerDomain, i64),
    Delete(TimerDomain, i64),
    /// A timer that sets the next one so much later when it fires, for ever.
    Every(i64, i64),
    Fail,
}

/// A key, and which period its timer has, if it has one.
pub type Payload = (u64, Option<i64>);

/// Does what its records say, and tells what fires.
pub struct Alarms {
    pub fires_at_end: bool,
}

fn timer(domain: TimerDomain, millis: i64, hash: KeyHash, payload: Payload) -> Timer<Payload> {
    Timer { time: Timestamp::from_millis(millis).unwrap(), domain, hash, payload }
}

impl Operator for Alarms {
    type In = Keyed<u64, (u64, Say)>;
    type Out = String;
    type Timer = Payload;

    fn on_record(
        &mut self,
        record: Stamped<Self::In>,
        out: &mut Effects<String, Payload>,
    ) -> Result<(), Failure> {
        let Keyed { hash, key, value: (_, say) } = record.value;
        out.timer(match say {
            Say::Set(domain, at) => TimerEdit::Set(timer(domain, at, hash, (key, None))),
            Say::Delete(domain, at) => TimerEdit::Delete(timer(domain, at, hash, (key, None))),
            Say::Every(at, period) => {
                TimerEdit::Set(timer(Processing, at, hash, (key, Some(period))))
            }
            Say::Fail => return Err(Failure::new("it was told to")),
        });
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Timer<Payload>,
        out: &mut Effects<String, Payload>,
    ) -> Result<(), Failure> {
        let Timer { time, domain, hash, payload: (key, period) } = fired;
        let late = match domain {
            Event => String::new(),
            Processing => match out.now().millis_since(time) {
                late @ 1.. => format!("+{late}"),
                _ => String::new(),
            },
        };
        out.emit(Stamped::new(format!("{key}:{}{late}", time.millis())));
        if let Some(period) = period {
            let next = timer(domain, time.millis() + period, hash, (key, Some(period)));
            out.timer(TimerEdit::Set(next));
        }
        Ok(())
    }

    fn fires_at_end(&self) -> bool {
        self.fires_at_end
    }
}

/// A job of one stage of timers that a test feeds by hand, on a clock that it moves.
pub struct Bed {
    pub feed: Feed<(u64, Say)>,
    pub clock: ManualClock,
    pub job: Job,
    pub out: Collected<String>,
}

impl Bed {
    pub async fn new() -> Self {
        Self::with(Settings::new()).await
    }

    pub async fn with(settings: Settings) -> Self {
        let (flow, feed, clock) = (Dataflow::new("timers"), Feed::new(), ManualClock::new());
        let out = flow
            .source("feed", feed.clone())
            .key_by(|(key, _): &(u64, Say)| *key)
            .operator("say", |_: &_| Alarms { fires_at_end: false })
            .collect("out");
        // The job itself waits for one moment, which is far away.
        let settings = settings.clock(Arc::new(clock.clone())).start_wait(Duration::MAX);
        let job = flow.start(settings).await.unwrap();
        Self { feed, clock, job, out }
    }

    /// These say something about their keys.
    pub async fn says(&self, says: impl IntoIterator<Item = (u64, Say)>) {
        self.feed.give(says);
        idle().await;
    }

    /// The clock on the wall shows this, and what came of it.
    pub async fn shows(&self, millis: i64) -> Vec<String> {
        let by = u64::try_from(millis - self.clock.wall().millis()).unwrap();
        self.clock.advance(Duration::from_millis(by));
        idle().await;
        self.out.take()
    }

    /// When the clock is to wake somebody, in milliseconds; at most one is asked for.
    pub fn armed(&self) -> Option<u64> {
        assert!(self.clock.waiting() <= 2, "{:?}", self.clock);
        let first = self.clock.next_wake().map(|moment| moment.nanos());
        first.filter(|nanos| *nanos < u64::MAX).map(|nanos| nanos / 1_000_000)
    }
}

/// Resolves when nobody has anything to do but wait. For simulated time, where a millisecond only
/// passes when the thread is idle.
pub async fn idle() {
    let mut asked = 0;
    until(|| {
        asked += 1;
        asked > 1
    })
    .await;
}
