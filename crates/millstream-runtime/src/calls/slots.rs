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
    /// Places without a call, the one to be used next last.
    free: Vec<usize>,
    /// Where the call of each ticket is, by the ticket's index.
    place_of: Vec<usize>,
    woken: Arc<Woken>,
    /// Places whose wake was taken over and not worked off, the next one last.
    taken: Vec<usize>,
}

/// A call that is out, and in which place.
#[derive(Clone, Copy)]
pub(crate) struct Out(usize);

/// Which attempt for which record a place holds.
#[derive(Clone, Copy)]
struct Held {
    ticket: Ticket,
    attempt: u32,
    record: Admission,
}

struct Slot<F> {
    future: Pin<Box<Option<F>>>,
    wake: Arc<CallWaker>,
    waker: Waker,
    held: Option<Held>,
}

impl<F> Slot<F> {
    fn new(place: usize, woken: &Arc<Woken>) -> Self {
        let wake = Arc::new(CallWaker::new(place, woken));
        let waker = Waker::from(wake.clone());
        Self { future: Box::pin(None), wake, waker, held: None }
    }

    /// The call is over or given up; its future is dropped, which may panic.
    fn clear(&mut self) {
        self.held = None;
        let future = &mut self.future;
        let _ = catch_unwind(AssertUnwindSafe(|| future.set(None)));
    }
}

impl<F: Future> Slot<F> {
    /// Polls the call, after it has been created by `create` if that is given.
    #[inline]
    fn poll(&mut self, record: Admission, create: Option<impl FnOnce() -> F>) -> Polled<F::Output> {
        let Self { future, wake, waker, .. } = self;
        wake.clear();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            in_call(record, || {
                if let Some(create) = create {
                    future.set(Some(create()));
                }
                let future_in_place = future.as_mut().as_pin_mut()?;
                let polled = future_in_place.poll(&mut Context::from_waker(waker));
                if polled.is_ready() {
                    future.set(None);
                }
                Some(polled)
            })
        }));
        match polled {
            Ok(None | Some(Poll::Pending)) => Polled::Pending,
            Ok(Some(Poll::Ready(answer))) => Polled::Ready(answer),
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
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            place_of: Vec::new(),
            woken: Arc::new(Woken::new()),
            taken: Vec::new(),
        }
    }

    /// Creates a call for a record and polls it. If it is out then, it is to be
    /// [held](Self::hold).
    #[inline]
    pub(crate) fn start(
        &mut self,
        record: Admission,
        create: impl FnOnce() -> F,
    ) -> (Polled<F::Output>, Out) {
        let place = match self.free.last() {
            Some(place) => *place,
            None => self.add_slot(),
        };
        let polled = self.slots[place].poll(record, Some(create));
        if matches!(polled, Polled::Pending) {
            self.free.pop();
        }
        (polled, Out(place))
    }

    #[cold]
    fn add_slot(&mut self) -> usize {
        let place = self.slots.len();
        self.slots.push(Slot::new(place, &self.woken));
        self.free.push(place);
        place
    }

    /// This call is out, and belongs to a ticket.
    #[inline]
    pub(crate) fn hold(&mut self, out: Out, ticket: Ticket, attempt: u32, record: Admission) {
        let Out(place) = out;
        if self.place_of.len() <= ticket.index() {
            self.place_of.resize(ticket.index() + 1, usize::MAX);
        }
        self.place_of[ticket.index()] = place;
        self.slots[place].held = Some(Held { ticket, attempt, record });
    }

    /// Polls the next call that has been woken. None if there is no further one.
    #[inline]
    pub(crate) fn poll_next(&mut self) -> Option<(Ticket, u32, Polled<F::Output>)> {
        loop {
            if self.taken.is_empty() {
                self.woken.take(&mut self.taken);
                self.taken.reverse();
            }
            let place = self.taken.pop()?;
            if let Some(polled) = self.poll_place(place) {
                return Some(polled);
            }
        }
    }

    /// Polls the call of a ticket if it has been woken.
    pub(crate) fn poll_woken(&mut self, of: Ticket) -> Option<(u32, Polled<F::Output>)> {
        let place = self.place_of(of)?;
        self.poll_place(place).map(|(_, attempt, polled)| (attempt, polled))
    }

    #[inline]
    fn poll_place(&mut self, place: usize) -> Option<(Ticket, u32, Polled<F::Output>)> {
        let slot = self.slots.get_mut(place)?;
        let Held { ticket, attempt, record } = slot.held?;
        if !slot.wake.clear() {
            return None;
        }
        let polled = slot.poll(record, None::<fn() -> F>);
        if !matches!(polled, Polled::Pending) {
            slot.held = None;
            self.free.push(place);
        }
        Some((ticket, attempt, polled))
    }

    fn place_of(&self, of: Ticket) -> Option<usize> {
        let place = *self.place_of.get(of.index())?;
        let held = self.slots.get(place)?.held?;
        (held.ticket == of).then_some(place)
    }

    /// Drops the call of a ticket.
    pub(crate) fn cancel(&mut self, of: Ticket) {
        if let Some(place) = self.place_of(of) {
            self.slots[place].clear();
            self.free.push(place);
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
