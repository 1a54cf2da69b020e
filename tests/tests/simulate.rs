//! Random graphs give what the same program gives over plain vectors, whoever goes first.
//!
//! `MILLSTREAM_SEEDS=5000` tries so many graphs, `MILLSTREAM_SEED=17` tries one and prints its
//! plan.

use millstream::prelude::*;
use millstream::{Collected, KeyGroups};
use millstream_testkit::compare::{Difference, in_any_order, in_order_by_key};
use millstream_testkit::{Chance, Checker, Oracle, Simulated, Simulation, run_on_threads};
use tests::say;

/// A key and a value. No step changes a key.
type Row = (u64, u64);
type Rows = millstream::BoxedStream<Row>;

/// How many graphs are tried.
const SEEDS: u64 = 400;
/// No stream grows beyond so many records by being doubled.
const RECORDS: usize = 300;

/// A stream under construction, and what must come out of it.
struct Line {
    stream: Rows,
    oracle: Oracle<Row>,
    /// How many tasks make it.
    tasks: usize,
    /// The records of each key come in the order of the oracle.
    ordered: bool,
}

/// A stream at its end.
struct Out {
    came: Collected<Row>,
    expected: Vec<Row>,
    ordered: bool,
}

impl Out {
    fn difference(&self) -> Option<Difference> {
        let came = self.came.take();
        match self.ordered {
            true => in_order_by_key(&came, &self.expected, |row| row.0),
            false => in_any_order(&came, &self.expected),
        }
    }
}

/// Builds a graph and its oracle side by side.
struct Builder<'a> {
    flow: &'a Dataflow,
    chance: Chance,
    lines: Vec<Line>,
    names: usize,
}

impl Builder<'_> {
    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what} {}", self.names)
    }

    fn tasks(&mut self) -> usize {
        self.chance.within(1..=4)
    }

    fn source(&mut self) {
        let (records, keys) = (self.chance.below(60), self.chance.within(1..=8));
        let row = |_| (self.chance.below(keys) as u64, self.chance.below(1_000) as u64);
        let rows: Vec<Row> = (0..records).map(row).collect();
        let name = self.name("source");
        let stream = self.flow.source(&name, Items::from(rows.clone())).boxed();
        self.lines.push(Line { stream, oracle: Oracle::of(rows), tasks: 1, ordered: true });
    }

    fn take(&mut self) -> Line {
        let at = self.chance.below(self.lines.len());
        self.lines.swap_remove(at)
    }

    /// Puts something behind one of the lines.
    fn step(&mut self) {
        let line = self.take();
        let large = line.oracle.values().len() > RECORDS;
        match self.chance.below(12) {
            0 => self.map(line),
            1 => self.filter(line),
            2 if !large => self.flat_map(line),
            3 if !large && self.lines.len() < 5 => self.fork(line),
            4 => self.union(line),
            5 if !large => self.union_of_itself(line),
            6 if line.ordered => self.running_sum(line),
            7 => self.sum(line),
            8 => self.rebalance(line),
            9 if !large => self.broadcast(line),
            10 => self.join(line),
            _ => self.check(line),
        }
    }

    fn map(&mut self, line: Line) {
        let change = |(key, value): Row| (key, value.wrapping_mul(3) + 1);
        let stream = line.stream.map(change).boxed();
        self.lines.push(Line { stream, oracle: line.oracle.map(change), ..line });
    }

    fn filter(&mut self, line: Line) {
        let n = self.chance.within(1..=5) as u64;
        let keep = move |row: &Row| !row.1.is_multiple_of(n);
        let stream = line.stream.filter(keep).boxed();
        self.lines.push(Line { stream, oracle: line.oracle.filter(keep), ..line });
    }

    /// Makes none to three of one, and now and then many.
    fn flat_map(&mut self, line: Line) {
        let often = if self.chance.once_in(4) { 40 } else { 1 };
        let make = move |(key, value): Row| {
            let copies = if value % 50 == 0 { often } else { value % 4 };
            (0..copies).map(|n| (key, value + n)).collect::<Vec<_>>()
        };
        let stream = line.stream.flat_map(make).boxed();
        self.lines.push(Line { stream, oracle: line.oracle.flat_map(make), ..line });
    }

    fn fork(&mut self, line: Line) {
        let streams: [Rows; 2] = line.stream.fork();
        for (stream, oracle) in streams.into_iter().zip(line.oracle.fork::<2>()) {
            self.lines.push(Line { stream, oracle, ..line });
        }
    }

    fn union(&mut self, line: Line) {
        if self.lines.is_empty() {
            return self.lines.push(line);
        }
        let other = self.take();
        let stream = line.stream.union(other.stream);
        let oracle = line.oracle.union(other.oracle);
        self.lines.push(Line { stream, oracle, tasks: 0, ordered: false });
    }

    fn union_of_itself(&mut self, line: Line) {
        let [one, two] = line.stream.fork();
        let [left, right] = line.oracle.fork();
        let stream = one.map(|row| row).union(two);
        self.lines.push(Line { stream, oracle: left.union(right), tasks: 0, ordered: false });
    }

    fn running_sum(&mut self, line: Line) {
        let (name, tasks) = (self.name("running"), self.tasks());
        let add = |sum: &mut u64, row: Row| *sum = sum.wrapping_mul(7).wrapping_add(row.1);
        let keyed = line.stream.key_by(|row| row.0);
        let stream = keyed.fold(&name, 1, add).parallelism(tasks);
        let oracle = line.oracle.key_by(|row| row.0).fold(1, add);
        self.lines.push(Line { stream, oracle, tasks, ordered: true });
    }

    fn sum(&mut self, line: Line) {
        let (name, tasks) = (self.name("sum"), self.tasks());
        let add = |sum: &mut u64, row: Row| *sum = sum.wrapping_add(row.1);
        let keyed = line.stream.key_by(|row| row.0).at_end();
        let stream = keyed.fold(&name, 0, add).parallelism(tasks);
        let oracle = line.oracle.key_by(|row| row.0).at_end(groups()).fold(0, add);
        self.lines.push(Line { stream, oracle, tasks, ordered: true });
    }

    fn rebalance(&mut self, line: Line) {
        let (name, tasks) = (self.name("rebalance"), self.tasks());
        let stream = line.stream.rebalance(&name).parallelism(tasks);
        self.lines.push(Line { stream, tasks, ordered: line.ordered && tasks == 1, ..line });
    }

    fn broadcast(&mut self, line: Line) {
        let (name, tasks) = (self.name("broadcast"), self.tasks());
        let stream = line.stream.broadcast(&name).parallelism(tasks);
        let oracle = line.oracle.broadcast(tasks);
        self.lines.push(Line { stream, oracle, tasks, ordered: line.ordered && tasks == 1 });
    }

    /// Two streams by key, or one with itself: for each key the sums of both sides.
    fn join(&mut self, line: Line) {
        let (name, tasks) = (self.name("join"), self.tasks());
        let (one, left, two, right) = if self.lines.is_empty() {
            let [one, two] = line.stream.fork();
            let [left, right] = line.oracle.fork();
            (one, left, two, right)
        } else {
            let other = self.take();
            (line.stream, line.oracle, other.stream, other.oracle)
        };
        let add = |sums: &mut (u64, u64), row: Either<Row, Row>| match row {
            Either::Left(row) => sums.0 = sums.0.wrapping_add(row.1),
            Either::Right(row) => sums.1 = sums.1.wrapping_add(row.1),
        };
        let mixed = |(key, (left, right)): (u64, (u64, u64))| (key, left.wrapping_mul(31) ^ right);
        let keyed = one.key_by(|row| row.0).connect(two.key_by(|row| row.0));
        let stream = keyed.at_end().fold(&name, (0, 0), add).parallelism(tasks).map(mixed).boxed();
        let both = left.connect(right).key_by(|row| match row {
            Either::Left(row) | Either::Right(row) => row.0,
        });
        let oracle = both.at_end(groups()).fold((0, 0), add).map(mixed);
        self.lines.push(Line { stream, oracle, tasks, ordered: true });
    }

    fn check(&mut self, line: Line) {
        let (name, tasks) = (self.name("check"), self.tasks());
        let stream = line.stream.operator(&name, |_| Checker::new()).parallelism(tasks);
        let ordered = line.ordered && (tasks == 1 || tasks == line.tasks);
        self.lines.push(Line { stream, tasks, ordered, ..line });
    }

    /// Every line ends in a sink.
    fn end(mut self) -> Vec<Out> {
        let mut outs = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            let came = line.stream.collect(&self.name("out"));
            outs.push(Out { came, expected: line.oracle.into_values(), ordered: line.ordered });
        }
        outs
    }
}

/// Only the order of results at the end depends on their number, and none is asked for here.
fn groups() -> KeyGroups {
    KeyGroups::default_for(1)
}

/// The graph of this seed.
fn build(flow: &Dataflow, seed: u64) -> Vec<Out> {
    let mut builder = Builder { flow, chance: Chance::of(seed), lines: Vec::new(), names: 0 };
    for _ in 0..builder.chance.within(1..=2) {
        builder.source();
    }
    for _ in 0..builder.chance.within(2..=8) {
        builder.step();
    }
    builder.end()
}

/// Tight limits, so that everybody has to wait for everybody.
fn settings(seed: u64) -> Settings {
    let mut chance = Chance::of(!seed);
    let turn = [1, 2, 7, 1_024][chance.below(4)];
    let (credits, batch) = (chance.within(1..=3), chance.within(1..=3));
    Settings::new().credits(credits).batch_records(batch).turn_records(turn).parallelism(1)
}

/// One run of the graph of one seed in the order of another.
fn run(graph: u64, schedule: u64) -> Simulated<Vec<Out>> {
    let simulation = Simulation::of(schedule).settings(settings(graph));
    simulation.run(|flow| build(flow, graph))
}

fn check(graph: u64, run: &Simulated<Vec<Out>>) {
    if let Err(error) = &run.outcome {
        panic!("graph {graph}: {error}");
    }
    for (at, out) in run.built.iter().enumerate() {
        if let Some(difference) = out.difference() {
            panic!("graph {graph}, line {at}\n{difference}");
        }
    }
    let queued = run.numbers.total().records_queued;
    assert_eq!(queued, 0, "graph {graph}: records are left on channels");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The seeds to try.
fn seeds(usually: u64) -> std::ops::Range<u64> {
    match number("MILLSTREAM_SEED") {
        Some(seed) => {
            let flow = Dataflow::new(format!("graph {seed}"));
            drop(build(&flow, seed));
            say(&flow.plan(&settings(seed)).to_string());
            seed..seed + 1
        }
        None => 0..number("MILLSTREAM_SEEDS").unwrap_or(usually),
    }
}

#[test]
fn random_graphs_give_what_the_oracle_says() {
    let mut records = 0;
    for seed in seeds(SEEDS) {
        let run = run(seed, seed);
        check(seed, &run);
        records += run.numbers.total().records_in;
    }
    assert!(records > 0, "no graph had any record");
}

#[test]
fn one_graph_in_two_orders_is_two_runs_and_one_result() {
    for graph in seeds(SEEDS / 10) {
        let (one, again, other) = (run(graph, 1), run(graph, 1), run(graph, 2));
        assert_eq!(one.trace, again.trace, "graph {graph}");
        assert_eq!(one.numbers, again.numbers, "graph {graph}");
        assert!(one.trace != other.trace || one.trace.decisions() < 100, "graph {graph}");
        check(graph, &one);
        check(graph, &other);
    }
}

#[test]
fn random_graphs_on_two_threads_give_the_same() {
    for graph in seeds(SEEDS) {
        run_on_threads(async {
            let flow = Dataflow::new("threads");
            let outs = build(&flow, graph);
            let workers = Workers::Own(2.try_into().unwrap());
            let job = flow.start(settings(graph).workers(workers)).await.unwrap();
            job.finished().await.unwrap();
            for (at, out) in outs.iter().enumerate() {
                if let Some(difference) = out.difference() {
                    panic!("graph {graph}, line {at}\n{difference}");
                }
            }
        });
    }
}
