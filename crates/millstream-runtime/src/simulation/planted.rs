//! Faults that are planted where credits come back, to see that the simulation finds them.
//!
//! They are switched on for one thread, so tests that run side by side do not disturb each other.

use std::cell::Cell;

use crate::channel::Credits;

/// What goes wrong, once in so many times that a producer waits and is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The credit is returned twice.
    TwiceIn(u32),
    /// The wake-up is lost.
    LostIn(u32),
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    /// How often a producer was told since the fault was planted.
    static TOLD: Cell<u32> = const { Cell::new(0) };
}

/// Plants a fault on this thread, or takes it away.
pub(super) fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
    TOLD.set(0);
}

/// A credit has been given back; what becomes of the word that the producer has to be told.
pub(crate) fn given(credits: &Credits, told: bool) -> bool {
    let Some(fault) = PLANTED.get().filter(|_| told) else { return told };
    TOLD.set(TOLD.get() + 1);
    match fault {
        Fault::TwiceIn(times) if TOLD.get().is_multiple_of(times) => {
            let _ = credits.give();
            true
        }
        Fault::LostIn(times) if TOLD.get().is_multiple_of(times) => false,
        _ => true,
    }
}
