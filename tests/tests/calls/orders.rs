//! Each way to write a call gives the same in each order: on one task and on several, on two
//! threads and in the order of a seed.

use std::future::poll_fn;
use std::task::Poll;

use millstream::prelude::*;
use millstream::{BoxedStream, Collected};
use millstream_testkit::compare::{in_any_order, in_order, in_order_by_key};
use millstream_testkit::{Chance, Simulation, run_on_threads};

use crate::desk::{Answer, Feed, at};

const RECORDS: u64 = 200;
const KEYS: u64 = 7;

#[derive(Clone, Copy, Debug)]
enum Way {
    Wait,
    FilterMap,
    FlatMap,
    Callback,
    Call,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Ordered,
    Unordered,
    KeyOrdered,
}

const WAYS: [Way; 5] = [Way::Wait, Way::FilterMap, Way::FlatMap, Way::Callback, Way::Call];
const ORDERS: [Order; 3] = [Order::Ordered, Order::Unordered, Order::KeyOrdered];

impl Order {
    /// Few places, so that the input has to wait for them.
    fn wait<A>(self) -> AsyncWait<u64, A> {
        let wait = match self {
            Self::Ordered => AsyncWait::ordered(),
            Self::Unordered => AsyncWait::unordered(),
            Self::KeyOrdered => AsyncWait::key_ordered(),
        };
        wait.capacity(5)
    }
}

/// Yields as often as chance says for this value: calls answer in another order than they began.
async fn a_while(value: u64) {
    let mut left = Chance::of(value).below(5);
    poll_fn(|cx| match left {
        0 => Poll::Ready(()),
        _ => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

async fn tenfold(value: u64) -> Answer<u64> {
    a_while(value).await;
    Ok(value * 10)
}

/// Some have none.
async fn tenfold_or_none(value: u64) -> Answer<Option<u64>> {
    a_while(value).await;
    Ok((!value.is_multiple_of(3)).then_some(value * 10))
}

/// Up to three of one.
async fn several(value: u64) -> Answer<Vec<u64>> {
    a_while(value).await;
    Ok((0..value % 4).map(|n| value * 10 + n).collect())
}

fn call_back(value: u64, completer: Completer<u64>) {
    actix::spawn(async move { completer.answer(tenfold(value).await) });
}

/// Gives two of one.
struct Twice;

impl AsyncFunction for Twice {
    type In = u64;
    type Answer = u64;
    type Out = u64;
    type Call = std::pin::Pin<Box<dyn Future<Output = Answer<u64>>>>;

    fn call(&mut self, input: u64) -> Self::Call {
        Box::pin(tenfold(input))
    }

    fn results(&mut self, answer: u64) -> impl IntoIterator<Item = u64> {
        [answer, answer + 1]
    }
}

/// What must go out for a value.
fn results(way: Way, value: u64) -> Vec<u64> {
    let tenfold = value * 10;
    match way {
        Way::Wait | Way::Callback => vec![tenfold],
        Way::FilterMap if value.is_multiple_of(3) => vec![],
        Way::FilterMap => vec![tenfold],
        Way::FlatMap => (tenfold..tenfold + value % 4).collect(),
        Way::Call => vec![tenfold, tenfold + 1],
    }
}

macro_rules! called {
    ($stream:expr, $way:expr, $order:expr) => {
        match $way {
            Way::Wait => $stream.async_wait("call", $order.wait(), tenfold),
            Way::FilterMap => $stream.async_filter_map("call", $order.wait(), tenfold_or_none),
            Way::FlatMap => $stream.async_flat_map("call", $order.wait(), several),
            Way::Callback => $stream.async_callback("call", $order.wait(), call_back),
            Way::Call => $stream.async_call("call", $order.wait(), |_| Twice),
        }
    };
}

/// Times that have nothing to do with the values' order.
fn time(value: u64) -> i64 {
    (value * 37 % 1_000) as i64
}

fn build(flow: &Dataflow, way: Way, order: Order, tasks: usize) -> Collected<u64> {
    let numbers = flow.source("numbers", Feed::of((0..RECORDS).map(|n| at(n, time(n)))));
    let called: BoxedStream<u64> = match order {
        Order::KeyOrdered => called!(numbers.key_by(|n| n % KEYS), way, order),
        Order::Ordered | Order::Unordered => called!(numbers, way, order),
    };
    called.parallelism(tasks).collect("out")
}

fn check(out: &Collected<u64>, way: Way, order: Order, tasks: usize, run: &str) {
    let expected: Vec<_> = (0..RECORDS)
        .flat_map(|value| results(way, value).into_iter().map(move |result| (value, result)))
        .map(|(value, result)| (result, Some(time(value))))
        .collect();
    let stamp = |it: Stamped<u64>| (it.value, it.timestamp().map(Timestamp::millis));
    let came: Vec<_> = out.take_stamped().into_iter().map(stamp).collect();
    let difference = match order {
        Order::Ordered if tasks == 1 => in_order(&came, &expected),
        Order::KeyOrdered => in_order_by_key(&came, &expected, |it| it.0 / 10 % KEYS),
        // The results of one record stay together and in order.
        _ => in_any_order(&came, &expected)
            .or_else(|| in_order_by_key(&came, &expected, |it| it.0 / 10)),
    };
    if let Some(difference) = difference {
        panic!("{way:?}, {order:?}, {tasks} tasks, {run}\n{difference}");
    }
}

fn for_each_kind(mut of: impl FnMut(Way, Order, usize)) {
    for way in WAYS {
        for order in ORDERS {
            for tasks in [1, 3] {
                of(way, order, tasks);
            }
        }
    }
}

#[test]
fn each_way_gives_the_same_in_each_order_on_two_threads() {
    for_each_kind(|way, order, tasks| {
        run_on_threads(async {
            let flow = Dataflow::new("calls");
            let out = build(&flow, way, order, tasks);
            let settings = Settings::new().workers(Workers::Own(2.try_into().unwrap()));
            flow.start(settings).await.unwrap().finished().await.unwrap();
            check(&out, way, order, tasks, "threads");
        });
    });
}

#[test]
fn each_way_gives_the_same_in_each_order_whoever_goes_first() {
    for_each_kind(|way, order, tasks| {
        let run = |seed: u64| {
            let batch = [1, 3, 64][seed as usize % 3];
            let tight = Settings::new().credits(2).batch_records(batch).turn_records(7);
            let run = Simulation::of(seed).settings(tight).run(|f| build(f, way, order, tasks));
            run.outcome.as_ref().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            check(&run.built, way, order, tasks, &format!("seed {seed}"));
            assert_eq!(run.numbers.total().records_queued, 0);
            run.trace
        };
        let traces: Vec<_> = (0..10).map(run).collect();
        assert_eq!(traces[3], run(3), "one seed is one run");
        assert_ne!(traces[0], traces[3], "and another is another");
    });
}

/// Results of one record never have another's between them.
#[test]
fn the_results_of_one_record_are_not_torn_apart() {
    for order in ORDERS {
        for seed in 0..10 {
            let tight = Settings::new().credits(1).batch_records(1).turn_records(1);
            let run = Simulation::of(seed).settings(tight).run(|flow| {
                let numbers = flow.source("numbers", Items::from(0..RECORDS));
                let many = |n: u64| async move {
                    a_while(n).await;
                    Ok(vec![n; 5])
                };
                match order {
                    Order::KeyOrdered => {
                        numbers.key_by(|n| n % KEYS).async_flat_map("call", order.wait(), many)
                    }
                    _ => numbers.async_flat_map("call", order.wait(), many),
                }
                .collect("out")
            });
            run.outcome.unwrap();
            let came = run.built.take();
            assert_eq!(came.len() as u64, 5 * RECORDS);
            let runs: Vec<_> = came.chunk_by(|one, other| one == other).collect();
            assert_eq!(runs.len() as u64, RECORDS, "{order:?}, seed {seed}");
        }
    }
}

#[test]
fn a_million_empty_results_make_nothing_and_end() {
    for order in ORDERS {
        for (records, at_once) in [(1_000_000_u64, true), (50_000, false)] {
            let run = Simulation::of(1).run(|flow| {
                let numbers = flow.source("numbers", Items::from(0..records));
                let none = move |n: u64| async move {
                    if !at_once && n.is_multiple_of(2) {
                        tokio::task::yield_now().await;
                    }
                    Ok(Vec::<u64>::new())
                };
                match order {
                    Order::KeyOrdered => {
                        numbers.key_by(|n| n % KEYS).async_flat_map("call", order.wait(), none)
                    }
                    _ => numbers.async_flat_map("call", order.wait(), none),
                }
                .collect("out")
            });
            run.outcome.unwrap();
            assert!(run.built.is_empty());
            let numbers = &run.numbers.stage("call").unwrap().numbers;
            assert_eq!((numbers.records_in, numbers.records_out), (records, 0));
        }
    }
}

/// Nothing is asked, nothing goes out, and the job ends.
#[test]
fn an_empty_stream_is_a_job_of_calls_that_ends() {
    for_each_kind(|way, order, tasks| {
        let run = Simulation::of(tasks as u64).run(|flow| {
            let numbers = flow.source("numbers", Feed::of([]));
            let called: BoxedStream<u64> = match order {
                Order::KeyOrdered => called!(numbers.key_by(|n| n % KEYS), way, order),
                _ => called!(numbers, way, order),
            };
            called.parallelism(tasks).collect("out")
        });
        run.outcome.unwrap();
        assert!(run.built.is_empty());
        assert_eq!(run.numbers.total().records_in, 0);
    });
}

/// What calls that answer at once have written fills a batch before the queue is empty: the rest
/// goes out all the same, although nothing comes after it.
#[test]
fn results_that_fill_a_batch_at_once_leave_nothing_behind() {
    for order in ORDERS {
        for copies in [1, 100, 1_024, 3_000] {
            let run = Simulation::of(copies).run(|flow| {
                let numbers = flow.source("numbers", Items::from(0..100_u64));
                let many = move |n: u64| async move { Ok((0..copies).map(move |_| n)) };
                match order {
                    Order::KeyOrdered => {
                        numbers.key_by(|n| n % KEYS).async_flat_map("call", order.wait(), many)
                    }
                    _ => numbers.async_flat_map("call", order.wait(), many),
                }
                .collect("out")
            });
            run.outcome.unwrap();
            let expected: Vec<u64> = (0..100).flat_map(|n| (0..copies).map(move |_| n)).collect();
            assert_eq!(in_order_by_key(&run.built.take(), &expected, |n| n % KEYS), None);
        }
    }
}
