//! The least watermark of several channels, without those that are idle or have ended.

use millstream_core::Timestamp;

/// What follows for the task as a whole from what one channel said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    None,
    /// The task's watermark rises.
    Watermark(Timestamp),
    /// No channel is active any more. The task's watermark, if it rises by that, comes before it.
    Idle(Option<Timestamp>),
    /// A channel is active again. The task's watermark, if it rises by that, comes behind it.
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

#[derive(Clone, Copy, Debug)]
struct Channel {
    status: Status,
    watermark: Option<Timestamp>,
    /// Since it has been active, its watermark was once not behind the task's.
    caught_up: bool,
}

/// Merges what the channels of a task say about time.
///
/// The task's watermark is the least of the watermarks of its active channels and never falls. A
/// channel that has said nothing yet holds it back; one that is idle or has ended does not. One
/// that comes back from idleness counts again once its watermark has caught up with the task's, so
/// that it does not hold the others back for what it has missed.
///
/// The task is idle when none of the channels that are left is active. Then nobody is waited for,
/// and its watermark is the greatest of theirs.
#[derive(Clone, Debug)]
pub struct Frontier {
    channels: Vec<Channel>,
    reached: Option<Timestamp>,
    idle: bool,
}

impl Frontier {
    /// A frontier over `channels` channels, all active and without a watermark.
    pub fn new(channels: usize) -> Self {
        let channel = Channel { status: Status::Active, watermark: None, caught_up: true };
        Self { channels: vec![channel; channels], reached: None, idle: false }
    }

    /// A channel's watermark rises. One that falls is passed over.
    pub fn watermark(&mut self, channel: usize, watermark: Timestamp) -> Progress {
        let of = &mut self.channels[channel];
        of.watermark = of.watermark.max(Some(watermark));
        of.caught_up |= of.watermark >= self.reached;
        self.rise().map_or(Progress::None, Progress::Watermark)
    }

    /// A channel has nothing to say for a while.
    pub fn idle(&mut self, channel: usize) -> Progress {
        self.leave(channel, Status::Idle)
    }

    /// A channel counts again, as soon as it has caught up.
    pub fn active(&mut self, channel: usize) -> Progress {
        let of = &mut self.channels[channel];
        if of.status == Status::Active {
            return Progress::None;
        }
        of.status = Status::Active;
        of.caught_up = of.watermark >= self.reached;
        let rises = self.rise();
        if std::mem::replace(&mut self.idle, false) {
            Progress::Active(rises)
        } else {
            rises.map_or(Progress::None, Progress::Watermark)
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
        self.channels[channel].status = status;
        if self.channels.iter().all(|it| it.status == Status::Ended) {
            return Progress::End;
        }
        if self.channels.iter().any(|it| it.status == Status::Active) {
            return self.rise().map_or(Progress::None, Progress::Watermark);
        }
        if std::mem::replace(&mut self.idle, true) {
            return Progress::None;
        }
        let left = self.channels.iter().filter(|it| it.status == Status::Idle);
        let greatest = left.filter_map(|it| it.watermark).max();
        Progress::Idle(self.reach(greatest))
    }

    fn rise(&mut self) -> Option<Timestamp> {
        let counts = self.channels.iter().filter(|it| it.status == Status::Active && it.caught_up);
        let least = counts.map(|it| it.watermark).min()?;
        self.reach(least)
    }

    fn reach(&mut self, watermark: Option<Timestamp>) -> Option<Timestamp> {
        if watermark <= self.reached {
            return None;
        }
        self.reached = watermark;
        watermark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    /// What a channel says, and what comes of it as text.
    #[derive(Clone, Copy)]
    enum Say {
        Wm(usize, i64),
        Idle(usize),
        Active(usize),
        End(usize),
    }

    use Say::{Active, End, Idle, Wm};

    fn says(frontier: &mut Frontier, said: &[Say]) -> Vec<String> {
        let wm = |it: Timestamp| match it {
            Timestamp::MAX => "MAX".to_owned(),
            it => it.millis().to_string(),
        };
        let progress = said.iter().map(|it| match *it {
            Wm(channel, millis) => frontier.watermark(channel, at(millis)),
            Idle(channel) => frontier.idle(channel),
            Active(channel) => frontier.active(channel),
            End(channel) => frontier.end(channel),
        });
        let text = |it: Progress| match it {
            Progress::None => "-".to_owned(),
            Progress::Watermark(it) => wm(it),
            Progress::Idle(None) => "IDLE".to_owned(),
            Progress::Idle(Some(it)) => format!("{} IDLE", wm(it)),
            Progress::Active(None) => "ACTIVE".to_owned(),
            Progress::Active(Some(it)) => format!("ACTIVE {}", wm(it)),
            Progress::End => "END".to_owned(),
        };
        progress.collect::<Vec<_>>().into_iter().map(text).collect()
    }

    /// A frontier whose channels have these watermarks.
    fn standing(watermarks: &[i64]) -> Frontier {
        let mut frontier = Frontier::new(watermarks.len());
        for (channel, watermark) in watermarks.iter().enumerate() {
            frontier.watermark(channel, at(*watermark));
        }
        frontier
    }

    #[test]
    fn m001_a_watermark_never_falls() {
        let said = [Wm(0, 0), Wm(0, 25), Wm(0, 18), Wm(0, 42)];
        assert_eq!(says(&mut Frontier::new(1), &said), ["0", "25", "-", "42"]);
    }

    #[test]
    fn m002_a_channel_that_has_said_nothing_holds_the_others_back() {
        let said = [Wm(0, 0), Wm(1, 0), Wm(2, 0)];
        assert_eq!(says(&mut Frontier::new(3), &said), ["-", "-", "0"]);
    }

    #[test]
    fn m003_one_watermark_for_each_rise_of_the_least() {
        let said = [Wm(0, 12), Wm(2, 8), Wm(2, 10), Wm(1, 15), Wm(2, 17), Wm(0, 20)];
        assert_eq!(says(&mut standing(&[0, 0, 0]), &said), ["-", "-", "-", "10", "12", "15"]);
    }

    #[test]
    fn m004_what_falls_is_passed_over_in_each_channel() {
        let said = [Wm(0, 25), Wm(1, 10), Wm(2, 17), Wm(0, 12), Wm(1, 8), Wm(2, 15)];
        assert_eq!(says(&mut Frontier::new(3), &said), ["-", "-", "10", "-", "-", "-"]);
    }

    #[test]
    fn m005_idle_when_all_are_and_active_when_one_is() {
        let said = [Active(0), Idle(0), Idle(0), Active(0)];
        assert_eq!(says(&mut Frontier::new(1), &said), ["-", "IDLE", "-", "ACTIVE"]);
        let said = [Active(0), Active(1), Idle(1), Idle(0), Idle(0), Idle(1), Active(1), Active(0)];
        let seen = ["-", "-", "-", "IDLE", "-", "-", "ACTIVE", "-"];
        assert_eq!(says(&mut Frontier::new(2), &said), seen);
    }

    #[test]
    fn m007_idle_channels_are_left_out() {
        let said = [Wm(0, 15), Wm(1, 10), Idle(2), Wm(1, 18), Wm(0, 20)];
        assert_eq!(says(&mut Frontier::new(3), &said), ["-", "-", "10", "15", "18"]);
    }

    #[test]
    fn m008_the_watermark_rises_with_each_channel_that_becomes_idle() {
        assert_eq!(says(&mut standing(&[25, 10, 17]), &[Idle(1), Idle(2)]), ["17", "25"]);
    }

    #[test]
    fn m010_when_all_are_idle_the_greatest_counts() {
        let said = [Idle(1), Active(1), Wm(1, 60), Idle(0), Idle(2), Idle(1)];
        let seen = ["70", "-", "-", "-", "-", "100 IDLE"];
        assert_eq!(says(&mut standing(&[100, 50, 70]), &said), seen);
    }

    #[test]
    fn m011_a_channel_that_comes_back_counts_when_it_has_caught_up() {
        let said = [Idle(2), Active(2), Wm(2, 5), Wm(2, 9), Wm(1, 12)];
        assert_eq!(says(&mut standing(&[10, 7, 3]), &said), ["7", "-", "-", "-", "9"]);
        // Until then it does not hold the others back.
        let said = [Idle(2), Active(2), Wm(1, 9), Wm(2, 8), Wm(2, 9), Wm(0, 20), Wm(1, 20)];
        let seen = ["7", "-", "9", "-", "-", "-", "-"];
        let mut frontier = standing(&[10, 7, 3]);
        assert_eq!(says(&mut frontier, &said), seen);
        assert_eq!(says(&mut frontier, &[Wm(2, 15)]), ["15"]);
    }

    #[test]
    fn m013_one_that_comes_back_and_goes_again_changes_nothing() {
        let said = [Idle(0), Active(0), Wm(0, 9), Idle(0)];
        assert_eq!(says(&mut standing(&[7, 10]), &said), ["10", "-", "-", "-"]);
    }

    #[test]
    fn m014_the_only_one_that_has_caught_up_counts_at_once() {
        let mut frontier = Frontier::new(3);
        let said = [Wm(0, 10), Wm(1, 7), Idle(2), Active(2), Idle(0), Idle(1)];
        assert_eq!(says(&mut frontier, &said), ["-", "-", "7", "-", "-", "-"]);
        assert_eq!(says(&mut frontier, &[Active(0), Idle(2)]), ["10", "-"]);
    }

    #[test]
    fn m016_one_that_has_ended_is_left_out_unless_all_have() {
        let mut frontier = standing(&[50, 50]);
        let said = [Wm(0, i64::MAX), End(0), Idle(1)];
        assert_eq!(says(&mut frontier, &said), ["-", "-", "IDLE"]);
        assert_eq!(frontier.reached(), Some(at(50)));
        let said = [Active(1), Wm(1, i64::MAX), End(1)];
        assert_eq!(says(&mut frontier, &said), ["ACTIVE", "MAX", "END"]);
    }

    #[test]
    fn a_task_is_idle_when_no_channel_that_is_left_is_active() {
        let said =
            [End(0), Idle(1), Idle(2), Idle(2), Active(2), Wm(2, 1), Idle(2), End(2), End(1)];
        let seen = ["-", "-", "IDLE", "-", "ACTIVE", "1", "IDLE", "-", "END"];
        assert_eq!(says(&mut Frontier::new(3), &said), seen);
    }
}
