//! The one wake-up that a task has armed at the clock.

use millstream_core::{Moment, Wake};

use crate::task::Turn;

/// The one wake-up that a task has armed at the clock.
#[derive(Default)]
pub(super) struct Alarm(Option<(Moment, Wake)>);

impl Alarm {
    /// Wakes the task at `due` or before; whether that is now. One that is armed for an earlier
    /// moment is left as it is: it is cheaper to look in vain once than to arm one for each record.
    pub(super) fn rings(&mut self, due: Option<Moment>, turn: &mut Turn<'_, '_>) -> bool {
        let Some(due) = due else { return false };
        if self.0.as_ref().is_none_or(|(armed, _)| due < *armed) {
            self.0 = Some((due, turn.budget.clock().wake_at(due)));
        }
        let Some((_, wake)) = &mut self.0 else { return false };
        let rings = wake.as_mut().poll(turn.cx).is_ready();
        if rings {
            self.0 = None;
        }
        rings
    }
}
