//! What the end of the input does to calls in flight, delays and time-outs.

use super::super::{Limits, Retry, Verdict};
use super::notation::{failed, moment};
use super::rig::Rig;
use super::settings::{Rules, both, keyed, ms, ordered, unordered};

fn minute(mut limits: Limits) -> Limits {
    limits.retry = Some(Retry::fixed(ms(60_000)).max_retries(5));
    limits.timeout = Some(ms(50_000));
    limits
}

fn on_empty() -> Rules {
    Rules { retries_results: <[i64]>::is_empty, ..Rules::default() }
}

#[test]
fn a076_a_task_has_ended_when_everything_has_gone_out() {
    let orders = [["10", "20", "30"], ["30", "10", "20"]];
    for (limits, expected) in both(5).into_iter().zip(orders) {
        let mut rig = Rig::plain(limits);
        rig.feed("1, 2, 3");
        rig.end();
        for (value, answer) in [(3, 30), (1, 10), (2, 20)] {
            assert!(!rig.is_done());
            rig.complete(value, [answer]);
        }
        assert!(rig.is_done());
        assert_eq!(
            (rig.sent(), rig.called()),
            (expected.map(String::from).to_vec(), vec![1, 2, 3])
        );
    }
}

#[test]
fn a077_a_record_that_waits_is_called_again_at_once_and_for_the_last_time() {
    for limits in both(5).into_iter().chain([keyed(5)]) {
        let mut rig = Rig::plain(minute(limits));
        rig.feed("1, 2");
        rig.fail(1, "first");
        rig.complete(2, [20]);
        rig.clock(7);
        rig.end();
        assert_eq!(rig.called_at(1), [0, 7]);
        assert_eq!(rig.wait.next_due(), Some(moment(50_000)));
        rig.fail(1, "second");
        let error = "the call failed, after 2 calls: second";
        assert_eq!(rig.failed_with(), [error, "second"]);
    }
}

#[test]
fn a077_the_last_result_stands() {
    let mut rig = Rig::new(minute(ordered(5)), on_empty());
    rig.feed("1, 2");
    rig.complete(1, []);
    rig.complete(2, [20]);
    rig.clock(7);
    rig.end();
    rig.complete(1, []);
    assert_eq!((rig.sent(), rig.called_at(1)), (vec!["20".to_owned()], vec![0, 7]));
    assert!(rig.is_done() && rig.wait.next_due().is_none());
}

#[test]
fn a077_a_failure_of_the_turn_in_which_the_input_ends_does_not_wait_either() {
    let mut rig = Rig::plain(minute(unordered(5)));
    rig.feed("1");
    // The clock is not looked at between the failure and the end.
    let call = rig.calls[0];
    rig.wait.answered(call.ticket(), 1, failed("first"), &mut rig.rules).unwrap();
    rig.wait.end();
    rig.turn();
    assert_eq!((rig.called(), rig.wait.next_due()), (vec![1, 1], Some(moment(50_000))));
    rig.complete_attempt(1, 2, &[10]);
    assert_eq!(rig.sent(), ["10"]);
    assert!(rig.wait.is_empty() && rig.wait.next_due().is_none());
}

#[test]
fn a_call_that_runs_at_the_end_is_left_alone_and_not_tried_again() {
    let mut rig = Rig::new(minute(ordered(5)), on_empty());
    rig.feed("1, 2");
    rig.end();
    assert_eq!(rig.called(), [1, 2]);
    rig.complete(1, []);
    rig.complete(2, [20]);
    assert_eq!((rig.sent(), rig.called()), (vec!["20".to_owned()], vec![1, 2]));
    assert!(rig.is_done());
}

#[test]
fn a_record_that_waits_for_its_key_at_the_end_is_called() {
    let mut rig = Rig::plain(keyed(5));
    rig.feed("1@1, 1@2, 1@3");
    rig.end();
    for (left, result) in [(2, 11), (1, 12), (0, 13)] {
        rig.complete(1, [result]);
        assert_eq!((rig.open().len(), rig.is_done()), (left.min(1), left == 0));
    }
    assert_eq!(rig.sent(), ["11@1", "12@2", "13@3"]);
}

#[test]
fn a081_timeouts_still_come_after_the_end() {
    let on_timeout = |_| Ok(Verdict::Fallback(vec![-1]));
    let limits = Limits { timeout: Some(ms(10)), ..ordered(2) };
    let mut rig = Rig::new(limits, Rules { on_timeout, ..Rules::default() });
    rig.feed("1@1");
    rig.clock(5);
    rig.end();
    assert!(!rig.is_done());
    rig.clock(10);
    assert_eq!((rig.sent(), rig.is_done()), (vec!["-1@1".to_owned()], true));
}

#[test]
fn the_end_stands_behind_what_waits_in_the_input() {
    let mut rig = Rig::plain(minute(ordered(1)));
    rig.feed("1, 2, 3");
    rig.end();
    assert_eq!((rig.ended, rig.waiting()), (false, 3));
    rig.fail(1, "first");
    // The input has not ended for a record in front of others.
    assert_eq!(rig.called(), [1]);
    rig.clock(49_999);
    assert_eq!((rig.called(), rig.ended), (vec![1], false));
}

#[test]
fn a077_no_look_at_the_clock_is_needed_to_call_again() {
    let mut rig = Rig::plain(minute(unordered(5)));
    rig.feed("1");
    let call = rig.calls[0];
    rig.wait.answered(call.ticket(), 1, failed("first"), &mut rig.rules).unwrap();
    rig.wait.end();
    let start = rig.wait.next_start(&rig.rules).unwrap();
    assert_eq!((start.ticket, start.attempt, start.input), (call.ticket(), 2, 1));
    rig.wait.look(moment(0));
    assert_eq!(rig.wait.next_start(&rig.rules), None);
}
