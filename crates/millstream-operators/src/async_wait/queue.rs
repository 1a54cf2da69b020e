//! Which result may go out next: one queue for the three orders.
//!
//! # How it works
//!
//! The queue is a row of *segments*. The results of a segment go out in the order in which they
//! came to it; nothing of a segment goes out before the segments in front of it are empty. A mark
//! is alone in its segment, so it is a border in both directions. The three orders differ only in
//! when a result comes to its segment:
//!
//! * [`Unordered`](Order::Unordered): at once;
//! * [`Ordered`](Order::Ordered): when those of all records before it have;
//! * [`KeyOrdered`](Order::KeyOrdered): when those of the records of its key before it have.
//!
//! Records lie in numbered places that are used again; what waits for each other, and what has come
//! to a segment, are lists through these places. So every operation takes constant time, and a
//! queue that has once been full allocates nothing.

use std::collections::VecDeque;

use millstream_core::{KeyHash, Mark};

use super::chains::Chains;
use super::line::Line;
use super::segments::{Front, Segments};
use super::slab::{NONE, Slab};

/// In which order results go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the input.
    Ordered,
    /// In the order in which they come, between two watermarks.
    Unordered,
    /// In the order of the input for each key, and otherwise in the order in which they come,
    /// between two watermarks.
    KeyOrdered {
        /// Calls of one key in flight at once.
        per_key: usize,
    },
}

/// One record in a queue. Never names another, also after its record has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    index: u32,
    generation: u32,
}

impl Ticket {
    /// A number below the capacity that no other record in the queue has.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// Whether something finds room in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// A record does.
    pub record: bool,
    /// A mark does.
    pub mark: bool,
}

/// What goes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Popped<P, R> {
    /// A record's payload and its result.
    Record(P, R),
    /// A mark whose turn it is.
    Mark(Mark),
}

/// Something in a queue that has not gone out, with the number of its admission.
#[derive(Debug, PartialEq, Eq)]
pub enum Unemitted<'a, P> {
    /// A record.
    Record(u64, &'a P),
    /// A mark.
    Mark(u64, Mark),
}

impl<P> Unemitted<'_, P> {
    fn number(&self) -> u64 {
        match self {
            Self::Record(number, _) | Self::Mark(number, _) => *number,
        }
    }
}

/// What one record is while it is in the queue; its result is dropped first.
#[derive(Debug)]
struct Entry<P, R> {
    result: Option<R>,
    payload: P,
    number: u64,
    segment: u64,
    /// The one behind it: among those that may go of its segment, if it may; else in order.
    next: u32,
}

/// What a result waits for, in each of the orders.
#[derive(Debug)]
enum Waiting {
    Nothing,
    /// Those before it, in this line.
    Others(Line),
    /// Those of its key.
    Key(Chains),
}

/// Records between their admission and their emission, with the marks that came between them.
///
/// `P` is what is kept of a record, `R` its result. Capacity counts what was admitted and has not
/// gone out: records whose result has come too. Marks count as well, except in key order, where
/// there may be as many marks beside the records.
///
/// # Examples
///
/// ```
/// use millstream_operators::async_wait::{Order, Popped, Queue};
///
/// let mut queue = Queue::new(Order::Ordered, 2);
/// let (a, _) = queue.admit("a", None);
/// let (b, _) = queue.admit("b", None);
/// queue.resolve(b, 2);
/// assert_eq!(queue.pop(), None);
/// queue.resolve(a, 1);
/// assert_eq!(queue.pop(), Some(Popped::Record("a", 1)));
/// assert_eq!(queue.pop(), Some(Popped::Record("b", 2)));
/// ```
#[derive(Debug)]
pub struct Queue<P, R> {
    capacity: usize,
    waiting: Waiting,
    entries: Slab<Entry<P, R>>,
    segments: Segments,
    records: usize,
    resolved: usize,
    marks: usize,
    admitted: u64,
    /// Records of keys that had too many calls, whose turn has come.
    begins: VecDeque<Ticket>,
}

impl<P, R> Queue<P, R> {
    /// An empty queue. A capacity of zero is taken for one, as is a limit a key of zero.
    pub fn new(order: Order, capacity: usize) -> Self {
        let capacity = capacity.clamp(1, NONE as usize);
        let waiting = match order {
            Order::Unordered => Waiting::Nothing,
            Order::Ordered => Waiting::Others(Line::EMPTY),
            Order::KeyOrdered { per_key } => Waiting::Key(Chains::new(per_key.max(1), capacity)),
        };
        Self {
            capacity,
            waiting,
            entries: Slab::new(capacity),
            segments: Segments::new(),
            records: 0,
            resolved: 0,
            marks: 0,
            admitted: 0,
            begins: VecDeque::new(),
        }
    }

    /// What finds room now.
    #[inline]
    pub fn room(&self) -> Room {
        let (records, marks) = (self.records, self.marks);
        if matches!(self.waiting, Waiting::Key(_)) {
            return Room { record: records < self.capacity, mark: marks < self.capacity };
        }
        let room = records + marks < self.capacity;
        Room { record: room, mark: room }
    }

    /// Records that have not gone out.
    pub const fn records(&self) -> usize {
        self.records
    }

    /// Records whose result has come and has not gone out.
    pub const fn resolved(&self) -> usize {
        self.resolved
    }

    /// Marks that have not gone out.
    pub const fn marks(&self) -> usize {
        self.marks
    }

    /// How many keys have records here that wait for each other or for their calls; zero in other
    /// orders than key order.
    pub fn keys(&self) -> usize {
        if let Waiting::Key(chains) = &self.waiting { chains.keys() } else { 0 }
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.records + self.marks == 0
    }

    /// Takes a record. Whoever calls it has asked for [`room`](Self::room). Says whether its call
    /// may begin; if not, [`next_begin`](Self::next_begin) will say so.
    ///
    /// In key order `key` says which records are kept in order; those without one are, too.
    // What is passed here is not to be written to memory and read back at once.
    #[inline(always)]
    pub fn admit(&mut self, payload: P, key: Option<KeyHash>) -> (Ticket, bool) {
        let segment = self.segments.join();
        let number = self.number();
        let entry = Entry { payload, result: None, number, segment, next: NONE };
        let (index, generation) = self.entries.insert(entry);
        self.records += 1;
        let begins = match &mut self.waiting {
            Waiting::Nothing => true,
            Waiting::Others(line) => {
                push(line, &mut self.entries, index);
                true
            }
            Waiting::Key(chains) => chains.admit(index, key.unwrap_or(KeyHash::from_raw(0))),
        };
        (Ticket { index, generation }, begins)
    }

    /// The number of the place in which the next record will lie.
    #[inline]
    pub fn next_index(&self) -> usize {
        self.entries.next_index()
    }

    const fn number(&mut self) -> u64 {
        self.admitted += 1;
        self.admitted - 1
    }

    /// Takes a mark behind everything that was admitted.
    pub fn mark(&mut self, mark: Mark) {
        let number = self.number();
        self.segments.mark(number, mark);
        self.marks += 1;
    }

    /// A record's result has come. Hands it back if the record has one already, or is not here.
    pub fn resolve(&mut self, ticket: Ticket, result: R) -> Result<(), R> {
        match self.entries.current_mut(ticket.index, ticket.generation) {
            Some(entry) if entry.result.is_none() => entry.result = Some(result),
            _ => return Err(result),
        }
        self.resolved += 1;
        match &self.waiting {
            Waiting::Nothing => {
                release(&mut self.entries, &mut self.segments, ticket.index);
            }
            Waiting::Others(_) => self.release_others(),
            Waiting::Key(_) => self.release_of_key(ticket.index, false),
        }
        Ok(())
    }

    /// Lets the record in the place of this number go if its result would go out next; gives what
    /// `seen` makes of it. That saves putting the result down and looking for it again.
    #[inline]
    pub fn take_next<T>(&mut self, index: usize, seen: impl FnOnce(&P) -> T) -> Option<T> {
        let index = u32::try_from(index).ok()?;
        let segment = self.segments.flowing()?;
        let entry = self.entries.get(index)?;
        let may_go = match &self.waiting {
            Waiting::Nothing => true,
            Waiting::Others(line) => line.first == index,
            Waiting::Key(chains) => chains.is_first(index),
        };
        if !may_go || entry.segment != segment || entry.result.is_some() {
            return None;
        }
        let (next, seen) = (entry.next, seen(&entry.payload));
        self.segments.flows();
        self.records -= 1;
        match &mut self.waiting {
            Waiting::Nothing => {}
            Waiting::Others(line) => {
                line.pop(next);
                self.release_others();
            }
            Waiting::Key(_) => self.release_of_key(index, true),
        }
        self.entries.clear(index);
        Some(seen)
    }

    /// Results that have come, and now those of all before them, come to their segments.
    #[inline]
    fn release_others(&mut self) {
        let Self { waiting: Waiting::Others(line), entries, segments, .. } = self else {
            return;
        };
        while let Some(index) = line.peek()
            && let Some(entry) = entries.get(index)
            && entry.result.is_some()
        {
            line.pop(entry.next);
            release(entries, segments, index);
        }
    }

    /// The result of a record has come, and what waited for it in its key comes to its segment;
    /// itself too, unless it is about to go.
    fn release_of_key(&mut self, index: u32, goes: bool) {
        let Self { waiting: Waiting::Key(chains), entries, segments, begins, .. } = self else {
            return;
        };
        let begin = chains.resolve(index, |each| {
            if !(goes && each == index) {
                release(entries, segments, each);
            }
        });
        if let Some(index) = begin {
            begins.push_back(Ticket { index, generation: entries.generation(index) });
        }
    }

    /// The next record of a key whose turn has come: its call may begin.
    pub fn next_begin(&mut self) -> Option<Ticket> {
        self.begins.pop_front()
    }

    /// Whether something can go out.
    pub fn has_next(&self) -> bool {
        self.segments.has_next()
    }

    /// What goes out next, if it can go out yet.
    #[inline]
    pub fn pop(&mut self) -> Option<Popped<P, R>> {
        match self.segments.next()? {
            Front::Mark(mark) => {
                self.marks -= 1;
                Some(Popped::Mark(mark))
            }
            Front::Record(ready) => {
                let entry = self.entries.remove(ready.first)?;
                ready.pop(entry.next);
                self.records -= 1;
                self.resolved -= 1;
                Some(Popped::Record(entry.payload, entry.result?))
            }
        }
    }

    /// What is kept of a record that has no result yet.
    #[inline]
    pub fn pending(&self, ticket: Ticket) -> Option<&P> {
        self.pending_at(ticket.index()).filter(|(it, _)| *it == ticket).map(|(_, payload)| payload)
    }

    /// As [`pending`](Self::pending), to change.
    #[inline]
    pub fn pending_mut(&mut self, ticket: Ticket) -> Option<&mut P> {
        let entry = self.entries.current_mut(ticket.index, ticket.generation)?;
        entry.result.is_none().then_some(&mut entry.payload)
    }

    /// The record in the place of this number, if it has no result yet.
    #[inline]
    pub fn pending_at(&self, index: usize) -> Option<(Ticket, &P)> {
        let index = u32::try_from(index).ok()?;
        let (generation, entry) = self.entries.at(index)?;
        entry.result.is_none().then_some((Ticket { index, generation }, &entry.payload))
    }

    /// Everything that has not gone out, in the order of the input.
    pub fn unemitted(&self) -> Vec<Unemitted<'_, P>> {
        let records = self.entries.iter();
        let records = records.map(|entry| Unemitted::Record(entry.number, &entry.payload));
        let marks = self.segments.marks().map(|(number, mark)| Unemitted::Mark(number, mark));
        let mut all: Vec<_> = records.chain(marks).collect();
        all.sort_unstable_by_key(Unemitted::number);
        all
    }
}

/// Puts a record at the end of a line.
#[inline]
fn push<P, R>(line: &mut Line, entries: &mut Slab<Entry<P, R>>, index: u32) {
    if let Some(before) = entries.get_mut(line.push(index)) {
        before.next = index;
    }
}

/// A record's result comes to its segment, behind those that came before.
#[inline]
fn release<P, R>(entries: &mut Slab<Entry<P, R>>, segments: &mut Segments, index: u32) {
    let Some(entry) = entries.get_mut(index) else { return };
    entry.next = NONE;
    if let Some(ready) = segments.come(entry.segment) {
        push(ready, entries, index);
    }
}
