//! Who is given up next, and who is called again next, is what a sorted list would say.

use std::time::Duration;

use proptest::prelude::*;

use millstream_core::Moment;

use super::super::{Deadlines, Delays};

#[derive(Clone, Copy, Debug)]
enum Op {
    Begin(usize),
    Look(u64),
    End(usize),
    /// Ends the one that began first.
    EndFirst,
}

const PLACES: usize = 8;

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..PLACES).prop_map(Op::Begin),
        3 => (0_u64..8).prop_map(Op::Look),
        3 => (0..PLACES).prop_map(Op::End),
        2 => Just(Op::EndFirst),
    ]
}

const fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

/// Calls in the order in which they began, and when that was, once it is known.
#[derive(Default)]
struct Begun {
    time: Option<u64>,
    calls: Vec<(usize, Option<u64>)>,
    now: u64,
}

impl Begun {
    fn apply(&mut self, op: Op, deadlines: &mut Deadlines) {
        match op {
            Op::Begin(place) => {
                deadlines.begin(place);
                if self.position(place).is_none() {
                    self.calls.push((place, None));
                }
            }
            Op::Look(by) => {
                self.now += by;
                deadlines.look(at(self.now));
                for (_, began) in &mut self.calls {
                    *began = began.or(Some(self.now));
                }
            }
            Op::End(place) => self.end(place, deadlines),
            Op::EndFirst => {
                if let Some((place, _)) = self.calls.first() {
                    self.end(*place, deadlines);
                }
            }
        }
    }

    fn position(&self, place: usize) -> Option<usize> {
        self.calls.iter().position(|(of, _)| *of == place)
    }

    fn end(&mut self, place: usize, deadlines: &mut Deadlines) {
        let ended = self.position(place).map(|at| self.calls.remove(at));
        let times = ended.map(|(_, began)| (at(began.unwrap_or(self.now)), at(self.now)));
        assert_eq!(deadlines.end(place), times);
        assert_eq!(deadlines.end(place), None);
    }

    fn check(&self, deadlines: &Deadlines) {
        let due = |began: Option<u64>| Some(began? + self.time?);
        let first = self.calls.first().copied();
        let oldest = first.map(|(place, began)| (place, at(began.unwrap_or(self.now))));
        assert_eq!(deadlines.oldest(), oldest);
        let next = self.calls.iter().filter_map(|(_, began)| due(*began)).min();
        assert_eq!(deadlines.next_due(), next.map(at));
        for now in self.now..self.now + 20 {
            let is_due = |began| due(began).is_some_and(|due| due <= now);
            let expected = self.calls.iter().find(|(_, began)| is_due(*began));
            assert_eq!(deadlines.due(at(now)), expected.map(|(place, _)| *place));
            for place in 0..=PLACES {
                let began = self.position(place).and_then(|at| self.calls[at].1);
                assert_eq!(deadlines.is_due(place, at(now)), is_due(began));
            }
        }
    }
}

/// What waits, in the order in which it is due; of one moment, in which it began.
type Waiting = Vec<(u64, usize, usize)>;

fn remove(waiting: &mut Waiting, of: usize) {
    waiting.retain(|(.., place)| *place != of);
}

proptest! {
    #[test]
    fn deadlines_do_what_a_sorted_list_does(
        time in prop::option::of(1_u64..16),
        ops in prop::collection::vec(op(), 0..120),
    ) {
        let mut begun = Begun { time, ..Begun::default() };
        let mut deadlines = Deadlines::new(time.map(Duration::from_nanos), 9);
        for op in ops {
            begun.apply(op, &mut deadlines);
            begun.check(&deadlines);
        }
    }

    #[test]
    fn delays_do_what_a_sorted_list_does(
        ops in prop::collection::vec((0_u8..8, 0..PLACES, 0_u64..16), 0..120),
    ) {
        let (mut delays, mut waiting) = (Delays::default(), Waiting::new());
        for (begun, (op, place, due)) in ops.into_iter().enumerate() {
            match op {
                0..=4 => {
                    delays.begin(place, at(due));
                    remove(&mut waiting, place);
                    waiting.push((due, begun, place));
                    waiting.sort_unstable();
                }
                5..=6 => {
                    delays.end(place);
                    remove(&mut waiting, place);
                }
                _ => {
                    let first = (!waiting.is_empty()).then(|| waiting.remove(0).2);
                    assert_eq!(delays.take_first(), first);
                }
            }
            assert_eq!((delays.len(), delays.is_empty()), (waiting.len(), waiting.is_empty()));
            assert_eq!(delays.next_due(), waiting.first().map(|(due, ..)| at(*due)));
            for now in 0..20 {
                let first = waiting.first().filter(|(due, ..)| *due <= now);
                assert_eq!(delays.due(at(now)), first.map(|(.., place)| *place));
            }
        }
    }
}

#[test]
fn no_deadline_is_counted_from_before_the_call_began() {
    let mut deadlines = Deadlines::new(Some(Duration::from_nanos(10)), 9);
    deadlines.look(at(100));
    deadlines.begin(0);
    assert_eq!((deadlines.next_due(), deadlines.due(at(1_000))), (None, None));
    deadlines.look(at(105));
    assert_eq!(deadlines.due(at(114)), None);
    assert_eq!(deadlines.due(at(115)), Some(0));
}
