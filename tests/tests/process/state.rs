//! Keys that are cleared, timers that take the place of others, two inputs, side outputs.

use millstream::TimerDomain::{self, Event, Processing};
use millstream::prelude::*;
use millstream::process::{CoProcess, ProcessOperator};
use millstream::{Keyed, TimerEdit};
use millstream_testkit::{Feed, Harness, keyed, run, task, until};

use crate::doing::Do::{Add, Cancel, Clear, Look, Replace, Set};
use crate::doing::{Process, at, came, goes_on, process, process_with, says, set};

#[test]
fn u053_a_timer_put_in_place_of_another_is_one_for_each_key_and_value() {
    for domain in [Event, Processing] {
        let mut of = process();
        for n in 0..100 {
            of.record(says('a', [Replace(domain, 10 * n, 0)]));
        }
        of.record(says('a', (1..10).map(|name| Replace(domain, 5, name))));
        of.record(says('b', [Replace(domain, 7, 0), Cancel(domain, 1), Cancel(domain, 0)]));
        // One that was set plainly is another timer.
        of.record(says('a', [Set(domain, 3, 0), Replace(domain, 4, 0)]));
        assert_eq!(set(&of, domain), 11);
        let mut again = goes_on(&mut of);
        again.record(says('a', [Replace(domain, 2_000, 0)]));
        match domain {
            Event => again.watermark(3_000),
            Processing => again.advance_processing_time(3_000),
        };
        let fired = came(&mut again);
        let of_name = |name: &str| fired.iter().filter(|it| it.starts_with(name)).count();
        assert_eq!((of_name("a/0"), of_name("a/5"), of_name("b")), (2, 1, 0), "{fired:?}");
        let last = if domain == Event { fired.len() - 2 } else { fired.len() - 1 };
        assert!(fired[last].contains("2000 late 1000"), "{fired:?}");
    }
}

#[test]
fn u052_a_key_that_is_cleared_takes_its_timers_with_it_where_that_is_asked_for() {
    let does = [Add(5), Set(Processing, 10, 0), Set(Event, 10, 1), Replace(Event, 10, 2), Clear];
    let mut of: Process<true> = process_with([]);
    of.record(says('a', does.clone()));
    assert_eq!((set(&of, Event), set(&of, Processing), of.operator().keys()), (0, 0, 0));
    // Else those that were put in place of others go, and the others find a new state.
    let mut of: Process<false> = process_with([]);
    of.record(says('a', does));
    assert_eq!((set(&of, Event), set(&of, Processing), of.operator().keys()), (1, 1, 0));
    of.watermark(10).advance_processing_time(10);
    assert_eq!(came(&mut of), ["a/1 e10 late 0 sum 0@10", "WM(10)", "a/0 p10 late 0 sum 0"]);
    assert_eq!(of.operator().keys(), 0, "a timer alone brings no state back");
}

#[test]
fn a_key_that_is_cleared_and_comes_again_begins_anew() {
    let mut of = process();
    of.record(says('a', [Add(5), Clear])).record(says('a', [Add(2), Look]));
    assert_eq!(came(&mut of), ["a sum 2 ts None wm None now 0"]);
    assert_eq!(of.operator().keys(), 1);
    // A callback may leave a state behind at a key that had none.
    let mut of: Process<false> = process_with([((Event, 5, 0), vec![Add(3)])]);
    of.record(says('a', [Set(Event, 5, 0), Set(Event, 6, 0), Clear])).watermark(6);
    let seen = ["a/0 e5 late 1 sum 0@5", "a/0 e6 late 0 sum 3@6", "WM(6)"];
    assert_eq!((came(&mut of), of.operator().keys()), (seen.map(str::to_owned).to_vec(), 1));
    // And one that clears its key leaves none.
    let mut of: Process<false> = process_with([((Event, 5, 0), vec![Clear])]);
    of.record(says('a', [Add(1), Set(Event, 5, 0)])).watermark(6);
    assert_eq!(of.operator().keys(), 0);
}

/// What two inputs do: a first one sets a timer at 5, a second one at 6.
#[derive(Clone)]
struct Two(TimerDomain);

impl KeyedCoProcess for Two {
    type Key = u64;
    type Left = u64;
    type Right = u64;
    type Out = String;
    type State = u64;
    type Timer = ();

    fn on_left(
        &mut self,
        value: u64,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        *seen += 1;
        cx.emit(format!("INPUT1:{value}"));
        match self.0 {
            Event => cx.event_timer(at(5), ()),
            Processing => {
                cx.processing_timer(at(5), ());
                cx.event_timer(at(6), ());
            }
        }
        Ok(())
    }

    fn on_right(
        &mut self,
        value: u64,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        *seen += 1;
        cx.emit(format!("INPUT2:{value}"));
        match self.0 {
            Event => cx.event_timer(at(6), ()),
            Processing => {
                cx.processing_timer(at(5), ());
                cx.event_timer(at(6), ());
            }
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<()>,
        seen: &mut u64,
        cx: &mut CoContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        cx.emit(format!("{} {:?} after {seen}", cx.key(), fired.domain));
        Ok(())
    }
}

/// A task with two inputs, which come as values of either.
fn two(domain: TimerDomain) -> Harness<ProcessOperator<CoProcess<Two>>> {
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, CoProcess(Two(domain))))
}

fn left(key: u64, value: u64) -> Keyed<u64, Either<u64, u64>> {
    keyed(key, Either::Left(value))
}

fn right(key: u64, value: u64) -> Keyed<u64, Either<u64, u64>> {
    keyed(key, Either::Right(value))
}

/// The records that came out, as text.
fn records(of: &mut Harness<ProcessOperator<CoProcess<Two>>>) -> Vec<String> {
    let time = |it: &Stamped<String>| it.timestamp().map(Timestamp::millis);
    of.take_records().iter().map(|it| format!("{} {:?}", it.value, time(it))).collect()
}

#[test]
fn t045_timers_of_two_inputs_fire_at_the_watermark_of_both() {
    let mut of = two(Event);
    of.record_at(left(17, 17), 42).record_at(right(18, 18), 42).watermark(5).watermark(6);
    let inputs = ["INPUT1:17 Some(42)", "INPUT2:18 Some(42)"];
    let fired = ["17 Event after 1 Some(5)", "18 Event after 1 Some(6)"];
    assert_eq!(records(&mut of), [inputs, fired].concat());
}

#[test]
fn t046_two_inputs_share_the_state_and_the_timers_of_a_key() {
    let mut of = two(Processing);
    of.record_at(left(5, 1), 12).record_at(right(5, 2), 12);
    let stored = of.snapshot(1);
    let mut again = two(Processing);
    again.restore(&stored).advance_processing_time(5).watermark(6);
    assert_eq!(records(&mut again), ["5 Processing after 2 None", "5 Event after 2 Some(6)"]);
}

#[test]
fn timers_and_states_of_another_type_are_refused_at_the_restore() {
    let mut of = two(Event);
    of.record_at(left(5, 1), 12);
    let stored = of.snapshot(1);
    let error = process().try_restore(&stored).unwrap_err().to_string();
    assert!(error.contains("char") || error.contains("invalid type"), "{error}");
}

#[test]
fn t051_a_side_output_has_the_time_of_the_call() {
    #[derive(Clone)]
    struct Sides(SideOutput<u64>, SideOutput<String>);

    impl KeyedProcess for Sides {
        type Key = u64;
        type In = u64;
        type Out = String;
        type State = ();
        type Timer = ();

        fn on_record(
            &mut self,
            value: u64,
            (): &mut (),
            cx: &mut ContextOf<'_, Self>,
        ) -> Result<(), Failure> {
            cx.side(&self.0, value);
            cx.side(&self.1, value.to_string());
            cx.emit_at(format!("early {value}"), at(3));
            cx.emit(format!("IN:{value}"));
            cx.count("seen", 2);
            Ok(())
        }
    }

    let (numbers, texts) = (SideOutput::new("numbers"), SideOutput::new("texts"));
    let process = Sides(numbers.clone(), texts.clone());
    let mut of = Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, process))
        .with_side(&numbers)
        .with_side(&texts);
    of.record_at(keyed(1, 42), 17);
    let main = [Stamped::at("early 42".to_owned(), at(3)), Stamped::at("IN:42".to_owned(), at(17))];
    assert_eq!(of.take_records(), main);
    assert_eq!(of.take_side(&numbers), [Stamped::at(42, at(17))]);
    assert_eq!(of.take_side(&texts), [Stamped::at("42".to_owned(), at(17))]);
    assert_eq!(of.count("seen"), 2);
}

#[test]
fn a_key_that_comes_again_in_the_batch_in_which_it_was_cleared_keeps_what_came_then() {
    run(async {
        let (flow, feed) = (Dataflow::new("cleared"), Feed::new());
        let seen = flow
            .source("feed", feed.clone())
            .key_by(|_: &u64| 'a')
            .process_fn(
                "sum",
                |n, sum: &mut u64, cx| {
                    *sum += n;
                    cx.emit(*sum);
                    if n == 5 {
                        cx.clear();
                    }
                },
                |_: Fired<()>, _, _| {},
            )
            .collect("seen");
        let job = flow.start(Settings::new()).await.unwrap();
        feed.give([1, 5, 2]);
        until(|| seen.len() == 3).await;
        feed.give([10, 5]);
        until(|| seen.len() == 5).await;
        feed.give([7]);
        feed.end();
        job.finished().await.unwrap();
        assert_eq!(seen.take(), [1, 6, 2, 12, 17, 7]);
    });
}

#[test]
fn a_timer_that_has_fired_is_not_deleted_when_another_is_put_in_its_place() {
    let mut of = process();
    of.record(says('a', [Replace(Event, 10, 0)])).watermark(10);
    of.take_timer_edits();
    of.record(says('a', [Replace(Event, 20, 0)]));
    let edits = of.take_timer_edits();
    assert!(matches!(&edits[..], [TimerEdit::Set(_)]), "{edits:?}");
    // Nor when its key is cleared with all of its timers.
    let mut of: Process<true> = process_with([]);
    of.record(says('a', [Set(Event, 10, 0), Set(Event, 20, 0)])).watermark(10);
    of.take_timer_edits();
    of.record(says('a', [Clear]));
    assert_eq!(of.take_timer_edits().len(), 1);
}
