//! How elements, results and state are written in tests: `3@7` is the record 3 at time 7, `W5` a
//! watermark.

use std::fmt::Debug;

use millstream_core::{Failure, KeyGroup, Mark, Moment, Stamped, Timestamp};

use super::super::stored::{Stored, StoredElement};
use super::super::{Answer, DeadLetter, Out};
use super::settings::Results;
use crate::Restored;

/// One encoded piece of state.
pub(super) type Stone = (Option<KeyGroup>, Vec<u8>);

/// What waits in the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    Record(Stamped<i64>),
    Mark(Mark),
    End,
}

pub(super) const fn moment(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

fn text<T: Debug>(stamped: &Stamped<T>) -> String {
    format!("{stamped:?}")
}

fn time(text: &str) -> Timestamp {
    Timestamp::from_millis(text.parse().unwrap()).unwrap()
}

pub(super) fn element(text: &str) -> Element {
    match (text, text.strip_prefix('W'), text.split_once('@')) {
        ("IDLE", ..) => Element::Mark(Mark::Idle),
        ("ACTIVE", ..) => Element::Mark(Mark::Active),
        (_, Some(millis), _) => Element::Mark(Mark::Watermark(time(millis))),
        (.., Some((value, at))) => Element::Record(Stamped::at(value.parse().unwrap(), time(at))),
        _ => Element::Record(Stamped::new(text.parse().unwrap())),
    }
}

pub(super) fn failed(error: &str) -> Answer<Results> {
    Answer::Failed(Failure::new(error.to_owned()))
}

fn mark_text(mark: Mark) -> String {
    match mark {
        Mark::Watermark(time) => format!("W{}", time.millis()),
        Mark::Idle => "IDLE".to_owned(),
        Mark::Active => "ACTIVE".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What is in pieces of state, in their order.
pub(super) fn stored(stones: &[Stone]) -> Vec<String> {
    let mut all = Vec::new();
    for (group, bytes) in stones {
        let piece: Stored<i64> = Restored::new(*group, bytes).read().unwrap();
        all.extend(piece.into_elements());
    }
    all.sort_by_key(|(place, _)| *place);
    let texts = all.into_iter().map(|(_, element)| match element {
        StoredElement::Record(_, record) => text(&record),
        StoredElement::Watermark(time) => mark_text(Mark::Watermark(time)),
    });
    texts.collect()
}

/// What goes out, as texts.
pub(super) fn shown(out: Out<i64, Results>) -> Vec<String> {
    match out {
        Out::Results(at, results) => results.iter().map(|result| text(&at.with(*result))).collect(),
        Out::DeadLetter(letter) => {
            let input = text(&letter.with(letter.value.input));
            let DeadLetter { cause, attempts, .. } = letter.value;
            vec![format!("dead {input} after {attempts}: {cause}")]
        }
        Out::Mark(mark) => vec![mark_text(mark)],
    }
}
