//! What can be measured, and against whom.

use clap::ValueEnum;
use millstream_bench_workload::{FAR_TIMERS, PAST_TIMERS};

/// Calls that yield once: a workload, and a side of calls in the order of keys.
const ASYNC_YIELD: &str = "async-yield";

/// The same with results as they come.
const ASYNC_YIELD_UNORDERED: &str = "async-yield-unordered";

/// One stage of timers: a workload, and a side of several.
const EVENT_TIMERS: &str = "event-timers";

/// State by key, with a small state: a workload, and a side of a large one.
const KEYED_PROCESS: &str = "keyed-process";

/// A running sum by key: a workload, and a side of keyed processing.
const KEYED_SUM: &str = "keyed-sum";

/// A program that can stand on one side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// Ourselves.
    Millstream,
    /// Ourselves with one worker, whatever the other side has.
    OneWorker,
    /// Ourselves without the step: what the way to the sink costs by itself.
    EmptyHop,
    /// Ourselves doing `async-yield` in its stead: results in the order of the input, no keys.
    AsyncYield,
    /// Ourselves doing `async-yield-unordered` in its stead: results as they come, no keys.
    AsyncYieldUnordered,
    /// Ourselves doing `keyed-sum` in its stead.
    KeyedSum,
    /// Ourselves doing `keyed-process` in its stead: 64 bytes of state a key.
    KeyedProcess,
    /// Ourselves doing `event-timers` in its stead: one stage.
    EventTimers,
    /// Two threads and a bare tokio channel: the machine's own floor.
    TokioChannel,
    /// Renoir, one thread a block.
    Renoir,
    /// Three actix actors, one message a record.
    ActixNaive,
    /// A stream of calls of the crate `futures`.
    Futures,
    /// A binary heap and a hash set in a loop, without a runtime.
    Heap,
}

/// Where the program of a side comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This program, as the side named.
    Ourselves(Side),
    /// A workspace of its own under `peers/`, built when it is needed.
    Peer(&'static str),
}

impl Side {
    /// Its name on the command line and in rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Millstream => "millstream",
            Self::OneWorker => "one-worker",
            Self::EmptyHop => "empty-hop",
            Self::AsyncYield => ASYNC_YIELD,
            Self::AsyncYieldUnordered => ASYNC_YIELD_UNORDERED,
            Self::KeyedSum => KEYED_SUM,
            Self::KeyedProcess => KEYED_PROCESS,
            Self::EventTimers => EVENT_TIMERS,
            Self::TokioChannel => "tokio-channel",
            Self::Renoir => "renoir",
            Self::ActixNaive => "actix-naive",
            Self::Futures => "futures",
            Self::Heap => "heap",
        }
    }

    /// What it is, in a line.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Millstream => "ourselves",
            Self::OneWorker => "ourselves with one worker",
            Self::EmptyHop => "ourselves without the step; the sink doubles",
            Self::AsyncYield => "ourselves without keys, results in the order of the input",
            Self::AsyncYieldUnordered => "ourselves without keys, results as they come",
            Self::KeyedSum => "ourselves with one look-up a record and nothing else",
            Self::KeyedProcess => "ourselves with 64 bytes of state a key",
            Self::EventTimers => "ourselves with one stage of timers",
            Self::TokioChannel => "a bare tokio channel between two threads",
            Self::Renoir => "renoir 0.6, batches of 1,024",
            Self::ActixNaive => "three actors on one arbiter, each record one do_send",
            Self::Futures => "futures 0.3 on one thread: buffered, unordered buffer_unordered",
            Self::Heap => "a binary heap and a hash set in a loop, no runtime",
        }
    }

    /// Where its program comes from.
    pub(crate) const fn program(self) -> Program {
        match self {
            Self::Millstream
            | Self::OneWorker
            | Self::AsyncYield
            | Self::AsyncYieldUnordered
            | Self::KeyedSum
            | Self::KeyedProcess
            | Self::EventTimers => Program::Ourselves(Self::Millstream),
            Self::EmptyHop | Self::TokioChannel => Program::Ourselves(self),
            Self::Renoir => Program::Peer("renoir"),
            Self::ActixNaive => Program::Peer("actix-naive"),
            Self::Futures => Program::Peer("futures"),
            Self::Heap => Program::Peer("heap"),
        }
    }

    /// Whether it is ourselves, and so must count the batches of an exchange.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Millstream | Self::OneWorker)
    }

    /// How many workers it has when the command line says `workers`.
    pub(crate) const fn workers(self, workers: u64) -> u64 {
        match self {
            Self::OneWorker => 1,
            _ => workers,
        }
    }

    /// Which workload it does when `workload` is measured: that one, or what it is to be held
    /// against, if it comes to the same results.
    pub(crate) const fn workload(self, workload: &'static str) -> &'static str {
        match self {
            Self::AsyncYield => ASYNC_YIELD,
            Self::AsyncYieldUnordered => ASYNC_YIELD_UNORDERED,
            Self::KeyedSum => KEYED_SUM,
            Self::KeyedProcess => KEYED_PROCESS,
            Self::EventTimers => EVENT_TIMERS,
            _ => workload,
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Records a second, in rounds long enough for it.
    Rate,
    /// How old records are when they come out, at this many records a second.
    Latency {
        /// Records a second.
        rate: u64,
    },
    /// What an idle job costs.
    Idle,
    /// What twice as many records cost, from so many on.
    Growth {
        /// Records in the smallest round.
        from: u64,
        /// How often they are doubled.
        doublings: u32,
    },
}

/// One workload.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: &'static str,
    /// What both sides do, in a line.
    pub(crate) about: &'static str,
    /// What is measured.
    pub(crate) measure: Measure,
    /// Who can do it besides ourselves; the first is the one if none is named.
    pub(crate) peers: &'static [Side],
    /// Whether our side counts the batches that its second task receives, to prove that there
    /// is one.
    pub(crate) exchange: bool,
    /// Whether it counts a text.
    pub(crate) text: bool,
    /// Whether it does user work on each record.
    pub(crate) work: bool,
    /// Rounds are of so many records or a multiple of it.
    pub(crate) quantum: u64,
    /// Pairs if the command line does not say.
    pub(crate) pairs: u32,
}

/// All workloads.
pub(crate) static WORKLOADS: &[Entry] = &[
    Entry {
        name: "map",
        about: "u64 0, 1, 2 …; x * 2; fold into a checksum",
        peers: &[Side::Renoir, Side::EmptyHop, Side::ActixNaive, Side::OneWorker],
        ..RATE
    },
    Entry {
        name: "exchange",
        about: "u64; x * 2; rebalance; identity; checksum",
        peers: &[Side::Renoir, Side::ActixNaive, Side::OneWorker],
        exchange: true,
        ..RATE
    },
    Entry {
        name: KEYED_SUM,
        about: "1,000 keys; running sum by key, every record emitted; checksum",
        peers: &[Side::Renoir, Side::ActixNaive, Side::OneWorker],
        exchange: true,
        ..RATE
    },
    Entry {
        name: "keyed-work",
        about: "as keyed-sum, 200 ns of work a record",
        peers: &[Side::OneWorker, Side::Renoir],
        work: true,
        exchange: true,
        ..RATE
    },
    Entry {
        name: "word-count",
        about: "100 MB of text, Zipf words; count by word",
        peers: &[Side::Renoir, Side::OneWorker],
        text: true,
        exchange: true,
        ..RATE
    },
    Entry {
        name: "latency",
        about: "100,000 records/s through an exchange; age of records at the end",
        measure: Measure::Latency { rate: 100_000 },
        peers: &[Side::TokioChannel],
        exchange: true,
        ..RATE
    },
    Entry {
        name: "idle",
        about: "20 operators, no input, 30 s; share of a core",
        measure: Measure::Idle,
        peers: &[Side::TokioChannel],
        pairs: 1,
        ..RATE
    },
    Entry {
        name: "async-ready",
        about: "u64; a call a record, ready at once, 100 in flight; in order; checksum",
        ..CALLS
    },
    Entry { name: "async-ready-unordered", about: "as async-ready, results as they come", ..CALLS },
    Entry { name: ASYNC_YIELD, about: "as async-ready, each call yields once", ..CALLS },
    Entry { name: ASYNC_YIELD_UNORDERED, about: "as async-yield, results as they come", ..CALLS },
    Entry {
        name: "async-sleep",
        about: "as async-ready, each call sleeps 1 ms, 1,000 in flight",
        ..CALLS
    },
    Entry { name: "async-sleep-unordered", about: "as async-sleep, results as they come", ..CALLS },
    Entry {
        name: "async-burst",
        about: "as async-sleep, each call sleeps 100 ms, all of them in flight",
        measure: Measure::Growth { from: 1_000, doublings: 5 },
        ..CALLS
    },
    Entry {
        name: "async-timeout",
        about: "as async-yield, ours with a time-out of 10 s a call, the peer with none",
        ..CALLS
    },
    Entry {
        name: "async-keyed",
        about: "as async-yield, 1,000 keys, one call of a key at a time, in order by key",
        peers: &[Side::AsyncYieldUnordered, Side::AsyncYield],
        ..RATE
    },
    Entry {
        name: EVENT_TIMERS,
        about: "1,000 keys, a timer a record 500 ms ahead, a watermark each 1,000 records",
        ..TIMERS
    },
    Entry {
        name: "event-timers-far",
        about: "1 M keys, 2 M timers spread over 1,000 s far ahead; then all fire",
        quantum: FAR_TIMERS,
        ..TIMERS
    },
    Entry {
        name: "event-timers-eight",
        about: "as event-timers, eight stages in a row on one arbiter",
        peers: &[Side::EventTimers],
        ..RATE
    },
    Entry { name: "timer-delete", about: "a timer a record, set and deleted at once", ..TIMERS },
    Entry {
        name: "processing-timers",
        about: "one key sets 150,000 timers whose time has passed; all fire",
        quantum: PAST_TIMERS,
        ..TIMERS
    },
    Entry {
        name: KEYED_PROCESS,
        about: "as keyed-sum, by a process with 64 bytes of state a key",
        peers: &[Side::KeyedSum],
        ..RATE
    },
    Entry {
        name: "keyed-process-large",
        about: "as keyed-process, with 4 KiB of state a key",
        peers: &[Side::KeyedProcess, Side::KeyedSum],
        ..RATE
    },
];

/// What most workloads are.
const RATE: Entry = Entry {
    name: "",
    about: "",
    measure: Measure::Rate,
    peers: &[],
    exchange: false,
    text: false,
    work: false,
    quantum: 1,
    pairs: 9,
};

/// What most workloads with timers are.
const TIMERS: Entry = Entry { peers: &[Side::Heap], ..RATE };

/// What most workloads with calls are.
const CALLS: Entry = Entry { peers: &[Side::Futures], ..RATE };

/// The workload of that name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    WORKLOADS.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_can_be_found_and_has_a_peer() {
        for entry in WORKLOADS {
            assert!(std::ptr::eq(find(entry.name).unwrap(), entry), "{}", entry.name);
            assert!(!entry.peers.is_empty() && !entry.about.is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn a_side_is_called_the_same_on_the_command_line() {
        for side in Side::value_variants() {
            assert_eq!(side.to_possible_value().unwrap().get_name(), side.name());
        }
    }

    #[test]
    fn a_side_does_the_workload_or_another_one_that_there_is() {
        for side in Side::value_variants() {
            let done = side.workload("async-keyed");
            assert!(find(done).is_some(), "{}", side.name());
            let another = done != "async-keyed";
            assert_eq!(another, side.name() == done, "{}", side.name());
        }
        assert_eq!(Side::Millstream.workload("async-keyed"), "async-keyed");
        assert_eq!(Side::AsyncYield.workload("async-keyed"), "async-yield");
    }

    #[test]
    fn one_worker_is_one_whatever_the_other_side_has() {
        assert_eq!(Side::OneWorker.workers(4), 1);
        assert_eq!(Side::Millstream.workers(4), 4);
        assert_eq!(Side::Renoir.workers(4), 4);
    }
}
