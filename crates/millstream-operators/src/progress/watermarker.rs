//! The watermarks of all splits that a task reads, made into one.

use std::time::Duration;

use millstream_core::{Mark, Moment, Timestamp};

use super::idleness::Idleness;
use super::strategy::WatermarkStrategy;
use super::{Frontier, Progress};

/// Makes watermarks and status of what passes, for all splits that a task reads.
///
/// Each split has a watermark of its own; the least of those that are active is given out, as
/// [`Frontier`] says. A split that is idle or has ended is not waited for. Without splits there is
/// no watermark, and the task is not idle.
#[derive(Clone, Debug)]
pub struct Watermarker<S, St> {
    strategy: S,
    idle_after: Option<Duration>,
    splits: Vec<Split<St>>,
    /// Whose records come.
    now: usize,
    frontier: Frontier,
    given: Option<Timestamp>,
    idle: bool,
    /// Records could not be passed on at some time since the last look.
    blocked: bool,
}

#[derive(Clone, Debug)]
struct Split<St> {
    state: St,
    idleness: Option<Idleness>,
    idle: bool,
    ended: bool,
}

impl<S, St: Clone + Default> Watermarker<S, St> {
    /// One for a task that reads one split, which is idle after this time, if ever.
    pub fn new(strategy: S, idle_after: Option<Duration>) -> Self {
        let (splits, frontier) = (Vec::new(), Frontier::new(0));
        let mut new = Self {
            strategy,
            idle_after,
            splits,
            now: 0,
            frontier,
            given: None,
            idle: false,
            blocked: false,
        };
        new.has(1);
        new
    }

    /// The task reads so many splits. Said before anything passes.
    pub fn has(&mut self, splits: usize) {
        let idleness = self.idle_after.map(Idleness::after);
        let split = Split { state: St::default(), idleness, idle: false, ended: false };
        self.splits = vec![split; splits];
        self.frontier = Frontier::new(splits);
        self.now = 0;
    }

    /// The records that come next are those of this split.
    pub const fn reads(&mut self, split: usize) {
        self.now = split;
    }

    /// A split has ended. The others are not told of it before something passes.
    pub fn ended(&mut self, split: usize) {
        if let Some(of) = self.splits.get_mut(split)
            && !of.ended
        {
            of.ended = true;
            self.frontier.end(split);
        }
    }

    /// Records cannot be passed on.
    pub const fn is_blocked(&mut self) {
        self.blocked = true;
    }

    /// Records of the split that is read are about to pass. Whether the task is active again by
    /// them, which is to be said in front of them.
    pub fn begins(&mut self) -> bool {
        let Some(split) = self.splits.get_mut(self.now) else { return false };
        if std::mem::replace(&mut split.idle, false) {
            self.frontier.active(self.now);
        }
        std::mem::take(&mut self.idle)
    }

    /// A record passes. A watermark that follows it at once, if there is one.
    #[inline]
    pub fn passes<T>(&mut self, value: &T, at: Timestamp) -> Option<Timestamp>
    where
        S: WatermarkStrategy<T, State = St>,
    {
        let split = self.splits.get_mut(self.now)?;
        split.idleness.iter_mut().for_each(Idleness::comes);
        let watermark = self.strategy.on_record(&mut split.state, value, at)?;
        self.frontier.watermark(self.now, watermark);
        self.rises()
    }

    /// A look at the clock. Marks that follow, in order.
    pub fn look<T>(&mut self, now: Moment, marks: &mut Vec<Mark>)
    where
        S: WatermarkStrategy<T, State = St>,
    {
        let blocked = std::mem::take(&mut self.blocked);
        let mut all_idle = false;
        for (at, split) in self.splits.iter_mut().enumerate().filter(|(_, split)| !split.ended) {
            if let Some(watermark) = self.strategy.current(&split.state) {
                self.frontier.watermark(at, watermark);
            }
            let idle = split.idleness.as_mut().is_some_and(|it| it.look(now, blocked));
            if idle && !std::mem::replace(&mut split.idle, true) {
                all_idle |= matches!(self.frontier.idle(at), Progress::Idle(_));
            }
        }
        marks.extend(self.rises().map(Mark::Watermark));
        if all_idle {
            self.idle = true;
            marks.push(Mark::Idle);
        }
    }

    /// All splits have ended: the marks in front of the end.
    pub fn ends(&mut self, marks: &mut Vec<Mark>) {
        if std::mem::take(&mut self.idle) {
            marks.push(Mark::Active);
        }
        if self.given != Some(Timestamp::MAX) {
            self.given = Some(Timestamp::MAX);
            marks.push(Mark::Watermark(Timestamp::MAX));
        }
    }

    /// The watermark, if it has risen.
    fn rises(&mut self) -> Option<Timestamp> {
        let reached = self.frontier.reached();
        if reached <= self.given || self.idle {
            return None;
        }
        self.given = reached;
        reached
    }
}
