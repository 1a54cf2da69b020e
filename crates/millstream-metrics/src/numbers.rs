//! The numbers of a job as plain data.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use millstream_core::Moment;
use serde::Serialize;

use crate::{CallNumbers, TaskMetrics, TaskState};

/// What was counted, by one task or by several together.
///
/// The fields are explained at [`TaskMetrics`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// Records taken.
    pub records_in: u64,
    /// Records sent.
    pub records_out: u64,
    /// Batches taken.
    pub batches_in: u64,
    /// Batches sent.
    pub batches_out: u64,
    /// Records for a side output that nothing is connected to.
    pub side_records_dropped: u64,
    /// Records made and not dropped yet.
    pub records_queued: u64,
    /// The most records that were queued at once; of several tasks, the sum of their own peaks,
    /// which is at least the peak of the sum.
    pub records_queued_peak: u64,
    /// Turns taken.
    pub turns: u64,
    /// Turns that took too long.
    pub slow_turns: u64,
    /// Time spent working.
    pub busy_ns: u64,
    /// Time without anything to do.
    pub idle_ns: u64,
    /// Time in which records could not be sent on.
    pub back_pressured_ns: u64,
    /// Time in which another task had its turn.
    pub waiting_for_cpu_ns: u64,
    /// Of a stage of calls to outside systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallNumbers>,
    /// What the user's code counted, by name.
    pub counts: BTreeMap<String, u64>,
}

impl Numbers {
    /// All the time that was counted.
    pub const fn elapsed_ns(&self) -> u64 {
        self.busy_ns
            .saturating_add(self.idle_ns)
            .saturating_add(self.back_pressured_ns)
            .saturating_add(self.waiting_for_cpu_ns)
    }
}

impl AddAssign<&Self> for Numbers {
    fn add_assign(&mut self, other: &Self) {
        // Without `..`, so that a new field cannot be forgotten here.
        let Self {
            records_in,
            records_out,
            batches_in,
            batches_out,
            side_records_dropped,
            records_queued,
            records_queued_peak,
            turns,
            slow_turns,
            busy_ns,
            idle_ns,
            back_pressured_ns,
            waiting_for_cpu_ns,
            calls,
            counts,
        } = other;
        for (sum, number) in [
            (&mut self.records_in, records_in),
            (&mut self.records_out, records_out),
            (&mut self.batches_in, batches_in),
            (&mut self.batches_out, batches_out),
            (&mut self.side_records_dropped, side_records_dropped),
            (&mut self.records_queued, records_queued),
            (&mut self.records_queued_peak, records_queued_peak),
            (&mut self.turns, turns),
            (&mut self.slow_turns, slow_turns),
            (&mut self.busy_ns, busy_ns),
            (&mut self.idle_ns, idle_ns),
            (&mut self.back_pressured_ns, back_pressured_ns),
            (&mut self.waiting_for_cpu_ns, waiting_for_cpu_ns),
        ] {
            *sum = sum.saturating_add(*number);
        }
        if let Some(calls) = calls {
            *self.calls.get_or_insert_default() += calls;
        }
        for (name, count) in counts {
            let sum = self.counts.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
}

impl TaskMetrics {
    /// The numbers as they are now; what the task is doing is counted until `now`.
    ///
    /// The four times are of one moment, the other numbers each of its own.
    pub fn numbers(&self, now: Moment) -> Numbers {
        let [busy_ns, idle_ns, back_pressured_ns, waiting_for_cpu_ns] = self.times(now);
        Numbers {
            records_in: self.records_in.get(),
            records_out: self.records_out.get(),
            batches_in: self.batches_in.get(),
            batches_out: self.batches_out.get(),
            side_records_dropped: self.side_records_dropped.get(),
            records_queued: u64::try_from(self.records_queued.get()).unwrap_or(0),
            records_queued_peak: u64::try_from(self.records_queued.peak()).unwrap_or(0),
            turns: self.turns.get(),
            slow_turns: self.slow_turns.get(),
            busy_ns,
            idle_ns,
            back_pressured_ns,
            waiting_for_cpu_ns,
            calls: self.calls_if_any().map(|calls| calls.numbers(now)),
            counts: self.counts(),
        }
    }
}

/// One task with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskNumbers {
    /// The stage's name.
    pub stage: String,
    /// Which of the stage's tasks, from 0.
    pub subtask: usize,
    /// Where the task is in its life.
    pub state: TaskState,
    /// What it counted; in serialised form these stand beside the fields above.
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// One stage with the sums over its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageNumbers {
    /// The stage's name.
    pub stage: String,
    /// How many tasks there are.
    pub tasks: usize,
    /// The sums; in serialised form these stand beside the fields above.
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// All numbers of a job, in the order of its plan.
///
/// Its `Display` is a table with a line a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobNumbers {
    /// The job's name.
    pub job: String,
    /// Each task, by stage and then by subtask.
    pub tasks: Vec<TaskNumbers>,
    /// Each stage that has tasks.
    pub stages: Vec<StageNumbers>,
}

impl JobNumbers {
    /// Adds up the stages of tasks that are sorted by stage.
    pub(crate) fn of(job: String, tasks: Vec<TaskNumbers>) -> Self {
        let stages = tasks.chunk_by(|one, other| one.stage == other.stage).map(|tasks| {
            let mut sums = Numbers::default();
            tasks.iter().for_each(|task| sums += &task.numbers);
            let stage = tasks.first().map(|task| task.stage.clone()).unwrap_or_default();
            StageNumbers { stage, tasks: tasks.len(), numbers: sums }
        });
        Self { stages: stages.collect(), job, tasks }
    }

    /// One task.
    pub fn task(&self, stage: &str, subtask: usize) -> Option<&TaskNumbers> {
        self.tasks.iter().find(|task| task.stage == stage && task.subtask == subtask)
    }

    /// One stage.
    pub fn stage(&self, stage: &str) -> Option<&StageNumbers> {
        self.stages.iter().find(|numbers| numbers.stage == stage)
    }

    /// The sums over all tasks.
    pub fn total(&self) -> Numbers {
        let mut total = Numbers::default();
        self.stages.iter().for_each(|stage| total += &stage.numbers);
        total
    }
}
