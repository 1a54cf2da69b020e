//! A stage of calls whose clock, calls and answers are moved by hand.
//!
//! What does not fit waits in the input, as it does in a task.

use std::collections::VecDeque;

use millstream_core::{Failure, Stamped, TaskInfo};

use super::super::stored::Admission;
use super::super::{Answer, AsyncWait, Limits, Out, Seen, Start, Ticket};
use super::notation::{Element, Stone, element, failed, moment, shown};
use super::settings::{Results, Rules, task};
use crate::{Restored, Snapshot};

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) value: i64,
    pub(super) attempt: u32,
    /// In milliseconds.
    pub(super) at: u64,
    pub(super) admission: Admission,
    /// Of a record that was in the queue.
    pub(super) ticket: Option<Ticket>,
}

impl Call {
    pub(super) fn ticket(&self) -> Ticket {
        self.ticket.unwrap()
    }
}

/// What an answer was given to: which record, and which of its calls.
type Report = (Ticket, u32, Answer<Results>);

pub(super) struct Rig {
    pub(super) wait: AsyncWait<i64, Results>,
    pub(super) rules: Rules,
    /// Answers calls in line, if it has one for the value and the attempt.
    pub(super) at_once: fn(i64, u32) -> Option<Answer<Results>>,
    pub(super) now: u64,
    /// Every call that was made, in order.
    pub(super) calls: Vec<Call>,
    /// Calls without an answer.
    open: Vec<Call>,
    offered: VecDeque<Element>,
    /// Answers that the task has not looked at.
    reported: Vec<Report>,
    sent: Vec<String>,
    pub(super) failure: Option<Failure>,
    pub(super) ended: bool,
    seen: Seen,
}

impl Rig {
    pub(super) fn new(limits: Limits, rules: Rules) -> Self {
        Self::of(limits, rules, &task(0, 1))
    }

    /// One of several tasks.
    pub(super) fn of(limits: Limits, rules: Rules, task: &TaskInfo) -> Self {
        Self {
            wait: AsyncWait::new(limits, task),
            rules,
            at_once: |_, _| None,
            now: 0,
            calls: Vec::new(),
            open: Vec::new(),
            offered: VecDeque::new(),
            reported: Vec::new(),
            sent: Vec::new(),
            failure: None,
            ended: false,
            seen: Seen::default(),
        }
    }

    pub(super) fn plain(limits: Limits) -> Self {
        Self::new(limits, Rules::default())
    }

    /// What was stored comes back, and its calls are made.
    pub(super) fn restore(&mut self, stones: &[Stone]) {
        for (group, bytes) in stones {
            self.wait.restore(&Restored::new(*group, bytes)).unwrap();
        }
        self.wait.resume();
        self.turn();
    }

    /// Elements come, such as `1@1, W1`.
    pub(super) fn feed(&mut self, elements: &str) {
        self.offered.extend(elements.split(", ").map(element));
        self.turn();
    }

    /// The input ends behind everything that has come.
    pub(super) fn end(&mut self) {
        self.offered.push_back(Element::End);
        self.turn();
    }

    pub(super) fn clock(&mut self, millis: u64) {
        self.now = millis;
        self.turn();
    }

    /// Gives an answer to the first open call for a value, or to its last if none is open. The task
    /// will look at it in its next turn.
    pub(super) fn report(&mut self, value: i64, answer: Answer<Results>) {
        let of = |call: &&Call| call.value == value;
        let call = self.open.iter().find(of).or_else(|| self.calls.iter().rfind(of)).unwrap();
        self.report_to(*call, answer);
    }

    pub(super) fn complete<const N: usize>(&mut self, value: i64, with: [i64; N]) {
        self.report(value, results(with));
        self.turn();
    }

    pub(super) fn fail(&mut self, value: i64, error: &str) {
        self.report(value, failed(error));
        self.turn();
    }

    pub(super) fn panic(&mut self, value: i64, message: &str) {
        self.report(value, Answer::Panicked(Failure::new(message.to_owned())));
        self.turn();
    }

    /// An answer comes from a certain call for a value, be it long over.
    pub(super) fn complete_attempt(&mut self, value: i64, attempt: u32, results: &[i64]) {
        let of = |call: &&Call| (call.value, call.attempt) == (value, attempt);
        let call = *self.calls.iter().find(of).unwrap();
        self.report_to(call, Answer::Results(results.to_vec()));
        self.turn();
    }

    /// Gives an answer to this very call.
    pub(super) fn report_to(&mut self, call: Call, answer: Answer<Results>) {
        self.reported.extend(call.ticket.map(|ticket| (ticket, call.attempt, answer)));
    }

    /// What has gone out since this was asked last.
    pub(super) fn sent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent)
    }

    /// The values of the calls without an answer.
    pub(super) fn open(&self) -> Vec<i64> {
        self.open.iter().map(|call| call.value).collect()
    }

    /// The values of all calls that were made.
    pub(super) fn called(&self) -> Vec<i64> {
        self.calls.iter().map(|call| call.value).collect()
    }

    /// When the calls for a value were made.
    pub(super) fn called_at(&self, value: i64) -> Vec<u64> {
        self.calls.iter().filter(|call| call.value == value).map(|call| call.at).collect()
    }

    /// Elements that wait in the input.
    pub(super) fn waiting(&self) -> usize {
        self.offered.len()
    }

    /// What has happened in all, and how things stand.
    pub(super) fn seen(&mut self) -> Seen {
        let new = self.wait.take_seen();
        let Seen { queued, in_flight, oldest, .. } = new;
        let before = &self.seen;
        self.seen = Seen {
            attempts: before.attempts + new.attempts,
            retries: before.retries + new.retries,
            timeouts: before.timeouts + new.timeouts,
            failures: before.failures + new.failures,
            at_once: before.at_once + new.at_once,
            completed: before.completed + new.completed,
            dropped: before.dropped + new.dropped,
            dead_letters: before.dead_letters + new.dead_letters,
            queued,
            in_flight,
            oldest,
        };
        self.seen.clone()
    }

    /// Whether the task is through: its end may be told to those behind it.
    pub(super) fn is_done(&self) -> bool {
        self.ended && self.wait.is_empty()
    }

    /// The error that failed the job, with all its causes, the innermost last.
    pub(super) fn failed_with(&self) -> Vec<String> {
        let Some(failure) = &self.failure else { return Vec::new() };
        let mut chain = vec![failure.to_string()];
        let mut cause = failure.cause().source();
        while let Some(error) = cause {
            chain.push(error.to_string());
            cause = error.source();
        }
        chain
    }

    /// A barrier comes behind everything that has come: what waits in the input is parked, the
    /// state is taken, and the barrier goes out.
    pub(super) fn barrier(&mut self, epoch: u64) -> Vec<Stone> {
        for element in std::mem::take(&mut self.offered) {
            match element {
                Element::Record(record) => self.wait.park(record),
                Element::Mark(mark) => self.wait.mark(mark),
                Element::End => {}
            }
        }
        let stones = self.snapshot();
        self.sent.push(format!("B{epoch}"));
        self.turn();
        stones
    }

    /// The state, taken piece by piece.
    pub(super) fn snapshot(&mut self) -> Vec<Stone> {
        self.wait.freeze(&self.rules).unwrap();
        let mut snapshot = Snapshot::default();
        while !self.wait.snapshot(1, &mut snapshot) {}
        let pieces = snapshot.into_pieces().into_iter();
        pieces.map(|piece| (piece.group, piece.encode().unwrap())).collect()
    }

    /// One turn of the task, until nothing moves any more.
    pub(super) fn turn(&mut self) {
        loop {
            let before = self.progress();
            if let Err(failure) = self.pass() {
                self.failure.get_or_insert(failure);
            }
            if self.failure.is_some() {
                return;
            }
            let after = self.progress();
            if before == after && self.reported.is_empty() {
                return;
            }
        }
    }

    fn progress(&self) -> [usize; 4] {
        let Self { wait, calls, sent, offered, .. } = self;
        let left = wait.queue.records() + wait.queue.marks() + wait.parked.len();
        [calls.len(), sent.len(), offered.len(), left]
    }

    fn pass(&mut self) -> Result<(), Failure> {
        for (ticket, attempt, answer) in std::mem::take(&mut self.reported) {
            self.open.retain(|call| (call.ticket(), call.attempt) != (ticket, attempt));
            self.answered(ticket, attempt, answer)?;
        }
        let now = moment(self.now);
        self.wait.look(now);
        while let Some(ticket) = self.wait.next_expired(now) {
            self.open.retain(|call| call.ticket() != ticket);
            self.wait.timed_out(ticket, &mut self.rules)?;
        }
        while let Some(start) = self.wait.next_start(&self.rules) {
            self.call(&start);
        }
        while let Some(out) = self.wait.pop() {
            self.sent.extend(shown(out));
        }
        while self.take_offered() {}
        Ok(())
    }

    /// Results that may go out at once do.
    fn answered(
        &mut self,
        ticket: Ticket,
        attempt: u32,
        answer: Answer<Results>,
    ) -> Result<(), Failure> {
        let place = ticket.index();
        match answer {
            Answer::Results(results)
                if self.wait.call_at(place) == Some((ticket, attempt))
                    && let Some(at) = self.wait.lets_pass(place) =>
            {
                self.sent.extend(shown(Out::Results(at, results)));
                Ok(())
            }
            answer => self.wait.answered(ticket, attempt, answer, &mut self.rules),
        }
    }

    fn take_offered(&mut self) -> bool {
        match self.offered.front() {
            Some(Element::Record(record)) if self.wait.takes(&record.value, &self.rules) => {
                self.admit(*record);
            }
            Some(Element::Mark(mark)) if self.wait.takes_mark() => self.wait.mark(*mark),
            Some(Element::End) => {
                self.wait.end();
                self.ended = true;
            }
            _ => return false,
        }
        self.offered.pop_front();
        true
    }

    /// Makes the first call of a record before it is in the queue, if it may: it need not enter if
    /// its answer comes at once and may go out at once.
    fn admit(&mut self, record: Stamped<i64>) {
        if self.wait.queues_first() {
            let start = self.wait.admit(record, &self.rules);
            return start.into_iter().for_each(|start| self.call(&start));
        }
        let (value, at) = (record.value, record.with(()));
        let (admission, kept) = self.wait.begin(&value, &self.rules);
        let mut answer = (self.at_once)(value, 1);
        if let Some(Answer::Results(results)) = answer {
            if self.wait.passes() {
                let call = Call { value, attempt: 1, at: self.now, admission, ticket: None };
                self.calls.push(call);
                return self.sent.extend(shown(Out::Results(at, results)));
            }
            answer = Some(Answer::Results(results));
        }
        let place = self.wait.next_place();
        let ticket = self.wait.enter(admission, at, kept);
        assert_eq!(ticket.index(), place);
        self.called_out(value, 1, admission, ticket, answer);
    }

    fn call(&mut self, start: &Start<i64>) {
        let Start { ticket, attempt, admission, input } = *start;
        self.called_out(input, attempt, admission, ticket, (self.at_once)(input, attempt));
    }

    fn called_out(
        &mut self,
        value: i64,
        attempt: u32,
        admission: Admission,
        ticket: Ticket,
        answer: Option<Answer<Results>>,
    ) {
        let call = Call { value, attempt, at: self.now, admission, ticket: Some(ticket) };
        self.calls.push(call);
        match answer {
            Some(answer) => self.reported.push((ticket, attempt, answer)),
            None => {
                self.open.push(call);
                self.wait.waits(ticket);
            }
        }
    }
}

/// An answer with these results.
pub(super) fn results<const N: usize>(results: [i64; N]) -> Answer<Results> {
    Answer::Results(results.to_vec())
}
