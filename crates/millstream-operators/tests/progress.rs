//! Proves on random channels that watermarks and status merge as a naive program says, and that
//! what an alignment calls complete is one cut through all channels.

use millstream_core::{Epoch, Grammar, Mark, Timestamp};
use millstream_operators::{Aligned, Alignment, Frontier, Progress};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN)
}

/// What the channels of a task have said, as far as a naive reader of it keeps it.
struct Said {
    /// Of each channel its marks so far, each with the task's watermark after it.
    channels: Vec<Vec<(Mark, Option<Timestamp>)>>,
    reached: Option<Timestamp>,
    idle: bool,
}

fn is_status(mark: Mark) -> bool {
    matches!(mark, Mark::Idle | Mark::Active | Mark::End)
}

/// The watermark after these marks.
fn watermark(marks: &[(Mark, Option<Timestamp>)]) -> Option<Timestamp> {
    let watermarks = marks.iter().filter_map(|(mark, _)| match mark {
        Mark::Watermark(watermark) => Some(*watermark),
        _ => None,
    });
    watermarks.max()
}

impl Said {
    fn status(&self, channel: usize) -> Mark {
        let status = self.channels[channel].iter().rfind(|(mark, _)| is_status(*mark));
        status.map_or(Mark::Active, |(mark, _)| *mark)
    }

    fn is_active(&self, channel: usize) -> bool {
        self.status(channel) == Mark::Active
    }

    /// Whether an active channel has, since it is that, once not been behind the task.
    fn counts(&self, channel: usize) -> bool {
        let marks = &self.channels[channel];
        let since = marks.iter().rposition(|(mark, _)| is_status(*mark));
        // From the beginning all count.
        let Some(since) = since else { return true };
        (since..marks.len()).any(|at| watermark(&marks[..=at]) >= marks[at].1)
    }

    /// A channel says something more: the marks of the task that follow from it.
    fn say(&mut self, channel: usize, mark: Mark) -> Vec<Mark> {
        self.channels[channel].push((mark, self.reached));
        let all = 0..self.channels.len();
        if all.clone().all(|channel| self.status(channel) == Mark::End) {
            return vec![Mark::End];
        }
        let idle = !all.clone().any(|channel| self.is_active(channel));
        let changes = std::mem::replace(&mut self.idle, idle) != idle;
        let last = |channel: usize| watermark(&self.channels[channel]);
        let risen = if idle && changes {
            all.filter(|channel| self.status(*channel) == Mark::Idle).map(last).max()
        } else {
            let counting = all.filter(|channel| self.is_active(*channel) && self.counts(*channel));
            counting.map(last).min()
        };
        let mut marks = Vec::new();
        if changes && !idle {
            marks.push(Mark::Active);
        }
        if let Some(Some(risen)) = risen
            && self.reached.is_none_or(|reached| risen > reached)
        {
            self.reached = Some(risen);
            marks.push(Mark::Watermark(risen));
        }
        if changes && idle {
            marks.push(Mark::Idle);
        }
        marks
    }
}

fn marks_of(progress: Progress) -> Vec<Mark> {
    match progress {
        Progress::None => vec![],
        Progress::Watermark(watermark) => vec![Mark::Watermark(watermark)],
        Progress::Idle(None) => vec![Mark::Idle],
        Progress::Idle(Some(watermark)) => vec![Mark::Watermark(watermark), Mark::Idle],
        Progress::Active(None) => vec![Mark::Active],
        Progress::Active(Some(watermark)) => vec![Mark::Active, Mark::Watermark(watermark)],
        Progress::End => vec![Mark::End],
    }
}

fn progress_mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        6 => (-20..20_i64).prop_map(|millis| Mark::Watermark(at(millis))),
        1 => Just(Mark::Watermark(Timestamp::MAX)),
        3 => Just(Mark::Idle),
        3 => Just(Mark::Active),
        1 => Just(Mark::End),
    ]
}

proptest! {
    #[test]
    fn a_tasks_watermark_is_the_least_of_its_active_channels_and_never_falls(
        channels in 1..5_usize,
        marks in vec((any::<Index>(), progress_mark()), 1..80),
    ) {
        let mut frontier = Frontier::new(channels);
        let mut said =
            Said { channels: vec![Vec::new(); channels], reached: None, idle: false };
        let mut grammars = vec![Grammar::default(); channels];
        let mut passed = Grammar::default();
        for (channel, mark) in marks {
            let channel = channel.index(channels);
            // A channel says only what its grammar allows.
            if grammars[channel].mark(mark).is_err() {
                continue;
            }
            let progress = match mark {
                Mark::Watermark(watermark) => frontier.watermark(channel, watermark),
                Mark::Idle => frontier.idle(channel),
                Mark::Active => frontier.active(channel),
                _ => frontier.end(channel),
            };
            let follows = marks_of(progress);
            prop_assert_eq!(&follows, &said.say(channel, mark));
            prop_assert_eq!(frontier.reached(), said.reached);
            for mark in follows {
                prop_assert_eq!(passed.mark(mark), Ok(()), "the task keeps the grammar itself");
            }
        }
        for (channel, grammar) in grammars.iter_mut().enumerate() {
            if grammar.mark(Mark::End).is_ok() {
                let follows = marks_of(frontier.end(channel));
                prop_assert_eq!(&follows, &said.say(channel, Mark::End));
                follows.iter().for_each(|mark| assert_eq!(passed.mark(*mark), Ok(())));
            }
        }
        prop_assert!(passed.ended());
    }
}

/// What comes by a channel: a record, or the barrier of an epoch.
type Script = Vec<Option<u64>>;

/// A few channels with the barriers of the epochs in order, and records between them; barriers of
/// epochs that are given up may be missing. Each ends somewhere.
fn scripts(epochs: u64) -> impl Strategy<Value = (Vec<Script>, Vec<bool>)> {
    let given_up = vec(proptest::bool::weighted(0.4), epochs as usize);
    (given_up, 1..5_usize).prop_flat_map(move |(given_up, channels)| {
        let last = given_up.clone();
        let element = (0..3_usize, any::<bool>());
        let script = (vec(element, epochs as usize), 0..12_usize).prop_map(move |(parts, end)| {
            let mut script = Script::new();
            for (epoch, (records, missing)) in (1..).zip(&parts) {
                script.extend(vec![None; *records]);
                if !(*missing && given_up[epoch as usize - 1]) {
                    script.push(Some(epoch));
                }
            }
            // Most channels end behind the last barrier, some before it.
            script.truncate(if end < 4 { end } else { script.len() });
            script
        });
        (vec(script, channels), Just(last))
    })
}

/// A task that reads its channels as its alignment allows.
struct Reading {
    alignment: Alignment,
    scripts: Vec<Script>,
    /// How far each channel was read; one further than its script when its end was.
    read: Vec<usize>,
    given_up: Vec<bool>,
    /// What has been given up or completed.
    settled: u64,
}

impl Reading {
    /// The epoch of the barrier that is waited for: the newest that came and is not settled.
    fn open(&self) -> Option<u64> {
        let read = self.scripts.iter().zip(&self.read);
        let barriers = read.flat_map(|(script, read)| script.iter().take(*read).flatten());
        barriers.copied().max().filter(|epoch| *epoch > self.settled)
    }

    /// Whether a channel has ended or the barrier is the last thing that was read of it.
    fn stands_at(&self, channel: usize, epoch: u64) -> bool {
        let (script, read) = (&self.scripts[channel], self.read[channel]);
        read > script.len() || (read > 0 && script[read - 1] == Some(epoch))
    }

    fn readable(&self) -> Vec<usize> {
        let all = 0..self.scripts.len();
        all.filter(|channel| {
            self.read[*channel] <= self.scripts[*channel].len() && !self.alignment.holds(*channel)
        })
        .collect()
    }

    fn step(&mut self, channel: usize) -> Result<(), TestCaseError> {
        let element = self.scripts[channel].get(self.read[channel]).copied();
        self.read[channel] += 1;
        let aligned = match element {
            Some(None) => return Ok(()),
            Some(Some(epoch)) => self.alignment.barrier(channel, Epoch::new(epoch)),
            None => self.alignment.end(channel),
        };
        let all = 0..self.scripts.len();
        let open = self.open();
        let complete =
            open.filter(|epoch| all.clone().all(|channel| self.stands_at(channel, *epoch)));
        match (aligned, complete) {
            (Aligned::Complete(epoch), Some(expected)) => {
                prop_assert_eq!(epoch.get(), expected);
                self.settled = expected;
            }
            (Aligned::Waiting, None) => {}
            (aligned, expected) => {
                prop_assert!(false, "{aligned:?}, and {expected:?} is complete");
            }
        }
        self.check_holds()
    }

    fn abandon(&mut self, epoch: u64) -> Result<(), TestCaseError> {
        if self.given_up[epoch as usize - 1] {
            self.alignment.abandon(Epoch::new(epoch));
            self.settled = self.settled.max(epoch);
        }
        self.check_holds()
    }

    fn check_holds(&self) -> Result<(), TestCaseError> {
        for channel in 0..self.scripts.len() {
            let at_barrier = |epoch| {
                let (script, read) = (&self.scripts[channel], self.read[channel]);
                read > 0 && script.get(read - 1) == Some(&Some(epoch))
            };
            let expected = self.open().is_some_and(at_barrier);
            prop_assert_eq!(self.alignment.holds(channel), expected, "channel {}", channel);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// An epoch is complete when every channel stands at its barrier or has ended, and never else:
    /// not when it was given up, and not by a barrier that comes late.
    #[test]
    fn a_complete_alignment_is_one_cut_through_all_channels(
        (scripts, given_up) in scripts(5),
        steps in vec((any::<Index>(), 0..5_u64, proptest::bool::weighted(0.15)), 0..80),
    ) {
        let channels = scripts.len();
        let mut reading = Reading {
            alignment: Alignment::new(channels),
            scripts,
            read: vec![0; channels],
            given_up,
            settled: 0,
        };
        for (channel, epoch, abandon) in steps {
            if abandon {
                reading.abandon(epoch + 1)?;
            }
            let readable = reading.readable();
            if !readable.is_empty() {
                reading.step(readable[channel.index(readable.len())])?;
            }
        }
        // Whoever gives up in time never waits for ever.
        for epoch in 1..=5 {
            reading.abandon(epoch)?;
            while let [first, ..] = reading.readable()[..] {
                reading.step(first)?;
            }
        }
        let ends = reading.read.iter().zip(&reading.scripts);
        prop_assert!(ends.into_iter().all(|(read, script)| *read == script.len() + 1));
    }
}
