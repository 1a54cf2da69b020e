//! Every way out of a task: the main output and the side outputs that something reads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use millstream_core::{Data, Failure, Mark, Moment, Stamped};
use millstream_operators::{SideBuffer, SideBuffers, SideOutput, drop_all, let_go_all};

use super::branch::{Branch, Outgoing, Split};
use super::route::all_wait;
use crate::panic::panic_message;

/// Every way out of a task.
///
/// Bounded by what one call of the operator makes: while the outbox is [`blocked`](Self::blocked)
/// the task calls neither its operator nor its reader.
pub(crate) struct Outbox<T> {
    main: Option<Box<dyn Branch<T>>>,
    sides: Vec<Box<dyn SideBranch>>,
    /// Event time begins in one of them.
    begins_time: bool,
}

impl<T> Drop for Outbox<T> {
    /// What steps have of the user may panic in more than one way out, and behind other values of
    /// the task.
    fn drop(&mut self) {
        let main = self.main.take().map(|main| (Some(main), None));
        let sides = self.sides.drain(..).map(|side| (None, Some(side)));
        drop_all(&mut main.into_iter().chain(sides).collect());
    }
}

impl<T: Data> Outbox<T> {
    pub(crate) fn new(main: Option<Box<dyn Branch<T>>>, sides: Vec<Box<dyn SideBranch>>) -> Self {
        let mut new = Self { main, sides, begins_time: false };
        let begins_time = new.ways().any(|way| way.next_look().is_some());
        new.begins_time = begins_time;
        new
    }

    /// Empty buffers for the side outputs, in the order in which [`sides`](Self::sides) takes them.
    pub(crate) fn side_buffers(&self) -> SideBuffers {
        SideBuffers::new(self.sides.iter().map(|side| side.buffer()).collect())
    }

    /// Takes all of `records`; returns how many there were.
    pub(crate) fn records(&mut self, records: &mut Vec<Stamped<T>>) -> Result<usize, Failure> {
        let n = records.len();
        match &mut self.main {
            _ if n == 0 => {}
            Some(main) => main.records(records)?,
            None => let_go_all(records),
        }
        Ok(n)
    }

    /// Takes what the side buffers hold.
    pub(crate) fn sides(&mut self, buffers: &mut SideBuffers) -> Result<(), Failure> {
        if let Some(mismatch) = buffers.take_mismatch() {
            return Err(Failure::new(mismatch));
        }
        for (side, buffer) in self.sides.iter_mut().zip(buffers.buffers()) {
            side.records(buffer)?;
        }
        Ok(())
    }

    /// Takes records that were made before a failure, as far as they can be handed on. Steps may
    /// fail at them in their turn: that is no news, and only the branch in which they do hears
    /// nothing more.
    pub(crate) fn salvage(&mut self, records: &mut Vec<Stamped<T>>) {
        attempt(|| self.records(records).map(drop));
    }

    /// As [`salvage`](Self::salvage), for what the side buffers hold.
    pub(crate) fn salvage_sides(&mut self, buffers: &mut SideBuffers) {
        for (side, buffer) in self.sides.iter_mut().zip(buffers.buffers()) {
            attempt(|| side.records(buffer));
        }
    }

    fn ways(&self) -> impl Iterator<Item = &dyn Outgoing> {
        let main = self.main.iter().map(|main| &**main as &dyn Outgoing);
        main.chain(self.sides.iter().map(|side| side.way()))
    }

    fn ways_mut(&mut self) -> impl Iterator<Item = &mut dyn Outgoing> {
        let main = self.main.iter_mut().map(|main| &mut **main as &mut dyn Outgoing);
        main.chain(self.sides.iter_mut().map(|side| side.way_mut()))
    }

    pub(crate) fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.ways_mut().try_for_each(|way| way.mark(mark))
    }

    /// Goes on with what is held back, as far as there is credit. Whether there was anything, which
    /// steps may have worked off.
    pub(crate) fn advance(&mut self) -> Result<bool, Failure> {
        let held = self.holding();
        if held {
            self.ways_mut().try_for_each(|way| way.advance())?;
        }
        Ok(held)
    }

    /// Says of which split of a source the records are.
    pub(crate) fn split(&mut self, split: Split) {
        if !self.begins_time {
            return;
        }
        self.ways_mut().for_each(|way| way.split(split));
    }

    /// This is what the clock shows: watermarks may be due where event time begins.
    #[inline]
    pub(crate) fn look(&mut self, now: Moment) -> Result<(), Failure> {
        if self.begins_time { self.look_there(now) } else { Ok(()) }
    }

    /// Apart, so that loops in which no event time begins are none the larger for it.
    #[cold]
    #[inline(never)]
    fn look_there(&mut self, now: Moment) -> Result<(), Failure> {
        self.ways_mut().try_for_each(|way| way.look(now))
    }

    /// When the clock is to be looked at next.
    #[inline]
    pub(crate) fn next_look(&self) -> Option<Moment> {
        if self.begins_time { self.next_look_there() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn next_look_there(&self) -> Option<Moment> {
        self.ways().filter_map(|way| way.next_look()).min()
    }

    pub(crate) fn flush(&mut self) {
        self.ways_mut().for_each(|way| way.flush());
    }

    /// Whether something is held back for want of credit.
    pub(crate) fn holding(&self) -> bool {
        self.ways().any(|way| way.holding())
    }

    /// Whether something is held back, or the next batch would be.
    pub(crate) fn blocked(&self) -> bool {
        self.ways().any(|way| way.blocked())
    }

    pub(crate) fn filling(&self) -> bool {
        self.ways().any(|way| way.filling())
    }

    /// The task is about to wait for credit. False if a blocked channel has some.
    pub(crate) fn wait(&self) -> bool {
        all_wait(self.ways().filter(|way| way.blocked()).map(|way| way.wait()))
    }

    /// How many records of one call make a batch for a channel at most; `all` if none leave here.
    pub(crate) fn batch_records(&self, all: usize) -> usize {
        self.ways().map(|way| way.batch_records()).min().unwrap_or(all).min(all)
    }

    /// Sends what waits for credit, then what is not full. Ready when nothing is left; else the
    /// task is woken when there is credit.
    pub(crate) fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        loop {
            if let Err(failure) = self.advance() {
                return Poll::Ready(Err(failure));
            }
            if self.holding() {
                if self.wait() {
                    return Poll::Pending;
                }
            } else if self.filling() {
                self.flush();
            } else {
                return Poll::Ready(Ok(()));
            }
        }
    }

    pub(crate) fn take_sent(&mut self) -> u64 {
        self.ways_mut().map(|way| way.take_sent()).sum()
    }
}

/// Calls what may fail behind a failure.
fn attempt(call: impl FnOnce() -> Result<(), Failure>) {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => tracing::error!(%failure, "a step fails behind a failure"),
        Err(payload) => {
            let message = panic_message(payload);
            tracing::error!(message, "a step panics behind a failure");
        }
    }
}

/// A side output with its type hidden.
pub(crate) trait SideBranch {
    fn buffer(&self) -> SideBuffer;
    fn records(&mut self, buffer: &mut SideBuffer) -> Result<(), Failure>;
    fn way(&self) -> &dyn Outgoing;
    fn way_mut(&mut self) -> &mut dyn Outgoing;
}

/// A side output: its typed name and the branch behind it.
pub(crate) struct Side<T> {
    pub(crate) output: SideOutput<T>,
    pub(crate) branch: Box<dyn Branch<T>>,
}

impl<T: Data> SideBranch for Side<T> {
    fn buffer(&self) -> SideBuffer {
        SideBuffer::of(&self.output)
    }

    fn records(&mut self, buffer: &mut SideBuffer) -> Result<(), Failure> {
        match buffer.records::<T>() {
            Some(records) if !records.is_empty() => self.branch.records(records),
            _ => Ok(()),
        }
    }

    fn way(&self) -> &dyn Outgoing {
        &*self.branch
    }

    fn way_mut(&mut self) -> &mut dyn Outgoing {
        &mut *self.branch
    }
}
