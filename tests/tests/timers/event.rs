//! Timers that go by the watermark, and how watermarks begin.

use std::sync::Arc;
use std::time::Duration;

use millstream::prelude::*;
use millstream::{Collected, JobError, Source, TaskContext};
use millstream_testkit::{Checker, Feed, ManualClock, Simulation, run};

use crate::bed::idle;

/// A key and a time in milliseconds.
type Event = (u64, i64);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Tells of each record, and of each key that has been silent for 10 ms of event time.
#[derive(Clone)]
struct Silence;

impl KeyedProcess for Silence {
    type Key = u64;
    type In = Event;
    type Out = String;
    type State = u64;
    type Timer = ();

    fn on_record(
        &mut self,
        (key, at): Event,
        seen: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        *seen += 1;
        let at = Timestamp::from_millis(at)?;
        assert_eq!((*cx.key(), cx.timestamp()), (key, Some(at)));
        cx.replace_event_timer(at.plus(ms(10)), ());
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<()>,
        seen: &mut u64,
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        let wm = cx.watermark().map_or(0, Timestamp::millis);
        let wm = if wm == i64::MAX { "end".to_owned() } else { wm.to_string() };
        cx.emit(format!("{} silent at {} after {seen}, {wm}", cx.key(), fired.at.millis()));
        cx.clear();
        Ok(())
    }
}

/// Two sources that a test feeds, each with event time, joined and watched for silence.
struct Bed {
    feeds: [Feed<Event>; 2],
    clock: ManualClock,
    job: Job,
    out: Collected<String>,
}

impl Bed {
    async fn new(parallelism: usize) -> Self {
        let (flow, clock) = (Dataflow::new("silence"), ManualClock::new());
        let feeds = [Feed::new(), Feed::new()];
        let [left, right] = feeds.clone().map(|feed| feed);
        let watermarks = Watermarks::ascending().every(ms(10)).idle_after(ms(100));
        let left = flow.source("left", left).event_time(|(_, at): &Event| *at, watermarks);
        let right = flow.source("right", right).event_time(|(_, at): &Event| *at, watermarks);
        let out = left
            .union(right)
            .operator("check", |_: &_| Checker::new())
            .key_by(|(key, _)| *key)
            .process("silence", Silence)
            .parallelism(parallelism)
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock.clone())).start_wait(Duration::MAX);
        let job = flow.start(settings).await.unwrap();
        Self { feeds, clock, job, out }
    }

    async fn gives(&self, feed: usize, events: impl IntoIterator<Item = Event>) {
        self.feeds[feed].give(events);
        idle().await;
    }

    /// So much time passes on the wall, a look of the sources after the other.
    async fn passes(&self, millis: u64) -> Vec<String> {
        for _ in 0..millis.div_ceil(10) {
            self.clock.advance(ms(10));
            idle().await;
        }
        let mut out = self.out.take();
        out.sort();
        out
    }
}

const NONE: [&str; 0] = [];

#[test]
fn u064_a_silent_source_holds_time_back_until_it_is_idle_and_not_for_ever() {
    for parallelism in [1, 2] {
        run(async {
            let bed = Bed::new(parallelism).await;
            bed.gives(0, [(1, 5), (2, 8), (1, 30)]).await;
            assert_eq!(bed.passes(90).await, NONE, "the other one may have something older");
            // Silent for 100 ms, it is not waited for. The first one is not silent.
            bed.gives(0, [(3, 40)]).await;
            assert_eq!(bed.passes(60).await, ["2 silent at 18 after 1, 39"]);
            bed.gives(0, [(3, 41)]).await;
            assert_eq!(bed.passes(10).await, ["1 silent at 40 after 2, 40"]);
            // What comes late is taken, and does not move time back.
            bed.gives(1, [(4, 20)]).await;
            bed.gives(0, [(3, 60)]).await;
            assert_eq!(bed.passes(10).await, ["4 silent at 30 after 1, 59"]);
            // Both are silent, and then one is not.
            assert_eq!(bed.passes(200).await, NONE);
            bed.gives(0, [(5, 100)]).await;
            assert_eq!(bed.passes(10).await, ["3 silent at 70 after 3, 99"]);
            bed.feeds.iter().for_each(Feed::end);
            bed.job.finished().await.unwrap();
            assert_eq!(bed.out.take(), ["5 silent at 110 after 1, end"]);
        });
    }
}

#[test]
fn u055_at_the_end_or_at_a_drain_all_event_timers_fire_and_after_a_cancel_none() {
    for way in ["end", "drain", "cancel"] {
        run(async {
            let bed = Bed::new(1).await;
            bed.gives(0, (0..1_000).map(|key| (key, 1))).await;
            assert_eq!(bed.passes(200).await, NONE);
            match way {
                "end" => {
                    bed.feeds.iter().for_each(Feed::end);
                    bed.job.finished().await.unwrap();
                }
                "drain" => bed.job.drain().await.unwrap(),
                _ => bed.job.cancel().await.unwrap(),
            }
            let fired = bed.out.take();
            assert_eq!(fired.len(), if way == "cancel" { 0 } else { 1_000 }, "{way}");
            assert!(fired.iter().all(|it| it.ends_with("silent at 11 after 1, end")));
        });
    }
}

#[test]
fn m027_watermarks_from_in_front_are_replaced_but_for_the_last_one() {
    run(async {
        let (flow, clock, feed) = (Dataflow::new("twice"), ManualClock::new(), Feed::new());
        let ascending = || Watermarks::ascending().every(ms(10));
        let out = flow
            .source("feed", feed.clone())
            .event_time(|(_, at): &Event| *at, ascending())
            .operator("between", |_: &_| Checker::new())
            // An hour later, by another rule.
            .event_time(|(_, at): &Event| at + 3_600_000, ascending())
            .operator("watch", |_: &_| Watch)
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock.clone())).start_wait(Duration::MAX);
        let job = flow.start(settings).await.unwrap();
        feed.give([(1, 5), (1, 7)]);
        for _ in 0..3 {
            clock.advance(ms(10));
            idle().await;
        }
        assert_eq!(out.take(), ["1@3600005", "1@3600007", "WM 3600006"]);
        feed.end();
        job.finished().await.unwrap();
        assert_eq!(out.take(), ["WM 9223372036854775807", "END"]);
    });
}

/// Tells of what comes.
struct Watch;

impl Operator for Watch {
    type In = Event;
    type Out = String;
    type Timer = NoTimer;

    fn on_record(
        &mut self,
        record: Stamped<Event>,
        out: &mut Effects<String>,
    ) -> Result<(), Failure> {
        let at = record.timestamp().map(Timestamp::millis);
        out.emit(Stamped::new(format!("{}@{}", record.value.0, at.unwrap_or(-1))));
        Ok(())
    }

    fn on_watermark(
        &mut self,
        watermark: Timestamp,
        out: &mut Effects<String>,
    ) -> Result<(), Failure> {
        out.emit(Stamped::new(format!("WM {}", watermark.millis())));
        Ok(())
    }

    fn on_end(&mut self, out: &mut Effects<String>) -> Result<(), Failure> {
        out.emit(Stamped::new("END".to_owned()));
        Ok(())
    }
}

#[test]
fn m033_all_records_then_the_final_watermark_then_the_end() {
    run(async {
        let flow = Dataflow::new("end");
        let out = flow
            .source("events", Feed::of([Stamped::new((1, 3)), Stamped::new((2, 4))]))
            .operator("watch", |_: &_| Watch)
            .collect("out");
        flow.start(Settings::new()).await.unwrap().finished().await.unwrap();
        assert_eq!(out.take(), ["1@-1", "2@-1", "WM 9223372036854775807", "END"]);
    });
}

#[test]
fn m029_a_punctuated_watermark_follows_its_record_at_once() {
    run(async {
        let flow = Dataflow::new("punctuated");
        let follows = |(key, _): &Event, at| (*key == 7).then_some(at);
        let out = flow
            .source("events", Feed::of([(7, 2), (1, 3), (7, 4), (7, 2)].map(Stamped::new)))
            .event_time(|(_, at): &Event| *at, Watermarks::punctuated(follows))
            .operator("watch", |_: &_| Watch)
            .collect("out");
        flow.start(Settings::new()).await.unwrap().finished().await.unwrap();
        let seen = ["7@2", "WM 2", "1@3", "7@4", "WM 4", "7@2", "WM 9223372036854775807", "END"];
        assert_eq!(out.take(), seen);
    });
}

#[test]
fn a_time_that_stands_for_none_fails_the_job_and_what_came_before_it_is_delivered() {
    run(async {
        let flow = Dataflow::new("no time");
        let times = [i64::MIN + 1, -1, 0, 1, i64::MAX, i64::MIN, 5];
        let out = flow
            .source("events", Feed::of(times.map(|at| Stamped::new((1, at)))))
            .event_time(|(_, at): &Event| *at, Watermarks::ascending())
            .operator("watch", |_: &_| Watch)
            .collect("out");
        let error = flow.start(Settings::new()).await.unwrap().finished().await.unwrap_err();
        assert!(matches!(&error, JobError::Failed { task, .. } if &*task.stage == "events"));
        assert!(error.to_string().contains("stands for a record without a time"), "{error}");
        let seen = ["1@-9223372036854775807", "1@-1", "1@0", "1@1", "1@9223372036854775807"];
        assert_eq!(out.take(), seen);
    });
}

#[test]
fn settings_of_event_time_that_are_zero_are_refused_at_the_start() {
    run(async {
        let flow = Dataflow::new("zero");
        let watermarks = Watermarks::ascending().every(Duration::ZERO).idle_after(Duration::ZERO);
        let _ = flow
            .source("events", Feed::<Event>::new())
            .event_time(|(_, at): &Event| *at, watermarks)
            .collect("out");
        let error = flow.start(Settings::new()).await.err().unwrap().to_string();
        assert!(
            error.contains("`every` is zero") && error.contains("`idle_after` is zero"),
            "{error}"
        );
    });
}

#[test]
fn the_same_silences_are_found_in_every_order_of_events() {
    let events: Vec<Event> = (0..200).map(|n| (n % 5, n as i64 * 3 % 70 + n as i64)).collect();
    let mut results = Vec::new();
    for seed in 0..150 {
        let events = events.clone();
        let limits = Settings::new().credits(1).batch_records(3).timer_batch(2).timer_edits(4);
        let run = Simulation::of(seed).settings(limits).run(|flow| {
            let each = |_: &Event, at: Timestamp| Some(at.minus(ms(75)));
            flow.source("events", Items::from(events))
                .event_time(|(_, at): &Event| *at, Watermarks::punctuated(each))
                .key_by(|(key, _)| *key)
                .process("silence", Silence)
                .parallelism(2)
                .collect("out")
        });
        run.outcome.unwrap();
        let mut fired = run.built.take();
        fired.sort();
        results.push(fired);
    }
    assert!(!results[0].is_empty());
    results.dedup();
    assert_eq!(results.len(), 1, "one result for all seeds: {results:?}");
}

/// A source of several splits, each fed by hand.
#[derive(Clone)]
struct Splits(Vec<Feed<Event>>);

impl Source for Splits {
    type Out = Event;
    type Position = ();
    type Reader = Feed<Event>;

    fn splits(&self) -> Vec<String> {
        (0..self.0.len()).map(|split| split.to_string()).collect()
    }

    async fn open(
        &self,
        split: &str,
        _: Option<()>,
        _: &TaskContext,
    ) -> Result<Feed<Event>, Failure> {
        Ok(self.0[split.parse::<usize>()?].clone())
    }
}

#[test]
fn each_split_has_its_own_watermark_and_one_that_has_ended_is_not_waited_for() {
    run(async {
        let (flow, feeds) = (Dataflow::new("splits"), vec![Feed::new(), Feed::new(), Feed::new()]);
        let each = |_: &Event, at| Some(at);
        let out = flow
            .source("splits", Splits(feeds.clone()))
            .event_time(|(_, at): &Event| *at, Watermarks::punctuated(each))
            .operator("watch", |_: &_| Watch)
            .collect("out");
        let job = flow.start(Settings::new()).await.unwrap();
        let mut seen = Vec::new();
        for (split, at) in [(0, 5), (1, 3), (2, 9), (1, 4)] {
            feeds[split].give([(split as u64, at)]);
            idle().await;
            seen.extend(out.take());
        }
        assert_eq!(seen, ["0@5", "1@3", "2@9", "WM 3", "1@4", "WM 4"]);
        feeds[1].end();
        idle().await;
        feeds[2].give([(2, 10)]);
        idle().await;
        assert_eq!(out.take(), ["2@10", "WM 5"]);
        feeds.iter().for_each(Feed::end);
        job.finished().await.unwrap();
        assert_eq!(out.take(), ["WM 9223372036854775807", "END"]);
    });
}
