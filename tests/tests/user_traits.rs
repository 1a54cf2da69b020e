//! A user's `Eq`, `Clone`, `Drop` or `Serialize` that panics, and a `Serialize` that returns an
//! error, end the job with an error that names the task; what came before is delivered.
//!
//! A user's `Hash` is never called: a key is hashed through its `Serialize`, once, in the task in
//! front of the keyed stage. The `Serialize` of values and of states is not called either while
//! nothing is stored. So there a fault does no harm.

mod mined;

use std::sync::{Arc, Mutex};

use millstream::Collected;
use millstream::prelude::*;

use mined::{AT, Mine, Mined, PLACES, RECORDS, Where, assert_blames};

/// Keyed stages by name, and whether each record has a result.
const STAGES: [(&str, bool); 4] = [
    ("map_with_state", true),
    ("count", true),
    ("map_with_state at the end", false),
    ("count at the end", false),
];

/// A record's key. One `Eq` is not called before the same key comes again.
fn number(n: u64, mine: Mine) -> u64 {
    if mine == Mine::Eq { n % 250 } else { n }
}

/// A keyed stage with a mine in the key of record `AT`; the numbers of the keys come out.
fn keyed(flow: &Dataflow, stage: &str, mine: Mine) -> Collected<u64> {
    let key = move |n: &u64| Mined::sound(number(*n, mine)).and(mine, *n == AT);
    let keyed = flow.source("numbers", Items::from(0..RECORDS)).key_by(key);
    let name = |key: &Mined, (): &mut (), _: u64| key.n;
    match stage {
        "map_with_state" => keyed.map_with_state("keep", name).collect("out"),
        "count" => keyed.count("keep").map(|(key, _)| key.n).collect("out"),
        "count at the end" => keyed.at_end().count("keep").map(|(key, _)| key.n).collect("out"),
        _ => keyed.at_end().map_with_state("keep", name).collect("out"),
    }
}

/// What a task had before record `AT` is delivered, and of the others' at least the front.
fn assert_delivered(came: &[u64], expected: &[u64], is_its: impl Fn(&u64) -> bool) {
    let (its, others): (Vec<u64>, Vec<u64>) = came.iter().partition(|n| is_its(n));
    let before = expected[..AT as usize].iter().copied().filter(&is_its);
    assert_eq!(its, before.collect::<Vec<_>>());
    let theirs: Vec<u64> = expected.iter().copied().filter(|n| !is_its(n)).collect();
    assert!(theirs.starts_with(&others), "{others:?} of {theirs:?}");
}

fn in_order(collected: &Collected<u64>) -> Vec<u64> {
    let mut came = collected.take();
    came.sort_unstable();
    came
}

#[test]
fn a_keys_hash_is_never_called_so_that_one_that_panics_does_no_harm() {
    for place in PLACES {
        for (stage, _) in STAGES {
            let (out, outcome) = place.run(|flow| keyed(flow, stage, Mine::Hash));
            assert!(outcome.is_ok(), "{stage}: {outcome:?}");
            assert_eq!(in_order(&out), (0..RECORDS).collect::<Vec<_>>(), "{stage}");
        }
    }
}

#[test]
fn a_key_that_cannot_be_serialised_is_the_fault_of_the_task_in_front() {
    for place in PLACES {
        for (stage, each) in STAGES {
            for mine in [Mine::Serialize, Mine::Refusal] {
                let (out, outcome) = place.run(|flow| keyed(flow, stage, mine));
                assert_blames(&outcome, ("numbers", 0), mine, AT);
                let before = if each { AT } else { 0 };
                assert_eq!(in_order(&out), (0..before).collect::<Vec<_>>(), "{stage}");
            }
        }
    }
}

#[test]
fn a_key_that_panics_in_a_keyed_stage_is_the_fault_of_the_task_that_owns_it() {
    for place in PLACES {
        for (stage, each) in STAGES {
            for mine in [Mine::Eq, Mine::Clone, Mine::Drop] {
                let (out, outcome) = place.run(|flow| keyed(flow, stage, mine));
                let owner = place.owner(number(AT, mine));
                assert_blames(&outcome, ("keep", owner), mine, number(AT, mine));
                let is_its = |n: &u64| place.owner(*n) == owner;
                if each {
                    let numbers: Vec<u64> = (0..RECORDS).map(|n| number(n, mine)).collect();
                    assert_delivered(&out.take(), &numbers, is_its);
                } else {
                    // Another task may have had its end before.
                    assert!(!out.take().iter().any(is_its), "{stage}: no end without an end");
                }
            }
        }
    }
}

/// A source of values with a mine in value `AT`.
fn values(flow: &Dataflow, mine: Mine) -> Stream<impl Chain<Out = Mined>> {
    flow.source("numbers", Items::from(0..RECORDS)).map(move |n| Mined::at(AT, n, mine))
}

#[test]
fn a_value_that_panics_when_a_fork_doubles_it_is_the_fault_of_the_task_in_front() {
    for place in PLACES {
        let settings = Settings::new().batch_records(100);
        let (outs, outcome) = place.run_with(settings, |flow| {
            let [one, two] = values(flow, Mine::Clone).fork();
            [one.map(|it| it.n).collect("one"), two.map(|it| it.n).collect("two")]
        });
        assert_blames(&outcome, ("numbers", 0), Mine::Clone, AT);
        for out in outs {
            assert_eq!(out.take(), (0..AT).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_value_that_panics_when_a_broadcast_doubles_it_is_the_fault_of_the_task_in_front() {
    for place in PLACES {
        let (out, outcome) = place
            .run(|flow| values(flow, Mine::Clone).broadcast("all").map(|it| it.n).collect("out"));
        let came = in_order(&out);
        if place == Where::One {
            assert!(outcome.is_ok(), "one task needs no double: {outcome:?}");
            assert_eq!(came, (0..RECORDS).collect::<Vec<_>>());
            continue;
        }
        assert_blames(&outcome, ("numbers", 0), Mine::Clone, AT);
        assert_eq!(came, (0..AT).flat_map(|n| [n, n]).collect::<Vec<_>>());
    }
}

#[test]
fn a_value_is_not_serialised_hashed_or_compared_while_nothing_is_stored() {
    for place in PLACES {
        for mine in [Mine::Serialize, Mine::Refusal, Mine::Hash, Mine::Eq] {
            let (out, outcome) = place.run(|flow| {
                let [one, two] = values(flow, mine).fork();
                let one = one.rebalance("spread");
                let two = two.broadcast("all").key_by(|it| it.n);
                let two = two.reduce("keep", |all, it| *all = it).map(|(_, it)| it);
                one.union(two).map(|it| it.n).collect("out")
            });
            assert!(outcome.is_ok(), "{mine:?}: {outcome:?}");
            assert_eq!(out.take().len() as u64, RECORDS * (1 + place.tasks() as u64));
        }
    }
}

#[test]
fn a_value_that_panics_when_it_is_dropped_is_the_fault_of_the_task_that_drops_it() {
    for place in PLACES {
        let (out, outcome) = place.run(|flow| {
            let odd = values(flow, Mine::Drop).filter(|it| it.n != AT);
            odd.map(|it| it.n).collect("out")
        });
        assert_blames(&outcome, ("numbers", 0), Mine::Drop, AT);
        assert_eq!(out.take(), (0..AT).collect::<Vec<_>>());

        let (seen, outcome) = place.run(|flow| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let sink = seen.clone();
            values(flow, Mine::Drop)
                .for_each("out", move |it: Mined| sink.lock().unwrap().push(it.n))
                .parallelism(1);
            seen
        });
        assert_blames(&outcome, ("out", 0), Mine::Drop, AT);
        assert_eq!(*seen.lock().unwrap(), (0..=AT).collect::<Vec<_>>());
    }
}

#[test]
fn a_state_that_panics_when_it_is_doubled_is_the_fault_of_the_task_that_has_it() {
    for place in PLACES {
        let (out, outcome) = place.run(|flow| {
            let keyed = flow.source("numbers", Items::from(0..RECORDS)).key_by(|n| *n);
            let set = |state: &mut Mined, n| *state = Mined::at(AT, n, Mine::Clone);
            keyed.fold("keep", Mined::sound(0), set).map(|(key, _)| key).collect("out")
        });
        let owner = place.owner(AT);
        assert_blames(&outcome, ("keep", owner), Mine::Clone, AT);
        let numbers: Vec<u64> = (0..RECORDS).collect();
        assert_delivered(&out.take(), &numbers, |n| place.owner(*n) == owner);
    }
}

/// Everything is delivered, and yet the job has not come to its good end.
#[test]
fn a_state_that_panics_when_it_is_dropped_with_its_task_fails_the_job() {
    for place in PLACES {
        let (out, outcome) = place.run(|flow| {
            let keyed = flow.source("numbers", Items::from(0..RECORDS)).key_by(|n| *n);
            let set = |_: &u64, state: &mut Mined, n| {
                *state = Mined::at(AT, n, Mine::Drop);
                n
            };
            keyed.map_with_state("keep", set).collect("out")
        });
        assert_blames(&outcome, ("keep", place.owner(AT)), Mine::Drop, AT);
        assert_eq!(in_order(&out), (0..RECORDS).collect::<Vec<_>>());
    }
}

/// How an operator fails at record `AT`.
#[derive(Clone, Copy, Debug)]
enum How {
    Error,
    Panic,
}

impl Operator for How {
    type In = Mined;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<Mined>, out: &mut Effects<u64>) -> Result<(), Failure> {
        match self {
            Self::Error if record.value.n == AT => return Err(Failure::new("no more")),
            Self::Panic => assert!(record.value.n != AT, "no more"),
            Self::Error => {}
        }
        out.emit(record.map(|it| it.n));
        Ok(())
    }
}

/// The job has failed in this stage, and with these words.
fn assert_first(outcome: &Result<(), JobError>, stage: &str, words: &str) {
    let error = outcome.as_ref().expect_err("the job has a fault");
    let first = match error {
        JobError::Failed { failure, .. } => failure.to_string(),
        JobError::Panicked { message, .. } => message.clone(),
        error => panic!("{error:?}"),
    };
    assert_eq!((&*error.task().unwrap().stage, &*first), (stage, words));
}

/// Values with one far behind record `AT` that panics when it is dropped.
fn with_a_late_drop(flow: &Dataflow) -> Stream<impl Chain<Out = Mined>> {
    let numbers = flow.source("numbers", Items::from(0..RECORDS));
    numbers.map(|n| Mined::at(AT + 200, n, Mine::Drop)).boxed()
}

/// In the same batch, whose rest is let go of where a second panic would end the process, or in one
/// that has arrived and is dropped.
#[test]
fn a_value_that_panics_when_it_is_dropped_behind_a_failure_does_not_replace_it() {
    for place in PLACES {
        for (how, batch) in [How::Error, How::Panic].map(|how| [(how, 1_024), (how, 100)]).concat()
        {
            let settings = Settings::new().batch_records(batch).credits(10);
            let (out, outcome) = place.run_with(settings, |flow| {
                let values = with_a_late_drop(flow);
                values.operator("check", move |_| how).parallelism(1).collect("out")
            });
            assert_first(&outcome, "check", "no more");
            assert_eq!(out.take(), (0..AT).collect::<Vec<_>>(), "{how:?}");
        }
    }
}

#[test]
fn nor_does_it_behind_a_panic_of_a_step_or_of_a_sinks_function() {
    let check = |it: Mined| {
        assert!(it.n != AT, "no more");
        it.n
    };
    for place in PLACES {
        let (out, outcome) = place.run(|flow| with_a_late_drop(flow).map(check).collect("out"));
        assert_first(&outcome, "numbers", "no more");
        assert_eq!(out.take(), (0..AT).collect::<Vec<_>>());

        let (_, outcome) = place.run(|flow| {
            let check = move |it| _ = check(it);
            with_a_late_drop(flow).for_each("out", check).parallelism(1)
        });
        assert_first(&outcome, "out", "no more");
    }
}

#[test]
fn nor_does_it_or_the_key_itself_behind_a_key_that_cannot_be_serialised() {
    for place in PLACES {
        for mine in [Mine::Serialize, Mine::Refusal] {
            let (out, outcome) = place.run(|flow| {
                // A key that panics in both is dropped by the very panic of its `Serialize`.
                let own = mine == Mine::Refusal;
                let key =
                    move |it: &Mined| Mined::at(AT, it.n, mine).and(Mine::Drop, own && it.n == AT);
                let keyed = with_a_late_drop(flow).key_by(key);
                keyed.map_with_state("keep", |_, (): &mut (), it| it.n).collect("out")
            });
            assert_blames(&outcome, ("numbers", 0), mine, AT);
            assert_eq!(in_order(&out), (0..AT).collect::<Vec<_>>());
        }
    }
}

/// Fails as it says, and panics when it is dropped.
struct Dropping(How, #[expect(dead_code, reason = "it is there to be dropped")] Mined);

impl Operator for Dropping {
    type In = Mined;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<Mined>, out: &mut Effects<u64>) -> Result<(), Failure> {
        self.0.on_record(record, out)
    }
}

#[test]
fn an_operator_that_panics_when_it_is_dropped_behind_its_failure_has_delivered_what_it_made() {
    for place in PLACES {
        for how in [How::Error, How::Panic] {
            let (out, outcome) = place.run(|flow| {
                let values = flow.source("numbers", Items::from(0..RECORDS)).map(Mined::sound);
                let make = move |_: &TaskInfo| Dropping(how, Mined::at(0, 0, Mine::Drop));
                values.operator("check", make).parallelism(1).collect("out")
            });
            assert_first(&outcome, "check", "no more");
            assert_eq!(out.take(), (0..AT).collect::<Vec<_>>(), "{how:?}");
        }
    }
}
