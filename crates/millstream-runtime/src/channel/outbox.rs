//! Every way out of a task: the main output and the side outputs that something reads.

use std::task::Poll;

use millstream_core::{Data, Failure, Mark, Stamped};
use millstream_operators::{SideBuffer, SideBuffers, SideOutput};

use super::branch::Branch;
use super::route::all_wait;

/// Every way out of a task.
///
/// Bounded by what one call of the operator makes: while the outbox is [`blocked`](Self::blocked)
/// the task calls neither its operator nor its reader.
pub(crate) struct Outbox<T> {
    main: Option<Box<dyn Branch<T>>>,
    sides: Vec<Box<dyn SideBranch>>,
}

impl<T: Data> Outbox<T> {
    pub(crate) fn new(main: Option<Box<dyn Branch<T>>>, sides: Vec<Box<dyn SideBranch>>) -> Self {
        Self { main, sides }
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
            None => records.clear(),
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

    pub(crate) fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.main.iter_mut().try_for_each(|main| main.mark(mark))?;
        self.sides.iter_mut().try_for_each(|side| side.mark(mark))
    }

    pub(crate) fn advance(&mut self) -> Result<(), Failure> {
        self.main.iter_mut().try_for_each(|main| main.advance())?;
        self.sides.iter_mut().try_for_each(|side| side.advance())
    }

    /// A step may have failed: what stands behind the record that it failed at is given up.
    pub(crate) fn give_up(&mut self) {
        self.main.iter_mut().for_each(|main| main.give_up());
        self.sides.iter_mut().for_each(|side| side.give_up());
    }

    pub(crate) fn flush(&mut self) {
        self.main.iter_mut().for_each(|main| main.flush());
        self.sides.iter_mut().for_each(|side| side.flush());
    }

    /// Whether something is held back for want of credit.
    pub(crate) fn holding(&self) -> bool {
        self.main.iter().any(|main| main.holding()) || self.sides.iter().any(|side| side.holding())
    }

    /// Whether something is held back, or the next batch would be.
    pub(crate) fn blocked(&self) -> bool {
        self.main.iter().any(|main| main.blocked()) || self.sides.iter().any(|side| side.blocked())
    }

    pub(crate) fn filling(&self) -> bool {
        self.main.iter().any(|main| main.filling()) || self.sides.iter().any(|side| side.filling())
    }

    /// The task is about to wait for credit. False if a blocked channel has some.
    pub(crate) fn wait(&self) -> bool {
        let main = self.main.iter().filter(|main| main.blocked()).map(|main| main.wait());
        let sides = self.sides.iter().filter(|side| side.blocked()).map(|side| side.wait());
        all_wait(main.chain(sides))
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
        let main: u64 = self.main.iter_mut().map(|main| main.take_sent()).sum();
        main + self.sides.iter_mut().map(|side| side.take_sent()).sum::<u64>()
    }
}

/// A side output with its type hidden.
pub(crate) trait SideBranch {
    fn buffer(&self) -> SideBuffer;
    fn records(&mut self, buffer: &mut SideBuffer) -> Result<(), Failure>;
    fn mark(&mut self, mark: Mark) -> Result<(), Failure>;
    fn advance(&mut self) -> Result<(), Failure>;
    fn give_up(&mut self);
    fn flush(&mut self);
    fn holding(&self) -> bool;
    fn blocked(&self) -> bool;
    fn filling(&self) -> bool;
    fn wait(&self) -> bool;
    fn take_sent(&mut self) -> u64;
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

    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.branch.mark(mark)
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.branch.advance()
    }

    fn give_up(&mut self) {
        self.branch.give_up();
    }

    fn flush(&mut self) {
        self.branch.flush();
    }

    fn holding(&self) -> bool {
        self.branch.holding()
    }

    fn blocked(&self) -> bool {
        self.branch.blocked()
    }

    fn filling(&self) -> bool {
        self.branch.filling()
    }

    fn wait(&self) -> bool {
        self.branch.wait()
    }

    fn take_sent(&mut self) -> u64 {
        self.branch.take_sent()
    }
}
