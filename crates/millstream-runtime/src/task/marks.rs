//! The marks of a task's channels made into those of the task.

use millstream_core::{Epoch, Mark};
use millstream_operators::{Aligned, Alignment, Frontier, Progress};

use crate::channel::Inbox;

/// What the marks of all channels of a task come to.
pub(super) struct Marks {
    frontier: Frontier,
    alignment: Alignment,
}

impl Marks {
    pub(super) fn new(channels: usize) -> Self {
        Self { frontier: Frontier::new(channels), alignment: Alignment::new(channels) }
    }

    /// A mark of one channel: the barrier that every channel has delivered with it, if there is
    /// one, and what follows for the task's time. A barrier comes before the end that completes it.
    ///
    /// A barrier may hold its own channel up, may come too late for that, and may let others go on.
    pub(super) fn take<T: Send + 'static>(
        &mut self,
        channel: usize,
        mark: Mark,
        inbox: &mut Inbox<T>,
    ) -> (Option<Epoch>, Progress) {
        let aligned = match mark {
            Mark::Barrier(epoch) => self.alignment.barrier(channel, epoch),
            Mark::End => self.alignment.end(channel),
            Mark::Watermark(_) | Mark::Idle | Mark::Active => Aligned::Waiting,
        };
        if matches!(mark, Mark::Barrier(_) | Mark::End) {
            inbox.hold_where(|channel| self.alignment.holds(channel));
        }
        let progress = match mark {
            Mark::Watermark(watermark) => self.frontier.watermark(channel, watermark),
            Mark::Idle => self.frontier.idle(channel),
            Mark::Active => self.frontier.active(channel),
            Mark::Barrier(_) => Progress::None,
            Mark::End => self.frontier.end(channel),
        };
        let complete = match aligned {
            Aligned::Complete(epoch) => Some(epoch),
            Aligned::Waiting => None,
        };
        (complete, progress)
    }
}
