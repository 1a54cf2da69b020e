//! What a task of calls is without its futures: who is admitted, called again, given up, sent on.

use std::collections::VecDeque;
use std::mem::needs_drop;
use std::sync::Arc;
use std::thread::panicking;
use std::time::Duration;

use millstream_core::{Attempt, Histogram, KeyGroups, Mark, Record, Stamped, TaskInfo, Timestamp};

use super::deadlines::Deadlines;
use super::delays::Delays;
use super::outcome::{DeadLetter, Out, Settled, Start};
use super::policy::{Handlers, Limits};
use super::queue::{Order, Popped, Queue, Ticket};
use super::restore::State;
use super::seen::Seen;
use super::stored::Admission;
use crate::{holding, let_go, let_go_all};

/// A stage of calls, without its futures.
///
/// Whoever runs it makes the calls that [`next_start`](Self::next_start) gives out, tells what they
/// gave ([`answered`](Self::answered)) and what time it is ([`look`](Self::look)), and sends on
/// what [`pop`](Self::pop) gives. A record that finds no room is not taken: it waits in the input,
/// or is [parked](Self::park) if it belongs to a snapshot that is due.
///
/// Exactly one outcome counts for each record, the first one: everything that comes later, from an
/// earlier attempt or for a record that has gone, is ignored.
///
/// # On recovery
///
/// The inputs that have not gone out are called again, in order, before any new one; results that
/// have not gone out are forgotten. The time and the attempts of each begin anew.
#[derive(Debug)]
pub struct AsyncWait<I, R> {
    pub(super) limits: Limits,
    /// Inputs are needed once more.
    keeps: bool,
    pub(super) subtask: u32,
    pub(super) parallelism: u32,
    pub(super) key_groups: KeyGroups,
    life: Attempt,
    /// The number of the next record of this task.
    next_number: u64,
    pub(super) queue: Queue<Call<I>, Settled<R>>,
    pub(super) runs: Deadlines,
    pub(super) delays: Delays,
    /// Delays that count from the next look at the clock.
    pub(super) undated: Vec<(Ticket, Duration)>,
    /// Calls to be made again.
    pub(super) again: VecDeque<Ticket>,
    /// What has come and found no room, in order. Everything here stands in front of new input.
    pub(super) parked: VecDeque<Parked<I>>,
    /// What the records in the queue weigh together, which may be more than one of them can.
    pub(super) weight: u128,
    pub(super) ended: bool,
    /// The newest watermark that has come.
    pub(super) watermark: Option<Timestamp>,
    pub(super) state: State<I>,
    pub(super) seen: Seen,
    pub(super) latency: Option<Arc<Histogram>>,
}

/// What is kept of a record while its first call is made.
#[derive(Debug)]
pub struct Kept<I> {
    input: Option<I>,
    weight: usize,
}

/// What has come and found no room.
#[derive(Debug)]
pub(super) enum Parked<I> {
    Record(Admission, Stamped<I>),
    Mark(Mark),
}

/// What is kept of a record in the queue, and dropped behind its result: see its `Drop`.
#[derive(Debug)]
pub(super) struct Call<I> {
    pub(super) admission: Admission,
    /// Gone once the call is made, unless inputs are kept.
    pub(super) input: Option<I>,
    pub(super) at: Stamped<()>,
    pub(super) attempt: u32,
    /// A call is out.
    pub(super) out: bool,
    pub(super) weight: usize,
}

impl<I> Drop for Call<I> {
    /// A result that panics when it is dropped is followed by its input, which may panic as well.
    fn drop(&mut self) {
        if needs_drop::<I>() && panicking() {
            let_go(self.input.take());
        }
    }
}

impl<I, R> Drop for AsyncWait<I, R> {
    /// Of the inputs that found no room, more than one may panic.
    fn drop(&mut self) {
        let_go_all(&mut Vec::from(std::mem::take(&mut self.parked)));
    }
}

impl<I: Record + Clone, R> AsyncWait<I, R> {
    /// A task of such a stage, with nothing in it. The limits are those of a stage that has
    /// [checked](Limits::check) them; what could not be kept is taken for the least that can be.
    pub fn new(limits: Limits, task: &TaskInfo) -> Self {
        Self {
            queue: Queue::new(limits.order, limits.capacity),
            runs: Deadlines::new(limits.timeout, limits.capacity),
            subtask: u32::try_from(task.subtask).unwrap_or(u32::MAX),
            parallelism: u32::try_from(task.parallelism).unwrap_or(u32::MAX),
            key_groups: task.key_groups,
            life: task.attempt,
            keeps: limits.keeps_inputs || limits.retry.is_some(),
            limits,
            next_number: 0,
            delays: Delays::default(),
            undated: Vec::new(),
            again: VecDeque::new(),
            parked: VecDeque::new(),
            weight: 0,
            ended: false,
            watermark: None,
            state: State::default(),
            seen: Seen::default(),
            latency: None,
        }
    }

    /// Whether a new record finds room.
    #[inline]
    pub fn takes(&self, input: &I, handlers: &impl Handlers<I, R>) -> bool {
        !self.is_parking() && self.queue.room().record && self.carries(input, handlers)
    }

    /// How many records can be admitted that have not gone out.
    pub const fn capacity(&self) -> usize {
        self.limits.capacity
    }

    /// Whether a new mark finds room.
    pub fn takes_mark(&self) -> bool {
        !self.is_parking() && self.queue.room().mark
    }

    #[inline]
    fn carries(&self, input: &I, handlers: &impl Handlers<I, R>) -> bool {
        let Some(most) = self.limits.weight else { return true };
        self.weight == 0 || self.weight + handlers.weight(input) as u128 <= most as u128
    }

    /// Takes a record that [finds room](Self::takes). Gives back the call that is to be made for
    /// it, if that may begin.
    pub fn admit(
        &mut self,
        record: Stamped<I>,
        handlers: &impl Handlers<I, R>,
    ) -> Option<Start<I>> {
        let admission = self.admission();
        self.queue_up(admission, record, handlers)
    }

    fn admission(&mut self) -> Admission {
        let number = self.next_number;
        self.next_number += 1;
        Admission { life: self.life, subtask: self.subtask, number }
    }

    fn queue_up(
        &mut self,
        admission: Admission,
        record: Stamped<I>,
        handlers: &impl Handlers<I, R>,
    ) -> Option<Start<I>> {
        let at = record.with(());
        let (record, (key, weight)) = holding(record, |record| {
            (handlers.key(&record.value), self.weigh(&record.value, handlers))
        });
        let call =
            Call { admission, input: Some(record.value), at, attempt: 0, out: false, weight };
        let (ticket, begins) = self.queue.admit(call, key);
        if begins { self.start(ticket) } else { None }
    }

    #[inline]
    fn weigh(&mut self, input: &I, handlers: &impl Handlers<I, R>) -> usize {
        let weight = if self.limits.weight.is_some() { handlers.weight(input) } else { 0 };
        self.weight += weight as u128;
        weight
    }

    /// Whether a record has to be in the queue before its call may be made: whether it may, depends
    /// on others. If not, [`begin`](Self::begin) is the shorter way.
    #[inline]
    pub fn queues_first(&self) -> bool {
        matches!(self.limits.order, Order::KeyOrdered { .. })
    }

    /// The place that the next record will lie in, a number below the capacity. Its call may use
    /// it until the record is over, be it that the record never has to be in the queue.
    #[inline]
    pub fn next_place(&self) -> usize {
        self.queue.next_index()
    }

    /// The first call for a record that [finds room](Self::takes) is about to be made. If its
    /// answer does not [pass](Self::passes), the record [enters](Self::enter) with what this gives.
    #[inline]
    pub fn begin(&mut self, input: &I, handlers: &impl Handlers<I, R>) -> (Admission, Kept<I>) {
        self.seen.attempts += 1;
        let weight = self.weigh(input, handlers);
        let input = if self.keeps { Some(input.clone()) } else { None };
        (self.admission(), Kept { input, weight })
    }

    /// Whether the answer of a call that has [begun](Self::begin) may go out at once: nothing waits
    /// for it, and it is the last one. The record is over then.
    #[inline]
    pub fn passes(&mut self) -> bool {
        let first = match self.limits.order {
            Order::Unordered => self.queue.marks() == 0 && self.queue.resolved() == 0,
            Order::Ordered | Order::KeyOrdered { .. } => self.queue.is_empty(),
        };
        let passes = first && self.limits.retry.is_none() && self.limits.weight.is_none();
        self.seen.at_once += u64::from(passes);
        self.seen.completed += u64::from(passes);
        passes
    }

    /// A record enters the queue whose first call has been made.
    // What is passed here is not to be written to memory and read back at once.
    #[inline(always)]
    pub fn enter(&mut self, admission: Admission, at: Stamped<()>, kept: Kept<I>) -> Ticket {
        let Kept { input, weight } = kept;
        let call = Call { admission, input, at, attempt: 1, out: true, weight };
        self.queue.admit(call, None).0
    }

    /// Takes a mark, behind everything that has come. An end or a barrier is not for here.
    pub fn mark(&mut self, mark: Mark) {
        if let Mark::Watermark(watermark) = mark {
            self.watermark = Some(watermark);
        }
        if self.is_parking() {
            self.parked.push_back(Parked::Mark(mark));
        } else {
            self.queue.mark(mark);
        }
    }

    /// Takes a record in front of a barrier for which there is no room.
    pub fn park(&mut self, record: Stamped<I>) {
        let admission = self.admission();
        self.parked.push_back(Parked::Record(admission, record));
    }

    /// Whether something has come that finds no room.
    pub fn is_parking(&self) -> bool {
        !self.parked.is_empty()
    }

    /// The next call that is to be made: for a key whose turn has come, again after a delay, or for
    /// what was parked and finds room.
    pub fn next_start(&mut self, handlers: &impl Handlers<I, R>) -> Option<Start<I>> {
        loop {
            if let Some(ticket) = self.queue.next_begin().or_else(|| self.again.pop_front()) {
                match self.start(ticket) {
                    None => continue,
                    start => return start,
                }
            }
            let room = self.queue.room();
            let fits = match self.parked.front()? {
                Parked::Mark(_) => room.mark,
                Parked::Record(_, record) => room.record && self.carries(&record.value, handlers),
            };
            if !fits {
                return None;
            }
            match self.parked.pop_front()? {
                Parked::Mark(mark) => self.queue.mark(mark),
                Parked::Record(admission, record) => {
                    if let Some(start) = self.queue_up(admission, record, handlers) {
                        return Some(start);
                    }
                }
            }
        }
    }

    fn start(&mut self, ticket: Ticket) -> Option<Start<I>> {
        let keeps = self.keeps;
        let call = self.queue.pending_mut(ticket)?;
        let input = if keeps { call.input.clone() } else { call.input.take() }?;
        call.attempt += 1;
        call.out = true;
        self.seen.attempts += 1;
        self.seen.retries += u64::from(call.attempt > 1);
        let (attempt, admission) = (call.attempt, call.admission);
        Some(Start { ticket, attempt, admission, input })
    }

    /// What goes out next.
    pub fn pop(&mut self) -> Option<Out<I, R>> {
        loop {
            match self.queue.pop()? {
                Popped::Mark(mark) => return Some(Out::Mark(mark)),
                Popped::Record(mut call, outcome) => {
                    self.weight -= call.weight as u128;
                    match (outcome, call.input.take()) {
                        (Settled::Results(results), input) => {
                            self.seen.completed += 1;
                            let (results, ()) = holding(results, |_| drop(input));
                            return Some(Out::Results(call.at, results));
                        }
                        (Settled::Dead(dead), Some(input)) => {
                            self.seen.dead_letters += 1;
                            let (cause, attempts) = *dead;
                            let letter = DeadLetter { input, cause, attempts };
                            return Some(Out::DeadLetter(call.at.with(letter)));
                        }
                        (Settled::Dropped | Settled::Dead(..), _) => self.seen.dropped += 1,
                    }
                }
            }
        }
    }

    /// Whether something can go out.
    pub fn has_next(&self) -> bool {
        self.queue.has_next()
    }

    /// Whether nothing is left to wait for or to send on.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.parked.is_empty()
    }

    /// What has happened since this was asked last, and how things stand.
    pub fn take_seen(&mut self) -> Seen {
        Seen {
            queued: self.queue.records(),
            in_flight: self.queue.records() - self.queue.resolved(),
            oldest: self.runs.oldest().map(|(_, began)| began),
            ..std::mem::take(&mut self.seen)
        }
    }

    /// Every latency is recorded here: from the first call for a record to its outcome, in
    /// nanoseconds. Those of nothing are only [counted](Seen::at_once).
    pub fn measure(&mut self, latency: Arc<Histogram>) {
        self.latency = Some(latency);
    }
}
