//! Processes beside a plain program: maps of states and a sorted set of timers, with lives that
//! begin from snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use millstream::TimeToLive;
use millstream::TimerDomain::{self, Event, Processing};
use millstream::process::ProcessOperator;
use millstream_testkit::{Chance, Harness, task};

use crate::doing::Do::{self, Add, Cancel, Clear, Delete, Look, Replace, Set};
use crate::doing::{Doing, Process, came, says};

/// What a plain program keeps of a key.
#[derive(Clone, Default)]
struct Kept {
    sum: u64,
    used: i64,
    /// The timers that were put in place of others.
    single: BTreeMap<(TimerDomain, u8), i64>,
}

#[derive(Clone, Default)]
struct Model {
    keys: BTreeMap<char, Kept>,
    timers: BTreeSet<(TimerDomain, i64, char, u8)>,
    now: i64,
    watermark: i64,
    seen: Vec<String>,
}

/// A state lives an odd time and everything else happens at even ones, so that nothing happens in
/// the instant in which one is over.
const LIVES: i64 = 21;

impl Model {
    fn record(&mut self, key: char, does: &[Do]) {
        let mut kept = self.keys.remove(&key).unwrap_or_default();
        kept.used = self.now;
        let mut clears = false;
        for it in does {
            match *it {
                Set(domain, at, name) => drop(self.timers.insert((domain, at, key, name))),
                Delete(domain, at, name) => {
                    self.timers.remove(&(domain, at, key, name));
                    if kept.single.get(&(domain, name)) == Some(&at) {
                        kept.single.remove(&(domain, name));
                    }
                }
                Replace(domain, at, name) => {
                    if let Some(before) = kept.single.insert((domain, name), at) {
                        self.timers.remove(&(domain, before, key, name));
                    }
                    self.timers.insert((domain, at, key, name));
                }
                Cancel(domain, name) => {
                    if let Some(at) = kept.single.remove(&(domain, name)) {
                        self.timers.remove(&(domain, at, key, name));
                    }
                }
                Look => self.seen.push(format!("{key} sum {}", kept.sum)),
                Add(n) => kept.sum += n,
                Clear => clears = true,
            }
        }
        match clears {
            true => self.forget(key, kept),
            false => drop(self.keys.insert(key, kept)),
        }
    }

    fn forget(&mut self, key: char, kept: Kept) {
        for ((domain, name), at) in kept.single {
            self.timers.remove(&(domain, at, key, name));
        }
    }

    fn fire(&mut self, domain: TimerDomain, up_to: i64) {
        let due: Vec<_> =
            self.timers.iter().filter(|it| it.0 == domain && it.1 <= up_to).copied().collect();
        for timer @ (_, at, key, name) in due {
            self.timers.remove(&timer);
            let kept = self.keys.get_mut(&key);
            let sum = kept.as_ref().map_or(0, |kept| kept.sum);
            if let Some(kept) = kept
                && kept.single.get(&(domain, name)) == Some(&at)
            {
                kept.single.remove(&(domain, name));
            }
            self.seen.push(format!("{key}/{name} {}{at} sum {sum}", domain_letter(domain)));
        }
    }

    /// The clock goes on by a millisecond.
    fn tick(&mut self, lives: bool) {
        self.now += 1;
        let is_over = |(_, kept): &(&char, &Kept)| lives && kept.used + LIVES <= self.now;
        let over: Vec<_> = self.keys.iter().filter(is_over).map(|(key, _)| *key).collect();
        for key in over {
            if let Some(kept) = self.keys.remove(&key) {
                self.forget(key, kept);
            }
        }
        self.fire(Processing, self.now);
    }
}

const fn domain_letter(domain: TimerDomain) -> char {
    match domain {
        Event => 'e',
        Processing => 'p',
    }
}

fn operator(lives: bool) -> Process<false> {
    let time_to_live = lives.then(|| TimeToLive::since_record(Duration::from_millis(LIVES as u64)));
    let doing = Doing { time_to_live, ..Doing::default() };
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, doing))
}

/// What came out since the last look, without what the model does not tell, in any order.
fn seen(of: &mut Process<false>) -> Vec<String> {
    let without = |line: String| match line.split_once(" late ") {
        Some((timer, rest)) => {
            let sum = rest.split_once(" sum ").map_or("", |(_, sum)| sum);
            format!("{timer} sum {}", sum.split('@').next().unwrap_or_default())
        }
        None => line.split(" ts ").next().unwrap_or_default().to_owned(),
    };
    let mut lines: Vec<_> =
        came(of).into_iter().filter(|it| !it.starts_with("WM")).map(without).collect();
    lines.sort();
    lines
}

fn does(chance: &mut Chance, now: i64, watermark: i64) -> Vec<Do> {
    let mut does = Vec::new();
    for _ in 0..chance.below(4) {
        let name = chance.below(2) as u8;
        let (domain, from) =
            if chance.below(2) == 0 { (Event, watermark) } else { (Processing, now) };
        let at = from + 2 + 2 * chance.below(12) as i64;
        does.push(match chance.below(12) {
            0..3 => Set(domain, at, name),
            3 => Delete(domain, at, name),
            4..7 => Replace(domain, at, name),
            7 => Cancel(domain, name),
            8 => Look,
            9 | 10 => Add(1 + chance.below(9) as u64),
            _ => Clear,
        });
    }
    does
}

#[test]
fn a_process_is_a_map_and_a_sorted_set_of_timers() {
    let (mut fired, mut over) = (0, 0);
    for seed in 0..400 {
        let mut chance = Chance::of(seed);
        let lives = chance.below(2) == 0;
        let (mut model, mut of) = (Model::default(), operator(lives));
        of.advance_processing_time(0);
        for _ in 0..120 {
            match chance.below(10) {
                0..5 => {
                    let key = char::from(b'a' + chance.below(4) as u8);
                    let does = does(&mut chance, model.now, model.watermark);
                    model.record(key, &does);
                    of.record(says(key, does));
                }
                5 | 6 => {
                    model.watermark += 2 + 2 * chance.below(5) as i64;
                    model.fire(Event, model.watermark);
                    of.watermark(model.watermark);
                }
                7 | 8 => {
                    let before = model.keys.len();
                    for _ in 0..2 + 2 * chance.below(4) {
                        model.tick(lives);
                        of.advance_processing_time(model.now);
                    }
                    over += before - model.keys.len();
                }
                _ => {
                    let stored = of.snapshot(1 + chance.below(3));
                    of = operator(lives);
                    of.set_clock(model.now).restore(&stored);
                    of.advance_processing_time(model.now);
                }
            }
            let mut expected = std::mem::take(&mut model.seen);
            expected.sort();
            fired += expected.len();
            assert_eq!(seen(&mut of), expected, "seed {seed}");
            assert_eq!(of.operator().keys(), model.keys.len(), "seed {seed}");
        }
    }
    assert!(fired > 10_000 && over > 500, "{fired} {over}");
}
