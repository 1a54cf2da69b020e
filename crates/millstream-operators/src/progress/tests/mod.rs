//! Watermarks from the times of records, and those of several splits.

use std::time::Duration;

use millstream_core::{Mark, Moment, Timestamp};

use super::{Bounded, Punctuated, WatermarkStrategy, Watermarker};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn moment(millis: u64) -> Moment {
    Moment::ZERO.plus(ms(millis))
}

fn text(marks: &[Mark]) -> Vec<String> {
    let one = |mark: &Mark| match mark {
        Mark::Watermark(Timestamp::MAX) => "MAX".to_owned(),
        Mark::Watermark(watermark) => watermark.millis().to_string(),
        mark => format!("{mark:?}").to_uppercase(),
    };
    marks.iter().map(one).collect()
}

/// Watermarks are the times of the records themselves, at once.
type Immediate = Punctuated<fn(&(), Timestamp) -> Option<Timestamp>>;

fn immediate(splits: usize, idle_after: Option<Duration>) -> Watermarker<Immediate, ()> {
    let mut of = Watermarker::new(Punctuated((|(), at| Some(at)) as fn(&(), _) -> _), idle_after);
    of.has(splits);
    of
}

/// A record of a split, and what follows.
fn passes(of: &mut Watermarker<Immediate, ()>, split: usize, millis: i64) -> Vec<String> {
    of.reads(split);
    let active = of.begins().then_some(Mark::Active);
    let watermark = of.passes(&(), at(millis)).map(Mark::Watermark);
    text(&active.into_iter().chain(watermark).collect::<Vec<_>>())
}

fn look<S, St>(of: &mut Watermarker<S, St>, millis: u64) -> Vec<String>
where
    S: WatermarkStrategy<(), State = St>,
    St: Clone + Default,
{
    let mut marks = Vec::new();
    of.look(moment(millis), &mut marks);
    text(&marks)
}

#[test]
fn m017_the_watermark_is_the_greatest_time_less_the_bound_less_a_millisecond() {
    let bounded = Bounded::by(ms(10));
    let mut state = None;
    let current = |state: &_| {
        let current = WatermarkStrategy::<()>::current(&bounded, state);
        current.map(Timestamp::millis)
    };
    assert_eq!(current(&state), None);
    for (times, watermark) in [
        (vec![1_337], 1_326),
        (vec![12_345, 12_300, 12_340, 12_280], 12_334),
        (vec![723_456], 723_445),
    ] {
        for time in times {
            assert_eq!(bounded.on_record(&mut state, &(), at(time)), None);
        }
        assert_eq!((current(&state), current(&state)), (Some(watermark), Some(watermark)));
    }
    // At the ends of the range it stays within.
    let mut state = None;
    bounded.on_record(&mut state, &(), Timestamp::MIN);
    assert_eq!(current(&state), Some(Timestamp::MIN.millis()));
    bounded.on_record(&mut state, &(), Timestamp::MAX);
    assert_eq!(current(&state), Some(i64::MAX - 11));
}

#[test]
fn m022_the_least_of_the_splits_counts_without_those_that_are_idle() {
    let mut of = immediate(3, Some(ms(10)));
    assert_eq!(passes(&mut of, 0, 2), Vec::<String>::new());
    assert_eq!(passes(&mut of, 1, 5), Vec::<String>::new());
    // The third has said nothing, and becomes idle alone.
    assert_eq!(look(&mut of, 0), Vec::<String>::new());
    let seen = [passes(&mut of, 0, 2), passes(&mut of, 1, 5), look(&mut of, 11)].concat();
    assert_eq!(seen, ["2"]);
    let seen = [passes(&mut of, 1, 5), look(&mut of, 12), passes(&mut of, 1, 5), look(&mut of, 23)];
    assert_eq!(seen.concat(), ["5"], "the first is idle too");
}

#[test]
fn m024_what_comes_back_lower_does_not_move_it_back() {
    let mut of = immediate(2, Some(ms(10)));
    assert_eq!([passes(&mut of, 0, 2), passes(&mut of, 1, 5)].concat(), ["2"]);
    look(&mut of, 0);
    look(&mut of, 1);
    passes(&mut of, 1, 5);
    assert_eq!(look(&mut of, 12), ["5"]);
    assert_eq!(passes(&mut of, 0, 3), Vec::<String>::new());
    assert_eq!(look(&mut of, 13), Vec::<String>::new());
    assert_eq!(passes(&mut of, 1, 9), ["9"], "until it has caught up it is not waited for");
}

#[test]
fn m025_without_splits_there_is_no_watermark_and_no_idleness() {
    let mut of = immediate(0, Some(ms(10)));
    assert_eq!(
        [look(&mut of, 0), look(&mut of, 11), look(&mut of, 99)].concat(),
        Vec::<String>::new()
    );
    let mut of = Watermarker::new(Bounded::by(ms(0)), None);
    of.has(2);
    for (split, time) in [(0, 1), (1, 2)] {
        of.reads(split);
        assert_eq!(of.passes(&(), at(time)), None, "periodic watermarks wait for the clock");
    }
    assert_eq!(look(&mut of, 0), ["0"]);
}

#[test]
fn m026_a_split_that_has_ended_is_not_waited_for_from_the_next_update_on() {
    let mut of = immediate(2, None);
    assert_eq!(passes(&mut of, 0, 156_765), Vec::<String>::new());
    of.ended(0);
    assert_eq!(passes(&mut of, 1, 156_775), ["156775"]);
    let mut of = immediate(2, None);
    assert_eq!([passes(&mut of, 0, -4_343), passes(&mut of, 1, -4_333)].concat(), ["-4343"]);
    of.ended(0);
    assert_eq!(look(&mut of, 0), ["-4333"]);
}

#[test]
fn m028_periodic_watermarks_come_with_the_clock_and_never_fall() {
    let mut of = Watermarker::new(Bounded::by(ms(0)), None);
    let mut seen = Vec::new();
    for (time, now) in [(2, 50), (4, 100), (2, 150)] {
        assert_eq!(of.passes(&(), at(time)), None);
        seen.push(look(&mut of, now).concat());
    }
    assert_eq!(seen, ["1", "3", ""]);
}

#[test]
fn m029_punctuated_watermarks_follow_their_records() {
    let flagged = |flag: &bool, at| flag.then_some(at);
    let mut of = Watermarker::new(Punctuated(flagged), None);
    let mut seen = Vec::new();
    for (flag, time) in [(true, 2), (false, 3), (true, 4), (true, 2)] {
        seen.push(of.passes(&flag, at(time)).map(Timestamp::millis));
    }
    assert_eq!(seen, [Some(2), None, Some(4), None]);
}

#[test]
fn m031_in_front_of_the_end_an_idle_task_says_that_it_is_active() {
    let mut of = immediate(1, Some(ms(10)));
    assert_eq!(passes(&mut of, 0, 5), ["5"]);
    look(&mut of, 0);
    look(&mut of, 1);
    assert_eq!(look(&mut of, 12), ["IDLE"]);
    let mut marks = Vec::new();
    of.ends(&mut marks);
    of.ends(&mut marks);
    assert_eq!(text(&marks), ["ACTIVE", "MAX"]);
    // A record does that as well, and its watermark comes behind.
    let mut of = immediate(1, Some(ms(10)));
    look(&mut of, 0);
    assert_eq!(look(&mut of, 11), ["IDLE"]);
    assert_eq!(passes(&mut of, 0, 7), ["ACTIVE", "7"]);
}
