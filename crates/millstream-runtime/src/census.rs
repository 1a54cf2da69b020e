//! Which tasks have a living actor: for tests that none outlives them.
//!
//! Counted from the making of a task's actor to its drop, whatever ends it, and by actix system, so
//! that tests which run side by side do not see each other's. Nothing in the runtime reads it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use actix_rt::System;

use millstream_core::TaskInfo;

/// The living, by system and then in the order of their birth.
static LIVING: Mutex<Living> = Mutex::new(Living { tasks: BTreeMap::new(), born: 0 });

struct Living {
    tasks: BTreeMap<(usize, u64), TaskInfo>,
    born: u64,
}

fn living() -> MutexGuard<'static, Living> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks that have a living actor in the actix system of this thread, oldest first; none where
/// there is no system.
///
/// When [`Job::finished`](crate::Job::finished) has resolved, none of that job is among them,
/// unless the job is stuck, or an arbiter was stopped that had been given to it.
pub fn census() -> Vec<TaskInfo> {
    let Some(system) = System::try_current() else { return Vec::new() };
    let of_system = (system.id(), 0)..=(system.id(), u64::MAX);
    living().tasks.range(of_system).map(|(_, task)| task.clone()).collect()
}

/// Counts a task from its making to its drop.
pub(crate) struct Counted((usize, u64));

impl Counted {
    /// An actor is made for this task, on its arbiter.
    pub(crate) fn new(task: &TaskInfo) -> Self {
        let system = System::try_current().map_or(usize::MAX, |system| system.id());
        let mut living = living();
        living.born += 1;
        let name = (system, living.born);
        living.tasks.insert(name, task.clone());
        Self(name)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        living().tasks.remove(&self.0);
    }
}
