//! Proves that whatever a stage holds is dropped one by one, though any of it panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use millstream_core::Stamped;
use serde::{Deserialize, Serialize};

use super::super::{Answer, AsyncWait, Handlers, Limits, Order};
use super::settings::task;

/// Panics when it is dropped, unless it counts nothing; the one with this number also when it is
/// cloned.
#[derive(Default, Serialize, Deserialize)]
struct Bomb(u64, #[serde(skip)] Option<Arc<()>>);

const UNCLONED: u64 = 4;

impl Clone for Bomb {
    fn clone(&self) -> Self {
        assert_ne!(self.0, UNCLONED, "cloned");
        Self(self.0, self.1.clone())
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(self.1.take().is_none(), "dropped");
    }
}

struct NoRules;

impl Handlers<Bomb, Bomb> for NoRules {}

/// A stage that has two records with their inputs and results, and three that found no room.
fn full(counted: &Arc<()>) -> AsyncWait<Bomb, Bomb> {
    let bomb = |n| Bomb(n, Some(counted.clone()));
    let limits = Limits { capacity: 2, ..Limits::new(Order::Ordered) };
    let mut wait = AsyncWait::new(limits, &task(0, 1));
    for n in [0, 1] {
        let start = wait.admit(Stamped::new(bomb(n)), &NoRules).unwrap();
        let (ticket, mut input) = (start.ticket, start.input);
        input.1 = None;
        wait.answered(ticket, 1, Answer::Results(bomb(n)), &mut NoRules).unwrap();
    }
    for n in [2, 3, UNCLONED] {
        wait.park(Stamped::new(bomb(n)));
    }
    wait
}

#[test]
fn inputs_with_their_results_and_what_was_parked_are_dropped_one_by_one() {
    let counted = Arc::new(());
    drop(full(&counted));
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn an_input_that_panics_when_its_results_go_out_takes_them_with_it() {
    let counted = Arc::new(());
    let mut wait = full(&counted);
    assert!(catch_unwind(AssertUnwindSafe(|| wait.pop())).is_err());
    assert_eq!(Arc::strong_count(&counted), 1 + 7 - 2);
    drop(wait);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn copies_that_were_made_for_a_snapshot_are_dropped_when_one_of_them_panics() {
    let counted = Arc::new(());
    let mut wait = full(&counted);
    assert!(catch_unwind(AssertUnwindSafe(|| wait.freeze(&NoRules))).is_err());
    assert_eq!(Arc::strong_count(&counted), 1 + 7);
    drop(wait);
    assert_eq!(Arc::strong_count(&counted), 1);
}
