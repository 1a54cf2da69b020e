//! Proves that an inbox is a queue for each channel, served in turn, that keeps a batch's credit
//! until the batch is finished, and what is left of it when it is closed.

use std::collections::VecDeque;
use std::sync::Arc;

use millstream_core::{Attempt, Batch, Grammar, Mark, Stamped};
use millstream_metrics::TaskMetrics;
use millstream_operators::Records;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{ByHand, Receiver, Wire, mark, nobody, stamped};
use crate::channel::deliver::{Deliver, Link, Loan};
use crate::channel::inbox::{Inbox, Refused, Taken};

/// So many that none runs out.
const CREDITS: usize = 1_000;

fn link(metrics: &Arc<TaskMetrics>) -> Arc<Link<u64>> {
    Arc::new(Link::new(CREDITS, nobody(), metrics.clone()))
}

fn delivery(channel: usize, link: &Arc<Link<u64>>, batch: Batch<u64>) -> Deliver<u64> {
    if !batch.records.is_empty() {
        assert!(link.credits.take());
    }
    Deliver { channel, attempt: Attempt::new(0), loan: link.lend(batch) }
}

/// The first thing to take, if there is one, with all of its records.
fn take(inbox: &mut Inbox<u64>) -> Option<(Vec<u64>, Option<Mark>)> {
    match inbox.take(|_| 0)? {
        Taken::Mark(_, mark) => Some((Vec::new(), Some(mark))),
        Taken::Records => {
            let mut records = Vec::new();
            inbox.piece(usize::MAX, &mut records);
            Some((records.iter().map(|record| record.value).collect(), None))
        }
    }
}

#[test]
fn a134_a_quiesced_inbox_gives_out_what_it_has_and_a_closed_one_nothing() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    let batch = |n| delivery(0, &link, Batch::of(stamped([n])));
    let mut inbox = Inbox::new(1);
    assert!(inbox.file(batch(1)).is_ok() && inbox.file(batch(2)).is_ok());

    inbox.quiesce();
    let Err(Refused(back)) = inbox.file(batch(3)) else { panic!("a quiesced inbox takes nothing") };
    assert_eq!(back.loan.batch, Batch::of(stamped([3])), "what is refused is handed back");
    drop(back);
    assert_eq!(take(&mut inbox), Some((vec![1], None)));
    assert_eq!(take(&mut inbox), Some((vec![2], None)));
    assert_eq!((take(&mut inbox), take(&mut inbox)), (None, None));

    assert!(inbox.close().is_empty());
    inbox.quiesce();
    assert!(inbox.take(|_| 0).is_none());
    assert!(inbox.file(batch(4)).is_err());
    assert!(inbox.close().is_empty(), "to close it twice is allowed");
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (CREDITS, 0));
}

#[test]
fn a134_what_a_closed_inbox_has_left_is_handed_back_once() {
    let metrics = Arc::new(TaskMetrics::default());
    let link = link(&metrics);
    let mut inbox = Inbox::new(1);
    for n in 1..=3 {
        assert!(inbox.file(delivery(0, &link, Batch::of(stamped([n, n + 10])))).is_ok());
    }
    assert!(matches!(inbox.take(|_| 0), Some(Taken::Records)));
    assert_eq!(inbox.piece(1, &mut Vec::new()), 1);

    let left = inbox.close();
    let batches: Vec<_> = left.iter().map(|loan| loan.batch.records.clone()).collect();
    assert_eq!(batches, [stamped([11]), stamped([2, 12]), stamped([3, 13])]);
    assert!(inbox.close().is_empty() && inbox.take(|_| 0).is_none());
    assert_eq!(link.credits.available(), CREDITS - 3, "whoever holds a batch holds its credit");
    drop(left);
    assert_eq!((link.credits.available(), metrics.records_queued.get()), (CREDITS, 0));
}

/// Ten records on another thread are one batch: nothing of it is there before the tenth, and
/// whoever waits for that thread is handed back all ten.
#[test]
fn a136_what_another_thread_makes_in_one_go_is_handed_back_whole() {
    let (mut wire, mut outlet) = Wire::<u64>::new(0, 4, 10);
    let (tell, told) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let section = std::thread::spawn(move || {
        use millstream_operators::Collect;
        (0..9).for_each(|n| outlet.push(Stamped::new(n)));
        tell.send(()).unwrap();
        may_go.recv().unwrap();
        outlet.push(Stamped::new(9));
    });
    told.recv().unwrap();
    let mut inbox = Inbox::new(1);
    wire.receiver.handle_all();
    assert!(wire.kept.borrow().is_empty(), "half a batch is nothing");
    go.send(()).unwrap();
    section.join().unwrap();
    wire.receiver.handle_all();
    for delivery in wire.kept.take() {
        assert!(inbox.file(delivery).is_ok());
    }
    let left: Vec<Batch<u64>> = inbox.close().iter().map(|loan| loan.batch.clone()).collect();
    assert_eq!(left, [Batch::of(stamped(0..10))]);
    assert_eq!(wire.metrics.records_queued.get(), 0);
}

/// How a batch's records are taken.
#[derive(Clone, Copy, Debug)]
enum How {
    /// By so many, until a record that says stop or fails, and so many questions.
    Each { piece: usize, stop: usize, fails: bool, questions: usize },
    /// At most so many into a vector.
    Piece(usize),
}

#[derive(Clone, Debug)]
enum Op {
    File { channel: Index, records: usize, mark: Option<Mark> },
    Take { pick: Index, how: How },
    Hold(Index),
    Release,
    Quiesce,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let mark = prop_oneof![6 => mark().prop_map(Some), 6 => Just(None), 1 => Just(Some(Mark::End))];
    let each = (1..5_usize, 0..12_usize, any::<bool>(), 1..4_usize)
        .prop_map(|(piece, stop, fails, questions)| How::Each { piece, stop, fails, questions });
    let how = prop_oneof![each, (1..9_usize).prop_map(How::Piece)];
    prop_oneof![
        12 => (any::<Index>(), prop_oneof![Just(0), 1..7_usize], mark)
            .prop_map(|(channel, records, mark)| Op::File { channel, records, mark }),
        14 => (any::<Index>(), how).prop_map(|(pick, how)| Op::Take { pick, how }),
        2 => any::<Index>().prop_map(Op::Hold),
        2 => Just(Op::Release),
        1 => prop_oneof![9 => Just(Op::Release), 1 => Just(Op::Quiesce)],
        1 => prop_oneof![9 => Just(Op::Release), 1 => Just(Op::Close)],
    ]
}

/// A batch as a model has it.
#[derive(Clone, Debug, PartialEq)]
struct Parcel {
    records: VecDeque<u64>,
    mark: Option<Mark>,
    has_credit: bool,
}

#[derive(Clone, Debug, Default)]
struct Line {
    parcels: VecDeque<Parcel>,
    held: bool,
    /// Since when it stands in the queue of those with something to take.
    since: Option<u64>,
}

/// An inbox as a list of lists, each with the time since when it has had something to take.
#[derive(Default)]
struct Model {
    lines: Vec<Line>,
    taking: Option<(usize, Parcel)>,
    time: u64,
    quiesced: bool,
    closed: bool,
}

impl Model {
    fn file(&mut self, channel: usize, parcel: Parcel) -> bool {
        if self.quiesced || self.closed {
            return false;
        }
        let line = &mut self.lines[channel];
        match line.parcels.back_mut() {
            Some(last)
                if last.records.is_empty()
                    && parcel.records.is_empty()
                    && matches!(last.mark, Some(Mark::Watermark(_)))
                    && matches!(parcel.mark, Some(Mark::Watermark(_))) =>
            {
                last.mark = parcel.mark;
            }
            _ => line.parcels.push_back(parcel),
        }
        self.stand(channel);
        true
    }

    /// Whoever has something to take and is not held stands behind those who stand already.
    fn stand(&mut self, channel: usize) {
        self.time += 1;
        let line = &mut self.lines[channel];
        let ready = !line.parcels.is_empty() && !line.held;
        line.since = ready.then(|| line.since.unwrap_or(self.time));
    }

    fn standing(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            (0..self.lines.len()).filter(|line| self.lines[*line].since.is_some()).collect();
        all.sort_by_key(|line| self.lines[*line].since);
        all
    }

    /// What is announced: a mark of a channel, or records.
    fn take(&mut self, pick: usize) -> Option<Option<(usize, Mark)>> {
        if self.closed {
            return None;
        }
        if self
            .taking
            .as_ref()
            .is_none_or(|(_, parcel)| parcel.records.is_empty() && parcel.mark.is_none())
        {
            self.taking = None;
            let channel = *self.standing().get(pick)?;
            let parcel = self.lines[channel].parcels.pop_front()?;
            self.lines[channel].since = None;
            self.stand(channel);
            self.taking = Some((channel, parcel));
        }
        let (channel, parcel) = self.taking.as_ref()?;
        if !parcel.records.is_empty() {
            return Some(None);
        }
        let mark = parcel.mark.map(|mark| (*channel, mark));
        self.taking = None;
        Some(mark)
    }

    /// So many choices there are for the next call, where it has to choose.
    fn choices(&self) -> usize {
        let done =
            |(_, parcel): &(usize, Parcel)| parcel.records.is_empty() && parcel.mark.is_none();
        if self.taking.as_ref().is_none_or(done) { self.standing().len() } else { 0 }
    }

    fn parcels(&self) -> impl Iterator<Item = (usize, &Parcel)> {
        let lines = self.lines.iter().enumerate();
        let queued = lines.flat_map(|(at, line)| line.parcels.iter().map(move |it| (at, it)));
        self.taking.iter().map(|(channel, parcel)| (*channel, parcel)).chain(queued)
    }

    fn close(&mut self) -> Vec<Parcel> {
        let left = self.parcels().map(|(_, parcel)| parcel.clone()).collect();
        *self = Self {
            lines: vec![Line::default(); self.lines.len()],
            closed: true,
            ..Self::default()
        };
        left
    }
}

/// An inbox, its model, and what both are fed with.
struct Both {
    inbox: Inbox<u64>,
    model: Model,
    metrics: Arc<TaskMetrics>,
    links: Vec<Arc<Link<u64>>>,
    grammars: Vec<Grammar>,
    next: u64,
}

impl Both {
    fn new(channels: usize) -> Self {
        let metrics = Arc::new(TaskMetrics::default());
        Self {
            inbox: Inbox::new(channels),
            model: Model { lines: vec![Line::default(); channels], ..Model::default() },
            links: (0..channels).map(|_| link(&metrics)).collect(),
            metrics,
            grammars: vec![Grammar::default(); channels],
            next: 0,
        }
    }

    /// Files a batch, if the grammar of its channel allows it there.
    fn file(&mut self, channel: usize, records: usize, mark: Option<Mark>) {
        let mut grammar = self.grammars[channel].clone();
        let fits = records == 0 || grammar.record().is_ok();
        if !fits || mark.is_some_and(|mark| grammar.mark(mark).is_err()) {
            return;
        }
        if records == 0 && mark.is_none() {
            return;
        }
        let values: Vec<u64> = (self.next..).take(records).collect();
        self.next += records as u64;
        let batch = Batch { records: stamped(values.iter().copied()), mark };
        let parcel = Parcel { records: values.into(), mark, has_credit: records > 0 };
        let filed = self.model.file(channel, parcel);
        let delivery = delivery(channel, &self.links[channel], batch.clone());
        match self.inbox.file(delivery) {
            Ok(()) => assert!(filed),
            Err(Refused(back)) => assert!(!filed && back.loan.batch == batch),
        }
        if filed {
            self.grammars[channel] = grammar;
        }
    }

    fn take(&mut self, pick: Index, how: How) {
        let choices = self.model.choices();
        let picked = if choices == 0 { 0 } else { pick.index(choices) };
        let taken = self.inbox.take(|n| {
            assert_eq!(n, choices, "one of all that have something is picked");
            picked
        });
        match (taken, self.model.take(picked)) {
            (None, None) => {}
            (Some(Taken::Mark(channel, mark)), Some(expected)) => {
                assert_eq!(Some((channel, mark)), expected);
            }
            (Some(Taken::Records), Some(None)) => self.records(how),
            (taken, expected) => {
                panic!("something to take: {}, expected: {expected:?}", taken.is_some());
            }
        }
    }

    fn records(&mut self, how: How) {
        let Some((_, Parcel { records: expected, .. })) = &mut self.model.taking else { return };
        let left = expected.len();
        let mut taken = Vec::new();
        let n = match how {
            How::Piece(at_most) => {
                let n = self.inbox.piece(at_most, &mut taken);
                assert_eq!(n, left.min(at_most));
                n
            }
            How::Each { piece, stop, fails, questions } => {
                let mut asked = Vec::new();
                let some = |records: &mut Records<'_, '_, u64>| {
                    for record in records {
                        taken.push(record);
                        match taken.len() > stop {
                            true if fails => return Err("no"),
                            true => return Ok(false),
                            false => {}
                        }
                    }
                    Ok(true)
                };
                let (n, result) = self.inbox.records(piece, some, |n| {
                    asked.push(n);
                    asked.len() < questions
                });
                assert_eq!(n, left.min(stop + 1).min(piece * questions));
                assert_eq!(result, if fails && n > stop { Err("no") } else { Ok(()) });
                assert_eq!(asked.iter().sum::<usize>(), n, "every record is accounted for");
                assert!(asked.iter().all(|n| (1..=piece).contains(n)), "{asked:?} by {piece}");
                n
            }
        };
        assert_eq!(taken, stamped(expected.drain(..n)));
    }

    fn close(&mut self) {
        let parcel = |loan: Loan<u64>| Parcel {
            records: loan.batch.records.iter().map(|record| record.value).collect(),
            mark: loan.batch.mark,
            has_credit: loan.lent() > 0,
        };
        let left: Vec<Parcel> = self.inbox.close().into_iter().map(parcel).collect();
        assert_eq!(left, self.model.close());
    }

    /// What the two say of themselves.
    fn compare(&self) {
        assert_eq!(self.inbox.waiting(), self.model.parcels().count());
        let taking = usize::from(self.model.taking.is_some());
        assert_eq!(self.inbox.ready(), taking + self.model.standing().len());
        for (channel, link) in self.links.iter().enumerate() {
            let lent = self.model.parcels().filter(|(of, it)| *of == channel && it.has_credit);
            assert_eq!(link.credits.available(), CREDITS - lent.count(), "channel {channel}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_inbox_is_a_list_for_each_channel(channels in 1..4_usize, ops in vec(op(), 1..80)) {
        let mut both = Both::new(channels);
        for op in ops {
            match op {
                Op::File { channel, records, mark } => {
                    both.file(channel.index(channels), records, mark);
                }
                Op::Take { pick, how } => both.take(pick, how),
                Op::Hold(channel) => {
                    let channel = channel.index(channels);
                    both.model.lines[channel].held = true;
                    both.model.stand(channel);
                    both.inbox.hold_where(|channel| both.model.lines[channel].held);
                }
                Op::Release => {
                    both.inbox.hold_where(|_| false);
                    for channel in 0..channels {
                        both.model.lines[channel].held = false;
                        both.model.stand(channel);
                    }
                }
                Op::Quiesce => {
                    both.inbox.quiesce();
                    both.model.quiesced = true;
                }
                Op::Close => both.close(),
            }
            both.compare();
        }
        both.close();
        both.compare();
        prop_assert_eq!(both.metrics.records_queued.get(), 0);
    }
}

/// A receiver by hand that is gone takes nothing, and nothing stays lent.
#[test]
fn what_is_sent_to_a_receiver_that_has_gone_is_dropped_and_its_credit_is_back() {
    let (wire, mut outlet) = Wire::<u64>::new(0, 1, 1);
    use millstream_operators::Collect;
    assert!(!outlet.closed());
    let Wire { receiver, metrics, .. } = wire;
    let ByHand::<Receiver<u64>> { address, future } = receiver;
    drop((address, future));
    assert!(outlet.closed());
    for n in 0..3 {
        outlet.push(Stamped::new(n));
        assert!(!outlet.blocked());
    }
    outlet.mark(Mark::End);
    assert_eq!((metrics.records_queued.get(), metrics.records_queued.peak()), (0, 1));
}
