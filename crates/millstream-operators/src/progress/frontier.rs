//! The least watermark of several channels, without those that are idle or have ended.

use millstream_core::Timestamp;

/// What follows for the task as a whole from what one channel said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    None,
    /// The task's watermark rises.
    Watermark(Timestamp),
    /// No channel is active any more.
    Idle,
    /// A channel is active again. Its watermark, if the task's rises by it, comes with it.
    Active(Option<Timestamp>),
    /// Every channel has ended.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Active,
    Idle,
    Ended,
}

/// Merges what the channels of a task say about time.
///
/// The task's watermark is the least of the watermarks of its active channels and never falls. A
/// channel that has said nothing yet holds it back; one that is idle or has ended does not. The
/// task is idle when none of the channels that are left is active.
#[derive(Clone, Debug)]
pub struct Frontier {
    channels: Vec<(Status, Option<Timestamp>)>,
    reached: Option<Timestamp>,
    idle: bool,
}

impl Frontier {
    /// A frontier over `channels` channels, all active and without a watermark.
    pub fn new(channels: usize) -> Self {
        Self { channels: vec![(Status::Active, None); channels], reached: None, idle: false }
    }

    /// A channel's watermark rises.
    pub fn watermark(&mut self, channel: usize, watermark: Timestamp) -> Progress {
        self.channels[channel].1 = Some(watermark);
        self.rise().map_or(Progress::None, Progress::Watermark)
    }

    /// A channel has nothing to say for a while.
    pub fn idle(&mut self, channel: usize) -> Progress {
        self.leave(channel, Status::Idle)
    }

    /// A channel counts again.
    pub fn active(&mut self, channel: usize) -> Progress {
        self.channels[channel].0 = Status::Active;
        if std::mem::replace(&mut self.idle, false) {
            Progress::Active(self.rise())
        } else {
            Progress::None
        }
    }

    /// A channel has ended.
    pub fn end(&mut self, channel: usize) -> Progress {
        self.leave(channel, Status::Ended)
    }

    /// The task's watermark.
    pub const fn reached(&self) -> Option<Timestamp> {
        self.reached
    }

    fn leave(&mut self, channel: usize, status: Status) -> Progress {
        self.channels[channel].0 = status;
        if self.channels.iter().all(|(status, _)| *status == Status::Ended) {
            return Progress::End;
        }
        if self.channels.iter().any(|(status, _)| *status == Status::Active) {
            return self.rise().map_or(Progress::None, Progress::Watermark);
        }
        match std::mem::replace(&mut self.idle, true) {
            true => Progress::None,
            false => Progress::Idle,
        }
    }

    fn rise(&mut self) -> Option<Timestamp> {
        let active = self.channels.iter().filter(|(status, _)| *status == Status::Active);
        let least = active.map(|(_, watermark)| *watermark).min()??;
        if self.reached.is_some_and(|reached| least <= reached) {
            return None;
        }
        self.reached = Some(least);
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    #[test]
    fn the_least_watermark_of_the_active_channels_counts_and_never_falls() {
        let mut frontier = Frontier::new(2);
        assert_eq!(frontier.watermark(0, at(5)), Progress::None);
        assert_eq!(frontier.watermark(1, at(3)), Progress::Watermark(at(3)));
        assert_eq!(frontier.idle(1), Progress::Watermark(at(5)));
        assert_eq!(frontier.watermark(0, at(7)), Progress::Watermark(at(7)));
        assert_eq!(frontier.active(1), Progress::None);
        assert_eq!(frontier.watermark(1, at(6)), Progress::None);
        assert_eq!(frontier.reached(), Some(at(7)));
        assert_eq!(frontier.watermark(1, at(9)), Progress::None);
        assert_eq!(frontier.end(0), Progress::Watermark(at(9)));
        assert_eq!(frontier.end(1), Progress::End);
    }

    #[test]
    fn a_task_is_idle_when_no_channel_that_is_left_is_active() {
        let mut frontier = Frontier::new(3);
        assert_eq!(frontier.end(0), Progress::None);
        assert_eq!(frontier.idle(1), Progress::None);
        assert_eq!(frontier.idle(2), Progress::Idle);
        assert_eq!(frontier.idle(2), Progress::None);
        assert_eq!(frontier.active(2), Progress::Active(None));
        assert_eq!(frontier.watermark(2, at(1)), Progress::Watermark(at(1)));
        assert_eq!(frontier.idle(2), Progress::Idle);
        assert_eq!(frontier.end(2), Progress::None);
        assert_eq!(frontier.end(1), Progress::End);
    }
}
