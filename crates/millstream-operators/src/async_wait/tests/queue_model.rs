//! A queue as a plain list that is searched from its front, and bytes as a way to use both.

use std::collections::{BTreeSet, VecDeque};

use super::{KeyHash, Mark, Order, Popped, Queue, Room, Ticket, Timestamp, Unemitted};

/// A record or a mark that has not gone out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A record.
    Record {
        /// Which one.
        id: u32,
        /// Whose.
        key: u64,
        /// Whether its call may have begun.
        begun: bool,
        /// What has come.
        result: Option<u32>,
        /// How many others could go out before it could, once it may.
        released: Option<u64>,
    },
    /// A mark.
    Mark(Mark),
}

/// The list. Everything about it is slow and plain.
#[derive(Clone, Debug)]
pub(super) struct Model {
    order: Order,
    capacity: usize,
    items: Vec<Item>,
    begins: VecDeque<u32>,
    released: u64,
}

impl Model {
    /// An empty one.
    pub(super) const fn new(order: Order, capacity: usize) -> Self {
        Self { order, capacity, items: Vec::new(), begins: VecDeque::new(), released: 0 }
    }

    /// Everything that has not gone out, in order.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// The records that have not gone out.
    pub(super) fn records(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::Record { .. })).count()
    }

    fn marks(&self) -> usize {
        self.items.len() - self.records()
    }

    fn resolved(&self) -> usize {
        self.items
            .iter()
            .filter(|item| matches!(item, Item::Record { result: Some(_), .. }))
            .count()
    }

    /// Keys of which a result is still held back by its own key.
    fn keys(&self) -> usize {
        let key = |item: &Item| match item {
            Item::Record { key, released: None, .. } => Some(*key),
            _ => None,
        };
        match self.order {
            Order::KeyOrdered { .. } => {
                self.items.iter().filter_map(key).collect::<BTreeSet<_>>().len()
            }
            _ => 0,
        }
    }

    /// What finds room.
    pub(super) fn room(&self) -> Room {
        let (records, marks) = (self.records(), self.marks());
        match self.order {
            Order::KeyOrdered { .. } => {
                Room { record: records < self.capacity, mark: marks < self.capacity }
            }
            _ => Room {
                record: records + marks < self.capacity,
                mark: records + marks < self.capacity,
            },
        }
    }

    /// How many calls of a key have begun and are not over.
    pub(super) fn running(&self, of: u64) -> usize {
        let runs = |item: &&Item| match item {
            Item::Record { key, begun, result, .. } => *key == of && *begun && result.is_none(),
            Item::Mark(_) => false,
        };
        self.items.iter().filter(runs).count()
    }

    fn may_begin(&self, of: u64) -> bool {
        let Order::KeyOrdered { per_key } = self.order else { return true };
        let waits = |item: &Item| match item {
            Item::Record { key, begun, .. } => *key == of && !begun,
            Item::Mark(_) => false,
        };
        self.running(of) < per_key && !self.items.iter().any(waits)
    }

    /// A record comes; whether its call may begin.
    pub(super) fn admit(&mut self, id: u32, key: u64) -> bool {
        let begun = self.may_begin(key);
        self.items.push(Item::Record { id, key, begun, result: None, released: None });
        begun
    }

    /// A mark comes.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.items.push(Item::Mark(mark));
    }

    /// The next record whose turn to begin has come.
    pub(super) fn next_begin(&mut self) -> Option<u32> {
        self.begins.pop_front()
    }

    /// A result comes.
    pub(super) fn resolve(&mut self, of: u32, with: u32) {
        let mut key_of = 0;
        for item in &mut self.items {
            if let Item::Record { id, key, result, .. } = item
                && *id == of
            {
                (*result, key_of) = (Some(with), *key);
            }
        }
        self.release(of, key_of);
        let Order::KeyOrdered { .. } = self.order else { return };
        for item in &mut self.items {
            if let Item::Record { id, key, begun, .. } = item
                && *key == key_of
                && !*begun
            {
                *begun = true;
                self.begins.push_back(*id);
                return;
            }
        }
    }

    /// The result may go; in key order only behind all results of its key before it, and those that
    /// waited for it come with it.
    fn release(&mut self, of: u32, key_of: u64) {
        let by_key = matches!(self.order, Order::KeyOrdered { .. });
        for item in &mut self.items {
            let Item::Record { id, key, result, released, .. } = item else { continue };
            if by_key && *key == key_of {
                if result.is_none() {
                    return;
                }
                if released.is_none() {
                    *released = Some(self.released);
                    self.released += 1;
                }
            } else if !by_key && *id == of {
                *released = Some(self.released);
                self.released += 1;
            }
        }
    }

    /// Where in the list that stands which goes out next.
    fn next(&self) -> Option<usize> {
        if let Item::Mark(_) = self.items.first()? {
            return Some(0);
        }
        let mut next = None;
        for (at, item) in self.items.iter().enumerate() {
            match item {
                Item::Mark(_) => break,
                Item::Record { released: Some(released), .. } => {
                    next = Some(next.unwrap_or((*released, at)).min((*released, at)));
                }
                Item::Record { .. } => {}
            }
            if self.order == Order::Ordered {
                break;
            }
        }
        next.map(|(_, at)| at)
    }

    /// Whether something could go out.
    pub(super) fn stands(&self) -> bool {
        self.next().is_some()
    }

    /// The record that goes out next.
    pub(super) fn next_id(&self) -> Option<u32> {
        match self.items[self.next()?] {
            Item::Record { id, .. } => Some(id),
            Item::Mark(_) => None,
        }
    }

    /// What goes out next.
    pub(super) fn pop(&mut self) -> Option<Popped<u32, u32>> {
        match self.items.remove(self.next()?) {
            Item::Record { id, result, .. } => Some(Popped::Record(id, result?)),
            Item::Mark(mark) => Some(Popped::Mark(mark)),
        }
    }
}

/// A queue and its model, of which the same is asked.
struct Pair {
    queue: Queue<u32, u32>,
    model: Model,
    capacity: usize,
    /// The records that have begun and have no result.
    running: Vec<(Ticket, u32)>,
    /// Records that wait for those of their key.
    waiting: Vec<(Ticket, u32)>,
    /// Those that have an outcome, gone or not.
    over: Vec<Ticket>,
    next: u32,
    results: u32,
    gone: BTreeSet<u32>,
}

impl Pair {
    fn new(order: Order, capacity: usize) -> Self {
        Self {
            queue: Queue::new(order, capacity),
            model: Model::new(order, capacity),
            capacity,
            running: Vec::new(),
            waiting: Vec::new(),
            over: Vec::new(),
            next: 0,
            results: 0,
            gone: BTreeSet::new(),
        }
    }

    fn admit(&mut self, argument: u8) {
        if !self.model.room().record {
            return;
        }
        // A record without a key is one of the key whose hash is zero.
        let key = (argument % 5).checked_sub(1).map(|key| KeyHash::from_raw(u64::from(key)));
        let id = self.next;
        self.next += 1;
        let (ticket, begins) = self.queue.admit(id, key);
        assert!(ticket.index() < self.capacity);
        assert!(!self.over.contains(&ticket));
        assert_eq!(begins, self.model.admit(id, key.map_or(0, KeyHash::get)));
        let list = if begins { &mut self.running } else { &mut self.waiting };
        list.push((ticket, id));
    }

    fn mark(&mut self, argument: u8) {
        if !self.model.room().mark {
            return;
        }
        let mark = match argument % 8 {
            0 => Mark::Idle,
            1 => Mark::Active,
            time => Timestamp::from_millis(i64::from(time)).map_or(Mark::Idle, Mark::Watermark),
        };
        self.queue.mark(mark);
        self.model.mark(mark);
    }

    fn begin(&mut self) {
        let begins = self.queue.next_begin();
        let expected = self.model.next_begin();
        let at = begins.map(|ticket| self.waiting.iter().position(|(of, _)| *of == ticket));
        let begun = at.map(|at| self.waiting.remove(at.expect("a waiting record begins, once")));
        assert_eq!(begun.map(|(_, id)| id), expected);
        self.running.extend(begun);
    }

    fn resolve(&mut self, argument: u8) {
        if self.running.is_empty() {
            return;
        }
        let at = usize::from(argument) % self.running.len();
        let (ticket, id) = self.running.remove(at);
        self.results += 1;
        self.model.resolve(id, self.results);
        assert_eq!(self.queue.resolve(ticket, self.results), Ok(()));
        self.over.push(ticket);
    }

    /// A result comes that need not be put down if it goes out next.
    fn take_next(&mut self, argument: u8) {
        if self.running.is_empty() {
            return;
        }
        let at = usize::from(argument) % self.running.len();
        let (ticket, id) = self.running[at];
        let mut after = self.model.clone();
        after.resolve(id, self.results + 1);
        let goes = !self.model.stands() && after.next_id() == Some(id);
        assert_eq!(self.queue.take_next(ticket.index(), |id| *id), goes.then_some(id));
        if goes {
            self.results += 1;
            assert_eq!(after.pop(), Some(Popped::Record(id, self.results)));
            self.model = after;
            self.running.remove(at);
            self.over.push(ticket);
            assert!(self.gone.insert(id), "{id} went out twice");
        } else {
            self.resolve(argument);
        }
    }

    /// A second outcome changes nothing, for a record that has gone neither.
    fn resolve_again(&mut self, argument: u8) {
        if self.over.is_empty() {
            return;
        }
        let back = usize::from(argument) % self.over.len();
        let ticket = self.over[self.over.len() - 1 - back];
        assert_eq!(self.queue.resolve(ticket, u32::MAX), Err(u32::MAX));
        assert_eq!(self.queue.pending(ticket), None);
        assert_eq!(self.queue.pending_mut(ticket), None);
    }

    fn pop(&mut self) -> bool {
        let (popped, expected) = (self.queue.pop(), self.model.pop());
        assert_eq!(popped, expected);
        if let Some(Popped::Record(id, _)) = popped {
            assert!(self.gone.insert(id), "{id} went out twice");
        }
        popped.is_some()
    }

    fn step(&mut self, operation: u8, argument: u8) {
        match operation % 16 {
            0..=4 => self.admit(argument),
            5..=6 => self.mark(argument),
            7..=8 => self.resolve(argument),
            9..=10 => self.take_next(argument),
            11 => self.begin(),
            12 => self.resolve_again(argument),
            13..=14 => drop(self.pop()),
            _ => while self.pop() {},
        }
    }

    /// Everything that can be seen is the same.
    fn check(&self) {
        let Self { queue, model, .. } = self;
        assert_eq!(queue.room(), model.room());
        let counts = (queue.records(), queue.resolved(), queue.marks(), queue.keys());
        assert_eq!(counts, (model.records(), model.resolved(), model.marks(), model.keys()));
        assert_eq!(queue.is_empty(), model.items().is_empty());
        assert_eq!(queue.has_next(), model.next().is_some());
        let unemitted = queue.unemitted().into_iter().map(|it| match it {
            Unemitted::Record(number, id) => (number, Popped::Record(*id, ())),
            Unemitted::Mark(number, mark) => (number, Popped::Mark(mark)),
        });
        let (numbers, unemitted): (Vec<_>, Vec<_>) = unemitted.unzip();
        assert!(numbers.is_sorted_by(|a, b| a < b));
        let items = model.items().iter().map(|item| match item {
            Item::Record { id, .. } => Popped::Record(*id, ()),
            Item::Mark(mark) => Popped::Mark(*mark),
        });
        assert_eq!(unemitted, items.collect::<Vec<_>>());
        for (ticket, id) in self.running.iter().chain(&self.waiting) {
            assert_eq!(queue.pending(*ticket), Some(id));
            assert_eq!(queue.pending_at(ticket.index()), Some((*ticket, id)));
        }
    }

    /// Everything is answered and goes out, each record once.
    fn finish(&mut self) {
        while !self.model.items().is_empty() {
            self.begin();
            self.resolve(0);
            self.pop();
            self.check();
        }
        assert!(self.queue.is_empty());
        assert_eq!(self.queue.pop(), None);
        assert!(self.gone.iter().copied().eq(0..self.next), "a record was lost");
        for index in 0..self.capacity {
            assert_eq!(self.queue.pending_at(index), None);
        }
    }
}

/// The limits that a byte stands for.
fn with_limits(order: Order, byte: u8) -> (Order, usize) {
    let per_key = 1 + usize::from(byte >> 4) % 3;
    let order = match order {
        Order::KeyOrdered { .. } => Order::KeyOrdered { per_key },
        other => other,
    };
    (order, 1 + usize::from(byte & 15) % 9)
}

/// Uses a queue and its model as the bytes say: limits first, then pairs of operation and argument.
///
/// # Panics
///
/// When they differ.
pub(super) fn compare(order: Order, bytes: &[u8]) {
    run(order, bytes, false);
}

/// As [`compare`], and after each operation everything is taken out that the model would give out:
/// the queue has to give it out as well.
///
/// # Panics
///
/// When they differ.
pub(super) fn compare_eagerly(order: Order, bytes: &[u8]) {
    run(order, bytes, true);
}

fn run(order: Order, bytes: &[u8], eagerly: bool) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (order, capacity) = with_limits(order, *first);
    let mut pair = Pair::new(order, capacity);
    for operation in rest.chunks_exact(2) {
        pair.step(operation[0], operation[1]);
        pair.check();
        while eagerly && pair.pop() {}
    }
    pair.finish();
}
