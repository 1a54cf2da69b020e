//! Whether what came is what was expected: in order, in order by key, or in any order.
//!
//! Duplicates count in all three. What differs is told in a few lines, however long the lists are.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use crate::refuse::refuse;

/// How many lines of each kind a difference shows.
const SHOWN: usize = 8;

/// What differs between what came and what was expected; `Display` says it in a few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference(Vec<String>);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// What differs, place by place.
///
/// # Examples
///
/// ```
/// use millstream_testkit::compare::in_order;
///
/// assert_eq!(in_order(&[1, 2, 3], &[1, 2, 3]), None);
/// let difference = in_order(&[1, 3], &[1, 2, 3]).unwrap().to_string();
/// assert!(difference.starts_with("2 came and 3 were expected, the same up to number 1"));
/// ```
pub fn in_order<T: PartialEq + Debug>(came: &[T], expected: &[T]) -> Option<Difference> {
    if came == expected {
        return None;
    }
    let same = came.iter().zip(expected).take_while(|(one, other)| one == other).count();
    let counts = format!("{} came and {} were expected", came.len(), expected.len());
    let mut lines = vec![format!("{counts}, the same up to number {same}")];
    let from = same.saturating_sub(2);
    for at in from..came.len().max(expected.len()).min(same + SHOWN) {
        let show = |list: &[T]| list.get(at).map_or("-".to_owned(), |value| format!("{value:?}"));
        let (came, expected) = (show(came), show(expected));
        lines.push(match came == expected {
            true => format!("  {at}: {came}"),
            false => format!("> {at}: {came} came, {expected} was expected"),
        });
    }
    Some(Difference(lines))
}

/// What differs when values of one key must keep their order, and nothing is said about the order
/// of two keys.
///
/// # Examples
///
/// ```
/// use millstream_testkit::compare::in_order_by_key;
///
/// let key = |(key, _): &(char, u8)| *key;
/// let expected = [('a', 1), ('b', 1), ('a', 2)];
/// assert_eq!(in_order_by_key(&[('b', 1), ('a', 1), ('a', 2)], &expected, key), None);
/// assert!(in_order_by_key(&[('b', 1), ('a', 2), ('a', 1)], &expected, key).is_some());
/// ```
pub fn in_order_by_key<T: PartialEq + Debug, K: Ord + Debug>(
    came: &[T],
    expected: &[T],
    key: impl Fn(&T) -> K,
) -> Option<Difference> {
    let mut keys: BTreeMap<K, (Vec<&T>, Vec<&T>)> = BTreeMap::new();
    came.iter().for_each(|value| keys.entry(key(value)).or_default().0.push(value));
    expected.iter().for_each(|value| keys.entry(key(value)).or_default().1.push(value));
    let differ = keys.iter().filter_map(|(key, (came, expected))| {
        in_order(came, expected).map(|difference| format!("key {key:?}: {difference}"))
    });
    let (lines, more) = shown(differ);
    (!lines.is_empty()).then(|| Difference(lines.into_iter().chain(more).collect()))
}

/// What differs when nothing is said about the order: which values are missing, which too many.
///
/// # Examples
///
/// ```
/// use millstream_testkit::compare::in_any_order;
///
/// assert_eq!(in_any_order(&[2, 1, 2], &[1, 2, 2]), None);
/// let difference = in_any_order(&[2, 1, 3], &[1, 2, 2]).unwrap();
/// assert_eq!(difference.to_string(), "missing: 1 × 2\ntoo many: 1 × 3");
/// ```
pub fn in_any_order<T: Ord + Debug>(came: &[T], expected: &[T]) -> Option<Difference> {
    let mut counts: BTreeMap<&T, (usize, usize)> = BTreeMap::new();
    came.iter().for_each(|value| counts.entry(value).or_default().0 += 1);
    expected.iter().for_each(|value| counts.entry(value).or_default().1 += 1);
    let missing = counts.iter().filter(|(_, (came, expected))| came < expected);
    let excess = counts.iter().filter(|(_, (came, expected))| came > expected);
    let (missing, more_missing) = shown(
        missing
            .map(|(value, (came, expected))| format!("missing: {} × {value:?}", expected - came)),
    );
    let (excess, more_excess) = shown(
        excess
            .map(|(value, (came, expected))| format!("too many: {} × {value:?}", came - expected)),
    );
    let lines: Vec<String> =
        missing.into_iter().chain(more_missing).chain(excess).chain(more_excess).collect();
    (!lines.is_empty()).then_some(Difference(lines))
}

/// Fails the test unless these are the same values in the same order.
///
/// # Panics
///
/// With the difference.
#[track_caller]
pub fn assert_in_order<T: PartialEq + Debug>(came: &[T], expected: &[T]) {
    stop_at(in_order(came, expected));
}

/// Fails the test unless these are the same values, those of each key in the same order.
///
/// # Panics
///
/// With the difference.
#[track_caller]
pub fn assert_in_order_by_key<T: PartialEq + Debug, K: Ord + Debug>(
    came: &[T],
    expected: &[T],
    key: impl Fn(&T) -> K,
) {
    stop_at(in_order_by_key(came, expected, key));
}

/// Fails the test unless these are the same values, each as often.
///
/// # Panics
///
/// With the difference.
#[track_caller]
pub fn assert_in_any_order<T: Ord + Debug>(came: &[T], expected: &[T]) {
    stop_at(in_any_order(came, expected));
}

#[track_caller]
fn stop_at(difference: Option<Difference>) {
    if let Some(difference) = difference {
        refuse(format!("what came is not what was expected\n{difference}"));
    }
}

/// The first lines, and how many there are besides.
fn shown(lines: impl Iterator<Item = String>) -> (Vec<String>, Option<String>) {
    let mut lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    (lines, (more > 0).then(|| format!("and {more} more of these")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown_with_what_stands_around_it() {
        let (came, expected): (Vec<u32>, Vec<u32>) = ((0..100).collect(), (0..100).collect());
        assert_eq!(in_order(&came, &expected), None);
        let mut wrong = came;
        wrong.swap(50, 51);
        let said = in_order(&wrong, &expected).unwrap().to_string();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "100 came and 100 were expected, the same up to number 50");
        assert_eq!(
            lines[2..5],
            ["  49: 49", "> 50: 51 came, 50 was expected", "> 51: 50 came, 51 was expected"]
        );
        assert_eq!(lines.len(), 11);
    }

    #[test]
    fn a_list_that_ends_early_differs_at_its_end() {
        let said = in_order(&[1], &[1, 2]).unwrap().to_string();
        assert!(said.ends_with("> 1: - came, 2 was expected"), "{said}");
        assert!(in_order::<u8>(&[], &[]).is_none());
    }

    #[test]
    fn each_key_is_compared_by_itself() {
        let key = |value: &(u8, u8)| value.0;
        let expected = [(1, 1), (2, 1), (1, 2), (2, 2)];
        assert_eq!(in_order_by_key(&[(2, 1), (2, 2), (1, 1), (1, 2)], &expected, key), None);
        let said = in_order_by_key(&[(2, 2), (2, 1), (1, 1)], &expected, key).unwrap().to_string();
        assert!(said.contains("key 1: 1 came and 2 were expected"), "{said}");
        assert!(said.contains("key 2: 2 came and 2 were expected, the same up to number 0"));
    }

    #[test]
    fn duplicates_count_and_long_lists_are_cut() {
        assert!(in_any_order(&[1, 1], &[1]).is_some());
        let expected: Vec<u32> = (0..20).collect();
        let said = in_any_order(&[7, 7, 99], &expected).unwrap().to_string();
        assert!(said.contains("missing: 1 × 0\n"), "{said}");
        assert!(said.contains("and 11 more of these\ntoo many: 1 × 7\ntoo many: 1 × 99"), "{said}");
    }

    #[test]
    #[should_panic(expected = "missing: 1 × 2")]
    fn a_difference_fails_the_test() {
        assert_in_any_order(&[1], &[1, 2]);
    }
}
