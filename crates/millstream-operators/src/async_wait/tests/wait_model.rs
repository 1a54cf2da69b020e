//! A stage of calls as plain lists: what goes out and which calls are made, told by looking at
//! everything each time.

use std::collections::VecDeque;

use super::super::{Limits, Order, Verdict};
use super::queue_model::{Item, Model};
use super::settings::Results;
use super::user::{Gives, KEYS, at_once, judge, results_of, weight_of};
use super::{Mark, Popped, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For those of its key before it.
    Waits,
    Out,
    /// Until when, if its deadline is not before.
    Delayed(Option<u64>),
    Again,
    Over,
}

#[derive(Clone, Debug)]
struct Record {
    value: i64,
    at: i64,
    number: u64,
    attempt: u32,
    /// When its first call began that did not answer at once, and which call that was.
    began: Option<(u64, usize)>,
    state: State,
    /// When it was delayed last, by count.
    delayed: usize,
    outcome: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    Record(i64, i64),
    Watermark(i64),
    End,
}

/// Value, attempt, time in milliseconds, number of the admission.
pub(super) type Called = (i64, u32, u64, u64);

pub(super) struct Naive {
    limits: Limits,
    records: Vec<Record>,
    queue: Model,
    parked: VecDeque<Fed>,
    pub(super) offered: VecDeque<Fed>,
    reported: Vec<(i64, u32, Gives)>,
    again: VecDeque<usize>,
    pub(super) calls: Vec<Called>,
    pub(super) sent: Vec<String>,
    pub(super) now: u64,
    pub(super) ended: bool,
    numbers: u64,
    counted: usize,
}

impl Naive {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            queue: Model::new(limits.order, limits.capacity),
            limits,
            records: Vec::new(),
            parked: VecDeque::new(),
            offered: VecDeque::new(),
            reported: Vec::new(),
            again: VecDeque::new(),
            calls: Vec::new(),
            sent: Vec::new(),
            now: 0,
            ended: false,
            numbers: 0,
            counted: 0,
        }
    }

    pub(super) fn report(&mut self, value: i64, attempt: u32, gives: Gives) {
        self.reported.push((value, attempt, gives));
    }

    /// What waits in the input is taken; only records wait for room.
    pub(super) fn barrier(&mut self) {
        for fed in std::mem::take(&mut self.offered) {
            match fed {
                Fed::Watermark(time) if self.parked.is_empty() => self.queue.mark(watermark(time)),
                Fed::Record(value, at) => {
                    self.number(value, at);
                    self.parked.push_back(fed);
                }
                fed => self.parked.push_back(fed),
            }
        }
        self.sent.push("B1".into());
    }

    /// Everything that has come and has not gone out, what waits in the input left out.
    pub(super) fn unemitted(&self) -> Vec<String> {
        let items = self.queue.items().iter().map(|item| match item {
            Item::Record { id, .. } => {
                let Record { value, at, .. } = self.records[*id as usize];
                format!("{value}@{at}")
            }
            Item::Mark(Mark::Watermark(time)) => format!("W{}", time.millis()),
            Item::Mark(mark) => format!("{mark:?}"),
        });
        items.chain(self.parked.iter().map(shown)).collect()
    }

    /// When something is due by itself.
    pub(super) fn next_due(&self) -> Option<u64> {
        let delays = self.records.iter().filter_map(|record| match record.state {
            State::Delayed(due) => due,
            _ => None,
        });
        delays.chain(self.records.iter().filter_map(|record| self.deadline(record))).min()
    }

    fn deadline(&self, record: &Record) -> Option<u64> {
        if record.state == State::Over {
            return None;
        }
        Some(record.began?.0 + u64::try_from(self.limits.timeout?.as_millis()).unwrap())
    }

    fn expired(&self, record: &Record) -> bool {
        self.deadline(record).is_some_and(|due| due <= self.now)
    }

    pub(super) fn turn(&mut self) {
        loop {
            let before = self.progress();
            for (value, attempt, gives) in std::mem::take(&mut self.reported) {
                self.answered(value, attempt, gives);
            }
            self.end_delays();
            self.time_out();
            while self.start_next() {}
            while self.pop() {}
            while self.take_offered() {}
            let after = self.progress();
            if before == after && self.reported.is_empty() {
                return;
            }
        }
    }

    fn progress(&self) -> [usize; 4] {
        let left = self.queue.items().len() + self.parked.len();
        [self.calls.len(), self.sent.len(), self.offered.len(), left]
    }

    fn answered(&mut self, value: i64, attempt: u32, gives: Gives) {
        let index = self.records.iter().position(|record| record.value == value).unwrap();
        let record = &mut self.records[index];
        if (record.state, record.attempt) != (State::Out, attempt) {
            return;
        }
        let again = match gives {
            Gives::Results | Gives::Error | Gives::Panic => false,
            Gives::Nothing | Gives::Again | Gives::PanicAgain => true,
        };
        let retry = self.limits.retry.as_ref().filter(|it| again && it.allows(attempt));
        if let Some(retry) = retry.filter(|_| !self.ended) {
            let delay = u64::try_from(retry.delay(attempt, record.number).as_millis()).unwrap();
            self.counted += 1;
            record.state = State::Delayed(Some(self.now + delay));
            record.delayed = self.counted;
            record.began = record.began.or(Some((self.now, self.counted)));
            return;
        }
        let text = match gives {
            Gives::Results => return self.results(index, results_of(value)),
            Gives::Nothing => return self.results(index, vec![]),
            Gives::Again => "again",
            Gives::Error => "error",
            Gives::Panic => "panicked: panic",
            Gives::PanicAgain => "panicked: again",
        };
        self.over(index, judge(value), text);
    }

    /// Results that would go out next do so at once, unless a retry could have come in between.
    fn results(&mut self, index: usize, results: Results) {
        let stands = self.queue.stands();
        self.over(index, Verdict::Fallback(results), "");
        let next = self.queue.next_id() == u32::try_from(index).ok();
        if next && !stands && self.limits.retry.is_none() {
            self.pop();
        }
    }

    fn over(&mut self, index: usize, verdict: Verdict<Results>, cause: &str) {
        let record = &mut self.records[index];
        assert_ne!(record.state, State::Over);
        record.state = State::Over;
        let Record { value, at, attempt, .. } = *record;
        record.outcome = match verdict {
            Verdict::Drop | Verdict::Fail => vec![],
            Verdict::DeadLetter => vec![format!("dead {value}@{at} after {attempt}: {cause}")],
            Verdict::Fallback(results) => {
                results.into_iter().map(|result| format!("{result}@{at}")).collect()
            }
        };
        self.queue.resolve(u32::try_from(index).unwrap(), 0);
    }

    fn end_delays(&mut self) {
        let delayed = |record: &Record| match record.state {
            State::Delayed(Some(due)) if due <= self.now => Some((due, record.delayed)),
            _ => None,
        };
        let due = (0..self.records.len()).filter_map(|it| Some((delayed(&self.records[it])?, it)));
        let mut due: Vec<_> = due.collect();
        due.sort_unstable();
        for (_, index) in due {
            if self.expired(&self.records[index]) {
                self.records[index].state = State::Delayed(None);
            } else {
                self.records[index].state = State::Again;
                self.again.push_back(index);
            }
        }
    }

    fn time_out(&mut self) {
        let expired = (0..self.records.len()).filter(|it| self.expired(&self.records[*it]));
        let mut expired: Vec<_> = expired.collect();
        expired.sort_unstable_by_key(|index| self.records[*index].began.unwrap().1);
        for index in expired {
            let cause = format!("timed out after {:?}", self.limits.timeout.unwrap());
            self.over(index, judge(self.records[index].value + 1), &cause);
        }
    }

    fn start_next(&mut self) -> bool {
        if let Some(id) = self.queue.next_begin() {
            self.call(id as usize);
        } else if let Some(index) = self.again.pop_front() {
            if self.records[index].state == State::Again {
                self.call(index);
            }
        } else {
            match self.parked.front() {
                Some(fed) if self.fits(*fed) => {}
                _ => return false,
            }
            match self.parked.pop_front() {
                Some(Fed::Record(value, _)) => self.enter(value),
                Some(Fed::Watermark(time)) => self.queue.mark(watermark(time)),
                Some(Fed::End) | None => {}
            }
        }
        true
    }

    fn fits(&self, fed: Fed) -> bool {
        match fed {
            Fed::Record(value, _) => {
                let weight = self.weight();
                let most = self.limits.weight.unwrap_or(usize::MAX);
                let carries = weight == 0 || weight + weight_of(value) <= most;
                self.queue.room().record && carries
            }
            Fed::Watermark(_) => self.queue.room().mark,
            Fed::End => true,
        }
    }

    /// What is in the queue weighs.
    pub(super) fn weight(&self) -> usize {
        let weight = |item: &Item| match item {
            Item::Record { id, .. } => weight_of(self.records[*id as usize].value),
            Item::Mark(_) => 0,
        };
        self.queue.items().iter().map(weight).sum()
    }

    fn number(&mut self, value: i64, at: i64) {
        self.records.push(Record {
            value,
            at,
            number: self.numbers,
            attempt: 0,
            began: None,
            state: State::Waits,
            delayed: 0,
            outcome: Vec::new(),
        });
        self.numbers += 1;
    }

    fn enter(&mut self, value: i64) {
        let index = self.records.iter().position(|record| record.value == value).unwrap();
        let key = match self.limits.order {
            Order::KeyOrdered { .. } => (value % KEYS).unsigned_abs(),
            _ => 0,
        };
        if self.queue.admit(u32::try_from(index).unwrap(), key) {
            self.call(index);
        }
    }

    fn call(&mut self, index: usize) {
        let record = &mut self.records[index];
        record.attempt += 1;
        record.state = State::Out;
        let Record { value, attempt, number, .. } = *record;
        self.calls.push((value, attempt, self.now, number));
        if let Some(gives) = at_once(value, attempt) {
            self.reported.push((value, attempt, gives));
        } else if record.began.is_none() {
            self.counted += 1;
            record.began = Some((self.now, self.counted));
        }
    }

    fn pop(&mut self) -> bool {
        match self.queue.pop() {
            None => return false,
            Some(Popped::Mark(mark)) => {
                let Mark::Watermark(time) = mark else { unreachable!("only watermarks are fed") };
                self.sent.push(format!("W{}", time.millis()));
            }
            Some(Popped::Record(id, _)) => {
                self.sent.append(&mut self.records[id as usize].outcome);
            }
        }
        true
    }

    fn take_offered(&mut self) -> bool {
        match self.offered.front() {
            Some(Fed::End) => self.end(),
            Some(fed) if self.parked.is_empty() && self.fits(*fed) => match *fed {
                Fed::Record(value, at) => {
                    self.number(value, at);
                    if !self.passes(value) {
                        self.enter(value);
                    }
                }
                Fed::Watermark(time) => self.queue.mark(watermark(time)),
                Fed::End => {}
            },
            _ => return false,
        }
        self.offered.pop_front();
        true
    }

    /// Whether the answer to a record that has just come is there and goes out: it would be next.
    fn passes(&mut self, value: i64) -> bool {
        let has_result = |item: &Item| match item {
            Item::Record { result, .. } => result.is_some(),
            Item::Mark(_) => true,
        };
        let first = match self.limits.order {
            Order::Unordered => !self.queue.items().iter().any(has_result),
            Order::Ordered => self.queue.items().is_empty(),
            Order::KeyOrdered { .. } => false,
        };
        let limited = self.limits.weight.is_some() || self.limits.retry.is_some();
        if !first || limited || at_once(value, 1) != Some(Gives::Results) {
            return false;
        }
        let index = self.records.len() - 1;
        let record = &mut self.records[index];
        (record.attempt, record.state) = (1, State::Over);
        self.calls.push((value, 1, self.now, record.number));
        let results = results_of(value).into_iter();
        self.sent.extend(results.map(|result| format!("{result}@{}", record.at)));
        true
    }

    fn end(&mut self) {
        self.ended = true;
        let delayed = |it: &usize| matches!(self.records[*it].state, State::Delayed(Some(_)));
        let mut delayed: Vec<_> = (0..self.records.len()).filter(delayed).collect();
        delayed.sort_by_key(|it| match self.records[*it].state {
            State::Delayed(due) => (due, self.records[*it].delayed),
            _ => (None, 0),
        });
        for index in delayed {
            self.records[index].state = State::Again;
            self.again.push_back(index);
        }
    }
}

fn watermark(time: i64) -> Mark {
    Mark::Watermark(Timestamp::from_millis(time).unwrap())
}

/// As it is written for the rig.
pub(super) fn shown(fed: &Fed) -> String {
    match fed {
        Fed::Record(value, at) => format!("{value}@{at}"),
        Fed::Watermark(time) => format!("W{time}"),
        Fed::End => "END".into(),
    }
}
