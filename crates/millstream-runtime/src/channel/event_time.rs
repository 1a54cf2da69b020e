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

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use millstream_operators::progress::Bounded;

    use super::*;

    /// What stands behind, which notes what it is given and has room when the test says so.
    #[derive(Clone, Default)]
    struct Ear {
        heard: Rc<RefCell<Vec<String>>>,
        blocked: Rc<Cell<bool>>,
    }

    impl Branch<i64> for Ear {
        fn records(&mut self, records: &mut Vec<Stamped<i64>>) -> Result<(), Failure> {
            let text = |it: Stamped<i64>| format!("{}@{:?}", it.value, it.timestamp().unwrap());
            self.heard.borrow_mut().extend(records.drain(..).map(text));
            Ok(())
        }
    }

    impl Outgoing for Ear {
        fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
            self.heard.borrow_mut().push(format!("{mark:?}"));
            Ok(())
        }

        fn advance(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn flush(&mut self) {}

        fn holding(&self) -> bool {
            self.blocked.get()
        }

        fn blocked(&self) -> bool {
            self.blocked.get()
        }

        fn filling(&self) -> bool {
            false
        }

        fn wait(&self) -> bool {
            true
        }

        fn take_sent(&mut self) -> u64 {
            0
        }

        fn batch_records(&self) -> usize {
            usize::MAX
        }
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn begins(ear: &Ear) -> EventTime<i64, fn(&i64) -> i64, Bounded> {
        let time: fn(&i64) -> i64 = |value| *value;
        EventTime::new(time, Bounded::by(ms(0)), ms(100), Some(ms(100)), Box::new(ear.clone()))
    }

    #[test]
    fn time_in_which_there_is_no_room_does_not_make_idle() {
        let ear = Ear::default();
        let mut of = begins(&ear);
        let mut look = |n: u64| of.look(Moment::ZERO.plus(ms(100 * n))).unwrap();
        ear.blocked.set(true);
        (0..20).for_each(&mut look);
        assert_eq!(ear.heard.take(), [""; 0]);
        ear.blocked.set(false);
        (20..30).for_each(&mut look);
        assert_eq!(ear.heard.take(), ["Idle"]);
    }

    #[test]
    fn what_finds_no_room_waits_with_the_marks_behind_it() {
        let ear = Ear::default();
        let mut of = begins(&ear);
        ear.blocked.set(true);
        of.records(&mut vec![Stamped::new(5), Stamped::new(7)]).unwrap();
        of.mark(Mark::Watermark(Timestamp::MAX)).unwrap();
        of.mark(Mark::End).unwrap();
        assert!(of.holding() && of.blocked());
        assert_eq!(ear.heard.take(), [""; 0]);
        ear.blocked.set(false);
        of.advance().unwrap();
        assert!(!of.holding() && !of.blocked());
        let last = "Watermark(9223372036854775807ms)";
        assert_eq!(ear.heard.take(), ["5@5ms", "7@7ms", last, "End"]);
    }
}
