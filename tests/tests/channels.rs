//! With one credit a channel and one record a batch nothing is lost, doubled, out of order or
//! stuck, in any order of events and on several threads.

use std::fmt::Debug;

use millstream::prelude::*;
use millstream::{Collected, KeyGroups, KeyHash};
use millstream_testkit::compare::{assert_in_any_order, assert_in_order, assert_in_order_by_key};
use millstream_testkit::{Checker, Oracle, Simulation, run_on_threads};

/// The orders in which each graph is simulated.
const SEEDS: std::ops::Range<u64> = 0..24;
const RECORDS: u64 = 40;

fn tight() -> Settings {
    Settings::new().credits(1).batch_records(1).parallelism(1)
}

/// Runs a graph in many orders on one arbiter and then on three; each time all that came is shown.
fn each<T: Debug + 'static>(
    build: impl Fn(&Dataflow) -> Collected<T>,
    check: impl Fn(&[T], &millstream::JobNumbers),
) {
    for seed in SEEDS {
        let run = Simulation::of(seed).settings(tight()).run(&build);
        assert!(run.outcome.is_ok(), "seed {seed}: {:?}", run.outcome);
        let came = run.built.take();
        check(&came, &run.numbers);
        let queued = run.numbers.total().records_queued;
        assert_eq!(queued, 0, "seed {seed}: records are left on channels");
    }
    for _ in 0..3 {
        run_on_threads(async {
            let flow = Dataflow::new("threads");
            let out = build(&flow);
            let workers = Workers::Own(3.try_into().unwrap());
            let job = flow.start(tight().workers(workers)).await.unwrap();
            job.finished().await.unwrap();
            check(&out.take(), &job.status().numbers);
        });
    }
}

/// A way through several tasks, each of which may have one record under way.
fn long_way(stream: millstream::BoxedStream<u64>) -> millstream::BoxedStream<u64> {
    (0..5).fold(stream, |stream, n| {
        stream.rebalance(&format!("far {n}")).operator(&format!("check {n}"), |_| Checker::new())
    })
}

#[test]
fn a_diamond_with_one_empty_and_one_slow_side_gives_all_of_the_slow_side() {
    let build = |flow: &Dataflow| {
        let [empty, slow] = flow.source("numbers", Items::from(0..RECORDS)).fork();
        empty.filter(|_| false).rebalance("empty").union(long_way(slow)).collect("out")
    };
    let expected: Vec<u64> = (0..RECORDS).collect();
    each(build, |came, _| assert_in_order(came, &expected));
}

#[test]
fn a_diamond_with_one_empty_and_one_slow_side_meets_by_key() {
    let side = |row: &Either<u64, u64>| matches!(row, Either::Left(_));
    let build = move |flow: &Dataflow| {
        let [empty, slow] = flow.source("numbers", Items::from(0..RECORDS)).fork();
        let empty = empty.filter(|_| false).rebalance("empty").key_by(|n| n % 5);
        let both = empty.connect(long_way(slow).key_by(|n| n % 5));
        let joined = both.map_with_state("join", |key: &u64, seen: &mut u64, row| {
            *seen += 1;
            (*key, *seen, row)
        });
        joined.parallelism(3).collect("out")
    };
    let slow =
        Oracle::of(0..RECORDS).map(Either::Right).key_by(|row: &Either<u64, u64>| match row {
            Either::Left(n) | Either::Right(n) => n % 5,
        });
    let expected = slow.map_with_state(|key, seen: &mut u64, row| {
        *seen += 1;
        (*key, *seen, row)
    });
    each(build, |came, _| {
        assert!(!came.iter().any(|(_, _, row)| side(row)), "{came:?}");
        assert_in_order_by_key(came, expected.values(), |row| row.0);
    });
}

/// Counts the records of each input of a key apart: what comes by one input keeps its order.
fn apart(
    key: &u64,
    seen: &mut (u64, u64),
    row: Either<(u64, u64), (u64, u64)>,
) -> (u64, String, u64, u64) {
    let (side, count, row) = match row {
        Either::Left(row) => ("left", &mut seen.0, row),
        Either::Right(row) => ("right", &mut seen.1, row),
    };
    *count += 1;
    (*key, side.to_owned(), *count, row.1)
}

#[test]
fn two_sources_by_key_to_three_tasks_each_meet_in_one_join() {
    let sums = |flow: &Dataflow, name: &str, from: u64| {
        let numbers = flow.source(name, Items::from(from..from + RECORDS));
        let keyed = numbers.key_by(|n| n % 7);
        let sums = keyed.fold(&format!("sums of {name}"), 0, |sum, n| *sum += n);
        sums.parallelism(3)
    };
    for join in [1, 3] {
        let build = |flow: &Dataflow| {
            let (one, two) = (sums(flow, "one", 0), sums(flow, "two", 1_000));
            let both = one.key_by(|row| row.0).connect(two.key_by(|row| row.0));
            both.map_with_state("join", apart).parallelism(join).collect("out")
        };
        let oracle = |from| Oracle::of(from..from + RECORDS).key_by(|n| n % 7);
        let sums = |from| oracle(from).fold(0, |sum, n| *sum += n);
        let both = sums(0).connect(sums(1_000)).key_by(|row| match row {
            Either::Left(row) | Either::Right(row) => row.0,
        });
        let expected = both.map_with_state(apart);
        each(build, |came, _| {
            assert_in_order_by_key(came, expected.values(), |row| (row.0, row.1.clone()));
        });
    }
}

#[test]
fn two_sources_by_key_meet_in_three_tasks_and_then_in_one() {
    let build = |flow: &Dataflow| {
        let one = flow.source("one", Items::from(0..RECORDS)).map(|n| (n % 7, n));
        let two = flow.source("two", Items::from(500..500 + RECORDS)).map(|n| (n % 7, n));
        let both = one.key_by(|row| row.0).connect(two.key_by(|row| row.0));
        let joined = both.map_with_state("join", apart).parallelism(3);
        joined.rebalance("one task").collect("out")
    };
    let rows = |from| Oracle::of(from..from + RECORDS).map(|n| (n % 7, n));
    let both = rows(0).connect(rows(500)).key_by(|row| match row {
        Either::Left(row) | Either::Right(row) => row.0,
    });
    let expected = both.map_with_state(apart);
    each(build, |came, _| {
        assert_in_order_by_key(came, expected.values(), |row| (row.0, row.1.clone()));
    });
}

#[test]
fn a_union_of_a_stream_with_itself_has_each_record_twice() {
    let build = |flow: &Dataflow| {
        let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).fork();
        one.map(|n| (1, n)).union(two.map(|n| (2, n))).rebalance("meet").collect("out")
    };
    let numbers = || Oracle::of(0..RECORDS);
    let expected = numbers().map(|n| (1, n)).union(numbers().map(|n| (2, n)));
    each(build, |came, numbers| {
        assert_in_order_by_key(came, expected.values(), |row| row.0);
        let meet = numbers.stage("meet").map(|stage| stage.numbers.records_in);
        assert_eq!(meet, Some(2 * RECORDS));
    });
}

#[test]
fn a_union_of_a_stream_with_itself_by_key_has_each_record_twice() {
    let build = |flow: &Dataflow| {
        let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).rebalance("spread").fork();
        one.union(two).key_by(|n| n % 3).count("count").parallelism(3).collect("out")
    };
    let [one, two] = Oracle::of(0..RECORDS).fork();
    let expected = one.union(two).key_by(|n| n % 3).count();
    each(build, |came, _| assert_in_order_by_key(came, expected.values(), |row| row.0));
}

#[test]
fn two_inputs_from_one_stream_are_two_edges_and_both_give_all() {
    let build = |flow: &Dataflow| {
        let [one, two] = flow.source("numbers", Items::from(0..RECORDS)).fork();
        one.connect(two).operator("both", |_| Checker::new()).collect("out")
    };
    let flow = Dataflow::new("edges");
    drop(build(&flow));
    let plan = flow.plan(&tight());
    let (from, to) = (plan.find("numbers"), plan.find("both"));
    let edges = plan.edges().iter().filter(|edge| Some(edge.from) == from && Some(edge.to) == to);
    assert_eq!(edges.map(|edge| edge.port).collect::<Vec<_>>(), [0, 1]);

    let [one, two] = Oracle::of(0..RECORDS).fork();
    let expected = one.connect(two);
    let side = |row: &Either<u64, u64>| matches!(row, Either::Left(_));
    each(build, |came, _| assert_in_order_by_key(came, expected.values(), side));
}

/// Numbers whose owner is not task `starved` of four.
fn numbers_without(starved: usize) -> Vec<u64> {
    let groups = KeyGroups::default_for(4);
    let owner = |n: &u64| groups.owner_of(KeyHash::of(n).unwrap(), 4);
    (0..4 * RECORDS).filter(|n| owner(n) != starved).collect()
}

#[test]
fn an_exchange_of_four_by_four_tasks_does_not_wait_for_a_starved_one() {
    for starved in [0, 2] {
        let numbers = numbers_without(starved);
        let build = |flow: &Dataflow| {
            let spread = flow.source("numbers", Items::from(numbers.clone())).rebalance("spread");
            let keyed = spread.parallelism(4).key_by(|n| *n);
            keyed
                .map_with_state("keyed", |key, (): &mut (), n| (*key, n))
                .parallelism(4)
                .collect("out")
        };
        let expected: Vec<(u64, u64)> = numbers.iter().map(|n| (*n, *n)).collect();
        each(build, |came, numbers| {
            assert_in_any_order(came, &expected);
            let task = numbers.task("keyed", starved).map(|task| task.numbers.records_in);
            assert_eq!(task, Some(0), "task {starved} is starved");
            for task in (0..4).filter(|task| *task != starved) {
                assert!(numbers.task("keyed", task).unwrap().numbers.records_in > 0);
            }
        });
    }
}

#[test]
fn an_exchange_of_four_by_four_tasks_does_not_wait_for_one_that_has_nothing_to_send() {
    let build = |flow: &Dataflow| {
        // Split `i` of four makes the numbers `i`, `i + 4` …: without those of split 1 it is idle.
        let numbers = Generate::new(|n| n).records(RECORDS).splits(4);
        let spread = flow.source("numbers", numbers).parallelism(4).filter(|n| n % 4 != 1);
        spread.key_by(|n| n % 6).count("count").parallelism(4).collect("out")
    };
    let expected = Oracle::of(0..RECORDS).filter(|n| n % 4 != 1).key_by(|n| n % 6).count();
    each(build, |came, _| assert_in_order_by_key(came, expected.values(), |row| row.0));
}
