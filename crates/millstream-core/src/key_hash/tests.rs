//! The hash is frozen, depends on nothing but the key's meaning, and spreads well.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde::{Serialize, Serializer};

use super::*;
use crate::KeyGroups;

fn hash<K: Serialize + ?Sized>(key: &K) -> u64 {
    KeyHash::of(key).unwrap().get()
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrap<T>(T);

#[derive(Serialize)]
struct Flight<S> {
    origin: S,
    day: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    leg: Option<u8>,
}

#[derive(Serialize)]
enum Kind {
    Plain,
    One(u8),
    Two(u8, i8),
    Named { a: bool },
}

/// Shown by its `Display`, as dates and addresses often are.
struct Shown<T>(T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(self.0)
    }
}

#[test]
fn the_hash_of_every_kind_of_key_is_frozen() {
    let flight = |leg| Flight { origin: "EWR", day: 1, leg };
    let golden = [
        ("u64 0", hash(&0_u64), 0xEBEC_DE93_CE52_F108),
        ("u64 1", hash(&1_u64), 0xF81E_3A1E_D69C_55B2),
        ("u64 max", hash(&u64::MAX), 0x5E86_70D7_F5B8_A574),
        ("i64 -2", hash(&-2_i64), 0x481A_3E72_33C8_0538),
        ("i128 -2", hash(&-2_i128), 0x8CFE_1148_EE50_03D2),
        ("u128", hash(&(7_u128 << 64)), 0x1C87_1230_1D20_475F),
        ("bool", hash(&true), 0xF81E_3A1E_D69C_55B2),
        ("char", hash(&'é'), 0x590E_44E7_5F81_CD8E),
        ("unit", hash(&()), 0xEBEC_DE93_CE52_F108),
        ("empty", hash(""), 0xEBEC_DE93_CE52_F108),
        ("3 bytes", hash("EWR"), 0x7502_2465_DEA9_3F7D),
        ("7 bytes", hash("flights"), 0x3A4B_40A2_97B1_2130),
        ("8 bytes", hash("carriers"), 0x65D4_2359_0D0C_A50C),
        ("15 bytes", hash("departure delay"), 0x44D9_5102_D1E0_0FD7),
        ("bytes", hash(&Bytes(&[1, 2, 3, 4, 5])), 0xB75D_5277_13C7_7E43),
        ("tuple", hash(&(1_u8, "a", -1_i8)), 0x209A_3627_FD4E_EF0C),
        ("struct", hash(&flight(Some(2))), 0x137F_733E_18EF_FAEA),
        ("skipped field", hash(&flight(None)), 0xC029_E7AD_9E5F_EAB2),
        ("seq", hash(&vec!["a", "b"]), 0xE40F_FF79_AB4C_9EFE),
        ("empty seq", hash(&Vec::<u8>::new()), 0xEBEC_DE93_CE52_F108),
        ("none", hash(&None::<u8>), 0xEBEC_DE93_CE52_F108),
        ("some", hash(&Some(0_u8)), 0x612E_9069_7554_C639),
        ("unit variant", hash(&Kind::Plain), 0x3357_D24A_EACB_03EB),
        ("newtype variant", hash(&Kind::One(1)), 0xFED3_4E48_B1CB_07B9),
        ("tuple variant", hash(&Kind::Two(1, -1)), 0x7E7E_76F8_75E2_B136),
        ("struct variant", hash(&Kind::Named { a: true }), 0xC1F8_75A2_D811_8952),
        ("address", hash(&Ipv4Addr::LOCALHOST), 0x3B58_617E_7ACB_4249),
    ];
    let wrong: Vec<String> = golden
        .iter()
        .filter(|(_, got, frozen)| got != frozen)
        .map(|(name, got, _)| format!("{name}: {got:#018X}"))
        .collect();
    assert_eq!(wrong, [""; 0], "changing the hash orphans every stored key: raise VERSION");
}

/// The algorithm once more, as its description says it, with no trick.
fn by_the_book(words: &[u64]) -> u64 {
    let mut state = 0x243F_6A88_85A3_08D3_u64;
    for word in words {
        let product = u128::from(state ^ word) * 0x9E37_79B9_7F4A_7C15;
        state = (product as u64) ^ (product >> 64) as u64;
    }
    state = (state ^ state >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    state = (state ^ state >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    state ^ state >> 33
}

fn words_of(text: &[u8]) -> Vec<u64> {
    let words = text.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    std::iter::once(text.len() as u64).chain(words).collect()
}

#[test]
fn the_words_are_those_of_the_description() {
    assert_eq!(hash(&-1_i8), by_the_book(&[u64::MAX]));
    assert_eq!(hash(&-2_i128), by_the_book(&[u64::MAX - 1, u64::MAX]));
    assert_eq!(hash(&(true, 'a', ())), by_the_book(&[1, 97, 0]));
    assert_eq!(hash(&Unit), by_the_book(&[0]));
    assert_eq!(hash(&Wrap(5_u8)), by_the_book(&[5]));
    assert_eq!(hash(&[7_u8, 8]), by_the_book(&[7, 8]));
    assert_eq!(hash(&vec![7_u8, 8]), by_the_book(&[2, 7, 8]));
    assert_eq!(hash(&(None::<u8>, Some(9_u8))), by_the_book(&[0, 1, 9]));
    assert_eq!(hash(&BTreeSet::from([2_u8, 1])), by_the_book(&[2, 1, 2]));
    let mut variant = words_of(b"Two");
    variant.extend([1, u64::MAX]);
    assert_eq!(hash(&Kind::Two(1, -1)), by_the_book(&variant));
    let text: Vec<u8> = (b'a'..=b'z').collect();
    for length in 0..text.len() {
        assert_eq!(hash(&Bytes(&text[..length])), by_the_book(&words_of(&text[..length])));
    }
}

#[test]
fn parts_that_run_into_each_other_are_told_apart() {
    let keys = [
        hash(&("ab", "c")),
        hash(&("a", "bc")),
        hash(&("abc", "")),
        hash(&("abc\0", "")),
        hash(&(vec![1_u8], vec![2_u8, 3])),
        hash(&(vec![1_u8, 2], vec![3_u8])),
        hash(&Flight { origin: "a", day: 0, leg: None }),
        hash(&Flight { origin: "a", day: 0, leg: Some(0) }),
    ];
    assert_eq!(BTreeSet::from(keys).len(), keys.len());
}

#[test]
fn what_cannot_be_hashed_is_refused_with_what_was_found() {
    let of = |result: Result<KeyHash, KeyError>| result.unwrap_err();
    assert_eq!(of(KeyHash::of(&(1, 1.0_f32))), KeyError::Float("f32"));
    assert_eq!(of(KeyHash::of(&Some(1.0_f64))), KeyError::Float("f64"));
    assert_eq!(of(KeyHash::of(&BTreeMap::from([(1, 2)]))), KeyError::Map);
    let volatile = of(KeyHash::of(&crate::Volatile(())));
    assert_eq!(volatile, KeyError::Refused("a Volatile<()> cannot be stored".into()));
}

#[test]
fn a_sequence_must_know_its_length_and_a_text_must_not_change() {
    struct Unsure;
    impl Serialize for Unsure {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            s.collect_seq([1, 2, 3].iter().filter(|&&n| n > 1))
        }
    }
    struct Liar;
    impl Serialize for Liar {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut seq = s.serialize_seq(Some(2))?;
            seq.serialize_element(&1)?;
            seq.end()
        }
    }
    struct Moody(std::cell::Cell<u32>);
    impl fmt::Display for Moody {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.set(self.0.get() * 10);
            write!(f, "{}", self.0.get())
        }
    }
    struct Silent;
    impl fmt::Display for Silent {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    assert_eq!(KeyHash::of(&Unsure), Err(KeyError::UnknownLength));
    assert_eq!(KeyHash::of(&Liar), Err(KeyError::WrongLength { said: 2, given: 1 }));
    let moody = Shown(Moody(1.into()));
    assert_eq!(KeyHash::of(&moody), Err(KeyError::WrongLength { said: 2, given: 3 }));
    assert!(matches!(KeyHash::of(&Shown(Silent)), Err(KeyError::Refused(_))));
}

#[test]
fn consecutive_integers_spread_evenly_over_groups_and_places() {
    const KEYS: u64 = 100_000;
    let groups = KeyGroups::new(128).unwrap();
    let mut in_group = [0_u32; 128];
    let (mut by_place, mut by_tag) = ([0_u32; 128], [0_u32; 128]);
    let mut in_one_group = 0;
    for key in 0..KEYS {
        let hash = KeyHash::of(&key).unwrap();
        in_group[groups.of(hash).get() as usize] += 1;
        // Even among the keys of a few groups, places and tags are those of chance.
        if groups.of(hash).get() < 16 {
            in_one_group += 1;
            by_place[hash.table_hash() as usize % 128] += 1;
            by_tag[(hash.table_hash() >> 57) as usize] += 1;
        }
    }
    let chi_square = |counts: &[u32], total: f64| -> f64 {
        let expected = total / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    };
    // 127 degrees of freedom: 127 is the mean, 16 the standard deviation. An even spread that is
    // too even is as wrong as an uneven one.
    for (counts, total) in [
        (&in_group, KEYS as f64),
        (&by_place, f64::from(in_one_group)),
        (&by_tag, f64::from(in_one_group)),
    ] {
        let found = chi_square(counts, total);
        assert!((80.0..190.0).contains(&found), "chi-square {found}");
    }
}

#[test]
fn each_bit_of_the_hash_changes_half_of_the_bits_that_tables_are_given() {
    let hashes: Vec<u64> = (0..200_u64).map(|key| hash(&key)).collect();
    for bit in 0..64 {
        let changed = |raw: &u64| {
            let one = KeyHash::from_raw(*raw).table_hash();
            (one ^ KeyHash::from_raw(raw ^ 1 << bit).table_hash()).count_ones()
        };
        let mean = f64::from(hashes.iter().map(changed).sum::<u32>()) / hashes.len() as f64;
        assert!((28.0..36.0).contains(&mean), "bit {bit} changes {mean}");
    }
}

proptest! {
    #[test]
    fn equal_keys_hash_equal_whether_owned_or_borrowed_narrow_or_wide(
        origin: String, day: u32, leg: Option<u8>, list: Vec<String>, delay: i16,
    ) {
        let owned = Flight { origin: origin.clone(), day, leg };
        let borrowed = Flight { origin: origin.as_str(), day, leg };
        prop_assert_eq!(hash(&owned), hash(&borrowed));
        let slices: Vec<&str> = list.iter().map(String::as_str).collect();
        prop_assert_eq!(hash(&list), hash(&slices[..]));
        prop_assert_eq!(hash(&delay), hash(&i64::from(delay)));
        prop_assert_eq!(hash(&Wrap(&origin)), hash(origin.as_str()));
        prop_assert_eq!(hash(&Shown(&origin)), hash(origin.as_str()));
        let pieces = Shown(format_args!("{origin}{day}{origin}").to_string());
        prop_assert_eq!(hash(&pieces), hash(&Shown(format_args!("{origin}{day}{origin}"))));
    }

    #[test]
    fn different_keys_hash_differently(a: (String, Vec<i32>), b: (String, Vec<i32>)) {
        prop_assume!(a != b);
        prop_assert_ne!(hash(&a), hash(&b));
    }
}
