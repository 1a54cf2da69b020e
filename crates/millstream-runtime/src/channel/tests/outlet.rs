//! Proves that whatever is pushed arrives in order with its marks in place, and that no more
//! batches are under way than there are credits.

use millstream_core::{Grammar, Mark, Stamped};
use millstream_operators::Collect;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Element, Wire, at, essence, mark, stamped};

#[derive(Clone, Copy, Debug)]
enum Op {
    /// One by one, as a whole vector, or by an iterator.
    Push(usize),
    Append(usize),
    Extend(usize),
    Mark(Mark),
    Flush,
    Advance,
    Wait,
    /// The receiver drops one of the batches that it has.
    Free(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1..9_usize).prop_map(Op::Push),
        2 => (0..9_usize).prop_map(Op::Append),
        2 => (0..9_usize).prop_map(Op::Extend),
        6 => mark().prop_map(Op::Mark),
        2 => Just(Op::Flush),
        4 => Just(Op::Advance),
        2 => Just(Op::Wait),
        8 => any::<usize>().prop_map(Op::Free),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_outlet_is_a_queue_with_credits(
        credits in 1..4_usize,
        batch_records in 1..6_usize,
        ops in vec(op(), 1..80),
    ) {
        let (mut wire, mut outlet) = Wire::<u64>::new(3, credits, batch_records);
        let mut made: Vec<Element<u64>> = Vec::new();
        let mut grammar = Grammar::default();
        let mut next = 0;
        let (mut waits, mut freed, mut told) = (false, 0, 0);
        for op in ops {
            let records = match op {
                Op::Push(n) | Op::Append(n) | Op::Extend(n) if grammar.record().is_ok() => n,
                _ => 0,
            };
            let values = next..next + records as u64;
            next = values.end;
            made.extend(values.clone().map(Element::Record));
            match op {
                Op::Push(_) => values.for_each(|n| outlet.push(Stamped::new(n))),
                Op::Append(_) => {
                    let mut values = stamped(values);
                    outlet.append(&mut values);
                    prop_assert!(values.is_empty());
                }
                Op::Extend(_) => outlet.extend(stamped(values).into_iter()),
                Op::Mark(mark) if grammar.mark(mark).is_ok() => {
                    let silent = !outlet.filling() && !outlet.holding();
                    outlet.mark(mark);
                    made.push(Element::Mark(mark));
                    wire.receive(3, batch_records);
                    let arrived = wire.came.last() == Some(&Element::Mark(mark));
                    prop_assert!(!silent || arrived, "a mark needs no credit");
                }
                Op::Mark(_) => {}
                Op::Flush => {
                    let (spent, queued) = (wire.under_way() == credits, &wire.metrics);
                    let before = queued.records_queued.get();
                    outlet.flush();
                    prop_assert!(!outlet.filling());
                    let after = queued.records_queued.get();
                    prop_assert!(!spent || after == before, "nothing is made to wait");
                }
                Op::Advance => outlet.advance(),
                Op::Wait => {
                    waits = outlet.wait();
                    prop_assert_eq!(waits, wire.under_way() == credits);
                }
                Op::Free(which) => wire.free(which),
            }
            wire.receive(3, batch_records);
            // Who waits is told by the first credit that comes back, and nobody else is.
            let first = std::mem::replace(&mut freed, wire.freed) < wire.freed;
            told += usize::from(first && std::mem::take(&mut waits));
            prop_assert_eq!(wire.told(), told);
            let spent = wire.under_way() == credits;
            prop_assert_eq!(outlet.blocked(), outlet.holding() || spent);
            let sent = wire.came.iter().filter(|it| matches!(it, Element::Record(_))).count();
            let left = next as usize - sent;
            prop_assert!(outlet.holding() || left < batch_records);
            prop_assert_eq!(left > 0, outlet.filling() || outlet.holding());
        }
        outlet.mark(Mark::End);
        made.push(Element::Mark(Mark::End));
        while outlet.holding() {
            wire.receive(3, batch_records);
            wire.free(0);
            outlet.advance();
        }
        wire.receive(3, batch_records);
        prop_assert_eq!(essence(&wire.came), essence(&made));
        prop_assert_eq!(outlet.take_sent(), wire.deliveries);
        prop_assert_eq!(outlet.take_sent(), 0);
        let queued = wire.metrics.records_queued.get();
        prop_assert_eq!(queued, i64::try_from(wire.records_kept()).unwrap());
        wire.free_all();
        prop_assert_eq!(wire.metrics.records_queued.get(), 0);
        prop_assert!(!outlet.blocked());
    }
}

#[test]
fn watermarks_merge_while_they_wait_and_only_next_to_each_other() {
    let (mut wire, mut outlet) = Wire::<u64>::new(0, 1, 1);
    outlet.push(Stamped::new(1));
    outlet.push(Stamped::new(2));
    assert!(outlet.holding(), "the second record waits for the credit of the first");
    for millis in 1..=3 {
        outlet.mark(Mark::Watermark(at(millis)));
    }
    outlet.push(Stamped::new(3));
    outlet.mark(Mark::Watermark(at(4)));
    outlet.mark(Mark::Idle);
    outlet.mark(Mark::Active);
    outlet.mark(Mark::Watermark(at(5)));
    outlet.mark(Mark::Watermark(at(6)));
    while outlet.holding() {
        wire.receive(0, 1);
        wire.free_all();
        outlet.advance();
    }
    wire.receive(0, 1);
    let watermark = |millis| Element::Mark(Mark::Watermark(at(millis)));
    assert_eq!(
        wire.came,
        [
            Element::Record(1),
            Element::Record(2),
            watermark(3),
            Element::Record(3),
            watermark(4),
            Element::Mark(Mark::Idle),
            Element::Mark(Mark::Active),
            watermark(6),
        ]
    );
}

#[test]
fn records_that_would_not_fit_send_what_was_before_them_if_there_is_credit_for_both() {
    for (credits, sizes) in [(2, [3, 4].as_slice()), (1, &[4])] {
        let (mut wire, mut outlet) = Wire::<u64>::new(0, credits, 4);
        outlet.extend(stamped(0..3).into_iter());
        assert!(outlet.filling());
        outlet.extend(stamped(3..7).into_iter());
        wire.receive(0, 4);
        assert_eq!(wire.sizes(), sizes);
        assert!(!outlet.holding(), "nothing waits that could have been made later");
        // More than a batch has room for is given out record by record, as each fits.
        let (mut wire, mut outlet) = Wire::<u64>::new(0, 4, 4);
        outlet.extend(stamped(0..1).into_iter());
        outlet.extend(stamped(1..8).into_iter());
        wire.receive(0, 4);
        assert_eq!(wire.sizes(), [4, 4]);
    }
}
