//! Rounds in turns: finds the number of records for which a round is long enough on both sides,
//! then takes pairs of rounds, ours and the peer's, and refuses those that prove nothing.

use std::time::Duration;

use millstream_bench_workload::{RoundReport, RoundRequest};

use crate::error::BenchError;
use crate::load::{Meter, OTHERS_MAX};

/// How long a round must last at least.
const ROUND_MIN: Duration = Duration::from_millis(500);

/// What the calibration aims at, so that a round that goes well is still long enough.
const ROUND_AIM: Duration = Duration::from_millis(650);

/// How often a pair that others disturbed is taken again.
const RETAKES_MAX: u32 = 2;

/// Records in the longest round that is ever tried.
const RECORDS_MAX: u64 = 1 << 36;

/// Whoever does rounds: a process, or in tests a function.
pub(crate) trait Player {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Does one round.
    fn round(&mut self, request: &RoundRequest) -> Result<RoundReport, BenchError>;
}

/// One round of each side, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Our round.
    pub(crate) ours: RoundReport,
    /// The peer's round.
    pub(crate) peer: RoundReport,
    /// Whether others kept the machine busy meanwhile, in the last try too.
    pub(crate) disturbed: bool,
}

/// Both sides and what they are asked.
pub(crate) struct Rounds<'a> {
    /// Our side.
    pub(crate) ours: &'a mut dyn Player,
    /// The other side.
    pub(crate) peer: &'a mut dyn Player,
    /// What our side is asked.
    pub(crate) ours_asked: RoundRequest,
    /// What the peer is asked: the same but for the number of workers.
    pub(crate) peer_asked: RoundRequest,
    /// Whether our side counts the batches of an exchange.
    pub(crate) batches_counted: bool,
    /// Tells whether others are at work.
    pub(crate) meter: &'a mut dyn Meter,
}

impl Rounds<'_> {
    /// Finds the number of records, a multiple of `quantum`, for which both sides need long
    /// enough. This is also the warm-up.
    pub(crate) fn calibrate(&mut self, quantum: u64) -> Result<(), BenchError> {
        let records = round_up(self.ours_asked.records, quantum);
        let records = long_enough(self.ours, &self.ours_asked, records, quantum)?;
        let records = long_enough(self.peer, &self.peer_asked, records, quantum)?;
        self.ask_for(records);
        Ok(())
    }

    /// From now on each round is one of so many records.
    pub(crate) const fn ask_for(&mut self, records: u64) {
        self.ours_asked.records = records;
        self.peer_asked.records = records;
    }

    /// Does a round of each that nobody looks at.
    pub(crate) fn warm_up(&mut self) -> Result<(), BenchError> {
        self.ours.round(&self.ours_asked)?;
        self.peer.round(&self.peer_asked)?;
        Ok(())
    }

    /// Takes one pair, again if others disturbed it.
    pub(crate) fn pair(&mut self) -> Result<Pair, BenchError> {
        let mut pair = self.once()?;
        for _ in 0..RETAKES_MAX {
            if !pair.disturbed {
                break;
            }
            pair = self.once()?;
        }
        Ok(pair)
    }

    fn once(&mut self) -> Result<Pair, BenchError> {
        let (ours, alone) = metered(self.ours, &self.ours_asked, self.meter)?;
        let (peer, peer_alone) = metered(self.peer, &self.peer_asked, self.meter)?;
        self.check(&ours, &peer)?;
        Ok(Pair { ours, peer, disturbed: !(alone && peer_alone) })
    }

    /// Whether both did the same, and ours did what it says.
    fn check(&self, ours: &RoundReport, peer: &RoundReport) -> Result<(), BenchError> {
        let records = self.ours_asked.records;
        let (name, peer_name) = (self.ours.name(), self.peer.name());
        if ours.records != records || peer.records != records {
            return Err(BenchError::Records {
                wanted: records,
                ours: (name, ours.records),
                peer: (peer_name, peer.records),
            });
        }
        if ours.checksum != peer.checksum {
            return Err(BenchError::Checksum {
                records,
                ours: (name, ours.checksum),
                peer: (peer_name, peer.checksum),
            });
        }
        let least = records / self.ours_asked.batch_records.max(1);
        if self.batches_counted && ours.batches < least {
            return Err(BenchError::Batches { got: ours.batches, least, records });
        }
        Ok(())
    }
}

/// One round, and whether the machine was the side's alone.
fn metered(
    player: &mut dyn Player,
    request: &RoundRequest,
    meter: &mut dyn Meter,
) -> Result<(RoundReport, bool), BenchError> {
    meter.begin();
    let report = player.round(request)?;
    let alone = meter.others(report.cpu_seconds) <= OTHERS_MAX;
    Ok((report, alone))
}

/// The number of records, from `records` on, for which `player` needs long enough.
fn long_enough(
    player: &mut dyn Player,
    asked: &RoundRequest,
    mut records: u64,
    quantum: u64,
) -> Result<u64, BenchError> {
    let aim = ROUND_AIM.as_secs_f64();
    loop {
        let report = player.round(&RoundRequest { records, ..asked.clone() })?;
        if report.seconds >= aim {
            return Ok(records);
        }
        if records >= RECORDS_MAX {
            let (side, seconds) = (player.name(), report.seconds);
            if report.seconds >= ROUND_MIN.as_secs_f64() {
                return Ok(records);
            }
            return Err(BenchError::Short { side, records, seconds });
        }
        // A short round is mostly start-up and says little about a long one: grow step by step.
        let growth = (1.1 * aim / report.seconds.max(1e-9)).clamp(1.2, 8.0);
        records = round_up((records as f64 * growth) as u64, quantum).min(RECORDS_MAX);
    }
}

fn round_up(records: u64, quantum: u64) -> u64 {
    records.max(1).next_multiple_of(quantum.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A side that does `per_s` records a second, to the nanosecond.
    struct Steady {
        name: &'static str,
        per_s: f64,
        asked: Vec<u64>,
        checksum: u64,
        batches: u64,
        lost: u64,
    }

    fn steady(name: &'static str, per_s: f64) -> Steady {
        Steady { name, per_s, asked: vec![], checksum: 1, batches: 0, lost: 0 }
    }

    impl Player for Steady {
        fn name(&self) -> &'static str {
            self.name
        }

        fn round(&mut self, request: &RoundRequest) -> Result<RoundReport, BenchError> {
            self.asked.push(request.records);
            let seconds = request.records as f64 / self.per_s;
            Ok(RoundReport {
                records: request.records - self.lost,
                seconds,
                cpu_seconds: seconds,
                checksum: self.checksum,
                batches: self.batches,
                latency: None,
            })
        }
    }

    /// Says in turn how many cores others use, then none.
    struct Script(Vec<f64>);

    impl Meter for Script {
        fn begin(&mut self) {}

        fn others(&mut self, _counted: f64) -> f64 {
            if self.0.is_empty() { 0.0 } else { self.0.remove(0) }
        }
    }

    fn with<T>(
        ours: &mut Steady,
        peer: &mut Steady,
        others: &[f64],
        take: impl FnOnce(&mut Rounds<'_>) -> T,
    ) -> T {
        let asked = RoundRequest { records: 2_048, ..RoundRequest::new("exchange") };
        take(&mut Rounds {
            ours,
            peer,
            ours_asked: asked.clone(),
            peer_asked: asked,
            batches_counted: true,
            meter: &mut Script(others.to_vec()),
        })
    }

    #[test]
    fn a_round_is_long_enough_on_both_sides_with_the_same_records() {
        for (fast, slow) in [(4e8, 2e6), (2e6, 4e8), (1e9, 1e9)] {
            let (mut ours, mut peer) = (steady("a", fast), steady("b", slow));
            let asked = with(&mut ours, &mut peer, &[], |rounds| {
                rounds.calibrate(1_000).unwrap();
                (rounds.ours_asked.records, rounds.peer_asked.records)
            });
            assert_eq!(asked.0, asked.1);
            assert_eq!(asked.0 % 1_000, 0);
            let seconds = asked.0 as f64 / f64::max(fast, slow);
            assert!((0.5..2.0).contains(&seconds), "{seconds} s at {fast} and {slow}");
        }
    }

    #[test]
    fn a_side_that_is_too_fast_to_be_measured_is_an_error() {
        let (mut ours, mut peer) = (steady("endless", 1e30), steady("b", 1e6));
        let error = with(&mut ours, &mut peer, &[], |rounds| rounds.calibrate(1)).unwrap_err();
        assert!(matches!(error, BenchError::Short { side: "endless", .. }), "{error}");
    }

    #[test]
    fn differing_checksums_are_an_error_that_says_both() {
        let (mut ours, mut peer) = (steady("a", 1e6), steady("b", 1e6));
        (ours.batches, peer.checksum) = (2, 0xff);
        let error = with(&mut ours, &mut peer, &[], |rounds| rounds.pair()).unwrap_err();
        let text = r#"the results differ on 2048 records: checksum 0x1 of "a", 0xff of "b""#;
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_lost_record_is_an_error_whoever_lost_it() {
        for of_peer in [false, true] {
            let (mut ours, mut peer) = (steady("a", 1e6), steady("b", 1e6));
            ours.batches = 2;
            if of_peer {
                peer.lost = 1
            } else {
                ours.lost = 1
            }
            let error = with(&mut ours, &mut peer, &[], |rounds| rounds.pair()).unwrap_err();
            assert!(matches!(error, BenchError::Records { wanted: 2_048, .. }), "{error}");
        }
    }

    #[test]
    fn too_few_batches_mean_that_there_was_no_exchange() {
        let (mut ours, mut peer) = (steady("a", 1e6), steady("b", 1e6));
        ours.batches = 1;
        let error = with(&mut ours, &mut peer, &[], |rounds| rounds.pair()).unwrap_err();
        assert!(matches!(error, BenchError::Batches { got: 1, least: 2, .. }), "{error}");
        ours.batches = 2;
        with(&mut ours, &mut peer, &[], |rounds| rounds.pair()).unwrap();
        ours.batches = 0;
        with(&mut ours, &mut peer, &[], |rounds| {
            rounds.batches_counted = false;
            rounds.pair()
        })
        .unwrap();
    }

    #[test]
    fn sides_take_turns() {
        let (mut ours, mut peer) = (steady("a", 1e6), steady("b", 1e6));
        ours.batches = 2;
        let disturbed = with(&mut ours, &mut peer, &[], |rounds| {
            (0..3).filter(|_| rounds.pair().unwrap().disturbed).count()
        });
        assert_eq!((ours.asked.len(), peer.asked.len(), disturbed), (3, 3, 0));
    }

    #[test]
    fn a_disturbed_pair_is_taken_again_at_most_twice() {
        let (mut ours, mut peer) = (steady("a", 1e6), steady("b", 1e6));
        ours.batches = 2;
        let pair = with(&mut ours, &mut peer, &[0.0, 0.9], |rounds| rounds.pair()).unwrap();
        assert!(!pair.disturbed);
        assert_eq!((ours.asked.len(), peer.asked.len()), (2, 2));
        let pair = with(&mut ours, &mut peer, &[0.9; 6], |rounds| rounds.pair()).unwrap();
        assert!(pair.disturbed);
        assert_eq!((ours.asked.len(), peer.asked.len()), (5, 5));
    }
}
