//! Proves that steps and routes in front of channels give each channel what a plain program gives
//! it, in order, with marks in place, also when the channels are full in the middle of a batch.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use millstream_core::{
    Data, Failure, Grammar, KeyError, KeyGroups, KeyHash, Keyed, Mark, Stamped, Volatile,
};
use millstream_operators::step::{FlatMap, Identity, Map};
use millstream_operators::{Either, Step};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Element, Wire, essence, mark, stamped};
use crate::channel::branch::{Branch, Edge, Fork, Outgoing};
use crate::channel::route::{Broadcast, ByKey, Outlets, Rebalance, Route};

const GROUPS: u32 = 16;

#[derive(Clone, Copy, Debug)]
enum Op {
    Records(usize),
    Mark(Mark),
    Advance,
    Flush,
    /// The receiver of a channel drops one of the batches that it has.
    Free(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..12_usize).prop_map(Op::Records),
        4 => mark().prop_map(Op::Mark),
        6 => Just(Op::Advance),
        2 => Just(Op::Flush),
        12 => any::<(usize, usize)>().prop_map(|(channel, which)| Op::Free(channel, which)),
    ]
}

/// How a test is laid out: channels, credits each, the size of batches, and what happens.
#[derive(Clone, Debug)]
struct Course {
    channels: usize,
    credits: usize,
    batch_records: usize,
    ops: Vec<Op>,
}

fn course() -> impl Strategy<Value = Course> {
    (1..4_usize, 1..4_usize, 1..6_usize, vec(op(), 1..60)).prop_map(
        |(channels, credits, batch_records, ops)| Course { channels, credits, batch_records, ops },
    )
}

/// A value and how many are made of it; none of some.
fn many(n: u64) -> Vec<u64> {
    (0..n % 5).map(|copy| n * 10 + copy).collect()
}

/// The channels of an edge, whose receivers are in the hands of the test.
struct Ends<T: Send + 'static>(Vec<Wire<T>>);

impl<T: Data + Clone> Ends<T> {
    fn new(course: &Course) -> (Self, Outlets<T>) {
        let wires = (0..course.channels)
            .map(|channel| Wire::new(channel, course.credits, course.batch_records));
        let (wires, outlets) = wires.unzip();
        (Self(wires), Outlets(outlets))
    }

    fn receive(&mut self, course: &Course) {
        for (channel, wire) in self.0.iter_mut().enumerate() {
            wire.receive(channel, course.batch_records);
        }
    }

    fn free_all(&mut self) {
        self.0.iter_mut().for_each(Wire::free_all);
    }

    fn records_came(&self) -> usize {
        let came = self.0.iter().flat_map(|wire| &wire.came);
        came.filter(|it| matches!(it, Element::Record(_))).count()
    }
}

/// Runs a branch through a course as its caller must: a blocked branch is given no records. Returns
/// what it was given.
fn run(
    branch: &mut dyn Branch<u64>,
    course: &Course,
    mut look: impl FnMut(&dyn Branch<u64>, &[Element<u64>]),
    mut free: impl FnMut(usize, usize),
) -> Result<Vec<Element<u64>>, Failure> {
    let mut given = Vec::new();
    let mut grammar = Grammar::default();
    let mut next = 0;
    for op in &course.ops {
        match op {
            Op::Records(n) if !branch.blocked() && grammar.record().is_ok() => {
                let values = next..next + *n as u64;
                next = values.end;
                given.extend(values.clone().map(Element::Record));
                let mut records = stamped(values);
                branch.records(&mut records)?;
                assert!(records.is_empty());
            }
            Op::Mark(mark) if grammar.mark(*mark).is_ok() => {
                given.push(Element::Mark(*mark));
                branch.mark(*mark)?;
            }
            Op::Advance => branch.advance()?,
            Op::Flush => branch.flush(),
            Op::Free(channel, which) => free(*channel, *which),
            Op::Records(_) | Op::Mark(_) => {}
        }
        look(branch, &given);
    }
    given.push(Element::Mark(Mark::End));
    branch.mark(Mark::End)?;
    look(branch, &given);
    while branch.holding() {
        (0..course.channels).for_each(|channel| free(channel, 0));
        branch.advance()?;
        look(branch, &given);
    }
    assert!(!branch.filling(), "the end takes with it what is not full");
    Ok(given)
}

/// The plain program: each element through the step, then where the route sends it.
fn routed<T: Clone>(
    given: &[Element<u64>],
    channels: usize,
    step: impl Fn(u64) -> Vec<u64>,
    mut route: impl FnMut(u64) -> (Vec<usize>, T),
) -> Vec<Vec<Element<T>>> {
    let mut ways = vec![Vec::new(); channels];
    for element in given {
        match element {
            Element::Mark(mark) => ways.iter_mut().for_each(|way| way.push(Element::Mark(*mark))),
            Element::Record(value) => {
                for value in step(*value) {
                    let (to, value) = route(value);
                    to.iter().for_each(|way| ways[*way].push(Element::Record(value.clone())));
                }
            }
        }
    }
    ways
}

/// Runs an edge through a course, and compares what came with the plain program.
fn edge<S, R, T>(
    course: &Course,
    step: S,
    route: R,
    plain_step: impl Fn(u64) -> Vec<u64> + Copy,
    plain_route: impl FnMut(u64) -> (Vec<usize>, T) + Clone,
) where
    S: Step<In = u64, Out = u64>,
    R: Route<u64, Out = T>,
    T: Data + Clone + PartialEq + std::fmt::Debug,
{
    let (ends, outlets) = Ends::<T>::new(course);
    let ends = RefCell::new(ends);
    let mut edge = Edge::new(step, route, outlets);
    let look = |branch: &dyn Branch<u64>, given: &[Element<u64>]| {
        let mut ends = ends.borrow_mut();
        ends.receive(course);
        let spent = ends.0.iter().any(|wire| wire.under_way() == wire.credits);
        assert_eq!(branch.blocked(), branch.holding() || spent);
        if S::EXPANDS {
            // What waits is what one record made, and what was being filled before.
            let queued = ends.0.iter().map(|wire| wire.metrics.records_queued.get());
            let queued = usize::try_from(queued.sum::<i64>()).unwrap();
            let kept: usize = ends.0.iter().map(Wire::records_kept).sum();
            assert!(queued - kept <= course.channels * (course.batch_records + 4));
        } else if !branch.holding() {
            let plain = routed(given, course.channels, plain_step, plain_route.clone());
            let all = plain.iter().flatten().filter(|it| matches!(it, Element::Record(_))).count();
            let filling = all - ends.records_came();
            assert!(filling <= course.channels * (course.batch_records - 1));
            assert_eq!(filling > 0, branch.filling());
        }
    };
    let free = |channel: usize, which| {
        ends.borrow_mut().0[channel % course.channels].free(which);
    };
    let given = run(&mut edge, course, look, free).unwrap();
    let plain = routed(&given, course.channels, plain_step, plain_route.clone());
    let mut ends = ends.into_inner();
    for (wire, plain) in ends.0.iter().zip(&plain) {
        assert_eq!(essence(&wire.came), essence(plain));
    }
    assert_eq!(edge.take_sent(), ends.0.iter().map(|wire| wire.deliveries).sum::<u64>());
    ends.free_all();
    assert!(!edge.blocked() && edge.take_sent() == 0);
}

fn in_turn(channels: usize) -> impl FnMut(u64) -> (Vec<usize>, u64) + Clone {
    let mut next = 1;
    move |value| {
        next += 1;
        (vec![(next - 1) % channels], value)
    }
}

fn key(value: &u64) -> u64 {
    value % 7
}

fn by_key(channels: usize) -> impl FnMut(u64) -> (Vec<usize>, Keyed<u64, u64>) + Clone {
    move |value| {
        let hash = KeyHash::of(&key(&value)).unwrap();
        let owner = KeyGroups::new(GROUPS).unwrap().owner_of(hash, channels);
        (vec![owner], Keyed { hash, key: key(&value), value })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn an_edge_gives_its_channels_what_a_plain_program_gives_them(course in course()) {
        let n = course.channels;
        let plus = |value| value + 1;
        let map = || Map::new(plus);
        let flat_map = || FlatMap::new(many);
        let by_key_of = || ByKey::new(key, KeyGroups::new(GROUPS).unwrap());
        let to_all = move |value| ((0..n).collect(), value);

        edge(&course, Identity::new(), Rebalance::from(1), |value| vec![value], in_turn(n));
        edge(&course, map(), Rebalance::from(1), move |value| vec![plus(value)], in_turn(n));
        edge(&course, flat_map(), Rebalance::from(1), many, in_turn(n));
        edge(&course, map(), Broadcast, move |value| vec![plus(value)], to_all);
        edge(&course, flat_map(), Broadcast, many, to_all);
        edge(&course, Identity::new(), by_key_of(), |value| vec![value], by_key(n));
        edge(&course, flat_map(), by_key_of(), many, by_key(n));
    }
}

/// An end of a fork that notes what it is given while it is given it.
struct Ear {
    heard: Rc<RefCell<Vec<Element<u64>>>>,
    blocked: Rc<RefCell<bool>>,
}

impl Branch<u64> for Ear {
    fn records(&mut self, records: &mut Vec<Stamped<u64>>) -> Result<(), Failure> {
        let values = records.drain(..).map(|record| Element::Record(record.value));
        self.heard.borrow_mut().extend(values);
        Ok(())
    }
}

impl Outgoing for Ear {
    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.heard.borrow_mut().push(Element::Mark(mark));
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) {}

    fn holding(&self) -> bool {
        false
    }

    fn blocked(&self) -> bool {
        *self.blocked.borrow()
    }

    fn filling(&self) -> bool {
        false
    }

    fn wait(&self) -> bool {
        self.blocked()
    }

    fn take_sent(&mut self) -> u64 {
        0
    }

    fn batch_records(&self) -> usize {
        usize::MAX
    }
}

/// A fork of `ways` ways, each an edge of its own; all of them hear the same.
fn fork<S>(course: &Course, ways: usize, step: S, plain_step: impl Fn(u64) -> Vec<u64> + Copy)
where
    S: Step<In = u64, Out = u64>,
{
    let (ends, edges): (Vec<_>, Vec<Box<dyn Branch<u64>>>) = (0..ways)
        .map(|_| {
            let (ends, outlets) = Ends::<u64>::new(course);
            let edge: Box<dyn Branch<u64>> =
                Box::new(Edge::new(Identity::new(), Rebalance::from(1), outlets));
            (ends, edge)
        })
        .unzip();
    let ends = RefCell::new(ends);
    let mut edges = edges;
    let mut fork = match (ways, edges.pop()) {
        (1, Some(only)) => Fork::single(step, only),
        (_, last) => {
            edges.extend(last);
            Fork::new(step, edges)
        }
    };
    let look = |_: &dyn Branch<u64>, _: &[Element<u64>]| {
        ends.borrow_mut().iter_mut().for_each(|ends| ends.receive(course));
    };
    // The ways are as slow as each other, or one is slower.
    let free = |channel: usize, which: usize| {
        let mut ends = ends.borrow_mut();
        let slow = channel.is_multiple_of(3);
        let served = ends.iter_mut().skip(usize::from(slow && which != 0));
        served.for_each(|ends| ends.0[channel % course.channels].free(which));
    };
    let given = run(&mut fork, course, look, free).unwrap();
    let plain = routed(&given, course.channels, plain_step, in_turn(course.channels));
    let mut sent = 0;
    for ends in ends.borrow().iter() {
        for (wire, plain) in ends.0.iter().zip(&plain) {
            assert_eq!(essence(&wire.came), essence(plain));
            sent += wire.deliveries;
        }
    }
    assert_eq!(fork.take_sent(), sent);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_way_of_a_fork_hears_the_same(course in course(), ways in 1..4_usize) {
        fork(&course, ways, Identity::new(), |value| vec![value]);
        fork(&course, ways, Map::new(|value| value + 1), |value| vec![value + 1]);
        fork(&course, ways, FlatMap::new(many), many);
    }
}

#[test]
fn a_fork_that_is_blocked_holds_its_input_and_the_marks_behind_it() {
    let (heard, blocked) = (Rc::default(), Rc::new(RefCell::new(true)));
    let ear = Ear { heard: Rc::clone(&heard), blocked: blocked.clone() };
    let mut fork = Fork::single(FlatMap::new(many), Box::new(ear));
    fork.records(&mut stamped([3])).unwrap();
    fork.mark(Mark::Idle).unwrap();
    fork.advance().unwrap();
    assert!(heard.borrow().is_empty() && fork.holding() && fork.blocked() && fork.wait());

    blocked.replace(false);
    fork.advance().unwrap();
    let three = [30, 31, 32].map(Element::Record);
    assert_eq!(*heard.borrow(), [&three[..], &[Element::Mark(Mark::Idle)]].concat());
    assert!(!fork.holding() && !fork.blocked());
}

#[test]
fn what_is_given_up_is_not_handed_on_later() {
    let course = Course { channels: 1, credits: 1, batch_records: 1, ops: Vec::new() };
    let (mut ends, outlets) = Ends::<u64>::new(&course);
    let fails = |n: u64| if n == 2 { panic!("two") } else { many(n) };
    let mut edge = Edge::new(FlatMap::new(fails), Rebalance::from(0), outlets);
    edge.records(&mut stamped([1, 2, 4])).unwrap();
    edge.mark(Mark::Idle).unwrap();
    assert!(edge.holding(), "the second record waits for the credit of the first");
    let mut failed = false;
    while edge.holding() {
        ends.receive(&course);
        ends.free_all();
        failed |= catch_unwind(AssertUnwindSafe(|| edge.advance())).is_err();
    }
    ends.receive(&course);
    assert!(failed);
    assert_eq!(ends.0[0].came, [Element::Record(10)]);
    edge.records(&mut stamped([1])).unwrap();
    assert!(!edge.holding() && !edge.filling(), "nothing is taken after a failure");
}

#[test]
fn a_key_that_cannot_be_hashed_fails_and_what_stands_behind_it_is_given_up() {
    let course = Course { channels: 1, credits: 4, batch_records: 1, ops: Vec::new() };
    let (mut ends, outlets) = Ends::<Keyed<Either<u64, Volatile<()>>, u64>>::new(&course);
    let odd = |n: &u64| if *n == 2 { Either::Right(Volatile(())) } else { Either::Left(*n) };
    let route = ByKey::new(odd, KeyGroups::new(GROUPS).unwrap());
    let mut edge = Edge::new(Identity::new(), route, outlets);
    let failure = edge.records(&mut stamped([1, 2, 3])).unwrap_err();
    assert!(failure.cause().is::<KeyError>(), "{failure:?}");
    ends.receive(&course);
    let came = ends.0[0].came.iter().map(|element| match element {
        Element::Record(keyed) => keyed.value,
        Element::Mark(mark) => panic!("{mark:?}"),
    });
    assert_eq!(came.collect::<Vec<_>>(), [1]);
}

#[test]
fn nobody_waits_while_nothing_is_blocked() {
    let course = Course { channels: 2, credits: 1, batch_records: 1, ops: Vec::new() };
    let edge = || {
        let (ends, outlets) = Ends::new(&course);
        (ends, Edge::new(Identity::new(), Rebalance::from(0), outlets))
    };
    let (_ends, mut one) = edge();
    let (_others, other) = edge();
    assert!(!one.wait(), "every channel has credit");
    one.records(&mut stamped(0..1)).unwrap();
    assert!(one.wait(), "a channel has none, and the producer has said that it waits");
    let fork: Fork<Identity<u64>> = Fork::new(Identity::new(), vec![Box::new(other)]);
    assert!(!fork.wait(), "every channel of every branch has credit");
}
