//! Which calls have been woken, in the order of their wakes; written from any thread.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The calls of one task that have been woken and not polled since.
///
/// While the task has its turn a wake is only written down. The task asks at the end of its turn
/// whether there is something ([`rest`](Self::rest)); from then on the first wake wakes it, once.
/// Both happen under one lock, so that no wake falls between the question and the rest.
pub(super) struct Woken(Mutex<List>);

struct List {
    places: Vec<usize>,
    /// Who is to be woken; none while the task is awake.
    sleeper: Option<Waker>,
}

impl Woken {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(List { places: Vec::new(), sleeper: None }))
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task is awake. Puts what has been woken behind `places`, which keeps its memory.
    pub(super) fn take(&self, places: &mut Vec<usize>) {
        let mut list = self.list();
        list.sleeper = None;
        if places.is_empty() {
            mem::swap(places, &mut list.places);
        } else {
            places.append(&mut list.places);
        }
    }

    /// The task is about to sleep. False if something has been woken: it must not.
    pub(super) fn rest(&self, waker: &Waker) -> bool {
        let mut list = self.list();
        let empty = list.places.is_empty();
        if empty {
            match &mut list.sleeper {
                Some(sleeper) => sleeper.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        empty
    }
}

/// What wakes the call in one place. Made once and used by every call that comes there, so a wake
/// that comes late makes another call be polled in vain, and nothing else.
pub(super) struct CallWaker {
    place: usize,
    woken: Arc<Woken>,
    /// It stands in the list.
    listed: AtomicBool,
}

impl CallWaker {
    pub(super) fn new(place: usize, woken: &Arc<Woken>) -> Self {
        Self { place, woken: woken.clone(), listed: AtomicBool::new(false) }
    }

    /// Its call is about to be polled: a wake from here on counts anew. Whether there was one.
    pub(super) fn clear(&self) -> bool {
        self.listed.load(Ordering::Relaxed) && self.listed.swap(false, Ordering::AcqRel)
    }
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.listed.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut list = self.woken.list();
        list.places.push(self.place);
        let sleeper = list.sleeper.take();
        drop(list);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}
