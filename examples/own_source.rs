//! A source of one's own: the lines of several logs.
//!
//! A source is a description: it names its splits, and each split is opened where it is read, from
//! the beginning or behind a position. A reader gives at most its budget in one call and says how
//! it goes on. A position must be enough to go on with the same records in the same order.
//!
//! Run it: `cargo run --release --example own_source`

use std::error::Error;

use millstream::prelude::*;
use millstream::{Read, ReadContext, Reader, Source, TaskContext};

const LOGS: [(&str, &str); 2] =
    [("upper mill", "gate opened\nwheel started\ngate closed"), ("lower mill", "wheel started")];

/// All logs; each is a split.
#[derive(Clone)]
struct Logs;

impl Source for Logs {
    type Out = (String, String);
    type Position = usize;
    type Reader = LogReader;

    fn splits(&self) -> Vec<String> {
        LOGS.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    async fn open(
        &self,
        split: &str,
        position: Option<usize>,
        _: &TaskContext,
    ) -> Result<LogReader, Failure> {
        let log = LOGS.iter().find(|(name, _)| *name == split);
        let (name, text) = log.ok_or_else(|| Failure::new(format!("there is no log {split:?}")))?;
        Ok(LogReader { name, text, next: position.unwrap_or(0) })
    }
}

/// Reads one log; `next` is both where it is and what it needs to go on from there.
struct LogReader {
    name: &'static str,
    text: &'static str,
    next: usize,
}

impl Reader for LogReader {
    type Out = (String, String);
    type Position = usize;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, Self::Out>) -> Result<Read, Failure> {
        let budget = cx.budget();
        let lines = self.text.lines().skip(self.next).take(budget);
        cx.extend(lines.map(|line| Stamped::new((self.name.to_owned(), line.to_owned()))));
        let given = budget - cx.budget();
        self.next += given;
        // `Later` is for a reader that has nothing now and wakes the task by `cx.waker()`.
        Ok(if given < budget { Read::Ended } else { Read::Ready })
    }

    fn position(&self) -> usize {
        self.next
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("own-source");
    flow.source("logs", Logs).for_each("print", |(log, line)| println!("{log}: {line}"));
    flow.start(Settings::new()).await?.finished().await?;
    Ok(())
}
