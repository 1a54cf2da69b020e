//! What has happened in a stage of calls, in numbers.

use millstream_core::Moment;

/// What has happened in a stage of calls since this was asked last, and how things stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Calls made.
    pub attempts: u64,
    /// Of them, those that were made again.
    pub retries: u64,
    /// Records whose time was over.
    pub timeouts: u64,
    /// Records whose call failed for good, time-outs left out.
    pub failures: u64,
    /// Records that had their outcome without waiting for it: their latency is none.
    pub at_once: u64,
    /// Records whose results have gone out, or what stood in their place.
    pub completed: u64,
    /// Records that were dropped because their call failed.
    pub dropped: u64,
    /// Records that left as dead letters.
    pub dead_letters: u64,
    /// Records that are admitted and have not gone out.
    pub queued: usize,
    /// Of them, those without an outcome.
    pub in_flight: usize,
    /// When the call began that has been out for the longest time.
    pub oldest: Option<Moment>,
}
