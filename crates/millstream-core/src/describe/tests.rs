//! Descriptions read like `Debug`, end in time and never fail.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::*;
use crate::Volatile;

#[derive(Debug, Serialize)]
struct Unit;

#[derive(Debug, Serialize)]
struct Empty {}

#[derive(Debug, Serialize)]
struct Wrap(i8);

#[derive(Debug, Serialize)]
struct Pair(u8, char);

#[derive(Debug, Serialize)]
enum Kind {
    Plain,
    One(f32),
    Two(bool, ()),
    Named { text: &'static str },
}

#[derive(Debug, Serialize)]
struct All {
    unit: Unit,
    empty: Empty,
    wrap: Wrap,
    pair: Pair,
    kinds: Vec<Kind>,
    some: Option<u128>,
    none: Option<i128>,
    map: BTreeMap<&'static str, (i64,)>,
}

#[test]
fn every_kind_of_value_reads_as_its_debug() {
    fn same<T: fmt::Debug + Serialize>(value: &T) {
        assert_eq!(describe(value), format!("{value:?}"));
    }
    let kinds = || vec![Kind::Plain, Kind::One(1.0), Kind::Two(true, ())];
    same(&(Unit, Empty {}, Wrap(-1), Pair(7, '\''), kinds(), Kind::Named { text: "it's \"\n" }));
    same(&(Some(1_u128), None::<i128>, BTreeMap::from([("a", (1_i64,)), ("b", (2,))])));
    same(&("", Vec::<u8>::new(), vec![1.5_f64, f64::NAN], 'é', "\u{301}é", i64::MIN));
    let all = All {
        unit: Unit,
        empty: Empty {},
        wrap: Wrap(1),
        pair: Pair(1, 'x'),
        kinds: vec![],
        some: Some(3),
        none: None,
        map: BTreeMap::new(),
    };
    same(&all);
}

#[test]
fn texts_that_are_displayed_and_bytes_have_their_own_forms() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            s.serialize_bytes(&[1, 2])
        }
    }
    let address = std::net::Ipv4Addr::LOCALHOST;
    assert_eq!(describe(&(Bytes, address)), r#"([1, 2], "127.0.0.1")"#);
}

#[test]
fn a_text_of_two_hundred_characters_is_whole_and_a_longer_one_is_cut() {
    let exact = "é".repeat(198);
    assert_eq!(describe(&exact), format!("{exact:?}"));
    for longer in [199, 200, 201, 1_000] {
        let longer = "é".repeat(longer);
        let whole = format!("{longer:?}");
        let cut: String = whole.chars().take(RECORD_IN_ERROR).chain(['…']).collect();
        assert_eq!(describe(&longer), cut);
        assert_eq!(describe(&format_args!("{longer}")), cut);
    }
}

#[test]
fn a_value_without_end_costs_no_more_than_what_is_shown() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            s.collect_seq(std::iter::repeat(1_u8))
        }
    }
    let text = describe(&Endless);
    assert!(text.starts_with("[1, 1, ") && text.ends_with('…'));
    assert_eq!(text.chars().count(), RECORD_IN_ERROR + 1);
}

#[test]
fn a_value_that_fails_or_panics_shows_what_came_before_and_why_it_stopped() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("on purpose")
        }
    }
    struct Fails(&'static str);
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom(self.0))
        }
    }
    let volatile = describe(&vec![(1, Volatile(()))]);
    assert_eq!(volatile, "[(1, <cannot be shown: a Volatile<()> cannot be stored>");
    assert_eq!(describe(&(2, Fails("no"))), "(2, <cannot be shown: no>");
    assert_eq!(describe(&(3, Panics)), "(3, <cannot be shown: its `Serialize` panicked>");
    assert_eq!(describe(&("x".repeat(190), Fails("no"))).chars().count(), RECORD_IN_ERROR + 1);
}
