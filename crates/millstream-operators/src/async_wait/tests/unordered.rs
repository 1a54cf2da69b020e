//! Results in the order in which they come, between two watermarks.

use super::rig::{Rig, results};
use super::settings::{both, keyed, unordered};

#[test]
fn a018_a_watermark_is_a_border_in_both_directions() {
    let mut rig = Rig::plain(unordered(8));
    rig.feed("1@0, 2@1, W2, 3@3, 4@4, W5, 5@6, 6@7");
    let left = |rig: &Rig| rig.wait.queue.records() + rig.wait.queue.marks();
    rig.complete(3, [13]);
    assert_eq!((rig.sent(), left(&rig)), (vec![], 8));
    rig.complete(2, [12]);
    assert_eq!((rig.sent(), left(&rig)), (vec!["12@1".to_owned()], 7));
    rig.complete(6, [16]);
    rig.complete(4, [14]);
    assert_eq!((rig.sent(), left(&rig)), (vec![], 7));
    rig.complete(1, [11]);
    assert_eq!(rig.sent(), ["11@0", "W2", "13@3", "14@4", "W5", "16@7"]);
    assert_eq!(left(&rig), 1);
    rig.complete(5, [15]);
    assert_eq!((rig.sent(), left(&rig)), (vec!["15@6".to_owned()], 0));
}

#[test]
fn a019_between_watermarks_results_go_out_in_the_order_in_which_they_came() {
    let mut rig = Rig::plain(unordered(4));
    rig.feed("0, 1, 2, 3");
    for value in [2, 0, 3, 1] {
        rig.report(value, results([value]));
    }
    rig.turn();
    assert_eq!(rig.sent(), ["2", "0", "3", "1"]);
}

#[test]
fn results_that_came_behind_a_border_keep_the_order_in_which_they_came() {
    let mut rig = Rig::plain(unordered(8));
    rig.feed("1, W1, 2, 3, 4");
    for value in [4, 2, 3] {
        rig.complete(value, [value]);
    }
    assert_eq!(rig.sent(), [""; 0]);
    rig.complete(1, [1]);
    assert_eq!(rig.sent(), ["1", "W1", "4", "2", "3"]);
}

#[test]
fn a020_watermarks_are_not_merged() {
    for limits in both(4).into_iter().chain([keyed(4)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, W2, W5");
        assert_eq!((rig.wait.queue.marks(), rig.sent()), (2, vec![]));
        rig.complete(1, []);
        assert_eq!(rig.sent(), ["W2", "W5"]);
        assert!(rig.wait.is_empty() && rig.wait.pop().is_none());
    }
}

#[test]
fn a024_what_was_emptied_is_used_again() {
    let mut rig = Rig::plain(unordered(3));
    rig.feed("1@1");
    rig.complete(1, [10]);
    assert_eq!(rig.sent(), ["10@1"]);
    rig.feed("W5");
    assert_eq!(rig.sent(), ["W5"]);
    rig.feed("2@6, W7");
    assert_eq!(rig.sent(), [""; 0]);
    rig.complete(2, [20, 21]);
    assert_eq!(rig.sent(), ["20@6", "21@6", "W7"]);
}
