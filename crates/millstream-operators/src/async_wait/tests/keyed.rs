//! Key order: the calls of a key one after another, its results in order, watermarks as borders.

use super::super::{Limits, Order};
use super::notation::stored;
use super::rig::{Rig, results};
use super::settings::{Rules, keyed, limits};

/// 11, 12 … are of key 1, 21, 22 … of key 2.
fn tens() -> Rules {
    Rules { key: |value| Some(value / 10), ..Rules::default() }
}

#[test]
fn a114_records_of_a_key_wait_for_each_other() {
    let mut rig = Rig::plain(keyed(10));
    rig.feed("1@1, 2@1, 3@1, 1@2, 2@2, W2");
    assert_eq!(rig.open(), [1, 2, 3]);
    assert_eq!(rig.wait.queue.records(), 5);
    rig.end();
    for (value, left) in [(3, vec![1, 2]), (2, vec![1, 2]), (1, vec![2, 1]), (2, vec![1])] {
        rig.complete(value, [value * 10]);
        assert_eq!(rig.open(), left);
    }
    rig.complete(1, [10]);
    assert_eq!(rig.sent(), ["30@1", "20@1", "10@1", "20@2", "10@2", "W2"]);
    assert!(rig.is_done() && rig.wait.queue.keys() == 0);
}

#[test]
fn a115_watermarks_stand_between_the_records_of_one_key() {
    let mut rig = Rig::new(keyed(10), Rules { key: |_| Some(0), ..Rules::default() });
    rig.feed("1@1, 2@2, 3@3, 4@4, W5, W6, 7@7, 8@8, W9");
    for value in [1, 2, 3, 4, 7, 8] {
        assert_eq!(rig.open(), [value]);
        rig.complete(value, [value]);
    }
    assert_eq!(rig.sent(), ["1@1", "2@2", "3@3", "4@4", "W5", "W6", "7@7", "8@8", "W9"]);
    assert!(rig.wait.is_empty());
}

#[test]
fn a116_calls_pass_a_watermark_and_results_do_not() {
    let mut rig = Rig::new(keyed(10), tens());
    rig.feed("11@1, 12@2, 21@3, W10, 22@11, 31@12");
    assert_eq!(rig.called(), [11, 21, 31]);
    rig.complete(31, [31]);
    assert_eq!((rig.sent(), rig.open()), (vec![], vec![11, 21]));
    rig.complete(21, [21]);
    assert_eq!((rig.sent(), rig.open()), (vec!["21@3".to_owned()], vec![11, 22]));
    rig.complete(22, [22]);
    assert_eq!((rig.sent(), rig.open()), (vec![], vec![11]));
    rig.complete(11, [11]);
    assert_eq!((rig.sent(), rig.open()), (vec!["11@1".to_owned()], vec![12]));
    rig.complete(12, [12]);
    assert_eq!(rig.sent(), ["12@2", "W10", "31@12", "22@11"]);
    assert_eq!(rig.called(), [11, 21, 31, 22, 12]);
}

#[test]
fn a118_watermarks_keep_their_places_with_every_capacity() {
    for capacity in 1..=9 {
        let mut rig = Rig::plain(keyed(capacity));
        rig.at_once = |value, _| Some(results([2 * value]));
        rig.feed("1@1, 1@2, W2, 2@3, 3@4, 2@5, 3@6, W7, W8, 2@9, 3@10");
        rig.end();
        assert_by_key(&rig.sent(), capacity);
        assert!(rig.is_done());

        let mut rig = Rig::plain(keyed(capacity));
        rig.feed("1@1, 1@2, W2, 2@3, 3@4, 2@5, 3@6, W7, W8, 2@9, 3@10");
        rig.end();
        // The newest call answers first.
        while let Some(value) = rig.open().pop() {
            rig.complete(value, [2 * value]);
        }
        assert_by_key(&rig.sent(), capacity);
        assert!(rig.is_done());
    }
}

fn assert_by_key(sent: &[String], capacity: usize) {
    let of = |key: &str| -> Vec<String> {
        sent.iter().filter(|it| it.starts_with(key)).cloned().collect()
    };
    assert_eq!(sent.len(), 11, "capacity {capacity}: {sent:?}");
    assert_eq!((&*sent[2], &*sent[7], &*sent[8]), ("W2", "W7", "W8"), "capacity {capacity}");
    assert_eq!(of("2@"), ["2@1", "2@2"]);
    assert_eq!(of("4@"), ["4@3", "4@5", "4@9"]);
    assert_eq!(of("6@"), ["6@4", "6@6", "6@10"]);
}

#[test]
fn a120_running_and_waiting_records_are_stored_by_key() {
    let mut rig = Rig::plain(keyed(10));
    rig.feed("1@1, 2@1, 2@2, W2, 3@3, 3@4, 4@5, W6");
    let state = rig.snapshot();
    assert_eq!(stored(&state), ["1@1", "2@1", "2@2", "W2", "3@3", "3@4", "4@5", "W6"]);
    let mut pieces: Vec<_> =
        state.iter().map(|stone| stored(std::slice::from_ref(stone))).collect();
    // The watermarks first, which belong to no key; their places are stored with them.
    assert_eq!((state[0].0, pieces.remove(0)), (None, vec!["W2".into(), "W6".into()]));
    assert!(state[1..].iter().all(|(group, _)| group.is_some()));
    pieces.sort_unstable();
    assert_eq!(pieces, [vec!["1@1"], vec!["2@1", "2@2"], vec!["3@3", "3@4"], vec!["4@5"]]);
}

#[test]
fn a123_after_a_restore_the_order_of_each_key_is_kept() {
    let parity = || Rules { key: |value| Some(value % 2), ..Rules::default() };
    let mut before = Rig::new(keyed(4), parity());
    before.feed("1@1, 2@2, 3@3, 4@4");
    let state = before.snapshot();
    let mut rig = Rig::new(keyed(8), parity());
    rig.restore(&state);
    rig.feed("5@5, 6@6, 7@7, 8@8");
    rig.end();
    for value in [1, 3, 2, 4, 5, 6, 7, 8] {
        rig.complete(value, [2 * value]);
    }
    let sent = ["2@1", "6@3", "4@2", "8@4", "10@5", "12@6", "14@7", "16@8"];
    assert_eq!(rig.sent(), sent);
    assert_eq!(rig.called(), [1, 2, 3, 5, 4, 6, 7, 8]);
    assert!(rig.is_done());
}

#[test]
fn several_calls_of_a_key_may_run_and_their_results_keep_the_order() {
    let two = Limits { ..limits(Order::KeyOrdered { per_key: 2 }, 10) };
    let mut rig = Rig::new(two, tens());
    rig.feed("11, 12, 13, 14, 21");
    assert_eq!(rig.open(), [11, 12, 21]);
    rig.complete(12, [12]);
    assert_eq!((rig.sent(), rig.open()), (vec![], vec![11, 21, 13]));
    rig.complete(13, [13]);
    assert_eq!((rig.sent(), rig.open()), (vec![], vec![11, 21, 14]));
    rig.complete(21, [21]);
    assert_eq!(rig.sent(), ["21"]);
    rig.complete(11, [11]);
    assert_eq!(rig.sent(), ["11", "12", "13"]);
    rig.complete(14, [14]);
    assert_eq!(rig.sent(), ["14"]);
}

#[test]
fn records_without_a_key_keep_the_order_of_the_input() {
    let mut rig = Rig::new(keyed(10), Rules { key: |_| None, ..Rules::default() });
    rig.feed("1, 2, 3");
    assert_eq!(rig.open(), [1]);
    for value in [1, 2, 3] {
        rig.complete(value, [value]);
    }
    assert_eq!(
        (rig.sent(), rig.called()),
        (vec!["1".into(), "2".into(), "3".into()], vec![1, 2, 3])
    );
}

#[test]
fn a_key_whose_records_wait_takes_places_of_other_keys() {
    let mut rig = Rig::new(keyed(3), tens());
    rig.feed("11, 12, 13, 21");
    assert_eq!((rig.open(), rig.waiting()), (vec![11], 1));
    rig.complete(11, [11]);
    assert_eq!((rig.open(), rig.waiting()), (vec![12, 21], 0));
}
