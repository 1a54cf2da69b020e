//! The first outcome of a record counts, and what becomes of one that failed.

use std::sync::Arc;

use millstream_core::{Failure, Histogram, Stamped};

use super::super::{CallError, Cause, Limits, Retry, Seen, Verdict};
use super::rig::{Rig, results};
use super::settings::{Rules, both, keyed, ms, ordered};

#[test]
fn a026_only_the_first_of_two_results_counts() {
    for limits in both(2).into_iter().chain([keyed(2)]) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1");
        rig.report(1, results([10]));
        rig.report(1, results([11]));
        rig.turn();
        assert_eq!(rig.sent(), ["10@1"]);
        // Nor does a late one count for the record that is now in its place.
        rig.feed("2@2");
        rig.complete_attempt(1, 1, &[12]);
        assert_eq!((rig.sent(), rig.open()), (vec![], vec![2]));
        rig.complete(2, [20]);
        assert_eq!(rig.sent(), ["20@2"]);
    }
}

#[test]
fn an_error_after_a_result_fails_nothing() {
    let mut rig = Rig::plain(ordered(2));
    rig.feed("1, 2");
    rig.complete(2, [20]);
    rig.fail(2, "too late");
    rig.complete(1, [10]);
    assert_eq!((rig.sent(), rig.failed_with()), (vec!["10".into(), "20".into()], vec![]));
}

#[test]
fn a030_nothing_goes_out_while_a_call_is_made() {
    let mut rig = Rig::plain(ordered(3));
    let start = rig.wait.admit(Stamped::new(1), &rig.rules).unwrap();
    rig.wait.answered(start.ticket, start.attempt, results([10]), &mut rig.rules).unwrap();
    assert_eq!(rig.wait.queue.records(), 1);
    rig.turn();
    assert_eq!((rig.sent(), rig.called()), (vec!["10".to_owned()], vec![]));
}

#[test]
fn a030_calls_that_answer_at_once_pass_a_single_place() {
    for limits in both(1).into_iter().chain([keyed(1)]) {
        let mut rig = Rig::plain(limits);
        rig.at_once = |value, _| Some(results([value * 10]));
        rig.feed("1, 2, 3, 4, 5");
        rig.end();
        assert_eq!(rig.sent(), ["10", "20", "30", "40", "50"]);
        assert!(rig.is_done());
    }
}

#[test]
fn a031_an_error_fails_the_job_and_names_the_input() {
    for limits in both(2) {
        let mut rig = Rig::plain(limits);
        rig.feed("1@1");
        rig.end();
        rig.fail(1, "no route");
        assert_eq!(rig.failed_with(), ["the call failed, after 1 call: no route", "no route"]);
        let failure = rig.failure.as_ref().unwrap();
        assert_eq!(failure.record(), Some("1"));
        let error = failure.cause().downcast_ref::<CallError>().unwrap();
        assert_eq!((error.attempts(), error.cause()), (1, &Cause::Error("no route".into())));
        assert_eq!(rig.sent(), [""; 0]);
    }
}

#[test]
fn an_error_names_no_input_that_was_not_kept() {
    let mut rig = Rig::plain(Limits { keeps_inputs: false, ..ordered(2) });
    rig.feed("1@1");
    rig.fail(1, "no route");
    assert_eq!(rig.failure.as_ref().unwrap().record(), None);
}

#[test]
fn a033_a_panic_is_a_failed_attempt_that_is_not_tried_again() {
    let retry = Some(Retry::fixed(ms(10)).max_retries(3));
    for limits in both(2) {
        let mut rig = Rig::plain(Limits { retry: retry.clone(), ..limits });
        rig.feed("1@1");
        rig.panic(1, "index 7");
        let error = "the call failed, after 1 call: panicked: index 7";
        assert_eq!(rig.failed_with(), [error, "index 7"]);
        let failure = rig.failure.as_ref().unwrap();
        let error = failure.cause().downcast_ref::<CallError>().unwrap();
        assert_eq!(error.cause(), &Cause::Panic("index 7".into()));
        assert_eq!((rig.called(), rig.sent()), (vec![1], vec![]));
    }
}

#[test]
fn a033_a_panic_is_tried_again_if_the_predicate_says_so() {
    let retry = Some(Retry::fixed(ms(10)).max_retries(3));
    let rules = Rules { retries_panic: |message| message == "again", ..Rules::default() };
    let mut rig = Rig::new(Limits { retry, ..ordered(2) }, rules);
    rig.feed("1@1");
    rig.panic(1, "again");
    rig.clock(10);
    rig.complete(1, [10]);
    assert_eq!((rig.sent(), rig.called_at(1)), (vec!["10@1".to_owned()], vec![0, 10]));
}

fn judging() -> Rules {
    let on_error = |input: Option<i64>, error: &str| {
        Ok(match error {
            "drop" => Verdict::Drop,
            "fallback" => Verdict::Fallback(vec![-input.unwrap(), 0]),
            "letter" => Verdict::DeadLetter,
            "broken" => return Err(Failure::new("the handler is broken")),
            _ => Verdict::Fail,
        })
    };
    Rules { on_error, ..Rules::default() }
}

#[test]
fn a_failed_record_goes_the_way_it_is_told_in_its_place() {
    let mut rig = Rig::new(ordered(9), judging());
    rig.feed("1@1, 2@2, 3@3, W3, 4@4");
    rig.fail(4, "letter");
    rig.panic(3, "fallback");
    rig.fail(2, "drop");
    assert_eq!(rig.sent(), [""; 0]);
    rig.complete(1, [10]);
    let sent = ["10@1", "-3@3", "0@3", "W3", "dead 4@4 after 1: letter"];
    assert_eq!((rig.sent(), rig.rules.errors), (sent.map(String::from).to_vec(), 3));
    let seen = rig.seen();
    let Seen { attempts, failures, completed, dropped, dead_letters, .. } = seen;
    assert_eq!((attempts, failures, completed, dropped, dead_letters), (4, 3, 2, 1, 1));
}

#[test]
fn a_dead_letter_tells_of_a_panic() {
    let mut rig = Rig::new(ordered(9), judging());
    rig.feed("4@4");
    rig.panic(4, "letter");
    assert_eq!(rig.sent(), ["dead 4@4 after 1: panicked: letter"]);
}

#[test]
fn a_handler_that_fails_fails_the_job_with_its_own_error() {
    let mut rig = Rig::new(ordered(9), judging());
    rig.feed("1@1");
    rig.fail(1, "broken");
    assert_eq!((rig.failed_with(), rig.sent()), (vec!["the handler is broken".into()], vec![]));
}

#[test]
fn an_answer_that_comes_at_once_overtakes_only_calls_that_are_open() {
    let at_once = |value, _| (value > 2).then(|| results([value * 10]));
    let [mut ordered, mut unordered] = both(9).map(Rig::plain);
    for rig in [&mut ordered, &mut unordered] {
        rig.at_once = at_once;
        rig.feed("1@1, 3@3, W3, 4@4, 2@5");
    }
    assert_eq!((ordered.sent(), unordered.sent()), (vec![], vec!["30@3".to_owned()]));
    for rig in [&mut ordered, &mut unordered] {
        rig.complete(1, [10]);
        rig.feed("5@6");
        rig.complete(2, [20]);
        assert_eq!(rig.called(), [1, 3, 4, 2, 5]);
    }
    assert_eq!(ordered.sent(), ["10@1", "30@3", "W3", "40@4", "20@5", "50@6"]);
    assert_eq!(unordered.sent(), ["10@1", "W3", "40@4", "50@6", "20@5"]);
}

#[test]
fn an_answer_at_once_stands_behind_one_that_came_before_it() {
    let mut rig = Rig::plain(both(9)[1].clone());
    rig.feed("1, 2");
    let call = rig.calls[0];
    rig.wait.answered(call.ticket(), 1, results([10]), &mut rig.rules).unwrap();
    assert!(!rig.wait.passes());
    assert!(rig.wait.has_next());
    rig.turn();
    assert!(rig.wait.passes() && !rig.wait.has_next());
    assert_eq!(rig.sent(), ["10"]);
}

#[test]
fn the_latency_of_a_record_is_the_time_from_its_first_call_to_its_outcome() {
    let limits = Limits { retry: Some(Retry::fixed(ms(10)).max_retries(1)), ..ordered(9) };
    let mut rig = Rig::plain(limits);
    let latency = Arc::new(Histogram::new());
    rig.wait.measure(latency.clone());
    rig.feed("1, 2");
    rig.clock(5);
    rig.complete(2, [20]);
    rig.fail(1, "once more");
    assert_eq!((latency.view().count(), latency.view().max()), (1, 5_000_000));
    rig.clock(15);
    rig.clock(18);
    rig.complete(1, [10]);
    assert_eq!(rig.sent(), ["10", "20"]);
    assert_eq!((latency.view().count(), latency.view().max()), (2, 18_000_000));
    assert_eq!((latency.view().sum(), rig.seen().at_once), (23_000_000, 0));
}

#[test]
fn a_dead_letter_without_its_input_fails_the_job() {
    let limits = Limits { keeps_inputs: false, ..ordered(9) };
    let mut rig = Rig::new(limits, judging_blindly());
    rig.feed("1@1");
    rig.fail(1, "letter");
    assert_eq!(rig.sent(), [""; 0]);
    assert_eq!(rig.failed_with(), ["the call failed, after 1 call: letter", "letter"]);
}

fn judging_blindly() -> Rules {
    Rules { on_error: |_, _| Ok(Verdict::DeadLetter), ..Rules::default() }
}
