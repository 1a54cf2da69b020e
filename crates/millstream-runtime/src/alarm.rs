//! The one wake-up that an actor has armed at the clock.

use std::task::Context;

use millstream_core::{Clock, Moment, Wake};

/// The one wake-up that an actor has armed at the clock.
#[derive(Default)]
pub(crate) struct Alarm(Option<(Moment, Wake)>);

impl Alarm {
    /// Wakes the actor at `due` or before; whether that is now. One that is armed for an earlier
    /// moment is left as it is: it is cheaper to look in vain once than to arm one for each record.
    pub(crate) fn rings(
        &mut self,
        due: Option<Moment>,
        clock: &dyn Clock,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(due) = due else { return false };
        if self.0.as_ref().is_none_or(|(armed, _)| due < *armed) {
            self.0 = Some((due, clock.wake_at(due)));
        }
        let Some((_, wake)) = &mut self.0 else { return false };
        let rings = wake.as_mut().poll(cx).is_ready();
        if rings {
            self.0 = None;
        }
        rings
    }
}
