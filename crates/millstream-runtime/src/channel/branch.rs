//! One way out of a task: fused steps, and behind them the channels of an edge or further branches.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use millstream_core::{Data, Failure, Mark, Moment, Stamped};
use millstream_operators::{Collect, Step, let_go, let_go_all};

use super::held::Held;
use super::route::{Outlets, Route, all_wait, held_records};

/// A way out of a task, called once a batch.
///
/// Whoever calls it asks after each call whether it is blocked and, while that is so, only lets it
/// go on and gives it marks: that is what bounds a branch.
pub trait Branch<T>: Outgoing {
    /// Takes all of `records` and leaves it empty.
    fn records(&mut self, records: &mut Vec<Stamped<T>>) -> Result<(), Failure>;
}

/// What a branch does whatever the type of its records.
pub trait Outgoing {
    /// Takes a mark behind all records so far.
    fn mark(&mut self, mark: Mark) -> Result<(), Failure>;
    /// Goes on with what was held back, as far as there is credit.
    fn advance(&mut self) -> Result<(), Failure>;
    /// Lets go of batches that are not full.
    fn flush(&mut self);
    /// Whether something is held back for want of credit.
    fn holding(&self) -> bool;
    /// Whether something is held back, or the next batch would be.
    fn blocked(&self) -> bool;
    /// Whether a batch is being filled.
    fn filling(&self) -> bool;
    /// The task is about to wait for credit. False if there is some: it must not.
    fn wait(&self) -> bool;
    /// Says of which split of a source the records are. For where event time begins.
    fn split(&mut self, split: Split) {
        let _ = split;
    }
    /// A look at the clock: watermarks may be due where event time begins.
    fn look(&mut self, now: Moment) -> Result<(), Failure> {
        let _ = now;
        Ok(())
    }
    /// When the clock is to be looked at next; none where no event time begins.
    fn next_look(&self) -> Option<Moment> {
        None
    }
    /// Batches sent since this was last asked.
    fn take_sent(&mut self) -> u64;
    /// How many records of one call never make more than a batch for a channel, as long as no step
    /// makes many of one.
    fn batch_records(&self) -> usize;
}

/// What a source's task says of the splits that it reads.
#[derive(Clone, Copy, Debug)]
pub enum Split {
    /// There are so many.
    Are(usize),
    /// The records that come next are those of this one.
    Reads(usize),
    /// This one has ended.
    Ended(usize),
}

/// A branch that ends in the channels of one edge of the graph.
pub(crate) struct Edge<S: Step, R: Route<S::Out>> {
    step: S,
    route: R,
    outlets: Outlets<R::Out>,
    held: Held<S::In>,
    /// A step or the route has failed: nothing more is given to them.
    failed: bool,
}

impl<S: Step, R: Route<S::Out>> Edge<S, R> {
    pub(crate) const fn new(step: S, route: R, outlets: Outlets<R::Out>) -> Self {
        Self { step, route, outlets, held: Held::new(), failed: false }
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        self.watched(|edge| {
            let Self { step, route, outlets, held, .. } = edge;
            held_records(route, step, &mut held.records, outlets)
        })?;
        if self.held.records.is_empty() {
            self.held.marks.drain(..).for_each(|mark| self.outlets.mark(mark));
        }
        Ok(())
    }

    /// After an error or a panic what is held here is given up. What others hold is not: it came
    /// before the failure, or goes another way.
    fn watched(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let worked = catch_unwind(AssertUnwindSafe(|| work(self)));
        if !matches!(worked, Ok(Ok(()))) {
            self.failed = true;
            self.held.give_up();
        }
        worked.unwrap_or_else(|payload| resume_unwind(payload))
    }
}

impl<S: Step, R: Route<S::Out>> Branch<S::In> for Edge<S, R> {
    fn records(&mut self, records: &mut Vec<Stamped<S::In>>) -> Result<(), Failure> {
        if self.failed {
            let_go_all(records);
            return Ok(());
        }
        if S::EXPANDS {
            self.held.put(records);
            return self.go_on();
        }
        self.watched(|Self { step, route, outlets, .. }| route.all(step, records, outlets))
    }
}

impl<S: Step, R: Route<S::Out>> Outgoing for Edge<S, R> {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        if self.held.is_empty() {
            self.outlets.mark(mark);
        } else {
            self.held.marks.push(mark);
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.outlets.advance();
        if self.held.is_empty() { Ok(()) } else { self.go_on() }
    }

    fn flush(&mut self) {
        self.outlets.0.iter_mut().for_each(|outlet| outlet.flush());
    }

    fn holding(&self) -> bool {
        self.outlets.holding() || !self.held.is_empty()
    }

    fn blocked(&self) -> bool {
        self.outlets.blocked() || !self.held.is_empty()
    }

    fn filling(&self) -> bool {
        self.outlets.0.iter().any(|outlet| outlet.filling())
    }

    fn wait(&self) -> bool {
        self.outlets.wait()
    }

    fn take_sent(&mut self) -> u64 {
        self.outlets.0.iter_mut().map(|outlet| outlet.take_sent()).sum()
    }

    fn batch_records(&self) -> usize {
        self.outlets.batch_records()
    }
}

/// A branch that ends in further branches: a fork, or steps in front of a union.
///
/// The steps run once; what comes out is doubled for all branches but the last.
pub(crate) struct Fork<S: Step> {
    step: S,
    /// What has left the steps and goes to the branches next. Something stays here only if a step
    /// fails: what it had made before.
    made: Vec<Stamped<S::Out>>,
    branches: Vec<Box<dyn Branch<S::Out>>>,
    double: Double<S::Out>,
    held: Held<S::In>,
    /// A step has failed: nothing more is given to it.
    failed: bool,
}

/// Doubles records for one more branch, one behind the other.
type Double<T> = fn(&[Stamped<T>], &mut Vec<Stamped<T>>);

/// After so many made records a fork whose steps make many of one looks whether it is blocked.
const FORK_PIECE: usize = 1_024;

impl<S: Step> Fork<S> {
    /// Steps in front of several branches.
    pub(crate) fn new(step: S, branches: Vec<Box<dyn Branch<S::Out>>>) -> Self
    where
        S::Out: Clone,
    {
        let (made, held) = (Vec::new(), Held::new());
        Self {
            step,
            made,
            branches,
            double: |records, copy| copy.extend(records.iter().cloned()),
            held,
            failed: false,
        }
    }

    /// Steps in front of one branch, which need not double anything.
    pub(crate) fn single(step: S, branch: Box<dyn Branch<S::Out>>) -> Self {
        let (made, held) = (Vec::new(), Held::new());
        Self { step, made, branches: vec![branch], double: |_, _| {}, held, failed: false }
    }

    fn keeps(&self) -> bool {
        !self.held.is_empty() || !self.made.is_empty()
    }

    /// Gives every branch what was made. A fault in one does not keep it from the others.
    fn hand_on(&mut self) -> Result<(), Failure> {
        let Self { made, branches, double, .. } = self;
        let Some((last, others)) = branches.split_last_mut() else { return Ok(()) };
        let mut faults = FirstFault::default();
        let mut copies: Vec<Vec<Stamped<S::Out>>> = Vec::new();
        for _ in &*others {
            let mut copy = Vec::with_capacity(made.len());
            faults.note(|| {
                double(made, &mut copy);
                Ok(())
            });
            // What stands behind a record that cannot be doubled is given up, for all of them.
            made.drain(copy.len()..).for_each(let_go);
            copies.push(copy);
        }
        for (branch, mut copy) in others.iter_mut().zip(copies) {
            copy.drain(made.len()..).for_each(let_go);
            faults.note(|| branch.records(&mut copy));
        }
        faults.note(|| last.records(made));
        faults.told()
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        while !self.held.records.is_empty() && !self.branches.iter().any(|it| it.blocked()) {
            self.make(|Self { step, made, held, .. }| {
                while made.len() < FORK_PIECE
                    && let Some(record) = held.records.pop()
                {
                    step.apply(record, &mut |record| made.push(record));
                }
            });
            // After a failure in a branch the others go on with what is left here.
            self.hand_on()?;
        }
        if self.held.records.is_empty() {
            for mark in std::mem::take(&mut self.held.marks) {
                self.branches.iter_mut().try_for_each(|branch| branch.mark(mark))?;
            }
        }
        Ok(())
    }

    /// Calls the steps. After a panic what is held here is given up; what was made before is not.
    fn make(&mut self, steps: impl FnOnce(&mut Self)) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| steps(self))) {
            self.failed = true;
            self.held.give_up();
            resume_unwind(payload);
        }
    }
}

impl<S: Step> Drop for Fork<S> {
    fn drop(&mut self) {
        let_go_all(&mut self.made);
    }
}

/// Of several faults the one that came first.
#[derive(Default)]
struct FirstFault(Option<Fault>);

enum Fault {
    Failure(Failure),
    Panic(Box<dyn Any + Send>),
}

impl FirstFault {
    fn note(&mut self, call: impl FnOnce() -> Result<(), Failure>) {
        let fault = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => Fault::Failure(failure),
            Err(payload) => Fault::Panic(payload),
        };
        match &self.0 {
            None => self.0 = Some(fault),
            // What a panic carries may panic when it is dropped.
            Some(_) => let_go(fault),
        }
    }

    fn told(self) -> Result<(), Failure> {
        match self.0 {
            None => Ok(()),
            Some(Fault::Failure(failure)) => Err(failure),
            Some(Fault::Panic(payload)) => resume_unwind(payload),
        }
    }
}

/// Collects into a plain vector.
struct Made<'a, T>(&'a mut Vec<Stamped<T>>);

impl<T: Data> Collect<T> for Made<'_, T> {
    #[inline]
    fn push(&mut self, record: Stamped<T>) {
        self.0.push(record);
    }

    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        std::mem::swap(self.0, records);
    }

    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        self.0.extend(records);
    }
}

impl<S: Step> Branch<S::In> for Fork<S> {
    fn records(&mut self, records: &mut Vec<Stamped<S::In>>) -> Result<(), Failure> {
        if self.failed {
            let_go_all(records);
            return Ok(());
        }
        if S::EXPANDS {
            self.held.put(records);
            return self.go_on();
        }
        self.make(|Self { step, made, .. }| step.apply_all(records, &mut Made(made)));
        self.hand_on()
    }
}

impl<S: Step> Outgoing for Fork<S> {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        if self.held.is_empty() {
            return self.branches.iter_mut().try_for_each(|branch| branch.mark(mark));
        }
        self.held.marks.push(mark);
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.branches.iter_mut().try_for_each(|branch| branch.advance())?;
        if !self.made.is_empty() && !self.branches.iter().any(|branch| branch.blocked()) {
            self.hand_on()?;
        }
        if self.held.is_empty() { Ok(()) } else { self.go_on() }
    }

    fn split(&mut self, split: Split) {
        self.branches.iter_mut().for_each(|branch| branch.split(split));
    }

    fn look(&mut self, now: Moment) -> Result<(), Failure> {
        self.branches.iter_mut().try_for_each(|branch| branch.look(now))
    }

    fn next_look(&self) -> Option<Moment> {
        self.branches.iter().filter_map(|branch| branch.next_look()).min()
    }

    fn flush(&mut self) {
        self.branches.iter_mut().for_each(|branch| branch.flush());
    }

    fn holding(&self) -> bool {
        self.keeps() || self.branches.iter().any(|branch| branch.holding())
    }

    fn blocked(&self) -> bool {
        self.keeps() || self.branches.iter().any(|branch| branch.blocked())
    }

    fn filling(&self) -> bool {
        self.branches.iter().any(|branch| branch.filling())
    }

    fn wait(&self) -> bool {
        let blocked = self.branches.iter().filter(|branch| branch.blocked());
        all_wait(blocked.map(|branch| branch.wait()))
    }

    fn take_sent(&mut self) -> u64 {
        self.branches.iter_mut().map(|branch| branch.take_sent()).sum()
    }

    fn batch_records(&self) -> usize {
        self.branches.iter().map(|branch| branch.batch_records()).min().unwrap_or(usize::MAX)
    }
}
