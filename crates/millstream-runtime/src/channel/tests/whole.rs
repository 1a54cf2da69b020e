//! Proves that a batch that is taken whole keeps its credit until it is dropped, and that an inbox
//! knows of the barriers and ends that can be taken.

use std::sync::Arc;

use millstream_core::{Attempt, Batch, Epoch, Mark, Timestamp};
use millstream_metrics::TaskMetrics;

use super::{nobody, stamped};
use crate::channel::deliver::{Deliver, Link};
use crate::channel::inbox::{Inbox, Taken, Whole};

const CREDITS: usize = 10;
const BARRIER: Mark = Mark::Barrier(Epoch::new(1));

/// An inbox that is filled by one link.
struct Bench {
    inbox: Inbox<u64>,
    link: Arc<Link<u64>>,
    metrics: Arc<TaskMetrics>,
}

impl Bench {
    fn new(channels: usize) -> Self {
        let metrics = Arc::new(TaskMetrics::default());
        let link = Arc::new(Link::new(CREDITS, nobody(), metrics.clone()));
        Self { inbox: Inbox::new(channels), link, metrics }
    }

    fn file(&mut self, channel: usize, records: &[u64], mark: Option<Mark>) {
        assert!(records.is_empty() || self.link.credits.take());
        let batch = Batch { records: stamped(records.iter().copied()), mark };
        let delivery = Deliver { channel, attempt: Attempt::new(0), loan: self.link.lend(batch) };
        assert!(self.inbox.file(delivery).is_ok());
    }

    fn lent(&self) -> (usize, i64) {
        (CREDITS - self.link.credits.available(), self.metrics.records_queued.get())
    }

    fn knows(&self) -> (bool, bool) {
        (self.inbox.has_barrier(), self.inbox.has_end())
    }
}

fn rest(whole: &mut Whole<u64>) -> Vec<u64> {
    std::iter::from_fn(|| whole.next()).map(|record| record.value).collect()
}

#[test]
fn a_batch_that_is_taken_whole_holds_its_credit_until_it_is_dropped() {
    let mut bench = Bench::new(1);
    bench.file(0, &[1, 2, 3], Some(BARRIER));
    bench.file(0, &[4], None);
    let mut whole = bench.inbox.take_whole(|_| 0).unwrap();
    assert_eq!((bench.inbox.waiting(), bench.lent()), (1, (2, 4)));

    assert!(whole.has_barrier());
    assert_eq!(whole.take_mark(), None, "records stand in front of it");
    assert_eq!(whole.ahead().map(|record| record.value), Some(1));
    assert_eq!(whole.next().map(|record| record.value), Some(1), "in the order of the batch");
    assert_eq!(rest(&mut whole), [2, 3]);
    assert!(whole.ahead().is_none() && whole.next().is_none());
    assert_eq!(whole.take_mark(), Some((0, BARRIER)));
    assert_eq!((whole.take_mark(), whole.has_barrier()), (None, false), "a mark is given out once");
    assert_eq!(bench.lent(), (2, 4), "nothing is given back before it is dropped");
    drop(whole);
    assert_eq!(bench.lent(), (1, 1));

    let mut whole = bench.inbox.take_whole(|_| 0).unwrap();
    assert_eq!((whole.has_barrier(), rest(&mut whole), whole.take_mark()), (false, vec![4], None));
    assert!(bench.inbox.take_whole(|_| 0).is_none());
    drop(whole);
    assert_eq!((bench.inbox.waiting(), bench.lent()), (0, (0, 0)));
}

#[test]
fn a_whole_batch_that_is_dropped_early_gives_its_credit_and_its_buffer_back() {
    let mut bench = Bench::new(1);
    bench.file(0, &[1, 2, 3], None);
    let mut whole = bench.inbox.take_whole(|_| 0).unwrap();
    assert!(whole.next().is_some());
    drop(whole);
    assert_eq!(bench.lent(), (0, 0));
    let buffer = bench.link.buffer();
    assert!(buffer.is_empty() && buffer.capacity() >= 3, "{}", buffer.capacity());
}

#[test]
fn channels_give_their_whole_batches_in_turn() {
    let mut bench = Bench::new(3);
    for (channel, first) in [(0, 10), (0, 20), (1, 30), (2, 40), (2, 50)] {
        bench.file(channel, &[first, first + 1], None);
    }
    let mut order = Vec::new();
    while let Some(mut whole) = bench.inbox.take_whole(|_| 0) {
        order.extend(rest(&mut whole));
    }
    assert_eq!(order, [10, 11, 30, 31, 40, 41, 20, 21, 50, 51]);
    // Whoever picks decides; too large a number is the last.
    for (channel, record) in [(0, 1), (1, 2), (2, 3)] {
        bench.file(channel, &[record], None);
    }
    let picked = [1, 9, 0].map(|n| rest(&mut bench.inbox.take_whole(|_| n).unwrap()));
    assert_eq!(picked, [[2], [3], [1]]);
}

#[test]
fn a_quiesced_inbox_gives_out_whole_batches_and_a_closed_one_none() {
    let mut bench = Bench::new(1);
    bench.file(0, &[1], None);
    bench.file(0, &[2], None);
    bench.inbox.quiesce();
    assert_eq!(rest(&mut bench.inbox.take_whole(|_| 0).unwrap()), [1]);
    let left = bench.inbox.close();
    assert!(bench.inbox.take_whole(|_| 0).is_none());
    assert_eq!((left.len(), bench.knows()), (1, (false, false)));
    drop(left);
    assert_eq!(bench.lent(), (0, 0));
}

#[test]
fn a_barrier_is_known_of_wherever_it_lies_as_long_as_it_can_be_taken() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.knows(), (false, false));
    bench.file(1, &[1], None);
    bench.file(1, &[2, 3], Some(BARRIER));
    bench.file(1, &[4], None);
    assert_eq!(bench.knows(), (true, false), "two batches stand in front of it");
    bench.inbox.hold_where(|channel| channel == 1);
    assert_eq!(bench.knows(), (false, false), "its channel is held");
    assert!(bench.inbox.take_whole(|_| 0).is_none());
    bench.inbox.hold_where(|_| false);
    assert_eq!(bench.knows(), (true, false));
    drop(bench.inbox.take_whole(|_| 0));
    let whole = bench.inbox.take_whole(|_| 0).unwrap();
    assert_eq!((whole.has_barrier(), bench.knows()), (true, (false, false)), "it was taken");
}

#[test]
fn an_end_is_known_of_when_no_record_can_be_taken() {
    let at = |millis| Some(Mark::Watermark(Timestamp::from_millis(millis).unwrap()));
    let mut bench = Bench::new(2);
    bench.file(0, &[], at(1));
    assert_eq!(bench.knows(), (false, false));
    bench.file(0, &[], Some(Mark::End));
    assert_eq!(bench.knows(), (false, true), "a watermark is no record");
    bench.file(1, &[1], None);
    assert_eq!(bench.knows(), (false, false), "the other channel has one");
    bench.inbox.hold_where(|channel| channel == 1);
    assert_eq!(bench.knows(), (false, true), "which is held");
    bench.inbox.hold_where(|channel| channel == 0);
    assert_eq!(bench.knows(), (false, false));
    drop(bench.inbox.take_whole(|_| 0));
    bench.file(1, &[2], Some(Mark::End));
    bench.inbox.hold_where(|_| false);
    assert_eq!(bench.knows(), (false, false), "records stand in front of the second end");
    let marks: Vec<_> = std::iter::from_fn(|| bench.inbox.take_whole(|_| 0))
        .flat_map(|mut whole| {
            drop(rest(&mut whole));
            whole.take_mark()
        })
        .collect();
    assert_eq!(marks.iter().filter(|(_, mark)| *mark == Mark::End).count(), 2);
    assert_eq!(bench.knows(), (false, false));
}

/// Both ways to take share the queues.
#[test]
fn what_was_taken_whole_is_not_taken_again() {
    let mut bench = Bench::new(1);
    bench.file(0, &[1], None);
    bench.file(0, &[2], None);
    assert_eq!(rest(&mut bench.inbox.take_whole(|_| 0).unwrap()), [1]);
    assert!(matches!(bench.inbox.take(|_| 0), Some(Taken::Records)));
    let mut records = Vec::new();
    bench.inbox.piece(9, &mut records);
    assert_eq!(records, stamped([2]));
    assert!(bench.inbox.take(|_| 0).is_none() && bench.inbox.take_whole(|_| 0).is_none());
}
