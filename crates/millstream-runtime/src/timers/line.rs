//! What a timer actor tells its task. Both live on one arbiter, so it is a queue that they share.
//!
//! A message would say the same; but the task's address has the type of its input in it, and a
//! shared queue is no slower to empty at the end of a turn. The actor wakes the task as an answer
//! of a call does: by the task's waker, and only if the task rests.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::Waker;

use millstream_operators::timers::{Edit, Firings};

use crate::panic::TaskFailure;

/// Room for so many edits is kept at most when there are none.
const SPARE_EDITS_MAX: usize = 16_384;

/// What a timer actor tells its task.
///
/// It holds two lists at most: one of each domain is out at a time.
pub(crate) struct Line<P> {
    firings: RefCell<VecDeque<Firings<P>>>,
    known: Cell<u64>,
    failure: RefCell<Option<TaskFailure>>,
    rests: RefCell<Option<Waker>>,
    /// The buffer of a list of edits that has been worked off.
    spare: RefCell<Vec<Edit<P>>>,
}

impl<P> Line<P> {
    pub(super) const fn new() -> Self {
        Self {
            firings: RefCell::new(VecDeque::new()),
            known: Cell::new(0),
            failure: RefCell::new(None),
            rests: RefCell::new(None),
            spare: RefCell::new(Vec::new()),
        }
    }

    /// Timers that are due.
    pub(super) fn fire(&self, firings: Firings<P>) {
        self.firings.borrow_mut().push_back(firings);
        self.wake();
    }

    /// So many edits have come. Of interest to a task that has too many under way, which rests
    /// until all have come.
    pub(super) fn knows(&self, edits: u64, all: bool) {
        self.known.set(edits);
        if all {
            self.wake();
        }
    }

    /// The timers are lost.
    pub(super) fn fail(&self, failure: TaskFailure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.wake();
    }

    /// The buffer of a list of edits, which is empty.
    pub(super) fn give_back(&self, buffer: Vec<Edit<P>>) {
        let mut spare = self.spare.borrow_mut();
        if buffer.capacity() > spare.capacity() && buffer.capacity() <= SPARE_EDITS_MAX {
            *spare = buffer;
        }
    }

    /// A buffer for the next list of edits.
    pub(crate) fn take_spare(&self) -> Vec<Edit<P>> {
        self.spare.take()
    }

    fn wake(&self) {
        if let Some(waker) = self.rests.take() {
            waker.wake();
        }
    }

    /// The next list, if there is one.
    pub(crate) fn take(&self) -> Option<Firings<P>> {
        self.firings.borrow_mut().pop_front()
    }

    /// How many edits have come.
    pub(crate) const fn known(&self) -> u64 {
        self.known.get()
    }

    /// Why the timers are lost, once.
    pub(crate) fn take_failure(&self) -> Option<TaskFailure> {
        self.failure.take()
    }

    /// The task rests, and is to be woken by `waker`. False if there is something for it.
    pub(crate) fn rest(&self, waker: &Waker) -> bool {
        if !self.firings.borrow().is_empty() || self.failure.borrow().is_some() {
            return false;
        }
        let mut rests = self.rests.borrow_mut();
        if rests.as_ref().is_none_or(|it| !it.will_wake(waker)) {
            *rests = Some(waker.clone());
        }
        true
    }
}
