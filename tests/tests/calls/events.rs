//! What is told about calls as events: each of them at trace level, how full a stage is at debug
//! level.

use std::io;
use std::sync::{Arc, Mutex};

use millstream::prelude::*;
use millstream_testkit::run;
use tracing::Level;
use tracing::subscriber::with_default;

use crate::desk::{Bed, Desk, ms};

/// Lines that a subscriber has written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Runs a test that is heard from this level on; the lines about calls.
    fn heard(level: Level, test: impl FnOnce()) -> Vec<String> {
        let lines = Self::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        with_default(subscriber, test);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let about = |line: &&str| line.contains("task::calls");
        text.lines().filter(about).map(str::to_owned).collect()
    }
}

/// Three calls of four that can be out: one is ready, one fails and is called again, one times out.
fn some_calls() {
    run(async {
        let desk = Desk::new();
        let theirs = desk.clone();
        let wait = AsyncWait::ordered()
            .capacity(4)
            .timeout(ms(100))
            .retry(Retry::fixed(ms(10)).max_retries(1))
            .on_timeout(OnFailure::Drop);
        let call = move |n| {
            let asked = (n > 1).then(|| theirs.call(n));
            async move {
                match asked {
                    Some(asked) => asked.await,
                    None => Ok(n),
                }
            }
        };
        let bed = Bed::calling(wait, desk, call).await;
        bed.comes([1, 2, 3]).await;
        bed.fails(2).await;
        bed.passes(10).await;
        bed.answers(2).await;
        bed.passes(90).await;
        assert_eq!(bed.ends().await, ["1", "20"]);
    });
}

#[test]
fn each_call_is_an_event_at_trace_level() {
    let lines = Lines::heard(Level::TRACE, some_calls);
    let events: Vec<&str> = lines
        .iter()
        .filter(|line| line.trim_start().starts_with("TRACE"))
        .map(|line| line.rsplit_once("events: ").unwrap().1)
        .collect();
    assert_eq!(
        events,
        [
            r#"calls life=0 record=0 attempt=1 answer="ready""#,
            r#"calls life=0 record=1 attempt=1 answer="pending""#,
            r#"calls life=0 record=2 attempt=1 answer="pending""#,
            r#"polls a call life=0 record=1 answer="failed""#,
            r#"calls life=0 record=1 attempt=2 answer="pending""#,
            r#"polls a call life=0 record=1 answer="ready""#,
            "gives up a record whose time is over life=0 record=2",
        ]
    );
}

#[test]
fn how_full_the_queue_is_is_an_event_at_debug_level_and_single_calls_are_none() {
    let lines = Lines::heard(Level::DEBUG, some_calls);
    let events: Vec<&str> =
        lines.iter().map(|line| line.rsplit_once("events: ").unwrap().1).collect();
    let told = "the queue of calls fills or empties";
    let degrees = [2, 1, 0].map(|queued| format!("{told} queued={queued} capacity=4"));
    assert_eq!(events, degrees);
    // Each line says which task it is about.
    assert!(lines.iter().all(|line| line.contains("call")), "{lines:?}");
}
