//! What both sides of a benchmark compile: the data, the checksums and how a round is asked for.
//!
//! A comparison is worth something only when both sides do the same work on the same data. So
//! nothing of that is written twice: our own side and every peer take their records from here,
//! fold their results into a [`Checksum`] from here, and are asked for rounds and measured by
//! [`serve`] from here. What is left to a side is its dataflow.
//!
//! The allocator is the same too, for every program that depends on this crate: where each record
//! is a string, two allocators differ more than two runtimes. It is mimalloc, with which Renoir's
//! authors write their own examples.

mod calls;
mod checksum;
mod numbers;
mod protocol;
mod serve;
mod text;
mod timers;
mod work;

pub use calls::{
    BURST_CALLS_MAX, CALLS_MAX, LONG_SLEEP, SLEEPING_CALLS_MAX, called_at_once, called_with_sleep,
    called_with_yield,
};
pub use checksum::Checksum;
pub use numbers::{KEYS, Keyed, KeyedShare, doubled, share};
pub use protocol::{Answer, Latency, ProtocolError, RoundReport, RoundRequest, line, parse};
pub use serve::{Outcome, SideError, Workload, cpu_seconds, serve};
pub use text::{Text, TextError, WORDS_PER_LINE, tokens, write_text};
pub use timers::{
    FAR_KEYS, FAR_TIMERS, PAST_TIMERS, TIMER_KEYS, WATERMARK_EVERY, far_time, fired, near_time,
    past_times,
};
pub use work::work;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
