//! The half of the timers that lives in the task: what it has said, and what it has in hand.

use std::collections::VecDeque;

use millstream_core::{Epoch, Key, Timestamp};

use super::hand::{Drawn, Hand};
use super::protocol::{Edit, Edits, Firings};
use crate::{Timer, TimerDomain, TimerEdit};

/// What a task does next about its timers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<P> {
    /// Calls back for this timer.
    Fire(Timer<P>),
    /// Nothing more is due at this watermark: it is passed on, and input may follow.
    Passed(Timestamp),
    /// The input has ended and no timer is left; so many were dropped.
    Ended {
        /// How many.
        dropped: usize,
    },
    /// Nothing, until the service has said something.
    Nothing,
}

/// The half of the timers that lives in the task.
///
/// The task tells it what the operator wants and what comes in, [draws](Self::draw) callbacks from
/// it, and carries its [edits](Self::take_edits) to the [service](super::TimerService) once a turn,
/// before anything else of that turn.
///
/// # Ordering
///
/// At a watermark all event timers that are due fire, the earliest first, those too that are set by
/// callbacks meanwhile; only then the watermark is passed on. A timer that has been deleted never
/// fires, whatever was on its way. A timer that is set again before it has fired fires once.
#[derive(Debug)]
pub struct TimerClient<P> {
    edits: Vec<Edit<P>>,
    /// How many edits have been taken.
    sent: u64,
    /// No event timer is due before this; none if there is no event timer.
    earliest: Option<Timestamp>,
    step: Option<Step>,
    event: Option<Hand<P>>,
    processing: Option<Hand<P>>,
    /// Processing timers that were deleted, with the number of the edit, until the service knows:
    /// it may have sent them before.
    crossing: VecDeque<(u64, Timer<P>)>,
    /// How many timers were dropped after the end of the input.
    dropped: Option<usize>,
}

/// The watermark at which timers are being fired.
#[derive(Debug)]
struct Step {
    watermark: Timestamp,
    /// The list in hand is the last one.
    last: bool,
    /// A timer was set after the service was asked that is due at this watermark and not in the
    /// hand.
    beyond: bool,
}

impl<P: Key> Default for TimerClient<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Key> TimerClient<P> {
    /// Of a task without timers.
    pub const fn new() -> Self {
        Self {
            edits: Vec::new(),
            sent: 0,
            earliest: None,
            step: None,
            event: None,
            processing: None,
            crossing: VecDeque::new(),
            dropped: None,
        }
    }

    /// Of a task whose timers come back from a snapshot. If that was taken with a step open, its
    /// watermark [comes](Self::watermark) again, after the operator has been opened and before any
    /// input.
    pub fn restored() -> Self {
        // Nothing is known of them until the service has been asked.
        Self { earliest: Some(Timestamp::MIN), ..Self::new() }
    }

    /// The operator sets a timer.
    pub fn set(&mut self, timer: Timer<P>) {
        self.settle();
        if timer.domain == TimerDomain::Event {
            match (&mut self.step, &mut self.event) {
                (Some(_), Some(hand)) if hand.listed.covers(timer.time) => {
                    if hand.listed.contains(&timer) {
                        return;
                    }
                    hand.set(&timer);
                }
                (Some(step), _) if timer.time <= step.watermark => step.beyond = true,
                _ => {
                    let earliest = self.earliest.map_or(timer.time, |it| it.min(timer.time));
                    self.earliest = Some(earliest);
                }
            }
        }
        self.edits.push(Edit::Set(timer));
    }

    /// The operator sets and deletes these, outside of the callbacks of timers.
    pub fn edit(&mut self, edits: &mut Vec<TimerEdit<P>>) {
        if self.step.is_some() || self.event.is_some() || self.processing.is_some() {
            return edits.drain(..).for_each(|edit| match edit {
                TimerEdit::Set(timer) => self.set(timer),
                TimerEdit::Delete(timer) => self.delete(timer),
            });
        }
        // Nothing is in hand, so a timer that is set is a line in the list and no more.
        self.edits.reserve(edits.len());
        for edit in edits.drain(..) {
            match edit {
                TimerEdit::Set(timer) => {
                    if timer.domain == TimerDomain::Event
                        && self.earliest.is_none_or(|earliest| timer.time < earliest)
                    {
                        self.earliest = Some(timer.time);
                    }
                    self.edits.push(Edit::Set(timer));
                }
                TimerEdit::Delete(timer) => self.delete(timer),
            }
        }
    }

    /// The operator deletes a timer; nothing happens if there is none.
    pub fn delete(&mut self, timer: Timer<P>) {
        self.settle();
        let hand = match timer.domain {
            TimerDomain::Event => &mut self.event,
            TimerDomain::Processing => {
                self.crossing.push_back((self.sent + self.edits.len() as u64, timer.clone()));
                &mut self.processing
            }
        };
        if let Some(hand) = hand {
            hand.delete(&timer);
        }
        self.edits.push(Edit::Delete(timer));
    }

    /// A watermark has come, and no other step is open. Whether one is now: if not, nothing is due
    /// and the watermark may be passed on.
    pub fn watermark(&mut self, watermark: Timestamp) -> bool {
        let due = self.earliest.is_some_and(|earliest| earliest <= watermark);
        if due && self.step.is_none() {
            self.ask(watermark);
        }
        due
    }

    fn ask(&mut self, watermark: Timestamp) {
        self.step = Some(Step { watermark, last: false, beyond: false });
        self.edits.push(Edit::Step(watermark));
    }

    /// The watermark at which timers are being fired. While there is one, the task takes neither
    /// records nor marks but barriers.
    pub fn step(&self) -> Option<Timestamp> {
        self.step.as_ref().map(|step| step.watermark)
    }

    /// A barrier is taken: between two callbacks, whether or not a step is open.
    pub fn barrier(&mut self, epoch: Epoch) {
        self.settle();
        self.edits.push(Edit::Freeze(epoch));
    }

    /// The input has ended and all event timers have fired. Processing timers that are set fire now
    /// or are dropped; it is [drawn](Self::draw) when that is over.
    pub fn end(&mut self, fire: bool) {
        self.settle();
        self.edits.push(Edit::End { fire });
    }

    /// The service has sent timers that are due.
    pub fn firings(&mut self, firings: Firings<P>) {
        self.knows(firings.knows);
        self.dropped = firings.dropped.or(self.dropped);
        let mut hand = Hand::new(firings.domain, firings.list, firings.timers);
        match firings.domain {
            TimerDomain::Event => {
                // Nothing is set between the question and the answer.
                self.earliest = firings.next;
                if let Some(step) = &mut self.step {
                    step.last = firings.last;
                }
                self.event = Some(hand);
            }
            TimerDomain::Processing => {
                for (_, timer) in &self.crossing {
                    hand.delete(timer);
                }
                self.processing = Some(hand);
            }
        }
    }

    /// The service knows of so many edits.
    pub fn knows(&mut self, edits: u64) {
        while self.crossing.front().is_some_and(|(number, _)| *number < edits) {
            self.crossing.pop_front();
        }
    }

    /// What is to be done next.
    pub fn draw(&mut self) -> Next<P> {
        let Some(step) = &self.step else { return self.next_processing() };
        let Some(hand) = &mut self.event else { return Next::Nothing };
        match hand.draw() {
            Some(Drawn::Listed(timer)) => return Next::Fire(timer),
            Some(Drawn::Own(timer)) => {
                // Before its callback, which may set it again.
                self.settle();
                self.edits.push(Edit::Delete(timer.clone()));
                return Next::Fire(timer);
            }
            None => {}
        }
        let watermark = step.watermark;
        let over = step.last && !step.beyond;
        self.settle();
        self.event = None;
        if over {
            self.step = None;
            return Next::Passed(watermark);
        }
        self.ask(watermark);
        Next::Nothing
    }

    fn next_processing(&mut self) -> Next<P> {
        let Some(hand) = &mut self.processing else {
            return self.dropped.take().map_or(Next::Nothing, |dropped| Next::Ended { dropped });
        };
        if let Some(Drawn::Listed(timer) | Drawn::Own(timer)) = hand.draw() {
            return Next::Fire(timer);
        }
        self.settle();
        self.processing = None;
        self.next_processing()
    }

    /// What is to be told to the service, if there is anything.
    pub fn take_edits(&mut self) -> Option<Edits<P>> {
        self.settle();
        if self.edits.is_empty() {
            return None;
        }
        let (before, edits) = (self.sent, std::mem::take(&mut self.edits));
        self.sent += edits.len() as u64;
        Some(Edits { before, edits })
    }

    /// A buffer in which edits were, empty, for those to come.
    pub fn reuse(&mut self, buffer: Vec<Edit<P>>) {
        if self.edits.is_empty() && self.edits.capacity() < buffer.capacity() {
            self.edits = buffer;
        }
    }

    /// What has been handled stands among the edits where it happened.
    #[inline]
    fn settle(&mut self) {
        if self.event.is_some() || self.processing.is_some() {
            self.settle_hands();
        }
    }

    fn settle_hands(&mut self) {
        let hands = [
            (TimerDomain::Event, &mut self.event),
            (TimerDomain::Processing, &mut self.processing),
        ];
        for (domain, hand) in hands {
            if let Some(Hand { listed, told, .. }) = hand
                && listed.handled > *told
            {
                let (list, timers) = (listed.list, listed.handled);
                self.edits.push(Edit::Handled { domain, list, timers });
                *told = timers;
            }
        }
    }
}
