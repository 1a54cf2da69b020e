//! A task of calls without its actor and its channels: for whoever stands in their place in a test.

use std::sync::Arc;

use millstream_core::{Failure, Mark, Moment, Stamped, TaskInfo};
use millstream_operators::async_wait::{AsyncWait, Limits};
use millstream_operators::{Effects, SideBuffers};

use super::driver::Driver;
use crate::calls::{Caller, CurrentTask};

/// Runs a [`Caller`] by hand: what comes in is told to it, what goes out lies in
/// [`effects`](Self::effects).
///
/// It is the machine that a task runs, real futures included; the parts of the actor are played by
/// the test. A wake is only noted: [`work`](Self::work) polls what has been woken.
pub struct CallsByHand<C: Caller> {
    info: Arc<TaskInfo>,
    driver: Driver<C>,
}

impl<C: Caller> CallsByHand<C> {
    /// A task with a caller that is open. What is written to these side outputs is kept.
    pub fn new(info: TaskInfo, limits: Limits, caller: C, sides: SideBuffers) -> Self {
        let wait = AsyncWait::new(limits, &info);
        let driver = Driver::new(caller, wait, Effects::new(sides, usize::MAX));
        Self { info: Arc::new(info), driver }
    }

    /// The machine: its marks, its end, its snapshots.
    pub const fn wait(&mut self) -> &mut AsyncWait<C::In, C::Answer> {
        &mut self.driver.wait
    }

    /// What has been written.
    pub const fn effects(&mut self) -> &mut Effects<C::Out> {
        &mut self.driver.effects
    }

    /// Whether a record finds room.
    pub fn takes(&self, record: &Stamped<C::In>) -> bool {
        self.driver.takes(record)
    }

    /// Takes a record that finds room, and makes its call.
    ///
    /// # Errors
    ///
    /// What fails the task.
    pub fn admit(&mut self, record: Stamped<C::In>) -> Result<(), Failure> {
        self.turn(|driver| driver.admit(record))
    }

    /// It is `now`: gives up what is over, polls what has been woken and makes the calls whose turn
    /// has come, once each. Whether there was anything to do.
    ///
    /// # Errors
    ///
    /// What fails the task.
    pub fn work(&mut self, now: Moment) -> Result<bool, Failure> {
        self.turn(|driver| {
            driver.wait.look(now);
            driver.expire(now)?;
            Ok(driver.poll_next()? | driver.start_next()?)
        })
    }

    /// Writes what may go out, as far as the next mark, which is given back.
    pub fn write(&mut self) -> Option<Mark> {
        self.driver.write().1
    }

    /// A snapshot begins: what is stored is what has not gone out.
    ///
    /// # Errors
    ///
    /// When inputs are not kept.
    pub fn freeze(&mut self) -> Result<(), Failure> {
        let Driver { wait, caller, .. } = &mut self.driver;
        wait.freeze(caller)
    }

    /// Everything has gone out: the caller is closed.
    ///
    /// # Errors
    ///
    /// What the caller returns.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.driver.caller.close()
    }

    fn turn<T>(&mut self, work: impl FnOnce(&mut Driver<C>) -> T) -> T {
        let _current = CurrentTask::enter(&self.info);
        let _in_turn = self.driver.begin_turn();
        work(&mut self.driver)
    }
}
