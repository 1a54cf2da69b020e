//! The job that is simulated: numbers go two ways of different length and meet again by key.

use std::sync::{Arc, Mutex};

use millstream_core::{Clock, Failure, Moment, Stamped, TaskInfo, Timestamp, Wake};
use millstream_operators::keyed::{Emit, Fold, KeyedOperator};
use millstream_operators::step::Identity;
use millstream_operators::{Effects, NoTimer, Operator};
use tokio::time::Instant;

use crate::graph::{ByKeyOf, Connect, EdgeNode, ForkNode, Graph, Natural, Node, Port, SharedNode};
use crate::{
    Read, ReadContext, Reader, Schedule, Settings, Sink, Source, TaskContext, Workers, Writer,
};

const NUMBERS: u64 = 24;
const KEYS: u64 = 6;

/// The time of a paused runtime.
struct Paused(Instant);

impl Clock for Paused {
    fn wall(&self) -> Timestamp {
        Timestamp::MIN
    }

    fn monotonic(&self) -> Moment {
        Moment::ZERO.plus(self.0.elapsed())
    }

    fn wake_at(&self, moment: Moment) -> Wake {
        let due = self.0 + moment.since(Moment::ZERO);
        Box::pin(async move { tokio::time::sleep_until(due).await })
    }
}

/// Decides by the numbers that follow from a seed.
struct Seeded(Mutex<u64>);

impl Seeded {
    /// The next number below `n`.
    fn below(&self, n: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % n.max(1)
    }
}

impl Schedule for Seeded {
    fn yields(&self) -> u32 {
        u32::try_from(self.below(16).saturating_sub(12)).unwrap()
    }

    fn pick(&self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap()
    }
}

/// The numbers from 0, and how far they have been read.
#[derive(Clone)]
struct Numbers(u64);

impl Source for Numbers {
    type Out = u64;
    type Position = u64;
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<u64>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Reader for Numbers {
    type Out = u64;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, u64>) -> Result<Read, Failure> {
        let until = NUMBERS.min(self.0 + cx.budget() as u64);
        cx.extend((self.0..until).map(Stamped::new));
        self.0 = until;
        Ok(if until == NUMBERS { Read::Ended } else { Read::Ready })
    }

    fn position(&self) -> u64 {
        self.0
    }
}

/// Passes everything on.
struct Pass;

impl Operator for Pass {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        out.emit(record);
        Ok(())
    }
}

type Sums = Vec<(u64, u64)>;

/// Keeps what it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Sums>>);

impl Sink for Kept {
    type In = (u64, u64);
    type Transaction = ();
    type Writer = Self;

    async fn open(&self, _: &TaskContext, _: Vec<()>) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl Writer for Kept {
    type In = (u64, u64);
    type Transaction = ();

    fn write(&mut self, batch: &mut Vec<Stamped<(u64, u64)>>) -> Result<(), Failure> {
        self.0.lock().unwrap().extend(batch.drain(..).map(|record| record.value));
        Ok(())
    }
}

/// What is known of a run that has come to its end.
pub(super) struct Ended {
    /// The job did not fail, and each key has come to its sum.
    pub(super) right: bool,
    /// More records lay on the channels of a task than they may.
    pub(super) overfull: bool,
}

fn shared<T>(node: impl Node<T> + 'static) -> SharedNode<T> {
    Arc::new(Mutex::new(node))
}

/// Source, one more task on one of two ways, three keyed tasks, sink.
fn graph(kept: &Kept) -> Graph {
    let mut graph = Graph::new("diamond");
    let (_, numbers, _) = graph.source("numbers", Numbers(0));
    let (far, far_in, far_out, _) = graph.operator("far", |_: &TaskInfo| Pass);
    let (sum, sum_in, sum_out, _) = graph.operator("sum", |task: &TaskInfo| {
        KeyedOperator::new(task, Emit::EachRecord, Fold::new(0, |sum: &mut u64, n: u64| *sum += n))
    });
    let (out, out_in) = graph.sink("out", kept.clone());
    graph.set_parallelism(sum, 3);

    let fork: Port<u64> = Port::default();
    numbers.connect(shared(ForkNode { chain: Identity::new(), port: fork.clone() }));
    let to_far =
        EdgeNode { chain: Identity::new(), route: Natural, to: far, port: 0, inlets: far_in };
    fork.connect(shared(to_far));
    let by_key = ByKeyOf::new(|n: &u64| n % KEYS);
    let meet = EdgeNode { chain: Identity::new(), route: by_key, to: sum, port: 0, inlets: sum_in };
    let meet = shared(meet);
    fork.connect(meet.clone());
    far_out.connect(meet);
    let to_out =
        EdgeNode { chain: Identity::new(), route: Natural, to: out, port: 0, inlets: out_in };
    sum_out.connect(shared(to_out));
    graph
}

/// Runs the job in the order of a seed, with so many batches of one record each on a channel.
pub(super) async fn diamond(seed: u64, credits: usize) -> Ended {
    let kept = Kept::default();
    let mut graph = graph(&kept);
    let schedule = Seeded(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
    (0..8).for_each(|_| _ = schedule.below(1));
    let settings = Settings::new()
        .workers(Workers::Current)
        .clock(Arc::new(Paused(Instant::now())))
        .schedule(Arc::new(schedule))
        .credits(credits)
        .batch_records(1);
    let opening = graph.launch(graph.prepare(settings).unwrap()).unwrap();
    let run = opening.run();
    let job = opening.opened().await.unwrap();
    graph.forget(run);
    let ended = job.finished().await;

    let numbers = job.status().numbers;
    let overfull = |stage, channels: usize| {
        let mut tasks = numbers.tasks.iter().filter(|task| task.stage == stage);
        tasks.any(|task| task.numbers.records_queued_peak > (channels * credits) as u64)
    };
    // The last of the sums of a key is that of all its numbers, which come twice.
    let mut last = [0; KEYS as usize];
    let sums = kept.0.lock().unwrap().clone();
    sums.iter().for_each(|(key, sum)| last[*key as usize] = *sum);
    let expected = |key: u64| (0..NUMBERS).filter(|n| n % KEYS == key).sum::<u64>() * 2;
    Ended {
        right: ended.is_ok()
            && sums.len() as u64 == NUMBERS * 2
            && (0..KEYS).all(|key| last[key as usize] == expected(key)),
        overfull: overfull("far", 1) || overfull("sum", 2) || overfull("out", 3),
    }
}
