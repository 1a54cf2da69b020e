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
        ("u64 0", hash(&0_u64), 0x705D_54D3_8F7A_0DB3),
        ("u64 1", hash(&1_u64), 0x7662_347C_5557_785C),
        ("u64 max", hash(&u64::MAX), 0x052E_54A4_C80C_C14C),
        ("i64 -2", hash(&-2_i64), 0xFA6A_4AFB_DD89_8448),
        ("i128 -2", hash(&-2_i128), 0x7F83_0CFB_CB64_A92B),
        ("u128", hash(&(7_u128 << 64)), 0xFACB_23D7_7542_48D5),
        ("bool", hash(&true), 0x7662_347C_5557_785C),
        ("char", hash(&'é'), 0x3257_F345_DF8E_EA55),
        ("unit", hash(&()), 0x705D_54D3_8F7A_0DB3),
        ("empty", hash(""), 0x705D_54D3_8F7A_0DB3),
        ("3 bytes", hash("EWR"), 0x8D3A_6D3C_5D5A_2465),
        ("7 bytes", hash("flights"), 0x7B0F_D28A_2829_ADCD),
        ("8 bytes", hash("carriers"), 0xEFA7_B8A3_7712_FF12),
        ("15 bytes", hash("departure delay"), 0x73FE_74F3_EF22_86DF),
        ("bytes", hash(&Bytes(&[1, 2, 3, 4, 5])), 0xCF00_85A4_5F0F_F8B9),
        ("tuple", hash(&(1_u8, "a", -1_i8)), 0x7CA5_858A_582B_730E),
        ("struct", hash(&flight(Some(2))), 0xDE53_1323_4E02_2A86),
        ("skipped field", hash(&flight(None)), 0xA210_B21E_9E64_70CD),
        ("seq", hash(&vec!["a", "b"]), 0x3F03_08C0_7A10_4D23),
        ("empty seq", hash(&Vec::<u8>::new()), 0x705D_54D3_8F7A_0DB3),
        ("none", hash(&None::<u8>), 0x705D_54D3_8F7A_0DB3),
        ("some", hash(&Some(0_u8)), 0x0315_46F3_756B_1989),
        ("unit variant", hash(&Kind::Plain), 0xA983_9990_E39E_A3FA),
        ("newtype variant", hash(&Kind::One(1)), 0x5BCF_6129_CDAB_39AB),
        ("tuple variant", hash(&Kind::Two(1, -1)), 0x3D66_DB8D_5498_B119),
        ("struct variant", hash(&Kind::Named { a: true }), 0x7BC9_8079_2C89_77CD),
        ("address", hash(&Ipv4Addr::LOCALHOST), 0xDFD2_342D_588A_0A4F),
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
    let product = u128::from(state) * 0xA409_3822_299F_31D1;
    (product as u64) ^ (product >> 64) as u64
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
        // Even among the keys of a few groups, the bits that those have not chosen are of chance.
        if groups.of(hash).get() < 16 {
            in_one_group += 1;
            by_place[hash.get() as usize % 128] += 1;
            by_tag[(hash.get() >> 32) as usize % 128] += 1;
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
fn keys_with_a_pattern_spread_over_groups_and_places_as_chance_would() {
    const KEYS: u64 = 1 << 17;
    type Pattern = fn(u64) -> u64;
    let patterns: [(&str, Pattern); 8] = [
        ("high bits", |n| n << 44),
        ("middle bits", |n| n << 20),
        ("bits reversed", u64::reverse_bits),
        ("thousands", |n| n * 1_000),
        ("floats", |n| (n as f64).to_bits()),
        ("days in milliseconds", |n| 1_700_000_000_000 + n * 86_400_000),
        ("bytes repeated", |n| n.wrapping_mul(0x01_0101_0101)),
        ("negative", |n| !n),
    ];
    for (name, pattern) in patterns {
        let hashes: Vec<_> = (0..KEYS).map(|n| KeyHash::of(&pattern(n)).unwrap()).collect();
        let by_group = |hash: &KeyHash| KeyGroups::new(1_024).unwrap().of(*hash).get() as usize;
        let by_high_half = |hash: &KeyHash| (hash.get() >> 54) as usize;
        let by_place = |hash: &KeyHash| hash.get() as usize % 1_024;
        for part in [by_group as fn(&KeyHash) -> usize, by_high_half, by_place] {
            let mut counts = [0_u32; 1_024];
            hashes.iter().for_each(|hash| counts[part(hash)] += 1);
            let expected = KEYS as f64 / 1_024.0;
            let found: f64 =
                counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            // 1,023 degrees of freedom: 1,023 is the mean, 45 the standard deviation.
            assert!((800.0..1_250.0).contains(&found), "{name}: chi-square {found}");
        }
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
