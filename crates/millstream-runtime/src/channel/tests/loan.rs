//! Proves that a batch gives its credit back once, wherever and however it is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use millstream_core::{Batch, Mark, Stamped};
use millstream_metrics::TaskMetrics;

use super::nobody;
use crate::channel::deliver::{Link, Loan};

/// A value of a user, whose drop may panic.
struct Value {
    panics: bool,
}

impl Drop for Value {
    fn drop(&mut self) {
        assert!(!self.panics, "a value panics when it is dropped");
    }
}

fn link(metrics: &Arc<TaskMetrics>) -> Arc<Link<Value>> {
    Arc::new(Link::new(1, nobody(), metrics.clone()))
}

fn lend(link: &Arc<Link<Value>>, panics: bool) -> Loan<Value> {
    assert!(link.credits.take());
    let records = [false, panics, false].map(|panics| Stamped::new(Value { panics }));
    link.lend(Batch { records: records.into(), mark: Some(Mark::End) })
}

#[test]
fn a_batch_gives_its_credit_back_on_any_thread() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    let loan = lend(&link, false);
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (0, 3));
    thread::spawn(move || drop(loan)).join().unwrap();
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (1, 0));
}

#[test]
fn a_batch_of_which_a_value_panics_when_it_is_dropped_gives_its_credit_back() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    drop(lend(&link, true));
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (1, 0));
}

/// A second panic would end the process.
#[test]
fn a_batch_that_is_dropped_while_unwinding_gives_its_credit_back() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    let loan = lend(&link, true);
    let caught = catch_unwind(AssertUnwindSafe(move || {
        let _loan = loan;
        panic!("the operator panics with a batch in hand");
    }));
    assert!(caught.is_err());
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (1, 0));
}

#[test]
fn an_emptied_buffer_goes_back_with_the_credit_and_a_mark_has_neither() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    let loan = lend(&link, false);
    let place = loan.batch.records.as_ptr();
    drop(loan);
    let buffer = link.buffer();
    assert_eq!((buffer.as_ptr(), buffer.len()), (place, 0));
    drop(link.lend(Batch::mark(Mark::Idle)));
    assert_eq!(link.credits.available(), 1);
    assert_eq!(link.buffer().capacity(), 0, "there is no other one");
}
