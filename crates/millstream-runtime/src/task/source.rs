//! A source's task: reads its splits in turn, as long as there is room in the outbox.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use millstream_core::{Failure, Mark, Stamped, Timestamp};
use millstream_operators::{SideBuffers, drop_all, let_go};

use super::{After, Logic, Turn};
use crate::alarm::Alarm;
use crate::channel::{Inbox, Outbox, Split};
use crate::ends::{Read, ReadContext, Reader, Source, TaskContext};

type Opened<R> = Result<Readers<R>, Failure>;

/// Runs the splits of a source that belong to one task.
pub(crate) struct SourceLogic<S: Source> {
    state: State<S::Reader>,
    source: S,
    context: TaskContext,
    /// Made when the task opens, on its arbiter.
    wire: Option<Box<dyn FnOnce() -> Outbox<S::Out>>>,
    outbox: Outbox<S::Out>,
    made: Vec<Stamped<S::Out>>,
    sides: SideBuffers,
    /// Records handed on at once.
    batch_records: usize,
    alarm: Alarm,
}

enum State<R> {
    Created,
    Opening(Pin<Box<dyn Future<Output = Opened<R>>>>),
    /// The readers that have not ended, and the one whose turn it is.
    Reading(Readers<R>, usize),
    Drained,
    Ending,
}

/// The readers of a task's splits, each with the split's number in the task, dropped one by one:
/// more than one may panic.
struct Readers<R>(Vec<(usize, R)>);

impl<R> Drop for Readers<R> {
    fn drop(&mut self) {
        drop_all(&mut self.0);
    }
}

impl<S: Source> SourceLogic<S> {
    pub(crate) fn new(
        source: S,
        context: TaskContext,
        batch_records: usize,
        wire: Box<dyn FnOnce() -> Outbox<S::Out>>,
    ) -> Self {
        Self {
            state: State::Created,
            source,
            context,
            wire: Some(wire),
            outbox: Outbox::new(None, Vec::new()),
            made: Vec::new(),
            sides: SideBuffers::default(),
            batch_records,
            alarm: Alarm::default(),
        }
    }

    fn opening(&self) -> Pin<Box<dyn Future<Output = Opened<S::Reader>>>> {
        let (source, context) = (self.source.clone(), self.context.clone());
        Box::pin(async move {
            let mut readers = Readers(Vec::new());
            let mine = source.splits().into_iter().skip(context.info.subtask);
            for split in mine.step_by(context.info.parallelism) {
                let number = readers.0.len();
                readers.0.push((number, source.open(&split, None, &context).await?));
            }
            Ok(readers)
        })
    }

    /// One call of a reader, and what it gave into the outbox, whatever it said.
    fn read(&mut self, at: usize, turn: &mut Turn<'_, '_>) -> Result<Read, Failure> {
        let State::Reading(Readers(readers), _) = &mut self.state else { return Ok(Read::Ended) };
        let budget = turn.budget.records().min(self.batch_records);
        let mut cx = ReadContext {
            records: &mut self.made,
            sides: &mut self.sides,
            budget,
            cx: turn.cx,
            clock: turn.budget.clock(),
        };
        let (split, reader) = &mut readers[at];
        let said = reader.read(&mut cx);
        self.outbox.split(Split::Reads(*split));
        let given = self.outbox.records(&mut self.made)?;
        self.outbox.sides(&mut self.sides)?;
        turn.metrics.records_in.add(given as u64);
        turn.metrics.records_out.add(given as u64);
        turn.metrics.side_records_dropped.add(self.sides.take_unread());
        turn.budget.spend(given.max(1));
        match said {
            Ok(_) if given > budget => Err(Failure::new(format!(
                "the reader gave {given} records in one call, and its budget was {budget}"
            ))),
            said => said,
        }
    }

    /// The task rests. Whether it is time for a watermark, which else wakes it.
    fn rings(&mut self, turn: &mut Turn<'_, '_>) -> bool {
        let rings = self.alarm.rings(self.outbox.next_look(), turn.budget.clock(), turn.cx);
        if rings {
            turn.budget.spend(0);
        }
        rings
    }

    /// Reads in turn until the budget is spent, the outbox is blocked or no reader has anything.
    fn read_on(&mut self, turn: &mut Turn<'_, '_>) -> Result<After, Failure> {
        let mut quiet = 0;
        while !self.outbox.blocked() {
            let State::Reading(Readers(readers), next) = &self.state else {
                return Ok(After::Again);
            };
            if readers.is_empty() {
                self.state = State::Drained;
                return Ok(After::Again);
            }
            if quiet >= readers.len() {
                return Ok(After::Input);
            }
            if turn.budget.is_spent() {
                return Ok(After::Again);
            }
            let at = next % readers.len();
            let said = self.read(at, turn)?;
            let State::Reading(Readers(readers), next) = &mut self.state else {
                return Ok(After::Again);
            };
            *next = at + 1;
            match said {
                Read::Ready => quiet = 0,
                Read::Later => quiet += 1,
                Read::Ended => {
                    let (split, _) = readers.remove(at);
                    *next = at;
                    self.outbox.split(Split::Ended(split));
                }
            }
        }
        Ok(After::Again)
    }
}

impl<S: Source> Logic for SourceLogic<S> {
    type In = Infallible;

    fn open(&mut self, turn: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        if let Some(wire) = self.wire.take() {
            self.outbox = wire();
            self.batch_records = self.outbox.batch_records(self.batch_records);
            self.sides = self.outbox.side_buffers();
        }
        if matches!(self.state, State::Created) {
            self.state = State::Opening(self.opening());
        }
        let State::Opening(opening) = &mut self.state else { return Poll::Ready(Ok(())) };
        let readers = std::task::ready!(opening.as_mut().poll(turn.cx));
        Poll::Ready(readers.map(|readers| {
            self.outbox.split(Split::Are(readers.0.len()));
            self.state = State::Reading(readers, 0);
        }))
    }

    fn work(
        &mut self,
        _: &mut Inbox<Infallible>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        loop {
            self.outbox.look(turn.budget.looked())?;
            if self.outbox.advance()? {
                turn.budget.spend(0);
            }
            match self.state {
                _ if self.outbox.holding() => {}
                State::Ending => return Ok(After::Ended),
                State::Drained => {
                    self.state = State::Ending;
                    // No record follows, so all event time has passed.
                    self.outbox.mark(Mark::Watermark(Timestamp::MAX))?;
                    self.outbox.mark(Mark::End)?;
                    continue;
                }
                _ if self.outbox.blocked() => {}
                _ => {
                    let after = self.read_on(turn)?;
                    let rests = after == After::Input && !self.rings(turn);
                    if rests || turn.budget.is_spent() {
                        return Ok(after);
                    }
                    continue;
                }
            }
            if self.outbox.wait() {
                return Ok(After::Credit);
            }
        }
    }

    fn drain(&mut self) {
        if !matches!(self.state, State::Ending) {
            drop(std::mem::replace(&mut self.state, State::Drained));
        }
    }

    fn filling(&self) -> bool {
        self.outbox.filling()
    }

    fn flush(&mut self) {
        self.outbox.flush();
    }

    fn salvage(&mut self) {
        let_go(std::mem::replace(&mut self.state, State::Ending));
        self.outbox.salvage(&mut self.made);
        self.outbox.salvage_sides(&mut self.sides);
    }

    fn hand_over(&mut self) -> Poll<Result<(), Failure>> {
        self.outbox.hand_over()
    }

    fn take_sent(&mut self) -> u64 {
        self.outbox.take_sent()
    }
}
