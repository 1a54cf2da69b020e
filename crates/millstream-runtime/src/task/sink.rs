//! A sink's task: gives its writer what arrives, and at the end flushes, prepares and commits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Poll, ready};

use millstream_core::{Epoch, Failure, Mark, Stamped};
use millstream_operators::{Frontier, Progress, let_go, let_go_all};

use super::budget::Piece;
use super::{After, Logic, Turn};
use crate::channel::{Inbox, Taken};
use crate::ends::{Sink, TaskContext, Writer};

type Opened<W> = Pin<Box<dyn Future<Output = Result<W, Failure>>>>;
type Closing = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

/// Runs the writer of a sink.
pub(crate) struct SinkLogic<K: Sink> {
    state: State<K::Writer>,
    sink: K,
    context: TaskContext,
    frontier: Frontier,
    /// What the writer takes at once: as much as it has shown to work off within a turn.
    piece: Piece,
    batch: Vec<Stamped<K::In>>,
}

enum State<W> {
    Created,
    Opening(Opened<W>),
    Writing(W),
    /// The input has ended: flush, prepare, commit.
    Closing(Closing),
    Gone,
}

impl<K: Sink> SinkLogic<K> {
    pub(crate) fn new(sink: K, context: TaskContext, channels: usize) -> Self {
        Self {
            state: State::Created,
            sink,
            context,
            frontier: Frontier::new(channels),
            piece: Piece::at_most(usize::MAX),
            batch: Vec::new(),
        }
    }

    /// Gives the writer one piece of the batch that the inbox announced: a fast sink is called once
    /// a batch.
    fn write(&mut self, inbox: &mut Inbox<K::In>, turn: &mut Turn<'_, '_>) -> Result<(), Failure> {
        let State::Writing(writer) = &mut self.state else { return Ok(()) };
        let n = inbox.piece(self.piece.records().min(turn.budget.records()), &mut self.batch);
        writer.write(&mut self.batch)?;
        turn.metrics.records_in.add(n as u64);
        turn.metrics.records_out.add(n as u64);
        let_go_all(&mut self.batch);
        turn.budget.spend_piece(n, &mut self.piece);
        Ok(())
    }

    fn close(&mut self) {
        if let State::Writing(mut writer) = std::mem::replace(&mut self.state, State::Gone) {
            self.state = State::Closing(Box::pin(async move {
                writer.flush().await?;
                match writer.prepare(Epoch::new(0)).await? {
                    Some(transaction) => writer.commit(transaction).await,
                    None => Ok(()),
                }
            }));
        }
    }
}

impl<K: Sink> Logic for SinkLogic<K> {
    type In = K::In;

    fn open(&mut self, turn: &mut Turn<'_, '_>) -> Poll<Result<(), Failure>> {
        if matches!(self.state, State::Created) {
            let (sink, context) = (self.sink.clone(), self.context.clone());
            let opening = async move { sink.open(&context, Vec::new()).await };
            self.state = State::Opening(Box::pin(opening));
        }
        let State::Opening(opening) = &mut self.state else { return Poll::Ready(Ok(())) };
        let opened = ready!(opening.as_mut().poll(turn.cx));
        Poll::Ready(opened.map(|writer| self.state = State::Writing(writer)))
    }

    fn work(
        &mut self,
        inbox: &mut Inbox<K::In>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<After, Failure> {
        loop {
            if let State::Closing(closing) = &mut self.state {
                let polled = closing.as_mut().poll(turn.cx);
                turn.budget.spend(1);
                return match polled {
                    Poll::Ready(closed) => closed.map(|()| After::Ended),
                    Poll::Pending => Ok(After::Outside),
                };
            }
            if turn.budget.is_spent() {
                return Ok(After::Again);
            }
            match inbox.take(|n| turn.pick(n)) {
                None => return Ok(After::Input),
                Some(Taken::Records) => self.write(inbox, turn)?,
                Some(Taken::Mark(channel, Mark::End)) => {
                    if self.frontier.end(channel) == Progress::End {
                        self.close();
                    }
                }
                // A sink has nothing to do with time; barriers concern it once there are
                // checkpoints.
                Some(Taken::Mark(..)) => {}
            }
        }
    }

    fn salvage(&mut self) {
        let_go(std::mem::replace(&mut self.state, State::Gone));
        let_go_all(&mut self.batch);
    }
}
