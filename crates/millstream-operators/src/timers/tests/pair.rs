//! Client and service together, joined by two queues that deliver when chance says so, beside a
//! plain sorted set.

use std::collections::{BTreeSet, VecDeque};

use millstream_core::{Epoch, KeyGroups, KeyHash, Timestamp};

use super::super::{Edits, Firings, Next, TimerClient, TimerHeap, TimerQueue, TimerService};
use super::chance::Chance;
use crate::{Restored, Snapshot, Timer, TimerDomain, TimerEdit};

/// A key and which of its timers.
type Payload = (u64, u8);
type Set = BTreeSet<Timer<Payload>>;
type Service = TimerService<Payload, TimerHeap<Payload>>;

const KEYS: u64 = 4;

fn groups() -> KeyGroups {
    KeyGroups::default_for(1)
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn timer(domain: TimerDomain, millis: i64, (key, name): Payload) -> Timer<Payload> {
    let hash = KeyHash::of(&key).unwrap();
    Timer { time: time(millis), domain, hash, payload: (key, name) }
}

/// A task, its timers, what is on its way between them, and what a sorted set would hold.
struct Pair {
    client: TimerClient<Payload>,
    service: Service,
    to_service: VecDeque<Edits<Payload>>,
    to_client: VecDeque<Firings<Payload>>,
    set: Set,
    now: i64,
    watermark: i64,
    /// Every firing, for the reader of a failure.
    fired: Vec<Timer<Payload>>,
    passed: Vec<i64>,
    epoch: u64,
    /// What the snapshot has to hold that is under way, and what it has given.
    snapshot: Option<(Set, Option<Timestamp>, Vec<Vec<u8>>)>,
    /// The service has come to the barrier.
    frozen: bool,
    /// The input has ended, and whether processing timers fire then.
    ending: Option<bool>,
    /// Timers that were set too late.
    late: usize,
    ended: Option<usize>,
}

impl Pair {
    fn new(batch: usize) -> Self {
        let service = TimerService::new(TimerHeap::new(groups()), groups(), batch);
        Self::of(TimerClient::new(), service, Set::new(), 0, -1_000)
    }

    fn of(
        client: TimerClient<Payload>,
        service: Service,
        set: Set,
        now: i64,
        watermark: i64,
    ) -> Self {
        let (to_service, to_client) = (VecDeque::new(), VecDeque::new());
        Self {
            client,
            service,
            to_service,
            to_client,
            set,
            now,
            watermark,
            fired: Vec::new(),
            passed: Vec::new(),
            epoch: 0,
            snapshot: None,
            frozen: false,
            ending: None,
            late: 0,
            ended: None,
        }
    }

    /// The operator says something about timers, here near the present of each domain.
    fn edits(&mut self, chance: &mut Chance, from: Option<&Timer<Payload>>) {
        for _ in 0..chance.below(4) {
            let domain =
                if chance.below(2) == 0 { TimerDomain::Event } else { TimerDomain::Processing };
            let here = match (domain, from) {
                // A callback likes the time that it is called for.
                (domain, Some(from)) if from.domain == domain => from.time.millis(),
                (TimerDomain::Event, _) => self.watermark,
                (TimerDomain::Processing, _) => self.now,
            };
            // Callbacks set less than fires, so that each step comes to an end.
            let sets = chance.below(if from.is_some() { 5 } else { 3 }) < 2;
            let payload = (chance.below(KEYS), chance.below(2) as u8);
            let timer = timer(domain, here + chance.below(12) as i64 - 4, payload);
            if sets && self.ending.is_some() {
                self.late += usize::from(!self.set.contains(&timer));
            } else if sets {
                self.set.insert(timer.clone());
            } else {
                self.set.remove(&timer);
            }
            match (sets, from) {
                (true, Some(_)) => self.client.set(timer),
                (false, Some(_)) => self.client.delete(timer),
                (true, None) => self.client.edit(&mut vec![TimerEdit::Set(timer)]),
                (false, None) => self.client.edit(&mut vec![TimerEdit::Delete(timer)]),
            }
        }
    }

    /// One callback, if one is due; false if there is nothing to do.
    fn draw(&mut self, chance: &mut Chance) -> bool {
        match self.client.draw() {
            Next::Nothing => false,
            Next::Ended { dropped } => {
                assert_eq!(self.ended.replace(dropped), None, "it ends once");
                true
            }
            Next::Passed(watermark) => {
                assert_eq!(watermark, time(self.watermark));
                self.nothing_due(TimerDomain::Event, self.watermark);
                self.passed.push(self.watermark);
                true
            }
            Next::Fire(timer) => {
                assert!(self.set.remove(&timer), "{timer:?} fires and is not set");
                let mut same = self.set.iter().filter(|it| it.domain == timer.domain);
                match timer.domain {
                    TimerDomain::Event => {
                        assert!(timer.time <= time(self.watermark) && self.client.step().is_some());
                        assert!(same.all(|it| it.time >= timer.time), "{timer:?} is not the first");
                    }
                    TimerDomain::Processing if self.ending == Some(true) => {
                        assert!(same.all(|it| it.time >= timer.time), "{timer:?} is not the first");
                    }
                    TimerDomain::Processing => {
                        assert!(timer.time <= time(self.now), "{timer:?} fires too early");
                        assert_eq!(self.client.step(), None);
                    }
                }
                self.edits(chance, Some(&timer));
                self.fired.push(timer);
                true
            }
        }
    }

    fn nothing_due(&self, domain: TimerDomain, at: i64) {
        let due: Vec<_> =
            self.set.iter().filter(|it| it.domain == domain && it.time <= time(at)).collect();
        assert!(due.is_empty(), "{due:?} have not fired at {at}");
    }

    fn input(&mut self, chance: &mut Chance) {
        if self.client.step().is_some() {
            return;
        }
        if chance.below(4) > 0 {
            return self.edits(chance, None);
        }
        self.watermark += 1 + chance.below(10) as i64;
        if !self.client.watermark(time(self.watermark)) {
            self.nothing_due(TimerDomain::Event, self.watermark);
            self.passed.push(self.watermark);
        }
    }

    fn barrier(&mut self) {
        if self.snapshot.is_none() {
            self.epoch += 1;
            self.client.barrier(Epoch::new(self.epoch));
            self.snapshot = Some((self.set.clone(), self.client.step(), Vec::new()));
            self.frozen = false;
        }
    }

    /// The task ends its turn.
    fn sends(&mut self) {
        self.to_service.extend(self.client.take_edits());
    }

    /// The service has a turn. Whether it had something to do.
    fn serves(&mut self) -> bool {
        let edits = self.to_service.pop_front();
        let any = edits.is_some();
        if let Some(edits) = edits {
            let freezes = |it: &_| matches!(it, super::super::Edit::Freeze(_));
            self.frozen |= edits.edits.iter().any(freezes);
            self.service.edits(edits).unwrap();
        }
        let due = self.service.due(time(self.now)).unwrap();
        let listed = due.is_some();
        self.to_client.extend(due);
        any | listed
    }

    /// A further piece of the snapshot; the whole of it is compared and gone on from.
    fn sweeps(&mut self, timers: usize) -> Option<Self> {
        let (_, _, pieces) = self.snapshot.as_mut().filter(|_| self.frozen)?;
        let mut taken = Snapshot::default();
        let all = self.service.snapshot(timers, &mut taken).unwrap();
        let stored = taken.into_pieces().into_iter().map(|piece| {
            let group = piece.group.unwrap();
            let mut bytes = group.get().to_le_bytes().to_vec();
            bytes.extend(piece.encode().unwrap());
            bytes
        });
        pieces.extend(stored);
        if !all {
            return None;
        }
        let (set, step, pieces) = self.snapshot.take()?;
        let mut queue = TimerHeap::new(groups());
        let mut timers = 0;
        for piece in &pieces {
            let (group, bytes) = piece.split_at(4);
            let number = u32::from_le_bytes(group.try_into().unwrap());
            let group = set.iter().map(|it| groups().of(it.hash)).find(|it| it.get() == number);
            let restored = Restored::new(group, bytes);
            timers += restored.read::<Vec<Timer<Payload>>>().unwrap().len();
            queue.restore(&restored).unwrap();
        }
        let mut back = Set::new();
        queue.each(&mut |timer| back.extend([timer.clone()])).unwrap();
        assert_eq!(back, set, "what is stored is what was set");
        assert_eq!(timers, set.len(), "each is stored once");
        let (mut client, service) =
            (TimerClient::restored(), TimerService::new(queue, groups(), 1 + pieces.len() % 5));
        // The clock has gone on, and a step that was open is finished first.
        let watermark = step.map_or(self.watermark, Timestamp::millis);
        if step.is_some() {
            assert!(client.watermark(time(watermark)));
        }
        Some(Self::of(client, service, set, self.now, watermark))
    }

    /// Everything is delivered and done that can be.
    fn settles(&mut self, chance: &mut Chance) {
        for _ in 0..10_000 {
            let mut any = self.draw(chance);
            self.sends();
            any |= self.serves();
            if let Some(firings) = self.to_client.pop_front() {
                self.client.firings(firings);
                any = true;
            }
            if !any {
                self.nothing_due(TimerDomain::Processing, self.now);
                let kept = [TimerDomain::Event, TimerDomain::Processing]
                    .map(|domain| self.service.len(domain));
                assert_eq!(kept.iter().sum::<usize>(), self.set.len());
                return;
            }
        }
        panic!("it does not come to an end");
    }

    /// The input ends: processing timers fire or are dropped, and so is what is set from here on.
    fn ends(&mut self, chance: &mut Chance) {
        let fires = chance.below(2) == 0;
        self.client.end(fires);
        self.ending = Some(fires);
        for _ in 0..10_000 {
            if self.ended.is_some() {
                break;
            }
            match chance.below(4) {
                0 => self.sends(),
                1 => drop(self.serves()),
                2 => self.to_client.pop_front().into_iter().for_each(|it| self.client.firings(it)),
                _ => drop(self.draw(chance)),
            }
        }
        let left = self.set.iter().filter(|it| it.domain == TimerDomain::Processing).count();
        assert!(left == 0 || !fires, "{left} have not fired at the end");
        assert_eq!(self.ended, Some(self.set.len() + self.late));
        let dropped = self.set.len() + self.late;
        self.set.clear();
        self.settles(chance);
        assert_eq!(self.ended, Some(dropped), "it is told once");
    }

    /// A life of so many steps. The lives that go on from its snapshots.
    fn lives(&mut self, chance: &mut Chance, steps: u64) -> Vec<Self> {
        let mut restored = Vec::new();
        for _ in 0..steps {
            match chance.below(12) {
                0..3 => self.input(chance),
                3..6 => drop(self.draw(chance)),
                6 => self.sends(),
                7 => drop(self.serves()),
                8 => {
                    if let Some(firings) = self.to_client.pop_front() {
                        self.client.firings(firings);
                    }
                    self.client.knows(self.service.known());
                }
                9 => self.now += chance.below(6) as i64,
                10 => self.barrier(),
                _ => restored.extend(self.sweeps(1 + chance.below(4) as usize)),
            }
        }
        self.settles(chance);
        restored.extend((0..1_000).find_map(|_| self.sweeps(1)));
        restored
    }
}

#[test]
fn client_and_service_are_one_sorted_set_whatever_crosses() {
    let (mut fired, mut restored) = (0, 0);
    for seed in 0..3_000 {
        let mut chance = Chance::of(seed);
        let batch = 1 + chance.below(6) as usize;
        let mut first = Pair::new(batch);
        let lives = first.lives(&mut chance, 250);
        first.ends(&mut chance);
        fired += first.fired.len();
        for mut life in lives {
            restored += 1;
            life.lives(&mut chance, 60);
            fired += life.fired.len();
        }
    }
    assert!(fired > 100_000 && restored > 5_000, "{fired} {restored}");
}
