//! The workloads with timers, each a process of one stage.

use millstream::prelude::*;
use millstream_bench_workload::{
    FAR_KEYS, Outcome, PAST_TIMERS, RoundRequest, SideError, TIMER_KEYS, WATERMARK_EVERY, Workload,
    far_time, fired, near_time, past_times, share,
};

use super::shares::Shares;
use super::sum::{Sums, Total};

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(Timers { name: "event-timers", run: |name, request| near(name, request, 1) }),
        Box::new(Timers {
            name: "event-timers-eight",
            run: |name, request| near(name, request, 8),
        }),
        Box::new(Timers { name: "event-timers-far", run: far }),
        Box::new(Timers { name: "timer-delete", run: deleted }),
        Box::new(Timers { name: "processing-timers", run: past }),
    ]
}

struct Timers {
    name: &'static str,
    run: fn(&'static str, &RoundRequest) -> Result<Outcome, SideError>,
}

impl Workload for Timers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        (self.run)(self.name, request)
    }
}

/// A time that both sides know to be one.
fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap_or(Timestamp::MIN)
}

/// So many stages in a row. Each sets a timer for each record, and sends the record on when it
/// fires: what the last one sends is what the first one would have.
fn near(name: &'static str, request: &RoundRequest, stages: u32) -> Result<Outcome, SideError> {
    let (records, total) = (request.records, Total::default());
    let flow = Dataflow::new(name);
    let follows = |i: &u64, at| (i + 1).is_multiple_of(WATERMARK_EVERY).then_some(at);
    let mut numbers = flow
        .source("numbers", Shares::new(request.workers, move |index, of| share(records, index, of)))
        .event_time(|i| *i as i64, Watermarks::punctuated(follows));
    for stage in 0..stages {
        numbers = numbers.key_by(|i| i % TIMER_KEYS).process_fn(
            &format!("timers {stage}"),
            |i, _: &mut (), cx| cx.event_timer(at(near_time(i)), i),
            |timer: Fired<u64>, _, cx| cx.emit(timer.timer),
        );
    }
    numbers
        .map(|i| fired(i % TIMER_KEYS, near_time(i)))
        .sink("total", Sums::new(&total, |digest| digest));
    super::finish(flow, request)?;
    Ok(total.outcome())
}

fn far(name: &'static str, request: &RoundRequest) -> Result<Outcome, SideError> {
    let (records, total) = (request.records, Total::default());
    let flow = Dataflow::new(name);
    flow.source(
        "numbers",
        Shares::new(request.workers, move |index, of| share(records, index, of)),
    )
    .key_by(|i| i % FAR_KEYS)
    .process_fn(
        "timers",
        |i, _: &mut (), cx| cx.event_timer(at(far_time(i)), ()),
        |timer: Fired<()>, _, cx| cx.emit(fired(*cx.key(), timer.at.millis())),
    )
    .sink("total", Sums::new(&total, |digest| digest));
    super::finish(flow, request)?;
    Ok(total.outcome())
}

fn deleted(name: &'static str, request: &RoundRequest) -> Result<Outcome, SideError> {
    let (records, total) = (request.records, Total::default());
    let flow = Dataflow::new(name);
    flow.source(
        "numbers",
        Shares::new(request.workers, move |index, of| share(records, index, of)),
    )
    .key_by(|i| i % TIMER_KEYS)
    .process_fn(
        "timers",
        |i, _: &mut (), cx| {
            cx.event_timer(at(near_time(i)), ());
            cx.delete_event_timer(at(near_time(i)), ());
            cx.emit(i);
        },
        |timer: Fired<()>, _, cx| cx.emit(fired(*cx.key(), timer.at.millis())),
    )
    .sink("total", Sums::new(&total, |digest| digest));
    super::finish(flow, request)?;
    Ok(total.outcome())
}

fn past(name: &'static str, request: &RoundRequest) -> Result<Outcome, SideError> {
    let (records, total) = (request.records / PAST_TIMERS, Total::default());
    let flow = Dataflow::new(name);
    let records = move |index, of| share(records, index, of);
    flow.source("numbers", Shares::new(request.workers, records))
        .key_by(|_| 0_u64)
        .process_with("timers", |_| Past)
        .sink("total", Sums::new(&total, |digest| digest));
    super::finish(flow, request)?;
    Ok(total.outcome())
}

/// Sets many timers whose time has passed.
struct Past;

impl KeyedProcess for Past {
    type Key = u64;
    type In = u64;
    type Out = u64;
    type State = ();
    type Timer = ();
    // The input is over long before they have fired.
    const FIRES_AT_END: bool = true;

    fn on_record(
        &mut self,
        record: u64,
        (): &mut (),
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        past_times(record).for_each(|time| cx.processing_timer(at(time), ()));
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Fired<()>,
        (): &mut (),
        cx: &mut ContextOf<'_, Self>,
    ) -> Result<(), Failure> {
        cx.emit(fired(*cx.key(), timer.at.millis()));
        Ok(())
    }
}
