//! What the user of a stage of calls does, in tests with chance: each value has its own ways.

use millstream_core::Failure;

use super::super::{Answer, Verdict};
use super::notation::failed;
use super::settings::{Judged, Results, Rules};

/// What a call may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Results,
    Nothing,
    /// An error that is tried again.
    Again,
    /// An error that is not.
    Error,
    Panic,
    /// A panic that is tried again.
    PanicAgain,
}

pub(super) fn results_of(value: i64) -> Results {
    (0..1 + value % 3).map(|result| value * 10 + result).collect()
}

/// What the call for a value gives at once, if it does.
pub(super) fn at_once(value: i64, attempt: u32) -> Option<Gives> {
    match value % 7 {
        3 => Some(Gives::Results),
        5 if attempt == 1 => Some(Gives::Again),
        _ => None,
    }
}

pub(super) fn judge(value: i64) -> Verdict<Results> {
    match value % 3 {
        0 => Verdict::Drop,
        1 => Verdict::DeadLetter,
        _ => Verdict::Fallback(vec![-value]),
    }
}

pub(super) const KEYS: i64 = 3;

pub(super) const fn weight_of(value: i64) -> usize {
    (value % 4).unsigned_abs() as usize
}

pub(super) fn rules() -> Rules {
    let on_timeout = |input: Option<i64>| -> Judged { Ok(judge(input.unwrap() + 1)) };
    Rules {
        key: |value| Some(value % KEYS),
        weight: weight_of,
        retries_error: |error| error == "again",
        retries_panic: |message| message == "again",
        retries_results: |results| results.is_empty(),
        on_error: |input, _| Ok(judge(input.unwrap())),
        on_timeout,
        ..Rules::default()
    }
}

pub(super) fn answer(value: i64, gives: Gives) -> Answer<Results> {
    match gives {
        Gives::Results => Answer::Results(results_of(value)),
        Gives::Nothing => Answer::Results(vec![]),
        Gives::Again => failed("again"),
        Gives::Error => failed("error"),
        Gives::Panic => Answer::Panicked(Failure::new("panic")),
        Gives::PanicAgain => Answer::Panicked(Failure::new("again")),
    }
}
