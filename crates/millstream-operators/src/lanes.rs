//! What a task's turn serves next: control, completions, fired timers, data, each by its share.
//!
//! A turn begins with a look at what is there. Control is served first, all of it; then completions
//! and fired timers, each up to its share; then data, with what is left of the budget but at least
//! its own share. What arrives during a turn waits for the next one, so that work which makes new
//! work of its own kind (a completion that starts a call that completes at once) can never keep the
//! input waiting, and the input can never keep a barrier or a stop waiting.

/// A kind of work of a task, in the order in which a turn serves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Orders of the job: open, run, drain, cancel, barriers.
    Control,
    /// Answers to what the task has started: calls, flushes.
    Completions,
    /// Timers that are due.
    Timers,
    /// The input.
    Data,
}

const LANES: [Lane; 4] = [Lane::Control, Lane::Completions, Lane::Timers, Lane::Data];

/// What to serve next, and at most how many pieces of it before asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// From which lane.
    pub lane: Lane,
    /// At most so many.
    pub at_most: usize,
}

/// The lanes were told something that does not fit their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LanesError {
    /// Data was suspended twice.
    #[error("the data lane is suspended already")]
    Suspended,
}

/// The state machine of a turn.
///
/// # Examples
///
/// ```
/// use millstream_operators::{Lane, Lanes, Serve};
///
/// let mut lanes = Lanes::new(1_024);
/// lanes.begin([1, 0, 0, 5_000]);
/// assert_eq!(lanes.next(), Some(Serve { lane: Lane::Control, at_most: 1 }));
/// lanes.served(Lane::Control, 1);
/// assert_eq!(lanes.next(), Some(Serve { lane: Lane::Data, at_most: 1_024 }));
/// lanes.served(Lane::Data, 1_024);
/// assert_eq!(lanes.next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Lanes {
    budget: usize,
    /// What this turn may still serve of each lane.
    left: [usize; 4],
    suspended: bool,
    finished: bool,
}

impl Lanes {
    /// Lanes for turns of at most `budget` pieces of work (control comes on top). A budget of zero
    /// counts as one: a turn always gets on.
    pub const fn new(budget: usize) -> Self {
        let budget = if budget == 0 { 1 } else { budget };
        Self { budget, left: [0; 4], suspended: false, finished: false }
    }

    /// A turn begins, and this much is waiting in each lane.
    pub fn begin(&mut self, waiting: [usize; 4]) {
        let share = self.budget.div_ceil(4);
        let [control, completions, timers, data] = waiting;
        let completions = completions.min(share);
        let timers = timers.min(share);
        let rest = self.budget.saturating_sub(completions + timers).max(share);
        self.left = [control, completions, timers, data.min(rest)];
    }

    /// What to serve now; nothing when the turn is over.
    pub fn next(&self) -> Option<Serve> {
        LANES.into_iter().find_map(|lane| match self.left[lane as usize] {
            0 => None,
            _ if lane == Lane::Data && (self.suspended || self.finished) => None,
            at_most => Some(Serve { lane, at_most }),
        })
    }

    /// `n` pieces of a lane were served, or what was counted as `n` pieces.
    pub fn served(&mut self, lane: Lane, n: usize) {
        let left = &mut self.left[lane as usize];
        *left = left.saturating_sub(n);
    }

    /// Nothing of this lane can be served in this turn any more, whatever is left of its share.
    pub fn skip(&mut self, lane: Lane) {
        self.left[lane as usize] = 0;
    }

    /// The turn ends here; what is left waits for the next one.
    pub fn interrupt(&mut self) {
        self.left = [0; 4];
    }

    /// The input waits until [`resume`](Self::resume); everything else is served as before.
    ///
    /// # Errors
    ///
    /// When it waits already: two reasons to wait would be ended by one resume.
    pub fn suspend(&mut self) -> Result<(), LanesError> {
        if std::mem::replace(&mut self.suspended, true) {
            return Err(LanesError::Suspended);
        }
        Ok(())
    }

    /// The input is served again. Does nothing if it was not suspended.
    pub fn resume(&mut self) {
        self.suspended = false;
    }

    /// The input is never served again.
    pub fn finish(&mut self) {
        self.finished = true;
    }
}
