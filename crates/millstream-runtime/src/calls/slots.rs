//! The futures of one task: places that are used again, polled by the task itself.
//!
//! # Why not one task a call, or a set of futures
//!
//! A task a call costs an allocation, a wake through the scheduler and a message back to the actor
//! for each; the sets of the `futures` crate allocate a node a call and poll inside one task's
//! budget. Here a place is allocated once: a pinned box that the next call's future is moved into,
//! and a waker that was made with it. A call that is ready at once costs neither an allocation nor
//! a wake; one that waits costs an entry in a list.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use millstream_operators::async_wait::{Admission, Ticket};
use millstream_operators::let_go;

use super::current::in_call;
use super::woken::{CallWaker, Woken};
use crate::panic::panic_message;

/// What polling a call has led to.
pub(crate) enum Polled<T> {
    /// It has answered.
    Ready(T),
    /// It will wake its place.
    Pending,
    /// It, or what should have created it, panicked with this message.
    Panicked(String),
}

/// The calls of one task that are out.
pub(crate) struct Calls<F> {
    slots: Vec<Slot<F>>,
    woken: Arc<Woken>,
    /// Places whose wake was taken over and not worked off, the next one last.
    taken: Vec<usize>,
}

struct Slot<F> {
    future: Pin<Box<Option<F>>>,
    wake: Arc<CallWaker>,
    waker: Waker,
    call: Option<(Ticket, u32, Admission)>,
}

impl<F> Slot<F> {
    fn new(place: usize, woken: &Arc<Woken>) -> Self {
        let wake = Arc::new(CallWaker::new(place, woken));
        let waker = Waker::from(wake.clone());
        Self { future: Box::pin(None), wake, waker, call: None }
    }

    /// The call is over or given up; its future is dropped, which may panic.
    fn clear(&mut self) {
        self.call = None;
        let future = &mut self.future;
        let _ = catch_unwind(AssertUnwindSafe(|| future.set(None)));
    }
}

impl<F: Future> Slot<F> {
    #[inline]
    fn poll(&mut self, record: Admission) -> Polled<F::Output> {
        let Self { future, wake, waker, .. } = self;
        wake.clear();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let future = future.as_mut().as_pin_mut()?;
            Some(in_call(record, || future.poll(&mut Context::from_waker(waker))))
        }));
        self.told(polled)
    }

    #[inline]
    fn told(&mut self, polled: std::thread::Result<Option<Poll<F::Output>>>) -> Polled<F::Output> {
        match polled {
            Ok(None | Some(Poll::Pending)) => Polled::Pending,
            Ok(Some(Poll::Ready(answer))) => {
                self.clear();
                Polled::Ready(answer)
            }
            Err(payload) => {
                self.clear();
                let message = panic_message(&*payload);
                let_go(payload);
                Polled::Panicked(message)
            }
        }
    }
}

impl<F: Future> Calls<F> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), woken: Arc::new(Woken::new()), taken: Vec::new() }
    }

    /// Creates a call in the place of its ticket and polls it.
    #[inline]
    pub(crate) fn start(
        &mut self,
        (ticket, attempt, record): (Ticket, u32, Admission),
        create: impl FnOnce() -> F,
    ) -> Polled<F::Output> {
        let place = ticket.index();
        while self.slots.len() <= place {
            self.slots.push(Slot::new(self.slots.len(), &self.woken));
        }
        let slot = &mut self.slots[place];
        slot.call = Some((ticket, attempt, record));
        let Slot { future, wake, waker, .. } = slot;
        wake.clear();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            in_call(record, || {
                future.set(Some(create()));
                let future = future.as_mut().as_pin_mut()?;
                Some(future.poll(&mut Context::from_waker(waker)))
            })
        }));
        slot.told(polled)
    }

    /// Polls the next call that has been woken. None if there is no further one.
    #[inline]
    pub(crate) fn poll_next(&mut self) -> Option<(Ticket, u32, Polled<F::Output>)> {
        loop {
            if self.taken.is_empty() {
                self.woken.take(&mut self.taken);
                self.taken.reverse();
            }
            let slot = self.slots.get_mut(self.taken.pop()?)?;
            if let Some((ticket, attempt, record)) = slot.call
                && slot.wake.clear()
            {
                return Some((ticket, attempt, slot.poll(record)));
            }
        }
    }

    /// Polls the call of a ticket if it has been woken.
    pub(crate) fn poll_woken(&mut self, of: Ticket) -> Option<(u32, Polled<F::Output>)> {
        let slot = self.slots.get_mut(of.index())?;
        let (ticket, attempt, record) = slot.call?;
        (ticket == of && slot.wake.clear()).then(|| (attempt, slot.poll(record)))
    }

    /// Drops the call of a ticket.
    pub(crate) fn cancel(&mut self, of: Ticket) {
        if let Some(slot) = self.slots.get_mut(of.index())
            && slot.call.is_some_and(|(ticket, ..)| ticket == of)
        {
            slot.clear();
        }
    }

    /// The task is about to sleep until a call, or something else, wakes it. False if a call has
    /// been woken: it must not.
    pub(crate) fn rest(&self, waker: &Waker) -> bool {
        self.taken.is_empty() && self.woken.rest(waker)
    }
}

impl<F> Drop for Calls<F> {
    /// One by one: a panic in one does not keep the others from being dropped.
    fn drop(&mut self) {
        self.slots.iter_mut().for_each(Slot::clear);
    }
}
