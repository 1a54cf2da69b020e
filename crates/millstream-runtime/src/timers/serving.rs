//! What a timer actor does in a turn: edits first, then what is due, then one wake-up at the clock.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use millstream_core::{Clock, Failure, Key, KeyGroups, Moment, Timestamp};
use millstream_operators::timers::{Edit, Edits, TimerHeap, TimerService};

use super::line::Line;
use crate::alarm::Alarm;
use crate::panic::{TaskFailure, panic_message};

/// The longest sleep before the clock on the wall is looked at again: it may have been set, and a
/// machine that slept has a monotonic clock that did not go on.
const SLICE: Duration = Duration::from_secs(30);

/// A wall clock that has gone further than the monotonic one by so much, or less far, was set.
const JUMP: Duration = Duration::from_secs(1);

/// Edits between two looks at the clock.
const PIECE: usize = 64;

/// Whether a turn has done all there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Edits are left.
    Left,
    /// Nothing to do before an edit comes or a timer is due.
    Done,
}

/// What a timer actor works with.
pub(super) struct Serving<P: Key> {
    service: TimerService<P, TimerHeap<P>>,
    line: Rc<Line<P>>,
    lists: VecDeque<Edits<P>>,
    /// The list that is being worked off, the last one first: so its buffer can go back.
    current: Vec<Edit<P>>,
    alarm: Alarm,
    /// The two clocks when they were last looked at together.
    looked: Option<(Timestamp, Moment)>,
    of: TimersOf,
}

/// What it is made of besides its timers.
#[derive(Clone)]
pub(crate) struct TimersOf {
    pub(crate) task: Arc<str>,
    pub(crate) key_groups: KeyGroups,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) turn_records: usize,
    pub(crate) turn_time: Duration,
    pub(crate) timer_batch: usize,
}

impl<P: Key> Serving<P> {
    pub(super) fn new(of: TimersOf) -> Self {
        let queue = TimerHeap::new(of.key_groups);
        Self {
            service: TimerService::new(queue, of.key_groups, of.timer_batch),
            line: Rc::new(Line::new()),
            lists: VecDeque::new(),
            current: Vec::new(),
            alarm: Alarm::default(),
            looked: None,
            of,
        }
    }

    pub(super) fn line(&self) -> Rc<Line<P>> {
        self.line.clone()
    }

    pub(super) fn file(&mut self, edits: Edits<P>) {
        self.lists.push_back(edits);
    }

    /// A turn, behind a panic border: a user's key is compared, hashed, cloned and dropped in it.
    pub(super) fn turn(&mut self, cx: &mut Context<'_>) -> Result<Work, TaskFailure> {
        match catch_unwind(AssertUnwindSafe(|| self.work(cx))) {
            Ok(Ok(work)) => Ok(work),
            Ok(Err(failure)) => Err(TaskFailure::Error(failure)),
            Err(payload) => Err(TaskFailure::Panic(panic_message(payload))),
        }
    }

    fn work(&mut self, cx: &mut Context<'_>) -> Result<Work, Failure> {
        let until = self.of.clock.monotonic().plus(self.of.turn_time);
        let mut left = self.of.turn_records;
        while left > 0 && self.edit_some(left.min(PIECE))? {
            left -= left.min(PIECE);
            if self.of.clock.monotonic() >= until {
                left = 0;
            }
        }
        let all = left > 0;
        self.line.knows(self.service.known(), all);
        loop {
            let wall = self.of.clock.wall();
            while let Some(firings) = self.service.due(wall)? {
                self.line.fire(firings);
            }
            // The longest way to a wake-up in the past: none is armed, the loop comes round.
            let due = self.service.wakes()?.map(|due| self.wake_moment(due, wall));
            if !self.alarm.rings(due, &*self.of.clock, cx) {
                return Ok(if all { Work::Done } else { Work::Left });
            }
        }
    }

    /// Works off so many edits; false if there are no more.
    fn edit_some(&mut self, n: usize) -> Result<bool, Failure> {
        for _ in 0..n {
            let edit = loop {
                if let Some(edit) = self.current.pop() {
                    break edit;
                }
                self.line.give_back(std::mem::take(&mut self.current));
                let Some(mut edits) = self.lists.pop_front() else { return Ok(false) };
                self.service.begin(&edits)?;
                edits.edits.reverse();
                self.current = edits.edits;
            };
            self.service.edit(edit)?;
        }
        Ok(true)
    }

    /// When the clock on the wall will show `due`, or has to be looked at again before that.
    fn wake_moment(&mut self, due: Timestamp, wall: Timestamp) -> Moment {
        let now = self.of.clock.monotonic();
        if let Some((wall_before, before)) = self.looked.replace((wall, now)) {
            let (by_wall, passed) = (wall.millis_since(wall_before), now.since(before));
            let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
            let jump = by_wall.saturating_sub(passed);
            if jump.unsigned_abs() >= JUMP.as_millis() as u64 {
                tracing::warn!(
                    task = &*self.of.task,
                    jump_ms = jump,
                    "the clock on the wall was set"
                );
            }
        }
        let ahead = u64::try_from(due.millis_since(wall)).unwrap_or(0);
        now.plus(Duration::from_millis(ahead).min(SLICE))
    }
}
