//! What happens to a task of calls: opening, records, watermarks, turns, the end.

use std::task::{Context, Poll, Waker};

use millstream_core::{Clock, Failure, Mark, Stamped, Timestamp};
use millstream_runtime::{Caller, CallsByHand, Offload, TaskContext};

use super::{CallHarness, State};
use crate::harness::Element;
use crate::refuse::refuse;

/// Steps after which a call is said to wake itself for ever.
const STEPS: usize = 1_000_000;

impl<C: Caller> CallHarness<C> {
    /// A record without a timestamp.
    ///
    /// # Panics
    ///
    /// After the end or a failure, and when the task fails.
    #[track_caller]
    pub fn record(&mut self, value: C::In) -> &mut Self {
        self.come(Element::Record(Stamped::new(value)))
    }

    /// A record of this time.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), and when there is no such time.
    #[track_caller]
    pub fn record_at(&mut self, value: C::In, millis: i64) -> &mut Self {
        self.come(Element::Record(Stamped::at(value, time(millis))))
    }

    /// A watermark, which waits for the calls in front of it.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record), and when it does not rise.
    #[track_caller]
    pub fn watermark(&mut self, millis: i64) -> &mut Self {
        self.come(Element::Mark(Mark::Watermark(time(millis))))
    }

    /// The input ends. When all calls have answered, the function is closed and the end passed on.
    ///
    /// # Panics
    ///
    /// As [`record`](Self::record).
    #[track_caller]
    pub fn end(&mut self) -> &mut Self {
        self.come(Element::Mark(Mark::End))
    }

    /// Whether everything is over: the end has been passed on.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Does all that can be done now.
    ///
    /// # Panics
    ///
    /// After a failure, when the task fails, and when a call wakes itself for ever.
    #[track_caller]
    pub fn turn(&mut self) -> &mut Self {
        match self.try_turn() {
            Ok(()) => self,
            Err(failure) => refuse(format!("the task fails: {failure}")),
        }
    }

    /// As [`turn`](Self::turn).
    ///
    /// # Errors
    ///
    /// What fails the task.
    ///
    /// # Panics
    ///
    /// After a failure, and when a call wakes itself for ever.
    #[track_caller]
    pub fn try_turn(&mut self) -> Result<(), Failure> {
        if self.failed {
            refuse("a turn after a failure: nothing is called after one");
        }
        let done = self.open().and_then(|()| self.work());
        done.inspect_err(|_| self.failed = true)
    }

    #[track_caller]
    fn come(&mut self, element: Element<C::In>) -> &mut Self {
        let allowed = match &element {
            Element::Record(_) => self.grammar.record(),
            Element::Mark(mark) => self.grammar.mark(*mark),
        };
        if let Err(error) = allowed {
            refuse(error.to_string());
        }
        self.input.push_back(element);
        self.turn()
    }

    /// Opens the function, as far as that goes without waiting.
    fn open(&mut self) -> Result<(), Failure> {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Created(caller) => State::Opening(Box::pin(caller.open(TaskContext {
                info: self.task.clone(),
                clock: self.shared_clock(),
                offload: Offload::pool(),
            }))),
            state => state,
        };
        let State::Opening(opening) = &mut self.state else { return Ok(()) };
        let Poll::Ready(caller) = opening.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            return Ok(());
        };
        let (info, limits) = (self.task.clone(), self.limits.clone());
        let mut running = CallsByHand::new(info, limits, caller?, self.side_buffers());
        if let Some(stored) = self.stored.take() {
            super::snapshot::give_back(&mut running, &stored)?;
        }
        running.wait().resume();
        self.state = State::Open(Box::new(running));
        Ok(())
    }

    #[track_caller]
    fn work(&mut self) -> Result<(), Failure> {
        let now = self.clock.monotonic();
        let State::Open(running) = &mut self.state else { return Ok(()) };
        for _ in 0..STEPS {
            let mut worked = running.work(now)?;
            let before = self.output.len();
            write(running, &mut self.output);
            worked |= self.output.len() > before;
            while let Some(next) = self.input.front()
                && finds_room(running, next)
                && let Some(next) = self.input.pop_front()
            {
                worked = true;
                match next {
                    Element::Record(record) => running.admit(record)?,
                    Element::Mark(Mark::End) => running.wait().end(),
                    Element::Mark(mark) => running.wait().mark(mark),
                }
            }
            if worked {
                continue;
            }
            let over = self.grammar.ended() && self.input.is_empty() && running.wait().is_empty();
            if over && !self.ended {
                running.close()?;
                self.output.push(Element::Mark(Mark::End));
                self.ended = true;
            }
            return Ok(());
        }
        refuse(format!("there is still something to do after {STEPS} steps: a call wakes itself"))
    }
}

/// Everything that may go out.
pub(super) fn write<C: Caller>(running: &mut CallsByHand<C>, output: &mut Vec<Element<C::Out>>) {
    loop {
        let mark = running.write();
        output.extend(running.effects().records().drain(..).map(Element::Record));
        if let Some(mismatch) = running.effects().sides().take_mismatch() {
            refuse(mismatch);
        }
        match mark {
            Some(mark) => output.push(Element::Mark(mark)),
            None => return,
        }
    }
}

/// Whether what comes next is taken. The end always is: it holds no place.
fn finds_room<C: Caller>(running: &mut CallsByHand<C>, next: &Element<C::In>) -> bool {
    match next {
        Element::Record(record) => running.takes(record),
        Element::Mark(Mark::End) => !running.wait().is_parking(),
        Element::Mark(_) => running.wait().takes_mark(),
    }
}

/// A time of so many milliseconds.
#[track_caller]
fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or_else(|error| refuse(error.to_string()))
}
