//! A place in an output's tree where event time begins: records get their times, watermarks follow.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use millstream_core::{Data, Failure, Mark, Moment, Stamped, Timestamp};
use millstream_operators::let_go_all;
use millstream_operators::progress::{WatermarkStrategy, Watermarker};

use super::branch::{Branch, Outgoing, Split};
use super::held::Held;

/// Gives records their times, and makes watermarks and status of them in place of those that come
/// from in front. Only the final watermark is passed on as it is.
pub(crate) struct EventTime<T, F, S: WatermarkStrategy<T>> {
    time: F,
    watermarks: Watermarker<S, S::State>,
    every: Duration,
    next_look: Moment,
    next: Box<dyn Branch<T>>,
    held: Held<T>,
    /// Records with their times, which go on next.
    made: Vec<Stamped<T>>,
    failed: bool,
}

/// Records that go on at once.
const PIECE: usize = 1_024;

/// A function that tells times has told the one that stands for none.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the time of a record is {}, which stands for a record without a time", i64::MIN)]
struct NoTime;

impl<T, F, S> EventTime<T, F, S>
where
    T: Data,
    F: Fn(&T) -> i64,
    S: WatermarkStrategy<T>,
{
    pub(crate) fn new(
        time: F,
        strategy: S,
        every: Duration,
        idle_after: Option<Duration>,
        next: Box<dyn Branch<T>>,
    ) -> Self {
        Self {
            time,
            watermarks: Watermarker::new(strategy, idle_after),
            every,
            next_look: Moment::ZERO,
            next,
            held: Held::new(),
            made: Vec::new(),
            failed: false,
        }
    }

    /// Works off what is held, as far as there is room behind.
    fn go_on(&mut self) -> Result<(), Failure> {
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        if !matches!(worked, Ok(Ok(()))) {
            self.failed = true;
            self.held.give_up();
        }
        worked.unwrap_or_else(|payload| resume_unwind(payload))
    }

    fn work(&mut self) -> Result<(), Failure> {
        if !self.held.records.is_empty() && self.watermarks.begins() {
            self.next.mark(Mark::Active)?;
        }
        while !self.held.records.is_empty() && !self.next.blocked() {
            let mut watermark = None;
            let mut failure = None;
            while watermark.is_none()
                && self.made.len() < PIECE
                && let Some(record) = self.held.records.last()
            {
                let Ok(at) = Timestamp::from_millis((self.time)(&record.value)) else {
                    failure = Some(Failure::new(NoTime));
                    break;
                };
                watermark = self.watermarks.passes(&record.value, at);
                let value = self.held.records.pop().map(|record| Stamped::at(record.value, at));
                self.made.extend(value);
            }
            // What stands in front of a failure is delivered.
            self.next.records(&mut self.made)?;
            failure.map_or(Ok(()), Err)?;
            if let Some(watermark) = watermark {
                self.next.mark(Mark::Watermark(watermark))?;
            }
        }
        if self.held.records.is_empty() {
            for mark in std::mem::take(&mut self.held.marks) {
                self.pass(mark)?;
            }
        }
        Ok(())
    }

    fn pass(&mut self, mark: Mark) -> Result<(), Failure> {
        match mark {
            Mark::Watermark(Timestamp::MAX) => {
                let mut marks = Vec::new();
                self.watermarks.ends(&mut marks);
                marks.into_iter().try_for_each(|mark| self.next.mark(mark))
            }
            // Event time begins here.
            Mark::Watermark(_) | Mark::Idle | Mark::Active => Ok(()),
            Mark::Barrier(_) | Mark::End => self.next.mark(mark),
        }
    }
}

impl<T, F, S> Branch<T> for EventTime<T, F, S>
where
    T: Data,
    F: Fn(&T) -> i64,
    S: WatermarkStrategy<T>,
{
    fn records(&mut self, records: &mut Vec<Stamped<T>>) -> Result<(), Failure> {
        if self.failed {
            let_go_all(records);
            return Ok(());
        }
        self.held.put(records);
        self.go_on()
    }
}

impl<T, F, S> Outgoing for EventTime<T, F, S>
where
    T: Data,
    F: Fn(&T) -> i64,
    S: WatermarkStrategy<T>,
{
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        if self.held.is_empty() {
            return self.pass(mark);
        }
        self.held.marks.push(mark);
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.next.advance()?;
        if self.held.is_empty() || self.next.blocked() { Ok(()) } else { self.go_on() }
    }

    fn split(&mut self, split: Split) {
        match split {
            Split::Are(splits) => self.watermarks.has(splits),
            Split::Reads(split) => self.watermarks.reads(split),
            Split::Ended(split) => self.watermarks.ended(split),
        }
        self.next.split(split);
    }

    fn look(&mut self, now: Moment) -> Result<(), Failure> {
        if self.next.blocked() {
            self.watermarks.is_blocked();
        }
        if self.next_look <= now && !self.failed {
            self.next_look = now.plus(self.every);
            let mut marks = Vec::new();
            self.watermarks.look(now, &mut marks);
            marks.into_iter().try_for_each(|mark| self.next.mark(mark))?;
        }
        self.next.look(now)
    }

    fn next_look(&self) -> Option<Moment> {
        let behind = self.next.next_look();
        Some(behind.map_or(self.next_look, |behind| behind.min(self.next_look)))
    }

    fn flush(&mut self) {
        self.next.flush();
    }

    fn holding(&self) -> bool {
        !self.held.is_empty() || self.next.holding()
    }

    fn blocked(&self) -> bool {
        !self.held.is_empty() || self.next.blocked()
    }

    fn filling(&self) -> bool {
        self.next.filling()
    }

    fn wait(&self) -> bool {
        self.next.wait()
    }

    fn take_sent(&mut self) -> u64 {
        self.next.take_sent()
    }

    fn batch_records(&self) -> usize {
        self.next.batch_records()
    }
}

impl<T, F, S: WatermarkStrategy<T>> Drop for EventTime<T, F, S> {
    fn drop(&mut self) {
        let_go_all(&mut self.made);
    }
}
