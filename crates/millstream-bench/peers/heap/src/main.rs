//! A heap of timers and a set that keeps each once, in a loop over the records: what somebody who
//! needs timers and nothing else would write.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use millstream_bench_workload::{
    FAR_KEYS, Outcome, PAST_TIMERS, RoundRequest, SideError, TIMER_KEYS, WATERMARK_EVERY, Workload,
    far_time, fired, near_time, past_times, serve,
};

fn main() -> io::Result<()> {
    let mut workloads: Vec<Box<dyn Workload>> = vec![
        Box::new(Program { name: "event-timers", run: near }),
        Box::new(Program { name: "event-timers-far", run: far }),
        Box::new(Program { name: "timer-delete", run: deleted }),
        Box::new(Program { name: "processing-timers", run: past }),
    ];
    serve(&mut workloads, io::stdin().lock(), io::stdout().lock())
}

struct Program {
    name: &'static str,
    run: fn(u64) -> Outcome,
}

impl Workload for Program {
    fn name(&self) -> &'static str {
        self.name
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        if request.workers != 1 {
            let workers = request.workers;
            return Err(SideError::Workers { workload: self.name, workers, most: 1 });
        }
        Ok((self.run)(request.records))
    }
}

/// Timers by time, each once. One that is deleted stays in the heap and is passed over.
#[derive(Default)]
struct Timers {
    heap: BinaryHeap<Reverse<(i64, u64)>>,
    set: HashSet<(i64, u64), FixedState>,
}

impl Timers {
    fn set(&mut self, time: i64, key: u64) {
        if self.set.insert((time, key)) {
            self.heap.push(Reverse((time, key)));
        }
    }

    fn delete(&mut self, time: i64, key: u64) {
        self.set.remove(&(time, key));
    }

    fn fire(&mut self, up_to: i64, outcome: &mut Outcome) {
        while let Some(Reverse((time, key))) = self.heap.peek().copied()
            && time <= up_to
        {
            self.heap.pop();
            if self.set.remove(&(time, key)) {
                outcome.records += 1;
                outcome.checksum.add(fired(key, time));
            }
        }
    }
}

fn near(records: u64) -> Outcome {
    let (mut timers, mut outcome) = (Timers::default(), Outcome::default());
    for i in 0..records {
        timers.set(near_time(i), i % TIMER_KEYS);
        if (i + 1).is_multiple_of(WATERMARK_EVERY) {
            timers.fire(i as i64, &mut outcome);
        }
    }
    timers.fire(i64::MAX, &mut outcome);
    outcome
}

fn far(records: u64) -> Outcome {
    let (mut timers, mut outcome) = (Timers::default(), Outcome::default());
    for i in 0..records {
        timers.set(far_time(i), i % FAR_KEYS);
    }
    timers.fire(i64::MAX, &mut outcome);
    outcome
}

fn deleted(records: u64) -> Outcome {
    let (mut timers, mut outcome) = (Timers::default(), Outcome::default());
    for i in 0..records {
        timers.set(near_time(i), i % TIMER_KEYS);
        timers.delete(near_time(i), i % TIMER_KEYS);
        outcome.records += 1;
        outcome.checksum.add(i);
        // Else what was deleted would fill the heap.
        if (i + 1).is_multiple_of(WATERMARK_EVERY) {
            timers.fire(i as i64, &mut outcome);
        }
    }
    timers.fire(i64::MAX, &mut outcome);
    outcome
}

fn past(records: u64) -> Outcome {
    let (mut timers, mut outcome) = (Timers::default(), Outcome::default());
    for record in 0..records / PAST_TIMERS {
        past_times(record).for_each(|time| timers.set(time, 0));
        timers.fire(0, &mut outcome);
    }
    outcome
}
