//! A task of calls: admits records as far as there is room, drives what is out, sends on in order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use millstream_core::{Failure, Mark, Moment, TaskInfo, Wake};
use millstream_operators::async_wait::{Answer, AsyncWait, Limits, Out, Start, Ticket};
use millstream_operators::{Aligned, Alignment, Effects, Frontier, Progress, let_go};

use super::budget::Piece;
use super::{After, Logic, Turn};
use crate::calls::{Caller, Calls, CurrentTask, Polled};
use crate::channel::{Inbox, Outbox, Parked, Taken};
use crate::ends::TaskContext;

/// What a task makes its caller and its outbox from, on its arbiter.
pub(crate) struct CallsOf<C: Caller> {
    pub(crate) context: TaskContext,
    pub(crate) channels: usize,
    /// Made records after which they are handed on.
    pub(crate) batch_records: usize,
    /// Checked when the graph was built.
    pub(crate) limits: Limits,
    pub(crate) make: Make<C>,
    pub(crate) wire: Wire<C>,
}

type Make<C> = Box<dyn FnOnce(&TaskInfo) -> C>;
type Wire<C> = Box<dyn FnOnce() -> Outbox<<C as Caller>::Out>>;
type Opening<C> = Pin<Box<dyn Future<Output = Result<C, Failure>>>>;

/// Records that are admitted, and calls that are polled, between two looks at the clock.
const PIECE: usize = 64;

/// Runs a [`Caller`].
pub(crate) struct CallsLogic<C: Caller> {
    make: Option<Make<C>>,
    wire: Option<Wire<C>>,
    opening: Option<Opening<C>>,
    context: TaskContext,
    info: Arc<TaskInfo>,
    frontier: Frontier,
    alignment: Alignment,
    /// Gone after a failure, as are the calls that are out.
    running: Option<Running<C>>,
    wait: AsyncWait<C::In, C::Answer>,
    effects: Effects<C::Out>,
    outbox: Outbox<C::Out>,
    batch_records: usize,
    piece: Piece,
    /// Batches that were taken in front of a barrier; they keep their credits until what was in
    /// them has been admitted.
    parked: Vec<Parked<C::In>>,
    alarm: Alarm,
    ending: bool,
    ended: bool,
}

struct Running<C: Caller> {
    calls: Calls<C::Call>,
    caller: C,
}

/// The one wake-up that is armed at the clock.
#[derive(Default)]
struct Alarm(Option<(Moment, Wake)>);

impl Alarm {
    /// Wakes the task at `due` or before. Whether that is now. A wake-up that comes too early is
    /// left as it is: it is cheaper to look once more than to arm another for each record.
    fn rings(&mut self, due: Option<Moment>, turn: &mut Turn<'_, '_>) -> bool {
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

impl<C: Caller> CallsLogic<C> {
    pub(crate) fn new(of: CallsOf<C>) -> Self {
        let CallsOf { context, channels, batch_records, limits, make, wire } = of;
        Self {
            info: Arc::new(context.info.clone()),
            make: Some(make),
            wire: Some(wire),
            opening: None,
            wait: AsyncWait::new(limits, &context.info),
            context,
            frontier: Frontier::new(channels),
            alignment: Alignment::new(channels),
            running: None,
            effects: Effects::new(Outbox::<C::Out>::new(None, Vec::new()).side_buffers(), 1),
            outbox: Outbox::new(None, Vec::new()),
            batch_records,
            piece: Piece::at_most(PIECE),
            parked: Vec::new(),
            alarm: Alarm::default(),
            ending: false,
            ended: false,
        }
    }

    /// Makes the calls whose turn has come without a new record.
    fn start_due(&mut self, turn: &mut Turn<'_, '_>) -> Result<bool, Failure> {
        let Some(running) = &mut self.running else { return Ok(false) };
        let mut started = 0;
        while started < PIECE
            && let Some(start) = self.wait.next_start(&running.caller)
        {
            running.start(&mut self.wait, start)?;
            started += 1;
        }
        if !self.wait.is_parking() {
            self.parked.clear();
        }
        self.spend(started, turn);
        Ok(started > 0)
    }

    /// Polls calls that have been woken.
    fn poll(&mut self, turn: &mut Turn<'_, '_>) -> Result<bool, Failure> {
        let Some(Running { calls, caller }) = &mut self.running else { return Ok(false) };
        let mut polled = 0;
        while polled < PIECE
            && let Some((ticket, attempt, answer)) = calls.poll_next()
        {
            file(&mut self.wait, caller, (ticket, attempt), answer)?;
            polled += 1;
        }
        self.spend(polled, turn);
        Ok(polled > 0)
    }

    /// Work was done: looks at the clock, which dates what has begun.
    fn spend(&mut self, done: usize, turn: &mut Turn<'_, '_>) {
        if done > 0 {
            turn.budget.spend(done);
            self.wait.look(turn.budget.looked());
        }
    }

    /// Gives up records whose time is over.
    fn expire(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), Failure> {
        let now = turn.budget.looked();
        if self.wait.next_due().is_none_or(|due| now < due) {
            return Ok(());
        }
        self.wait.look(now);
        let Some(Running { calls, caller }) = &mut self.running else { return Ok(()) };
        while let Some(ticket) = self.wait.next_expired(now) {
            // An answer that was there before counts.
            if let Some((attempt, answer)) = calls.poll_woken(ticket) {
                file(&mut self.wait, caller, (ticket, attempt), answer)?;
            }
            if self.wait.next_expired(now) == Some(ticket) {
                self.wait.timed_out(ticket, caller)?;
                calls.cancel(ticket);
            }
        }
        Ok(())
    }

    /// Sends on what may go, as far as there is credit. Whether something went.
    fn emit(&mut self, turn: &mut Turn<'_, '_>) -> Result<bool, Failure> {
        let mut any = false;
        while !self.outbox.blocked() {
            let Some(Running { caller, .. }) = &mut self.running else { break };
            let mut mark = None;
            while mark.is_none()
                && !self.effects.is_full()
                && let Some(out) = self.wait.pop()
            {
                any = true;
                match out {
                    Out::Results(at, answer) => caller.emit(at, answer, &mut self.effects),
                    Out::DeadLetter(letter) => caller.dead_letter(letter, &mut self.effects),
                    Out::Mark(passes) => mark = Some(passes),
                }
            }
            let full = self.effects.is_full();
            self.settle(turn)?;
            match mark {
                Some(mark) => self.outbox.mark(mark)?,
                None if full => {}
                None => break,
            }
        }
        Ok(any)
    }

    /// Hands on what was written.
    fn settle(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), Failure> {
        let made = self.outbox.records(self.effects.records())?;
        turn.metrics.records_out.add(made as u64);
        self.outbox.sides(self.effects.sides())?;
        turn.metrics.side_records_dropped.add(self.effects.sides().take_unread());
        for (name, n) in self.effects.counts().drain(..) {
            turn.metrics.count(name, n);
        }
        self.effects.take_more();
        Ok(())
    }

    /// Takes from the input what there is room for. Whether something was taken.
    fn admit(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<bool, Failure> {
        if !self.wait.takes_mark() && !inbox.has_end() && !inbox.has_barrier() {
            return Ok(false);
        }
        match inbox.take(|n| turn.pick(n)) {
            None => Ok(false),
            Some(Taken::Records) if self.admit_records(inbox, turn)? => Ok(true),
            Some(Taken::Records) => self.park(inbox, turn),
            Some(Taken::Mark(channel, mark)) => {
                self.mark(channel, mark, inbox)?;
                Ok(true)
            }
        }
    }

    fn admit_records(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<bool, Failure> {
        let Self { running: Some(running), wait, piece, .. } = self else { return Ok(false) };
        let at_most = piece.records();
        let (done, result) = inbox.records(
            at_most,
            |records| -> Result<bool, Failure> {
                while let Some(next) = records.ahead().first()
                    && wait.takes(&next.value, &running.caller)
                    && let Some(record) = records.next()
                {
                    if let Some(start) = wait.admit(record, &running.caller) {
                        running.start(wait, start)?;
                    }
                }
                Ok(true)
            },
            |_| false,
        );
        turn.metrics.records_in.add(done as u64);
        if done > 0 {
            turn.budget.spend_piece(done, piece);
            wait.look(turn.budget.looked());
        }
        result?;
        Ok(done > 0)
    }

    /// There is no room. If a barrier lies in the input, what stands in front of it belongs to its
    /// snapshot, so it is taken and waits here, with its credits.
    fn park(&mut self, inbox: &mut Inbox<C::In>, turn: &mut Turn<'_, '_>) -> Result<bool, Failure> {
        if !inbox.has_barrier() {
            return Ok(false);
        }
        let Some((records, parked, mark)) = inbox.park() else { return Ok(false) };
        turn.metrics.records_in.add(records.len() as u64);
        self.parked.push(parked);
        records.into_iter().for_each(|record| self.wait.park(record));
        if let Some((channel, mark)) = mark {
            self.mark(channel, mark, inbox)?;
        }
        turn.budget.spend(1);
        Ok(true)
    }

    /// A mark of one channel: what it means for the task as a whole.
    fn mark(
        &mut self,
        channel: usize,
        mark: Mark,
        inbox: &mut Inbox<C::In>,
    ) -> Result<(), Failure> {
        let progress = match mark {
            Mark::Watermark(watermark) => self.frontier.watermark(channel, watermark),
            Mark::Idle => self.frontier.idle(channel),
            Mark::Active => self.frontier.active(channel),
            Mark::Barrier(epoch) => {
                let aligned = self.alignment.barrier(channel, epoch);
                self.aligned(aligned, inbox)?;
                Progress::None
            }
            Mark::End => {
                let aligned = self.alignment.end(channel);
                self.aligned(aligned, inbox)?;
                self.frontier.end(channel)
            }
        };
        match progress {
            Progress::None => {}
            Progress::Watermark(watermark) => self.wait.mark(Mark::Watermark(watermark)),
            Progress::Idle => self.wait.mark(Mark::Idle),
            Progress::Active(watermark) => {
                self.wait.mark(Mark::Active);
                watermark.into_iter().for_each(|it| self.wait.mark(Mark::Watermark(it)));
            }
            Progress::End => {
                self.ending = true;
                self.wait.end();
            }
        }
        Ok(())
    }

    /// A barrier does not wait for the calls that are out: their inputs are in its snapshot.
    fn aligned(&mut self, aligned: Aligned, inbox: &mut Inbox<C::In>) -> Result<(), Failure> {
        if let Aligned::Complete(epoch) = aligned {
            self.outbox.mark(Mark::Barrier(epoch))?;
        }
        inbox.hold_where(|channel| self.alignment.holds(channel));
        Ok(())
    }

    /// Everything has gone out: passes on the end.
    fn finish(&mut self) -> Result<(), Failure> {
        if let Some(Running { caller, .. }) = &mut self.running {
            caller.close()?;
        }
        self.ended = true;
        self.outbox.mark(Mark::End)
    }

    /// There is nothing to do now. None if something has come up since; else what it waits for.
    fn rest(&mut self, turn: &mut Turn<'_, '_>) -> Option<After> {
        let stuck = self.outbox.holding() || (self.outbox.blocked() && self.wait.has_next());
        if stuck && !self.outbox.wait() {
            return None;
        }
        if self.alarm.rings(self.wait.next_due(), turn) {
            let now = turn.budget.clock().monotonic();
            turn.budget.spend(0);
            self.wait.look(now);
            return None;
        }
        let rests = self.running.as_ref().is_none_or(|it| it.calls.rest(turn.cx.waker()));
        rests.then_some(if stuck { After::Credit } else { After::Input })
    }
}

impl<C: Caller> Running<C> {
    /// Makes a call and files its answer, if that comes at once.
    #[inline]
    fn start(
        &mut self,
        wait: &mut AsyncWait<C::In, C::Answer>,
        start: Start<C::In>,
    ) -> Result<(), Failure> {
        let Self { calls, caller } = self;
        let Start { ticket, attempt, admission, input } = start;
        match calls.start((ticket, attempt, admission), || caller.call(input)) {
            Polled::Pending => {
                wait.waits(ticket);
                Ok(())
            }
            answer => file(wait, caller, (ticket, attempt), answer),
        }
    }
}

/// Files what a call has given, if it has.
#[inline]
fn file<C: Caller>(
    wait: &mut AsyncWait<C::In, C::Answer>,
    caller: &mut C,
    (ticket, attempt): (Ticket, u32),
    polled: Polled<Result<C::Answer, Failure>>,
) -> Result<(), Failure> {
    let answer = match polled {
        Polled::Pending => return Ok(()),
        Polled::Ready(Ok(results)) => Answer::Results(results),
        Polled::Ready(Err(failure)) => Answer::Failed(failure),
        Polled::Panicked(message) => Answer::Panicked(Failure::new(message)),
    };
    wait.answered(ticket, attempt, answer, caller)
}

impl<C: Caller> Logic for CallsLogic<C> {
    type In = C::In;

    fn open(&mut self, turn: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        if let Some(wire) = self.wire.take() {
            self.outbox = wire();
            let batch_records = self.outbox.batch_records(self.batch_records);
            self.effects = Effects::new(self.outbox.side_buffers(), batch_records);
        }
        if let Some(make) = self.make.take() {
            let caller = make(&self.info);
            self.opening = Some(Box::pin(caller.open(self.context.clone())));
        }
        let Some(opening) = &mut self.opening else { return Poll::Ready(Ok(())) };
        let caller = ready!(opening.as_mut().poll(turn.cx));
        self.opening = None;
        self.wait.resume();
        Poll::Ready(caller.map(|caller| {
            self.running = Some(Running { calls: Calls::new(), caller });
        }))
    }

    fn work(
        &mut self,
        inbox: &mut Inbox<C::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        let _current = CurrentTask::enter(&self.info);
        loop {
            self.outbox.advance()?;
            if self.ended {
                if !self.outbox.holding() {
                    return Ok(After::Ended);
                }
                if self.outbox.wait() {
                    return Ok(After::Credit);
                }
                continue;
            }
            if turn.budget.is_spent() {
                return Ok(After::Again);
            }
            self.expire(turn)?;
            let mut worked = self.poll(turn)?;
            worked |= self.start_due(turn)?;
            worked |= self.emit(turn)?;
            if self.ending && self.wait.is_empty() {
                self.finish()?;
                continue;
            }
            worked |= self.admit(inbox, turn)?;
            if !worked && let Some(after) = self.rest(turn) {
                return Ok(after);
            }
        }
    }

    fn filling(&self) -> bool {
        self.outbox.filling()
    }

    fn flush(&mut self) {
        self.outbox.flush();
    }

    fn salvage(&mut self) -> Result<(), Failure> {
        let_go(self.running.take());
        self.outbox.give_up();
        self.outbox.records(self.effects.records())?;
        self.outbox.sides(self.effects.sides())
    }

    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        self.outbox.hand_over()
    }

    fn take_sent(&mut self) -> u64 {
        self.outbox.take_sent()
    }
}
