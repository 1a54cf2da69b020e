//! Credits: the right to have a batch under way, as a number shared by both ends of a channel.
//!
//! # The race
//!
//! The producer is about to wait while the consumer gives a credit back. One of them has to notice
//! the other, and a wake-up must neither be lost nor be sent for nothing. Two variables decide it:
//!
//! ```text
//! producer: waiting.swap(true);   if available > 0 { waiting.swap(false), go on } else { wait }
//! consumer: available += 1;       if waiting.swap(false) { send one Resume }
//! ```
//!
//! Both sides swap the flag, so one of the two swaps comes first. If it is the producer's, the
//! consumer finds the flag and sends. If it is the consumer's, the producer's swap reads what that
//! one wrote, and so sees all that the consumer did before: the credit. Both may find something:
//! then the producer goes on and a `Resume` arrives that finds nothing to do. The swap makes it one
//! `Resume` for however many credits come back while the producer waits. Nothing here needs an
//! order of all accesses over all variables, only acquire and release, which is what the model test
//! below can try in every interleaving.

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many more batches may be under way on one channel.
#[derive(Debug)]
pub(crate) struct Credits {
    available: AtomicUsize,
    waiting: AtomicBool,
}

impl Credits {
    pub(crate) fn new(credits: usize) -> Self {
        debug_assert!(credits > 0, "a channel without credit never moves");
        Self { available: AtomicUsize::new(credits), waiting: AtomicBool::new(false) }
    }

    /// Takes one, if there is one. Only the producer calls this.
    pub(crate) fn take(&self) -> bool {
        // Only the producer takes, so what it has seen cannot be taken by another.
        if self.available.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.available.fetch_sub(1, Ordering::AcqRel);
        true
    }

    /// Whether there are so many to take.
    pub(crate) fn has(&self, credits: usize) -> bool {
        self.available.load(Ordering::Acquire) >= credits
    }

    /// The producer says that it will wait. False if a credit has come meanwhile: it must not.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        self.waiting.swap(true, Ordering::AcqRel);
        if self.available.load(Ordering::Acquire) == 0 {
            return true;
        }
        self.waiting.swap(false, Ordering::AcqRel);
        false
    }

    /// Gives one back. True if the producer waits and has to be told; told once.
    #[must_use]
    pub(crate) fn give(&self) -> bool {
        self.available.fetch_add(1, Ordering::AcqRel);
        self.waiting.swap(false, Ordering::AcqRel)
    }

    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.available.load(Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_producer_that_waits_is_told_once() {
        let credits = Credits::new(2);
        assert!(credits.take() && credits.take() && !credits.take());
        assert!(credits.wait());
        assert!(credits.give());
        assert!(!credits.give());
        assert_eq!(credits.available(), 2);
    }

    #[test]
    fn a_producer_does_not_wait_when_there_is_credit() {
        let credits = Credits::new(1);
        assert!(!credits.wait());
        assert!(credits.take());
        assert!(!credits.give());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::*;

    /// A producer that has used its credits and decides to wait, against a consumer on another
    /// thread that gives them back: it is never left waiting without having been told.
    #[test]
    fn loom_no_wake_up_is_lost_and_no_credit_is_doubled() {
        loom::model(|| {
            let credits = Arc::new(Credits::new(2));
            let told = Arc::new(AtomicUsize::new(0));
            assert!(credits.take() && credits.take() && !credits.take());

            let consumer = {
                let (credits, told) = (credits.clone(), told.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        if credits.give() {
                            told.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            };
            let waits = credits.wait();
            let taken = if waits { 0 } else { usize::from(credits.take()) };
            consumer.join().unwrap();

            let told = told.load(Ordering::SeqCst);
            assert!(told <= 1, "told {told} times");
            if waits {
                assert_eq!(told, 1, "the producer waits and nobody tells it");
            } else {
                assert_eq!(taken, 1, "the producer was told to go on and found no credit");
            }
            assert_eq!(credits.available(), 2 - taken);
        });
    }

    /// Taking and giving at once: the number of credits is what it was.
    #[test]
    fn loom_credits_are_conserved() {
        loom::model(|| {
            let credits = Arc::new(Credits::new(1));
            assert!(credits.take());
            let consumer = {
                let credits = credits.clone();
                thread::spawn(move || drop(credits.give()))
            };
            let taken = usize::from(credits.take());
            consumer.join().unwrap();
            assert_eq!(credits.available() + taken, 1);
        });
    }
}
