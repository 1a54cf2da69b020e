//! How a task's end is told, whatever ends it: by a guard that reports when it is dropped.
//!
//! An actor that panics looks like one that has ended, so nothing is concluded from an address that
//! went away. Each task owns a guard; whoever ends the task properly says so to the guard first,
//! and a guard that is dropped without having been told reports a death.

use actix::{Message, Recipient};

use millstream_core::Attempt;

use crate::panic::TaskFailure;

/// What a task tells its supervisor.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report {
    /// The task's number in the job.
    pub(crate) task: usize,
    pub(crate) attempt: Attempt,
    pub(crate) event: Event,
}

pub(crate) enum Event {
    /// It is open: whoever is in front of it may open too.
    Opened,
    /// Its actor is gone.
    Departed(Departure),
}

/// Why a task's actor is gone.
pub(crate) enum Departure {
    /// It passed on the end of its input.
    Ended,
    /// It was told to.
    Cancelled,
    /// Its code failed.
    Failed(TaskFailure),
    /// It was dropped in the middle of its life: its arbiter stopped, or the runtime itself failed.
    Died,
}

/// Reports the end of a task when it is dropped.
pub(crate) struct Guard {
    task: usize,
    attempt: Attempt,
    supervisor: Recipient<Report>,
    departure: Departure,
}

impl Guard {
    pub(crate) fn new(task: usize, attempt: Attempt, supervisor: Recipient<Report>) -> Self {
        Self { task, attempt, supervisor, departure: Departure::Died }
    }

    pub(crate) fn opened(&self) {
        self.tell(Event::Opened);
    }

    /// From here on the task's end is no death.
    pub(crate) fn departs(&mut self, departure: Departure) {
        self.departure = departure;
    }

    fn tell(&self, event: Event) {
        self.supervisor.do_send(Report { task: self.task, attempt: self.attempt, event });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let departure = std::mem::replace(&mut self.departure, Departure::Died);
        self.tell(Event::Departed(departure));
    }
}
