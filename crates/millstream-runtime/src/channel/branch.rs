//! One way out of a task: fused steps, and behind them the channels of an edge or further branches.

use millstream_core::{Data, Failure, Mark, Stamped};
use millstream_operators::{Collect, Step};

use super::route::{Outlets, Route, all_wait};

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
    /// A step has failed: what stands behind the record that it failed at is given up.
    fn give_up(&mut self);
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
    /// Batches sent since this was last asked.
    fn take_sent(&mut self) -> u64;
}

/// Input that a branch has taken and not worked off, because a step in it makes many records of one
/// and the channels were full in the middle: the records in reverse order, then marks.
struct Held<T> {
    records: Vec<Stamped<T>>,
    marks: Vec<Mark>,
}

impl<T> Held<T> {
    const fn new() -> Self {
        Self { records: Vec::new(), marks: Vec::new() }
    }

    fn put(&mut self, records: &mut Vec<Stamped<T>>) {
        debug_assert!(self.records.is_empty(), "a branch that is blocked is given no records");
        std::mem::swap(&mut self.records, records);
        self.records.reverse();
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.marks.is_empty()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.marks.clear();
    }
}

/// A branch that ends in the channels of one edge of the graph.
pub(crate) struct Edge<S: Step, R: Route<S::Out>> {
    step: S,
    route: R,
    outlets: Outlets<R::Out>,
    held: Held<S::In>,
}

impl<S: Step, R: Route<S::Out>> Edge<S, R> {
    pub(crate) const fn new(step: S, route: R, outlets: Outlets<R::Out>) -> Self {
        Self { step, route, outlets, held: Held::new() }
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        let Self { step, route, outlets, held } = self;
        let mut pushed = Ok(());
        while pushed.is_ok()
            && !outlets.blocked()
            && let Some(record) = held.records.pop()
        {
            step.apply(record, &mut |record| {
                if pushed.is_ok() {
                    pushed = route.push(record, outlets);
                }
            });
        }
        pushed?;
        if self.held.records.is_empty() {
            self.held.marks.drain(..).for_each(|mark| self.outlets.mark(mark));
        }
        Ok(())
    }
}

impl<S: Step, R: Route<S::Out>> Branch<S::In> for Edge<S, R> {
    fn records(&mut self, records: &mut Vec<Stamped<S::In>>) -> Result<(), Failure> {
        if S::EXPANDS {
            self.held.put(records);
            return self.go_on();
        }
        self.route.all(&mut self.step, records, &mut self.outlets)
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

    fn give_up(&mut self) {
        self.held.clear();
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
}

/// A branch that ends in further branches: a fork, or steps in front of a union.
///
/// The steps run once; what comes out is doubled for all branches but the last.
pub(crate) struct Fork<S: Step> {
    step: S,
    /// What has left the steps and goes to the branches next.
    made: Vec<Stamped<S::Out>>,
    branches: Vec<Box<dyn Branch<S::Out>>>,
    double: Double<S::Out>,
    held: Held<S::In>,
}

/// Doubles records for one more branch.
type Double<T> = fn(&[Stamped<T>]) -> Vec<Stamped<T>>;

/// After so many made records a fork whose steps make many of one looks whether it is blocked.
const FORK_PIECE: usize = 1_024;

impl<S: Step> Fork<S> {
    /// Steps in front of several branches.
    pub(crate) fn new(step: S, branches: Vec<Box<dyn Branch<S::Out>>>) -> Self
    where
        S::Out: Clone,
    {
        let (made, held) = (Vec::new(), Held::new());
        Self { step, made, branches, double: |records| records.to_vec(), held }
    }

    /// Steps in front of one branch, which need not double anything.
    pub(crate) fn single(step: S, branch: Box<dyn Branch<S::Out>>) -> Self {
        let (made, held) = (Vec::new(), Held::new());
        Self { step, made, branches: vec![branch], double: |_| Vec::new(), held }
    }

    fn hand_on(&mut self) -> Result<(), Failure> {
        let Some((last, others)) = self.branches.split_last_mut() else { return Ok(()) };
        for branch in others {
            branch.records(&mut (self.double)(&self.made))?;
        }
        last.records(&mut self.made)
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        while !self.held.records.is_empty() && !self.branches.iter().any(|it| it.blocked()) {
            while self.made.len() < FORK_PIECE
                && let Some(record) = self.held.records.pop()
            {
                self.step.apply(record, &mut |record| self.made.push(record));
            }
            self.hand_on()?;
        }
        if self.held.records.is_empty() {
            for mark in std::mem::take(&mut self.held.marks) {
                self.branches.iter_mut().try_for_each(|branch| branch.mark(mark))?;
            }
        }
        Ok(())
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
        if S::EXPANDS {
            self.held.put(records);
            return self.go_on();
        }
        self.step.apply_all(records, &mut Made(&mut self.made));
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
        if self.held.is_empty() { Ok(()) } else { self.go_on() }
    }

    fn give_up(&mut self) {
        self.held.clear();
        self.branches.iter_mut().for_each(|branch| branch.give_up());
    }

    fn flush(&mut self) {
        self.branches.iter_mut().for_each(|branch| branch.flush());
    }

    fn holding(&self) -> bool {
        !self.held.is_empty() || self.branches.iter().any(|branch| branch.holding())
    }

    fn blocked(&self) -> bool {
        !self.held.is_empty() || self.branches.iter().any(|branch| branch.blocked())
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
}
