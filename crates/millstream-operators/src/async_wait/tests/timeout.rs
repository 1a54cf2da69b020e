//! How long a record may take, and what becomes of one whose time is over.

use std::time::Duration;

use millstream_core::{Failure, Stamped};

use super::super::{Answer, CallError, Cause, Limits, Verdict};
use super::notation::moment;
use super::rig::{Rig, results};
use super::settings::{Rules, both, keyed, ms, ordered, unordered};

fn timed(limits: Limits, millis: u64) -> Limits {
    Limits { timeout: Some(ms(millis)), ..limits }
}

/// -1 stands in the place of a record whose time is over.
fn minus_one() -> Rules {
    Rules { on_timeout: |_| Ok(Verdict::Fallback(vec![-1])), ..Rules::default() }
}

#[test]
fn a038_a_timeout_fails_the_job_or_is_answered_by_its_handler() {
    let mut rig = Rig::plain(timed(ordered(2), 10));
    rig.feed("1@0");
    rig.clock(5);
    rig.feed("2@5");
    rig.clock(11);
    assert_eq!(rig.failed_with(), ["no answer within 10ms, after 1 call"]);
    let failure = rig.failure.take().unwrap();
    let error = failure.cause().downcast_ref::<CallError>().unwrap();
    assert_eq!((error.cause(), failure.record()), (&Cause::Timeout(ms(10)), Some("1")));
    assert_eq!(rig.sent(), [""; 0]);

    let on_timeout = |input: Option<i64>| Ok(Verdict::Fallback(vec![3 * input.unwrap()]));
    let mut rig = Rig::new(timed(ordered(2), 10), Rules { on_timeout, ..Rules::default() });
    rig.feed("1@0");
    rig.clock(5);
    rig.feed("2@5");
    rig.clock(11);
    assert_eq!(rig.sent(), ["3@0"]);
    rig.complete(1, [1]);
    rig.complete(2, [2]);
    rig.end();
    assert_eq!((rig.sent(), rig.failed_with()), (vec!["2@5".to_owned()], vec![]));
    assert!(rig.is_done());
}

#[test]
fn a039_no_deadline_is_left_of_a_record_that_is_resolved() {
    let mut rig = Rig::plain(timed(unordered(1), 1_000));
    rig.feed("42@1");
    assert_eq!(rig.wait.next_due(), Some(moment(1_000)));
    rig.complete(42, [84]);
    rig.end();
    assert_eq!((rig.sent(), rig.wait.next_due()), (vec!["84@1".to_owned()], None));
    assert!(rig.is_done());
}

#[test]
fn a040_an_answer_that_had_come_before_its_deadline_was_served_counts() {
    for limits in both(1) {
        let mut rig = Rig::new(timed(limits, 1_000), minus_one());
        rig.feed("1");
        let due = moment(2_000);
        rig.wait.look(due);
        // The last look before it is given up finds the answer.
        let late = rig.wait.next_expired(due).unwrap();
        rig.wait.answered(late, 1, results([1]), &mut rig.rules).unwrap();
        assert_eq!(rig.wait.next_expired(due), None);
        rig.wait.timed_out(late, &mut rig.rules).unwrap();
        rig.clock(2_000);
        assert_eq!((rig.sent(), rig.rules.timeouts), (vec!["1".to_owned()], 0));
    }
}

#[test]
fn a041_an_answer_after_the_timeout_is_ignored() {
    for limits in both(2).into_iter().chain([keyed(2)]) {
        let mut rig = Rig::new(timed(limits, 10), minus_one());
        rig.feed("1@1");
        rig.clock(10);
        rig.complete(1, [10]);
        rig.fail(1, "later still");
        assert_eq!((rig.sent(), rig.failed_with()), (vec!["-1@1".to_owned()], vec![]));
    }
}

#[test]
fn a043_a_deadline_comes_when_it_is_reached_and_not_before() {
    for limits in both(2) {
        let mut rig = Rig::new(timed(limits, 10), minus_one());
        rig.feed("1");
        assert_eq!(rig.wait.next_due(), Some(moment(10)));
        rig.clock(9);
        assert_eq!((rig.sent(), rig.rules.timeouts), (vec![], 0));
        rig.clock(10);
        assert_eq!((rig.sent(), rig.rules.timeouts), (vec!["-1".to_owned()], 1));
        rig.clock(100);
        assert_eq!((rig.sent(), rig.rules.timeouts), (vec![], 1));
    }
}

#[test]
fn a044_without_a_timeout_nothing_is_due() {
    for limits in both(2) {
        let mut rig = Rig::new(limits, minus_one());
        rig.feed("1");
        rig.clock(1_000_000_000);
        assert_eq!((rig.wait.next_due(), rig.rules.timeouts, rig.sent()), (None, 0, vec![]));
    }
}

#[test]
fn a045_a_timeout_below_a_millisecond_is_kept_as_it_is() {
    let limits = Limits { timeout: Some(Duration::from_micros(500)), ..ordered(1) };
    let mut rig = Rig::new(limits, minus_one());
    rig.feed("1");
    assert_eq!(rig.wait.next_due().unwrap().nanos(), 500_000);
    rig.clock(1);
    assert_eq!((rig.sent(), rig.rules.timeouts), (vec!["-1".to_owned()], 1));
}

#[test]
fn a047_a_handler_that_fails_fails_the_job_and_nothing_goes_out() {
    let on_timeout = |_| Err(Failure::new("the handler is broken"));
    let mut rig = Rig::new(timed(ordered(2), 300), Rules { on_timeout, ..Rules::default() });
    rig.feed("1");
    rig.clock(300);
    assert_eq!(rig.failed_with(), ["the handler is broken"]);
    assert_eq!((rig.sent(), rig.rules.timeouts), (vec![], 1));
    assert!(rig.wait.pop().is_none());
}

#[test]
fn a049_a_timeout_makes_room_for_what_waits_in_the_input() {
    for limits in both(1).into_iter().chain([keyed(1)]) {
        let mut rig = Rig::new(timed(limits, 10), minus_one());
        rig.feed("1@1, 2@2");
        assert_eq!((rig.called(), rig.waiting()), (vec![1], 1));
        rig.clock(10);
        assert_eq!(rig.sent(), ["-1@1"]);
        assert_eq!((rig.open(), rig.waiting()), (vec![2], 0));
        // Its own time begins when its call does.
        assert_eq!(rig.wait.next_due(), Some(moment(20)));
    }
}

#[test]
fn a051_every_end_of_a_record_gives_its_place_back() {
    let on_error = |_: Option<i64>, error: &str| match error {
        "drop" => Ok(Verdict::Drop),
        "letter" => Ok(Verdict::DeadLetter),
        _ => Ok(Verdict::Fallback(vec![])),
    };
    let on_timeout = |input: Option<i64>| match input.unwrap() % 3 {
        0 => Ok(Verdict::Drop),
        1 => Ok(Verdict::DeadLetter),
        _ => Ok(Verdict::Fallback(vec![])),
    };
    for limits in both(2).into_iter().chain([keyed(2)]) {
        let mut rig =
            Rig::new(timed(limits, 10), Rules { on_error, on_timeout, ..Rules::default() });
        let mut letters = 0;
        for value in 0..1_020 {
            rig.feed(&format!("{value}"));
            assert_eq!(rig.open(), [value], "its place was free");
            match value / 3 % 6 {
                0 => rig.complete(value, []),
                1 => rig.fail(value, "drop"),
                2 => rig.fail(value, "letter"),
                3 => rig.fail(value, "fallback"),
                4 => rig.panic(value, "drop"),
                _ => rig.clock(rig.now + 10),
            }
            letters += rig.sent().len();
            assert!(rig.wait.is_empty() && rig.wait.next_due().is_none());
            assert!(value < 3 || rig.calls[rig.calls.len() - 1].ticket().index() < 2);
        }
        assert_eq!((letters, rig.failed_with()), (3 * 57 + 56, vec![]));
        assert_eq!(rig.seen().queued, 0);
    }
}

#[test]
fn the_time_counts_from_the_look_after_the_call_began() {
    let mut rig = Rig::new(timed(ordered(2), 10), minus_one());
    rig.wait.look(moment(3));
    let start = rig.wait.admit(Stamped::new(1), &rig.rules).unwrap();
    rig.wait.waits(start.ticket);
    assert_eq!((rig.wait.next_due(), rig.wait.next_expired(moment(1_000))), (None, None));
    rig.wait.look(moment(7));
    assert_eq!(rig.wait.next_due(), Some(moment(17)));
    assert_eq!(rig.wait.next_expired(moment(16)), None);
    assert_eq!(rig.wait.next_expired(moment(17)), Some(start.ticket));
}

#[test]
fn a_dead_letter_tells_after_which_time() {
    let on_timeout = |_| Ok(Verdict::DeadLetter);
    let mut rig = Rig::new(timed(ordered(2), 10), Rules { on_timeout, ..Rules::default() });
    rig.feed("1@7, W8");
    rig.clock(10);
    assert_eq!(rig.sent(), ["dead 1@7 after 1: timed out after 10ms", "W8"]);
    let seen = rig.seen();
    assert_eq!((seen.timeouts, seen.failures, seen.dead_letters), (1, 0, 1));
}

#[test]
fn a_record_that_waits_for_its_key_has_time_from_its_own_call_on() {
    let mut rig = Rig::new(timed(keyed(5), 10), minus_one());
    rig.feed("1@1, 1@2");
    rig.clock(8);
    rig.complete(1, [10]);
    assert_eq!((rig.sent(), rig.open()), (vec!["10@1".to_owned()], vec![1]));
    rig.clock(17);
    assert_eq!(rig.sent(), [""; 0]);
    rig.clock(18);
    assert_eq!(rig.sent(), ["-1@2"]);
}

#[test]
fn calls_that_began_later_are_given_up_later_whatever_order_they_end_in() {
    let mut rig = Rig::new(timed(unordered(5), 10), minus_one());
    for value in 1..=5 {
        rig.feed(&format!("{value}@{value}"));
        rig.clock(value);
    }
    rig.complete(1, [10]);
    rig.complete(3, [30]);
    assert_eq!(rig.sent(), ["10@1", "30@3"]);
    rig.clock(11);
    assert_eq!(rig.sent(), ["-1@2"]);
    rig.clock(14);
    assert_eq!(rig.sent(), ["-1@4", "-1@5"]);
    assert_eq!(rig.wait.next_due(), None);
}

#[test]
fn an_answer_is_no_answer_to_a_later_record_in_its_place() {
    let mut rig = Rig::new(timed(ordered(1), 10), minus_one());
    rig.feed("1@1, 2@2");
    rig.clock(10);
    let (old, new) = (rig.calls[0], rig.calls[1]);
    assert_eq!((old.ticket().index(), new.value), (new.ticket().index(), 2));
    let answer = Answer::Results(vec![10]);
    rig.wait.answered(old.ticket(), 1, answer, &mut rig.rules).unwrap();
    rig.wait.timed_out(old.ticket(), &mut rig.rules).unwrap();
    rig.turn();
    assert_eq!((rig.sent(), rig.open()), (vec!["-1@1".to_owned()], vec![2]));
}
