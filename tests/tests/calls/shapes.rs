//! Stages of calls in forks, unions and joins give what plain functions give there, with the least
//! of everything, whoever goes first.

use millstream::prelude::*;
use millstream_testkit::compare::in_any_order;
use millstream_testkit::{Chance, Simulation};

use crate::desk::{Answer, ms};

const SEEDS: u64 = 60;
const RECORDS: u64 = 60;

/// Settings by chance, of any order that goes with streams without keys.
fn settings(chance: &mut Chance) -> AsyncWait<u64, u64> {
    let wait = if chance.once_in(2) { AsyncWait::ordered() } else { AsyncWait::unordered() };
    limited(wait, chance)
}

fn limited(wait: AsyncWait<u64, u64>, chance: &mut Chance) -> AsyncWait<u64, u64> {
    let wait = wait
        .capacity(chance.within(1..=4))
        .timeout(ms(50))
        .on_timeout(OnFailure::fallback(|n: &u64| tenfold(*n)))
        .on_error(OnFailure::fallback(|n: &u64| tenfold(*n)));
    let wait = if chance.once_in(3) { wait.weight(3, |n: &u64| *n as usize % 5) } else { wait };
    if chance.once_in(3) { wait.retry(Retry::fixed(ms(7)).max_retries(2)) } else { wait }
}

fn tenfold(n: u64) -> u64 {
    n * 10 + 1
}

/// Comes to the same whatever happens to it: an answer at once or later, or none.
async fn call(n: u64) -> Answer<u64> {
    match n % 7 {
        0 => return Err(Failure::new("no")),
        1 => panic!("no"),
        2 => std::future::pending().await,
        3 | 4 => {}
        yields => {
            for _ in 3..yields {
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(tenfold(n))
}

#[test]
fn calls_in_forks_unions_and_joins_give_what_functions_give() {
    for seed in 0..SEEDS {
        let mut chance = Chance::of(seed);
        let least = Settings::new()
            .credits(chance.within(1..=2))
            .batch_records(chance.within(1..=3))
            .turn_records(chance.within(1..=4));
        let run = Simulation::of(seed).settings(least).run(|flow| {
            let chance = &mut chance;
            let [one, two, three] = flow.source("numbers", Items::from(0..RECORDS)).fork();
            let one = one.async_wait("one", settings(chance), call);
            let one = one.async_wait("behind one", settings(chance), call);
            let two = two.async_wait("two", settings(chance), call);
            let two = two.parallelism(chance.within(1..=3));
            let wait = limited(AsyncWait::key_ordered().per_key(chance.within(1..=3)), chance);
            let both = one.union(two).key_by(|n| n % 4).async_wait("both", wait, call);
            let both = both.parallelism(chance.within(1..=3));
            let wait = limited(AsyncWait::key_ordered(), chance);
            let three = three.key_by(|n| n % 3).async_wait("three", wait, call);
            let joined = both.key_by(|n| n % 5).connect(three.key_by(|n| n % 5));
            let joined = joined.map_with_state("join", |_, seen: &mut u64, either| {
                *seen += 1;
                match either {
                    Either::Left(n) => (0, n),
                    Either::Right(n) => (1, n),
                }
            });
            joined.parallelism(chance.within(1..=2)).collect("out")
        });
        assert!(run.outcome.is_ok(), "seed {seed}: {:?}", run.outcome);
        let behind =
            |n| [(0, tenfold(tenfold(tenfold(n)))), (0, tenfold(tenfold(n))), (1, tenfold(n))];
        let expected: Vec<_> = (0..RECORDS).flat_map(behind).collect();
        assert_eq!(in_any_order(&run.built.take(), &expected), None, "seed {seed}");
    }
}
