//! The other end of the protocol: a process that does rounds until its input ends, and measures
//! itself around each.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::{Answer, Checksum, Latency, RoundReport, RoundRequest, line, parse};

/// One workload as one side does it.
pub trait Workload {
    /// Its name, the same on every side.
    fn name(&self) -> &'static str;

    /// Makes ready what is not to be measured. Does nothing unless it is written.
    ///
    /// # Errors
    ///
    /// Whatever keeps the round from being done.
    fn prepare(&mut self, request: &RoundRequest) -> Result<(), SideError> {
        let _ = request;
        Ok(())
    }

    /// Does the round, from building the dataflow until the last result is there. This is what
    /// is measured.
    ///
    /// # Errors
    ///
    /// Whatever kept the round from being done.
    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError>;
}

/// What came out of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// How many records came out at the end.
    pub records: u64,
    /// What they came to.
    pub checksum: Checksum,
    /// How many batches the second task of an exchange received; 0 where nobody counts.
    pub batches: u64,
    /// How old they were, where that is the workload.
    pub latency: Option<Latency>,
}

/// Why a side cannot do a round.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// It does not know the workload.
    #[error("there is no workload {workload:?} here")]
    NoWorkload {
        /// The name asked for.
        workload: String,
    },
    /// It cannot do it with so many workers.
    #[error("{workload:?} is done by at most {most} here, not by {workers} workers")]
    Workers {
        /// The workload.
        workload: &'static str,
        /// How many were asked for.
        workers: u64,
        /// How many it can have.
        most: u64,
    },
    /// The request lacks something that the workload needs.
    #[error("the round of {workload:?} lacks the field {field:?}")]
    Lacks {
        /// The workload.
        workload: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The round ended with an error.
    #[error(transparent)]
    Failed(#[from] Box<dyn Error + Send + Sync>),
}

impl SideError {
    /// The round ended with `error`.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

/// The time of processors that this process has used, in seconds: all threads, also those that
/// have ended, user and system.
///
/// # Errors
///
/// That of `getrusage`.
pub fn cpu_seconds() -> io::Result<f64> {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Takes rounds from `input` until it ends, and answers each on `output`.
///
/// A round that fails is answered with its error; only a broken pipe ends this early.
///
/// # Errors
///
/// Those of the two pipes.
pub fn serve(
    workloads: &mut [Box<dyn Workload>],
    input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    for request in input.lines() {
        let answer = answer(workloads, &request?);
        let text = line(&answer).map_err(io::Error::other)?;
        writeln!(output, "{text}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(workloads: &mut [Box<dyn Workload>], text: &str) -> Answer {
    let done =
        parse(text).map_err(SideError::failed).and_then(|request| measured(workloads, &request));
    match done {
        Ok(report) => Answer::Done(report),
        Err(error) => Answer::Failed { error: with_causes(&error) },
    }
}

fn measured(
    workloads: &mut [Box<dyn Workload>],
    request: &RoundRequest,
) -> Result<RoundReport, SideError> {
    let workload = workloads
        .iter_mut()
        .find(|workload| workload.name() == request.workload)
        .ok_or_else(|| SideError::NoWorkload { workload: request.workload.clone() })?;
    workload.prepare(request)?;
    let cpu_before = cpu_seconds().map_err(SideError::failed)?;
    let begin = Instant::now();
    let outcome = workload.round(request)?;
    let seconds = begin.elapsed().as_secs_f64();
    let cpu_after = cpu_seconds().map_err(SideError::failed)?;
    Ok(RoundReport {
        records: outcome.records,
        seconds,
        cpu_seconds: cpu_after - cpu_before,
        checksum: outcome.checksum.value(),
        batches: outcome.batches,
        latency: outcome.latency,
    })
}

/// An error and what caused it, on one line.
fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count;

    impl Workload for Count {
        fn name(&self) -> &'static str {
            "count"
        }

        fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
            if request.workers > 1 {
                let workers = request.workers;
                return Err(SideError::Workers { workload: "count", workers, most: 1 });
            }
            let mut checksum = Checksum::default();
            (0..request.records).for_each(|number| checksum.add(number));
            Ok(Outcome { records: request.records, checksum, ..Outcome::default() })
        }
    }

    fn answers(input: &str) -> Vec<Answer> {
        let mut output = Vec::new();
        serve(&mut [Box::new(Count)], input.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| parse(line).unwrap()).collect()
    }

    fn ask(workload: &str, records: u64, workers: u64) -> String {
        line(&RoundRequest { records, workers, ..RoundRequest::new(workload) }).unwrap() + "\n"
    }

    #[test]
    fn each_line_is_a_round_and_each_round_an_answer() {
        let answers = answers(&(ask("count", 3, 1) + &ask("count", 5, 1)));
        let [Answer::Done(three), Answer::Done(five)] = answers.as_slice() else {
            panic!("{answers:?}");
        };
        assert_eq!((three.records, three.checksum), (3, 3));
        assert_eq!((five.records, five.checksum), (5, 10));
        assert!(five.seconds >= 0.0 && five.cpu_seconds >= 0.0);
    }

    #[test]
    fn a_round_that_fails_does_not_end_the_side() {
        let answers = answers(&(ask("none", 1, 1) + "nonsense\n" + &ask("count", 2, 1)));
        let [Answer::Failed { error: none }, Answer::Failed { error }, Answer::Done(_)] =
            answers.as_slice()
        else {
            panic!("{answers:?}");
        };
        assert_eq!(none, r#"there is no workload "none" here"#);
        assert!(error.starts_with(r#"the line "nonsense" is no RoundRequest: "#), "{error}");
    }

    #[test]
    fn a_side_says_how_many_workers_it_can_have() {
        let answers = answers(&ask("count", 1, 4));
        let error = r#""count" is done by at most 1 here, not by 4 workers"#.to_owned();
        assert_eq!(answers, [Answer::Failed { error }]);
    }
}
