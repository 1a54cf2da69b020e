//! The futures of one task: places that are used again, polled by the task itself.
//!
//! # Why not one task a call, or a set of futures
//!
//! A task a call costs an allocation, a wake through the scheduler and a message back to the actor
//! for each; the sets of the `futures` crate allocate a node a call and poll inside one task's
//! budget. Here a place is allocated once: a pinned box that the next call's future is moved into,
//! and a waker that was made with it. A call that is ready at once costs neither an allocation nor
//! a wake; one that waits costs an entry in a list.
//!
//! # What a copy costs
//!
//! A value that is written field by field and read back at once in larger pieces has to wait until
//! it has arrived in the cache: some ten nanoseconds, as long as all else that is done for a call
//! that is ready. It happens to a future once, when it is moved from where its function has built
//! it to its place, and as late as can be. The values that are made for a record are built where
//! they stay, or stay in registers: so the few functions through which they pass are always
//! inlined.

use std::future::Future;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use millstream_operators::async_wait::{Admission, grow};
use millstream_operators::holding;

use super::current::in_call;
use super::woken::{CallWaker, InTurn, Woken};
use crate::panic::panic_message;

/// What polling a call has led to.
pub(crate) enum Polled<T> {
    /// It has answered.
    Ready(T),
    /// It will wake its place.
    Pending,
    /// It, or what should have created it, panicked with this message.
    Panicked(Box<str>),
}

/// The calls of one task that are out, each in the place of its record.
pub(crate) struct Calls<F> {
    slots: Vec<Slot<F>>,
    most: usize,
    woken: Arc<Woken>,
    /// Places whose wake was taken over, of which so many were worked off.
    taken: Vec<u32>,
    done: usize,
}

struct Slot<F> {
    /// The call that is out, if one is.
    future: Pin<Box<Option<F>>>,
    wake: Arc<CallWaker>,
    waker: Waker,
}

impl<F> Slot<F> {
    fn new(place: u32, woken: &Arc<Woken>) -> Self {
        let wake = Arc::new(CallWaker::new(place, woken));
        let waker = Waker::from(wake.clone());
        Self { future: Box::pin(None), wake, waker }
    }

    /// The call is over or given up; its future is dropped, which may panic.
    fn clear(&mut self) {
        let future = &mut self.future;
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| future.set(None))) {
            std::mem::forget(payload);
        }
    }
}

impl<F: Future> Slot<F> {
    /// Polls the call that is here.
    #[inline]
    fn poll(&mut self) -> Polled<F::Output> {
        let Self { future, waker, .. } = self;
        let Some(call) = future.as_mut().as_pin_mut() else { return Polled::Pending };
        let Poll::Ready(answer) = call.poll(&mut Context::from_waker(waker)) else {
            return Polled::Pending;
        };
        if needs_drop::<F>() {
            return Polled::Ready(holding(answer, |_| future.set(None)).0);
        }
        future.set(None);
        Polled::Ready(answer)
    }
}

/// Runs users' code for a record, behind a border. What panics leaves a call that is to be dropped.
// What is passed here is not to be written to memory and read back at once.
#[inline(always)]
fn bordered<T>(
    record: Admission,
    work: impl FnOnce() -> Polled<T>,
) -> Result<Polled<T>, Polled<T>> {
    catch_unwind(AssertUnwindSafe(|| in_call(record, work)))
        .map_err(|payload| Polled::Panicked(panic_message(payload).into()))
}

impl<F: Future> Calls<F> {
    /// No calls yet, and in so many places at most.
    pub(crate) fn new(most: usize) -> Self {
        let woken = Arc::new(Woken::new());
        Self { slots: Vec::new(), most, woken, taken: Vec::new(), done: 0 }
    }

    /// The task's turn begins, and lasts until this is dropped.
    pub(crate) fn begin_turn(&self) -> InTurn {
        self.woken.begin_turn()
    }

    /// Creates the call for the record that lies, or would lie, in this place, and polls it. If it
    /// is pending it is out, and the place is not to be used for another before it is over.
    #[inline]
    pub(crate) fn start(
        &mut self,
        place: usize,
        record: Admission,
        create: impl FnOnce() -> F,
    ) -> Polled<F::Output> {
        let polled = bordered(record, || {
            // First the call and then its place: a call that has just been written cannot be moved
            // at once without waiting until that is done.
            let call = create();
            let slot = match self.slots.get_mut(place) {
                Some(slot) => slot,
                None => self.add_slots(place),
            };
            // What was woken before was another call.
            slot.wake.clear();
            slot.future.set(Some(call));
            slot.poll()
        });
        polled.unwrap_or_else(|panicked| {
            self.cancel(place);
            panicked
        })
    }

    #[cold]
    fn add_slots(&mut self, place: usize) -> &mut Slot<F> {
        let new = self.slots.len()..=place;
        grow(&mut self.slots, self.most);
        self.slots.extend(new.map(|place| Slot::new(place as u32, &self.woken)));
        &mut self.slots[place]
    }

    /// Polls the next call that has been woken, and says in which place it is and for which record.
    /// None if there is no further one. `record` says which record's call is out in a place.
    #[inline]
    pub(crate) fn poll_next(
        &mut self,
        record: impl Fn(usize) -> Option<Admission>,
    ) -> Option<(usize, Admission, Polled<F::Output>)> {
        loop {
            let Some(place) = self.taken.get(self.done).map(|place| *place as usize) else {
                self.taken.clear();
                self.done = 0;
                self.woken.take(&mut self.taken);
                if self.taken.is_empty() {
                    return None;
                }
                continue;
            };
            self.done += 1;
            if let Some(record) = record(place)
                && let Some(polled) = self.poll_woken(place, record)
            {
                return Some((place, record, polled));
            }
        }
    }

    /// Polls the call for this record in this place, if it has been woken.
    // What is passed here is not to be written to memory and read back at once.
    #[inline(always)]
    pub(crate) fn poll_woken(
        &mut self,
        place: usize,
        record: Admission,
    ) -> Option<Polled<F::Output>> {
        let slot = self.slots.get_mut(place)?;
        if !slot.wake.clear() {
            return None;
        }
        let polled = bordered(record, || slot.poll());
        Some(polled.unwrap_or_else(|panicked| {
            slot.clear();
            panicked
        }))
    }

    /// Drops the call in this place.
    pub(crate) fn cancel(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place) {
            slot.clear();
        }
    }

    /// The task is about to sleep until a call, or something else, wakes it. False if a call has
    /// been woken: it must not.
    pub(crate) fn rest(&self, waker: &Waker) -> bool {
        self.done == self.taken.len() && self.woken.rest(waker)
    }
}

impl<F> Drop for Calls<F> {
    /// One by one: a panic in one does not keep the others from being dropped.
    fn drop(&mut self) {
        self.slots.iter_mut().for_each(Slot::clear);
    }
}
