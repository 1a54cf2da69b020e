//! Proves that what a way out still has when it is dropped is dropped one by one: any number of a
//! user's values may panic then.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millstream_core::Stamped;
use millstream_operators::Collect;
use millstream_operators::step::{FlatMap, Identity, Map};

use super::Wire;
use crate::channel::branch::{Branch, Edge, Fork, Outgoing};
use crate::channel::route::{Outlets, Rebalance};

/// A value that panics when it is dropped, and counts how many there are.
#[derive(Clone)]
struct Bomb(#[expect(dead_code, reason = "it is there to be counted")] Arc<()>);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a value panics when it is dropped");
    }
}

/// As many of them.
fn bombs(n: usize, counted: &Arc<()>) -> Vec<Stamped<Bomb>> {
    (0..n).map(|_| Stamped::new(Bomb(counted.clone()))).collect()
}

/// A channel with one credit, for batches of two.
fn wire() -> (Wire<Bomb>, Outlets<Bomb>) {
    let (wire, outlet) = Wire::new(0, 1, 2);
    (wire, Outlets(vec![outlet]))
}

fn left(counted: &Arc<()>) -> usize {
    Arc::strong_count(counted) - 1
}

#[test]
fn an_outlet_drops_what_is_on_its_way_and_what_is_being_filled() {
    let counted = Arc::new(());
    let (wire, mut outlets) = wire();
    outlets.0[0].extend(bombs(7, &counted).into_iter());
    drop(outlets);
    // One batch is in the mailbox.
    assert_eq!(left(&counted), 2);
    drop(wire);
    assert_eq!(left(&counted), 0);
}

#[test]
fn a_branch_drops_what_it_holds() {
    let counted = Arc::new(());
    let (wire, outlets) = wire();
    let mut edge = Edge::new(FlatMap::new(|bomb| [bomb]), Rebalance::from(0), outlets);
    edge.records(&mut bombs(7, &counted)).unwrap();
    assert!(edge.holding());
    drop(edge);
    assert_eq!(left(&counted), 2);
    drop(wire);
    assert_eq!(left(&counted), 0);
}

#[test]
fn a_fork_drops_what_its_steps_made_before_they_failed() {
    let counted = Arc::new(());
    let (_wire, outlets) = wire();
    let only = Edge::new(Identity::new(), Rebalance::from(0), outlets);
    let taken = Cell::new(0);
    let fails = move |bomb: Bomb| {
        if taken.replace(taken.get() + 1) == 3 {
            std::mem::forget(bomb);
            panic!("no more");
        }
        bomb
    };
    let mut fork = Fork::single(Map::new(fails), Box::new(only));
    let mut records = bombs(7, &counted);
    let failed = catch_unwind(AssertUnwindSafe(|| fork.records(&mut records)));
    assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"no more"));
    assert!(records.is_empty() && fork.holding());
    // Three were made, and one was forgotten.
    assert_eq!(left(&counted), 4);
    drop(fork);
    assert_eq!(left(&counted), 1);
}
