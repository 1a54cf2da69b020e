//! Results in the order of the input.

use super::rig::{Rig, results};
use super::settings::{both, keyed, ordered};

#[test]
fn a012_only_the_first_in_line_goes_out() {
    let mut rig = Rig::plain(ordered(4));
    rig.feed("1@0, 2@1, W2, 3@3");
    assert_eq!(rig.sent(), [""; 0]);
    rig.complete(2, [11]);
    rig.complete(3, [13]);
    assert_eq!(rig.sent(), [""; 0]);
    assert_eq!((rig.wait.queue.records(), rig.wait.queue.marks()), (3, 1));
    rig.complete(1, [10]);
    assert_eq!(rig.sent(), ["10@0", "11@1", "W2", "13@3"]);
    assert!(rig.wait.is_empty());
}

#[test]
fn a015_an_empty_result_frees_its_place_and_lets_the_next_go() {
    let mut rig = Rig::plain(ordered(2));
    rig.feed("1@1, 2@2, 3@3");
    rig.complete(2, [20]);
    assert_eq!((rig.sent(), rig.called()), (vec![], vec![1, 2]));
    rig.complete(1, []);
    assert_eq!((rig.sent(), rig.called()), (vec!["20@2".to_owned()], vec![1, 2, 3]));
}

#[test]
fn a016_the_results_of_one_input_go_out_together_at_its_time() {
    for limits in both(5).into_iter().chain([keyed(5)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@5, 2@6, W6, 3");
        rig.report(1, results([7, 8, 9]));
        rig.report(2, results([20, 21]));
        rig.report(3, results([30, 31]));
        rig.turn();
        // A result is without a time if its input was.
        assert_eq!(rig.sent(), ["7@5", "8@5", "9@5", "20@6", "21@6", "W6", "30", "31"]);
    }
}

#[test]
fn watermarks_and_idleness_keep_their_places_between_records() {
    for limits in both(6).into_iter().chain([keyed(6)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1, IDLE, ACTIVE, 2@2, W2");
        assert_eq!(rig.sent(), [""; 0]);
        rig.complete(2, [20]);
        assert_eq!(rig.sent(), [""; 0]);
        rig.complete(1, [10]);
        assert_eq!(rig.sent(), ["10@1", "IDLE", "ACTIVE", "20@2", "W2"]);
    }
}
