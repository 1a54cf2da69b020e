//! Which calls have been woken, in the order of their wakes; written from any thread.
//!
//! # Two lists
//!
//! Most wakes come from the thread of the task while it has its turn: a call wakes itself, or
//! another one. Nobody else can see these, so they go to a list of the thread, which costs a few
//! plain stores. All others go to a list behind a lock, and the first of them wakes the task if it
//! sleeps. Each call has a flag for each list, so that it stands in each at most once; one that
//! stands in both is polled once, since the poll takes both flags back.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The calls of one task that have been woken from outside its turn and not polled since.
///
/// While the task has its turn a wake is only written down. The task asks at the end of its turn
/// whether there is something ([`rest`](Self::rest)); from then on the first wake wakes it, once.
/// Both happen under one lock, so that no wake falls between the question and the rest.
pub(super) struct Woken {
    list: Mutex<List>,
    /// The list is not empty. Saves taking the lock; the lock decides.
    some: AtomicBool,
}

struct List {
    places: Vec<u32>,
    /// The memory of the thread's list, between two turns.
    spare: Vec<u32>,
    /// Who is to be woken; none while the task is awake.
    sleeper: Option<Waker>,
}

thread_local! {
    /// Whose turn it is on this thread: the address of its [`Woken`], or zero.
    static TURN_OF: Cell<usize> = const { Cell::new(0) };
    /// Its calls that have been woken in this turn.
    static HERE: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// A task has its turn on this thread for as long as this lives.
pub(crate) struct InTurn {
    woken: Arc<Woken>,
    /// Whose turn it was before, and what it had in its list: a call may run a dataflow of its
    /// own.
    before: (usize, Vec<u32>),
}

impl Drop for InTurn {
    /// What has been woken and not polled waits for the next turn. There is one: a task that rests
    /// has nothing here.
    fn drop(&mut self) {
        let (turn_of, here) = mem::take(&mut self.before);
        TURN_OF.set(turn_of);
        let mut left = HERE.replace(here);
        let mut list = self.woken.list();
        if !left.is_empty() {
            move_to(&mut list.places, &mut left);
            self.woken.some.store(true, Ordering::Relaxed);
        }
        list.spare = left;
    }
}

/// Behind what is there; the memory of both is kept.
fn move_to(places: &mut Vec<u32>, from: &mut Vec<u32>) {
    if places.is_empty() {
        mem::swap(places, from);
    } else {
        places.append(from);
    }
}

fn address(woken: &Arc<Woken>) -> usize {
    Arc::as_ptr(woken).addr()
}

impl Woken {
    pub(super) const fn new() -> Self {
        let list = List { places: Vec::new(), spare: Vec::new(), sleeper: None };
        Self { list: Mutex::new(list), some: AtomicBool::new(false) }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn of the task begins: it is awake.
    pub(super) fn begin_turn(self: &Arc<Self>) -> InTurn {
        let mut list = self.list();
        list.sleeper = None;
        let here = mem::take(&mut list.spare);
        drop(list);
        let before = (TURN_OF.replace(address(self)), HERE.replace(here));
        InTurn { woken: self.clone(), before }
    }

    /// A call is added to the list; the task is woken if it sleeps.
    fn add(&self, place: u32) {
        let mut list = self.list();
        list.places.push(place);
        self.some.store(true, Ordering::Relaxed);
        let sleeper = list.sleeper.take();
        drop(list);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }

    /// Puts what has been woken behind `places`, which keeps its memory.
    #[inline]
    pub(super) fn take(&self, places: &mut Vec<u32>) {
        HERE.with_borrow_mut(|here| move_to(places, here));
        if self.some.load(Ordering::Relaxed) {
            let mut list = self.list();
            self.some.store(false, Ordering::Relaxed);
            move_to(places, &mut list.places);
        }
    }

    /// The task is about to sleep. False if something has been woken: it must not.
    pub(super) fn rest(&self, waker: &Waker) -> bool {
        let mut list = self.list();
        let empty = list.places.is_empty() && HERE.with_borrow(Vec::is_empty);
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
    place: u32,
    woken: Arc<Woken>,
    /// It stands in the list of the thread; of no meaning to other threads.
    here: AtomicBool,
    /// It stands in the list behind the lock.
    listed: AtomicBool,
}

impl CallWaker {
    pub(super) fn new(place: u32, woken: &Arc<Woken>) -> Self {
        let (here, listed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { place, woken: woken.clone(), here, listed }
    }

    /// Its call is about to be polled: a wake from here on counts anew. Whether there was one.
    #[inline]
    pub(super) fn clear(&self) -> bool {
        let here = self.here.load(Ordering::Relaxed);
        self.here.store(false, Ordering::Relaxed);
        // What a waker wrote before it woke is seen by the poll: it is this swap that says so.
        let listed =
            self.listed.load(Ordering::Relaxed) && self.listed.swap(false, Ordering::AcqRel);
        here || listed
    }

    /// Wakes from outside the task's turn.
    fn list(&self) {
        if self.listed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.woken.add(self.place);
    }
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[inline]
    fn wake_by_ref(self: &Arc<Self>) {
        if TURN_OF.get() != address(&self.woken) {
            return self.list();
        }
        if !self.here.load(Ordering::Relaxed) {
            self.here.store(true, Ordering::Relaxed);
            HERE.with_borrow_mut(|here| here.push(self.place));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;

    /// What a turn finds, in order.
    fn found(woken: &Woken) -> Vec<u32> {
        let mut places = Vec::new();
        woken.take(&mut places);
        places
    }

    #[test]
    fn however_often_a_call_is_woken_it_stands_in_each_list_once() {
        let woken = Arc::new(Woken::new());
        let wakers = [3, 1].map(|place| Arc::new(CallWaker::new(place, &woken)));
        let all = wakers.clone();
        thread::spawn(move || (0..1_000).for_each(|n| all[n % 2].wake_by_ref())).join().unwrap();
        let turn = woken.begin_turn();
        (0..1_000).for_each(|_| wakers[1].wake_by_ref());
        assert_eq!(found(&woken), [1, 3, 1]);
        // Both are taken back by one poll, and a wake from then on counts anew.
        assert!(wakers[1].clear());
        assert!(!wakers[1].clear());
        wakers[1].wake_by_ref();
        assert_eq!(found(&woken), [1]);
        drop(turn);
    }

    #[test]
    fn what_is_woken_in_a_turn_and_not_polled_waits_for_the_next() {
        let woken = Arc::new(Woken::new());
        let waker = CallWaker::new(7, &woken);
        let waker = Arc::new(waker);
        let turn = woken.begin_turn();
        waker.wake_by_ref();
        drop(turn);
        assert!(!woken.rest(Waker::noop()));
        assert_eq!(found(&woken), [7]);
        assert!(woken.rest(Waker::noop()));
    }
}
