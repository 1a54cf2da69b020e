//! A process that does what its records and timers say, and what comes of it as text.

use std::collections::HashMap;

use millstream::prelude::*;
use millstream::process::ProcessOperator;
use millstream::{Keyed, TimeToLive, TimerDomain};
use millstream_testkit::{Element, Harness, Stored, keyed, task};

use Do::{Add, Cancel, Clear, Delete, Look, Replace, Set};
use TimerDomain::{Event, Processing};

/// Something that a process does for its key.
#[derive(Clone, Debug)]
pub enum Do {
    Set(TimerDomain, i64, u8),
    Delete(TimerDomain, i64, u8),
    Replace(TimerDomain, i64, u8),
    Cancel(TimerDomain, u8),
    /// Emits what it sees.
    Look,
    /// Adds to the state.
    Add(u64),
    Clear,
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// Does what its records say; and when a timer fires, tells of it and does what was said for that.
#[derive(Clone, Default)]
pub struct Doing<const CLEARS: bool> {
    pub time_to_live: Option<TimeToLive>,
    pub then: HashMap<(TimerDomain, i64, u8), Vec<Do>>,
}

impl<const CLEARS: bool> Doing<CLEARS> {
    fn act(does: Vec<Do>, sum: &mut u64, cx: &mut ContextOf<'_, Self>) {
        for it in does {
            match it {
                Set(Event, time, name) => cx.event_timer(at(time), name),
                Set(Processing, time, name) => cx.processing_timer(at(time), name),
                Delete(Event, time, name) => cx.delete_event_timer(at(time), name),
                Delete(Processing, time, name) => cx.delete_processing_timer(at(time), name),
                Replace(Event, time, name) => cx.replace_event_timer(at(time), name),
                Replace(Processing, time, name) => cx.replace_processing_timer(at(time), name),
                Cancel(Event, name) => cx.cancel_event_timer(&name),
                Cancel(Processing, name) => cx.cancel_processing_timer(&name),
                Look => {
                    let millis = |it: Option<Timestamp>| it.map(Timestamp::millis);
                    let (ts, wm) = (millis(cx.timestamp()), millis(cx.watermark()));
                    let now = cx.now().millis();
                    cx.emit(format!("{} sum {sum} ts {ts:?} wm {wm:?} now {now}", cx.key()));
                }
                Add(n) => *sum += n,
                Clear => cx.clear(),
            }
        }
    }
}

impl<const CLEARS: bool> KeyedProcess for Doing<CLEARS> {
    type Key = char;
    type In = Vec<Do>;
    type Out = String;
    type State = u64;
    type Timer = u8;

    const CLEARS_TIMERS: bool = CLEARS;

    fn time_to_live(&self) -> Option<TimeToLive> {
        self.time_to_live
    }

    fn on_record(
        &mut self,
        does: Vec<Do>,
        sum: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        Self::act(does, sum, cx);
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<u8>,
        sum: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let Fired { at, domain, late, timer } = fired;
        let (name, late) = (if domain == Event { 'e' } else { 'p' }, late.as_millis());
        cx.emit(format!("{}/{timer} {name}{} late {late} sum {sum}", cx.key(), at.millis()));
        let then = self.then.get(&(domain, at.millis(), timer)).cloned().unwrap_or_default();
        Self::act(then, sum, cx);
        Ok(())
    }
}

pub type Process<const CLEARS: bool> = Harness<ProcessOperator<Doing<CLEARS>>>;

pub fn process() -> Process<false> {
    process_with([])
}

/// When this timer fires, this is done.
pub fn process_with<const CLEARS: bool>(
    then: impl IntoIterator<Item = ((TimerDomain, i64, u8), Vec<Do>)>,
) -> Process<CLEARS> {
    let doing = Doing { time_to_live: None, then: then.into_iter().collect() };
    Harness::made_for(task(0, 1), |task| ProcessOperator::new(task, doing))
}

pub fn says(key: char, does: impl IntoIterator<Item = Do>) -> Keyed<char, Vec<Do>> {
    keyed(key, does.into_iter().collect())
}

/// What came out, as text: a value and its time, or a mark.
pub fn came<const CLEARS: bool>(harness: &mut Process<CLEARS>) -> Vec<String> {
    let text = |element: Element<String>| match element {
        Element::Record(record) => match record.timestamp() {
            Some(at) => format!("{}@{}", record.value, at.millis()),
            None => record.value,
        },
        Element::Mark(mark) => format!("{mark:?}").replace("Watermark", "WM").replace("ms", ""),
    };
    harness.take_elements().into_iter().map(text).collect()
}

/// As many timers as there are of a domain.
pub fn set<const CLEARS: bool>(harness: &Process<CLEARS>, domain: TimerDomain) -> usize {
    harness.timers(domain).len()
}

pub fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// The task goes on from its snapshot.
pub fn goes_on(of: &mut Process<false>) -> Process<false> {
    let stored: Stored = of.snapshot(1);
    let mut again = process();
    again.restore(&stored);
    again
}
