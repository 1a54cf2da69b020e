//! When a failed call is made again, how often, and what is kept meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};

use millstream_core::Stamped;

use super::super::{Limits, Retry, Verdict};
use super::notation::{failed, moment};
use super::rig::{Rig, results};
use super::settings::{Rules, both, keyed, ms, ordered, unordered};

fn fixed(mut limits: Limits, delay: u64, most: u32, timeout: u64) -> Limits {
    limits.retry = Some(Retry::fixed(ms(delay)).max_retries(most));
    limits.timeout = Some(ms(timeout));
    limits
}

fn minus_one() -> Rules {
    Rules { on_timeout: |_| Ok(Verdict::Fallback(vec![-1])), ..Rules::default() }
}

fn on_empty() -> Rules {
    Rules { retries_results: <[i64]>::is_empty, ..minus_one() }
}

#[test]
fn a052_the_number_counts_retries_and_the_last_error_stands() {
    for limits in both(2) {
        let mut rig = Rig::plain(fixed(limits, 10, 2, 5_000));
        rig.feed("1@1");
        rig.fail(1, "first");
        rig.clock(10);
        rig.fail(1, "second");
        rig.clock(20);
        assert_eq!((rig.failed_with(), rig.rules.errors), (vec![], 0));
        rig.fail(1, "third");
        let error = "the call failed, after 3 calls: third";
        assert_eq!(rig.failed_with(), [error, "third"]);
        assert_eq!((rig.called_at(1), rig.sent()), (vec![0, 10, 20], vec![]));
    }
}

#[test]
fn a053_each_delay_counts_from_when_the_failure_is_known() {
    let mut rig = Rig::plain(fixed(ordered(2), 10, 2, 1_000));
    rig.feed("1@1");
    rig.clock(3);
    rig.fail(1, "first");
    assert_eq!(rig.wait.next_due(), Some(moment(13)));
    rig.clock(12);
    assert_eq!(rig.open(), [0; 0]);
    rig.clock(13);
    rig.clock(20);
    rig.fail(1, "second");
    rig.clock(29);
    rig.clock(30);
    rig.clock(31);
    rig.complete(1, [7]);
    assert_eq!((rig.called_at(1), rig.sent()), (vec![0, 13, 30], vec!["7@1".to_owned()]));
}

#[test]
fn a054_when_the_retries_are_over_the_last_result_stands() {
    let mut rig = Rig::new(fixed(ordered(2), 10, 2, 5_000), on_empty());
    rig.feed("1@1, 2@2");
    rig.complete(2, [20]);
    for (attempt, clock) in [(1, 10), (2, 20), (3, 30)] {
        assert_eq!((rig.calls.len(), rig.sent()), (attempt + 1, vec![]));
        rig.complete(1, []);
        rig.clock(clock);
    }
    assert_eq!((rig.sent(), rig.failed_with()), (vec!["20@2".to_owned()], vec![]));
    assert_eq!(rig.called_at(1), [0, 10, 20]);
}

#[test]
fn a055_records_without_a_result_go_after_their_retries() {
    for limits in both(6) {
        let mut rig = Rig::new(fixed(limits, 10, 2, 1_000), on_empty());
        rig.at_once =
            |value, _| Some(if value % 2 == 1 { results([]) } else { results([2 * value]) });
        rig.feed("1@1, 2@2, 3@3, 4@4, 5@5, 6@6");
        for now in [10, 20, 30] {
            rig.clock(now);
        }
        assert_eq!(rig.sent(), ["4@2", "8@4", "12@6"]);
        assert_eq!((rig.called_at(1), rig.called_at(2)), (vec![0, 10, 20], vec![0]));
        assert!(rig.wait.is_empty() && rig.wait.next_due().is_none());
    }
}

#[test]
fn a057_an_error_that_the_predicate_does_not_want_is_not_tried_again() {
    let rules = Rules { retries_error: |error| error == "io", ..Rules::default() };
    let mut rig = Rig::new(fixed(ordered(2), 10, 3, 1_000), rules);
    rig.feed("1@1");
    rig.fail(1, "io");
    rig.clock(10);
    rig.fail(1, "state");
    rig.clock(100);
    let error = "the call failed, after 2 calls: state";
    assert_eq!(
        (rig.failed_with(), rig.called_at(1)),
        (vec![error.into(), "state".into()], vec![0, 10])
    );
}

#[test]
fn a058_without_a_predicate_every_error_is_tried_again_and_no_result() {
    let mut rig = Rig::plain(fixed(ordered(3), 10, 5, 1_000));
    rig.feed("1@1, 2@2");
    rig.complete(2, []);
    rig.fail(1, "anything");
    rig.clock(10);
    rig.complete(1, [10]);
    assert_eq!((rig.sent(), rig.called()), (vec!["10@1".to_owned()], vec![1, 2, 1]));
}

#[test]
fn a063_the_timeout_is_over_all_calls_and_the_delays_between_them() {
    for limits in both(10) {
        let mut rig = Rig::new(fixed(limits, 100, 5, 1_000), minus_one());
        rig.feed("1@1, 2@2");
        rig.clock(501);
        rig.fail(1, "slow");
        rig.fail(2, "slow");
        rig.clock(601);
        assert_eq!(rig.called(), [1, 2, 1, 2]);
        rig.clock(999);
        assert_eq!(rig.sent(), [""; 0]);
        rig.clock(1_000);
        assert_eq!(rig.sent(), ["-1@1", "-1@2"]);
        rig.fail(1, "slow");
        rig.clock(5_000);
        assert_eq!((rig.sent(), rig.called()), (vec![], vec![1, 2, 1, 2]));
    }
}

#[test]
fn a064_a_timeout_ends_a_delay() {
    let mut rig = Rig::new(fixed(ordered(2), 60_000, 5, 500), minus_one());
    rig.feed("1@1");
    rig.fail(1, "at once");
    assert_eq!(rig.wait.next_due(), Some(moment(500)));
    rig.clock(600);
    assert_eq!(rig.sent(), ["-1@1"]);
    rig.clock(100_000);
    assert_eq!((rig.sent(), rig.called(), rig.wait.next_due()), (vec![], vec![1], None));
}

#[test]
fn a065_what_a_timeout_gives_is_final() {
    for limits in both(2) {
        let mut rig = Rig::plain(fixed(limits, 10, 2, 1_000));
        rig.feed("1@1, 2@2");
        rig.clock(1_000);
        assert_eq!(rig.failed_with(), ["no answer within 1s, after 1 call"]);
        assert_eq!((rig.called(), rig.sent(), rig.rules.timeouts), (vec![1, 2], vec![], 1));
    }
}

#[test]
fn a_retry_that_is_due_exactly_at_the_deadline_is_not_made() {
    for limits in both(2).into_iter().chain([keyed(2)]) {
        let mut rig = Rig::new(fixed(limits, 10, 2, 10), minus_one());
        rig.feed("1@1");
        rig.fail(1, "at once");
        rig.clock(10);
        assert_eq!((rig.sent(), rig.called()), (vec!["-1@1".to_owned()], vec![1]));
        // Nor is one whose delay and deadline have passed when the clock is looked at.
        rig.feed("1@1");
        rig.clock(15);
        rig.fail(1, "late");
        rig.clock(30);
        assert_eq!((rig.sent(), rig.called()), (vec!["-1@1".to_owned()], vec![1, 1]));
    }
}

#[test]
fn a067_an_answer_that_came_before_the_timeout_was_served_counts_with_retries_too() {
    let mut rig = Rig::new(fixed(ordered(2), 10, 2, 10), on_empty());
    rig.feed("1@1");
    let now = moment(12);
    rig.wait.look(now);
    let late = rig.wait.next_expired(now).unwrap();
    rig.wait.answered(late, 1, results([5]), &mut rig.rules).unwrap();
    rig.wait.timed_out(late, &mut rig.rules).unwrap();
    rig.clock(12);
    assert_eq!((rig.sent(), rig.rules.timeouts), (vec!["5@1".to_owned()], 0));
}

#[test]
fn an_answer_that_would_be_tried_again_after_its_deadline_is_a_timeout() {
    let mut rig = Rig::new(fixed(ordered(2), 10, 2, 10), on_empty());
    rig.feed("1@1");
    let now = moment(12);
    rig.wait.look(now);
    let late = rig.wait.next_expired(now).unwrap();
    rig.wait.answered(late, 1, results([]), &mut rig.rules).unwrap();
    assert_eq!(rig.wait.next_expired(now), Some(late));
    rig.wait.timed_out(late, &mut rig.rules).unwrap();
    rig.clock(1_000);
    assert_eq!((rig.sent(), rig.called()), (vec!["-1@1".to_owned()], vec![1]));
}

#[test]
fn a068_a_call_that_answers_ten_times_is_tried_again_once() {
    for limits in both(6) {
        let mut rig = Rig::new(fixed(limits, 10, 2, 1_000), on_empty());
        rig.feed("1@1, 2@2, 3@3, 4@4, 5@5, 6@6");
        for now in [10, 20, 30] {
            for value in rig.open() {
                let times = if value % 2 == 1 { 10 } else { 1 };
                for _ in 0..times {
                    rig.report(
                        value,
                        if value % 2 == 1 { results([]) } else { results([2 * value]) },
                    );
                }
            }
            rig.turn();
            rig.clock(now);
        }
        assert_eq!(rig.sent(), ["4@2", "8@4", "12@6"]);
        for value in [1, 3, 5] {
            assert_eq!(rig.called_at(value), [0, 10, 20]);
        }
        assert!(rig.wait.is_empty());
    }
}

#[test]
fn a070_an_answer_counts_only_for_the_last_call_of_its_record() {
    for limits in both(2) {
        let mut rig = Rig::plain(fixed(limits, 10, 3, 1_000));
        rig.feed("1@1");
        rig.fail(1, "first");
        // While it waits no answer counts either.
        rig.clock(5);
        rig.complete_attempt(1, 1, &[4]);
        rig.clock(10);
        rig.clock(12);
        rig.complete_attempt(1, 1, &[5]);
        assert_eq!(rig.sent(), [""; 0]);
        rig.clock(20);
        rig.complete_attempt(1, 2, &[6]);
        assert_eq!((rig.sent(), rig.called_at(1)), (vec!["6@1".to_owned()], vec![0, 10]));
    }
}

#[test]
fn a071_a_record_keeps_its_place_while_it_waits_to_be_called_again() {
    for limits in both(1).into_iter().chain([keyed(1)]) {
        let mut rig = Rig::new(fixed(limits, 10, 1, 1_000), on_empty());
        rig.feed("1@1, 2@2");
        rig.complete(1, []);
        rig.clock(9);
        assert_eq!((rig.called(), rig.waiting()), (vec![1], 1));
        rig.clock(10);
        assert_eq!((rig.called(), rig.waiting(), rig.sent()), (vec![1, 1], 1, vec![]));
        rig.complete(1, [7]);
        assert_eq!((rig.sent(), rig.called()), (vec!["7@1".to_owned()], vec![1, 1, 2]));
    }
}

#[test]
fn a072_a_watermark_waits_for_a_record_that_is_called_again() {
    for (limits, expected) in both(5).into_iter().zip([["10@1", "20@2"], ["20@2", "10@1"]]) {
        let mut rig = Rig::new(fixed(limits, 100, 2, 1_000), on_empty());
        rig.feed("1@1, 2@2, W3");
        rig.complete(1, []);
        rig.complete(2, [20]);
        let mut sent = rig.sent();
        rig.clock(100);
        assert_eq!(rig.sent(), [""; 0]);
        rig.complete(1, [10]);
        sent.extend(rig.sent());
        assert_eq!(sent, [expected[0], expected[1], "W3"]);
    }
}

#[test]
fn a073_a_predicate_that_panics_is_heard_and_nothing_goes_out() {
    let rules = Rules { retries_results: |_| panic!("the predicate"), ..Rules::default() };
    let mut rig = Rig::new(fixed(ordered(2), 10, 2, 1_000), rules);
    rig.feed("1@1");
    let heard = catch_unwind(AssertUnwindSafe(|| rig.complete(1, [1])));
    assert_eq!(heard.unwrap_err().downcast_ref(), Some(&"the predicate"));
    assert_eq!((rig.sent(), rig.called()), (vec![], vec![1]));
    assert!(rig.wait.pop().is_none());
}

#[test]
fn a075_a_later_call_that_panics_is_treated_as_the_first_one() {
    let mut rig = Rig::plain(fixed(ordered(2), 10, 3, 1_000));
    rig.feed("1@1");
    rig.fail(1, "first");
    rig.clock(10);
    rig.panic(1, "second");
    let error = "the call failed, after 2 calls: panicked: second";
    assert_eq!(rig.failed_with(), [error, "second"]);
    rig.clock(100);
    assert_eq!((rig.called_at(1), rig.sent()), (vec![0, 10], vec![]));
}

#[test]
fn each_record_has_its_own_delay() {
    let retry = Retry::exponential(ms(10)).factor(3.0).max_retries(3);
    let mut rig = Rig::plain(Limits { retry: Some(retry), ..unordered(3) });
    rig.feed("1, 2");
    rig.fail(1, "first");
    rig.clock(10);
    rig.fail(1, "second");
    rig.fail(2, "first");
    assert_eq!(rig.wait.next_due(), Some(moment(20)));
    rig.clock(20);
    rig.clock(40);
    assert_eq!((rig.called_at(1), rig.called_at(2)), (vec![0, 10, 40], vec![0, 20]));
    let seen = rig.seen();
    assert_eq!((seen.attempts, seen.retries, seen.failures), (5, 3, 0));
}

#[test]
fn inputs_are_kept_for_retries_whatever_was_said() {
    let limits = Limits { keeps_inputs: false, ..fixed(ordered(1), 10, 1, 1_000) };
    let mut rig = Rig::plain(limits);
    rig.feed("7");
    rig.fail(7, "first");
    rig.clock(10);
    assert_eq!(rig.called(), [7, 7]);
}

#[test]
fn a_record_whose_time_is_over_is_not_called_again_before_it_is_given_up() {
    let mut rig = Rig::new(fixed(ordered(2), 10, 2, 10), minus_one());
    rig.feed("1@1");
    rig.fail(1, "at once");
    let now = moment(10);
    rig.wait.look(now);
    assert_eq!(rig.wait.next_start(&rig.rules), None);
    assert_eq!(rig.wait.next_expired(now), Some(rig.calls[0].ticket()));
}

#[test]
fn a_delay_of_a_record_that_has_gone_is_none_of_the_record_in_its_place() {
    let mut rig = Rig::new(fixed(ordered(1), 10, 2, 10), minus_one());
    rig.feed("1@1");
    let (old, now) = (rig.calls[0].ticket(), moment(10));
    rig.wait.look(now);
    // It would be called again, and is given up before the clock is looked at.
    rig.wait.answered(old, 1, failed("late"), &mut rig.rules).unwrap();
    rig.wait.timed_out(old, &mut rig.rules).unwrap();
    assert!(rig.wait.pop().is_some());
    let new = rig.wait.admit(Stamped::new(2), &rig.rules).unwrap();
    assert_eq!(new.ticket.index(), old.index());
    rig.wait.look(now);
    assert_eq!(rig.wait.next_due(), None);
    rig.wait.look(moment(1_000));
    assert_eq!(rig.wait.next_start(&rig.rules), None);
}
