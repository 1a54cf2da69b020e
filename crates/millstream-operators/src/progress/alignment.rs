//! Barriers of several channels made into one: a channel that has delivered its barrier waits until
//! the others have too.

use millstream_core::Epoch;

/// What follows from a channel's barrier or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aligned {
    /// The channel has to wait, or nothing changes.
    Waiting,
    /// Every channel has delivered the barrier: the task's snapshot is due, all channels go on.
    Complete(Epoch),
}

/// Aligns barriers over the channels of a task.
///
/// An end counts as the barrier of every epoch. One alignment is open at a time, because a channel
/// that has delivered its barrier is not read until the alignment is complete or given up.
#[derive(Clone, Debug)]
pub struct Alignment {
    delivered: Vec<bool>,
    ended: Vec<bool>,
    open: Option<Epoch>,
    /// The newest epoch that was completed or given up.
    settled: Epoch,
}

impl Alignment {
    /// Alignment over `channels` channels.
    pub fn new(channels: usize) -> Self {
        Self {
            delivered: vec![false; channels],
            ended: vec![false; channels],
            open: None,
            settled: Epoch::new(0),
        }
    }

    /// A channel delivers the barrier of `epoch`. A barrier of an epoch newer than the open one
    /// gives the open one up. One that comes late, after its epoch was given up or completed, means
    /// nothing: its channel does not wait.
    pub fn barrier(&mut self, channel: usize, epoch: Epoch) -> Aligned {
        if epoch <= self.settled || self.open.is_some_and(|open| epoch < open) {
            return Aligned::Waiting;
        }
        if self.open.is_some_and(|open| open < epoch) {
            self.delivered.fill(false);
        }
        self.open = Some(epoch);
        self.delivered[channel] = true;
        self.complete()
    }

    /// A channel has ended.
    pub fn end(&mut self, channel: usize) -> Aligned {
        self.ended[channel] = true;
        self.complete()
    }

    /// The epochs up to this one are given up.
    pub fn abandon(&mut self, epoch: Epoch) {
        self.settled = self.settled.max(epoch);
        if self.open.is_some_and(|open| open <= epoch) {
            self.open = None;
            self.delivered.fill(false);
        }
    }

    /// Whether a channel must not be read now.
    pub fn holds(&self, channel: usize) -> bool {
        self.open.is_some() && self.delivered[channel]
    }

    fn complete(&mut self) -> Aligned {
        let Some(epoch) = self.open else { return Aligned::Waiting };
        let mut channels = self.delivered.iter().zip(&self.ended);
        if !channels.all(|(delivered, ended)| *delivered || *ended) {
            return Aligned::Waiting;
        }
        self.open = None;
        self.settled = epoch;
        self.delivered.fill(false);
        Aligned::Complete(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Epoch = Epoch::new(1);
    const TWO: Epoch = Epoch::new(2);

    #[test]
    fn a_channel_waits_until_the_others_have_delivered_the_barrier() {
        let mut alignment = Alignment::new(3);
        assert_eq!(alignment.end(2), Aligned::Waiting);
        assert_eq!(alignment.barrier(0, ONE), Aligned::Waiting);
        assert!(alignment.holds(0) && !alignment.holds(1));
        assert_eq!(alignment.barrier(1, ONE), Aligned::Complete(ONE));
        assert!(!alignment.holds(0) && !alignment.holds(1));
    }

    #[test]
    fn an_end_completes_an_alignment() {
        let mut alignment = Alignment::new(2);
        assert_eq!(alignment.barrier(0, ONE), Aligned::Waiting);
        assert_eq!(alignment.end(1), Aligned::Complete(ONE));
        assert_eq!(alignment.barrier(0, TWO), Aligned::Complete(TWO));
    }

    #[test]
    fn an_abandoned_alignment_frees_its_channels() {
        let mut alignment = Alignment::new(2);
        assert_eq!(alignment.barrier(0, ONE), Aligned::Waiting);
        alignment.abandon(ONE);
        assert!(!alignment.holds(0));
        assert_eq!(alignment.barrier(0, TWO), Aligned::Waiting);
        assert_eq!(alignment.barrier(1, TWO), Aligned::Complete(TWO));
    }
}
