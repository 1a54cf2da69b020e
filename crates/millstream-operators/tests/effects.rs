//! Proves that what an operator writes down is what there is to carry out: records, side outputs,
//! timers and counts, each in its order, and nothing else.

use std::collections::BTreeMap;

use millstream_core::{KeyHash, Stamped, Timestamp};
use millstream_operators::{
    Effects, SideBuffer, SideBuffers, SideOutput, Timer, TimerDomain, TimerEdit,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// What an operator does with its sheet, or the runtime after it.
#[derive(Clone, Copy, Debug)]
enum Op {
    Emit(u64),
    /// Into the output of numbers, of texts, or one that nothing reads.
    Number(u64),
    Text(u64),
    Unread(u64),
    /// Into the output of numbers, as a text.
    Mismatch(u64),
    Timer(i64, bool),
    Count(usize, u64),
    More,
    Carry,
}

const COUNTS: [&str; 3] = ["late", "lost", "seen"];

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => any::<u64>().prop_map(Op::Emit),
        3 => any::<u64>().prop_map(Op::Number),
        3 => any::<u64>().prop_map(Op::Text),
        2 => any::<u64>().prop_map(Op::Unread),
        1 => any::<u64>().prop_map(Op::Mismatch),
        2 => (-9..9_i64, any::<bool>()).prop_map(|(millis, set)| Op::Timer(millis, set)),
        2 => (0..3_usize, 0..9_u64).prop_map(|(name, n)| Op::Count(name, n)),
        1 => Just(Op::More),
        2 => Just(Op::Carry),
    ]
}

/// What lies on a sheet, as plain lists.
#[derive(Debug, Default, PartialEq)]
struct Lists {
    records: Vec<Stamped<u64>>,
    numbers: Vec<Stamped<u64>>,
    texts: Vec<Stamped<String>>,
    unread: u64,
    mismatch: Option<String>,
    timers: Vec<TimerEdit<u64>>,
    counts: BTreeMap<&'static str, u64>,
    more: bool,
}

/// Carries out all that is written on a sheet.
fn carry(out: &mut Effects<u64, u64>) -> Lists {
    let records = std::mem::take(out.records());
    let timers = std::mem::take(out.timers());
    let counts = out.counts().drain(..).collect();
    let more = out.take_more();
    let sides = out.sides();
    let (unread, mismatch) = (sides.take_unread(), sides.take_mismatch());
    let [numbers, texts] = sides.buffers() else { return Lists::default() };
    assert_eq!((numbers.name(), texts.name()), ("numbers", "texts"));
    assert!(numbers.records::<String>().is_none(), "a buffer holds one type");
    Lists {
        records,
        numbers: numbers.records().map(std::mem::take).unwrap_or_default(),
        texts: texts.records().map(std::mem::take).unwrap_or_default(),
        unread,
        mismatch,
        timers,
        counts,
        more,
    }
}

fn edit(millis: i64, set: bool) -> TimerEdit<u64> {
    let timer = Timer {
        time: Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN),
        domain: TimerDomain::Event,
        hash: KeyHash::from_raw(millis.unsigned_abs()),
        payload: millis.unsigned_abs(),
    };
    if set { TimerEdit::Set(timer) } else { TimerEdit::Delete(timer) }
}

/// With so many records a sheet is full.
const ENOUGH: usize = 3;

proptest! {
    #[test]
    fn a_sheet_is_a_few_lists(ops in vec(op(), 0..80)) {
        let numbers: SideOutput<u64> = SideOutput::new("numbers");
        let texts: SideOutput<String> = SideOutput::new("texts");
        let unread: SideOutput<u64> = SideOutput::new("unread");
        let wrong: SideOutput<String> = SideOutput::new("numbers");
        let buffers = vec![SideBuffer::of(&numbers), SideBuffer::of(&texts)];
        let mut out: Effects<u64, u64> = Effects::new(SideBuffers::new(buffers), ENOUGH);
        let mut lists = Lists::default();
        let mut sided = 0;
        for op in ops.into_iter().chain([Op::Carry]) {
            sided += match op {
                Op::Number(_) | Op::Text(_) | Op::Unread(_) | Op::Mismatch(_) => 1,
                _ => 0,
            };
            match op {
                Op::Emit(n) => {
                    out.emit(Stamped::new(n));
                    lists.records.push(Stamped::new(n));
                }
                Op::Number(n) => {
                    out.side(&numbers, Stamped::new(n));
                    lists.numbers.push(Stamped::new(n));
                }
                Op::Text(n) => {
                    out.side(&texts.clone(), Stamped::new(n.to_string()));
                    lists.texts.push(Stamped::new(n.to_string()));
                }
                Op::Unread(n) => {
                    out.side(&unread, Stamped::new(n));
                    lists.unread += 1;
                }
                Op::Mismatch(n) => {
                    out.side(&wrong, Stamped::new(n.to_string()));
                    let says = "side output \"numbers\" is read as u64 and written as \
                                alloc::string::String";
                    lists.mismatch = Some(says.to_owned());
                }
                Op::Timer(millis, set) => {
                    out.timer(edit(millis, set));
                    lists.timers.push(edit(millis, set));
                }
                Op::Count(name, n) => {
                    out.count(COUNTS[name], n);
                    *lists.counts.entry(COUNTS[name]).or_default() += n;
                }
                Op::More => {
                    out.more();
                    lists.more = true;
                }
                Op::Carry => {
                    let full = lists.more
                        || lists.mismatch.is_some()
                        || lists.records.len() >= ENOUGH
                        || sided >= ENOUGH;
                    prop_assert_eq!(out.is_full(), full);
                    sided = 0;
                    prop_assert_eq!(carry(&mut out), std::mem::take(&mut lists));
                    prop_assert_eq!(carry(&mut out), Lists::default(), "nothing comes twice");
                }
            }
        }
    }
}

#[test]
fn what_lies_on_a_sheet_that_is_dropped_is_dropped_one_by_one() {
    std::thread_local! {
        static DROPPED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
            panic!("a value panics when it is dropped");
        }
    }

    let side = SideOutput::new("bombs");
    let buffers = SideBuffers::new(vec![SideBuffer::of(&side)]);
    let mut out: Effects<Bomb> = Effects::new(buffers, usize::MAX);
    for _ in 0..3 {
        out.emit(Stamped::new(Bomb));
        out.side(&side, Stamped::new(Bomb));
    }
    drop(out);
    assert_eq!(DROPPED.get(), 6);
}

#[test]
fn a_count_stays_at_the_most_that_there_is() {
    let mut out: Effects<u64> = Effects::new(SideBuffers::default(), 1);
    out.count("seen", u64::MAX - 1);
    out.count("seen", 1);
    out.count("seen", u64::MAX);
    out.count("lost", 1);
    assert_eq!(*out.counts(), [("seen", u64::MAX), ("lost", 1)]);
}
