//! How a round is asked for and answered: one line of JSON each way.
//!
//! A side is a process that lives through the run. It takes one [`RoundRequest`] a line on its
//! standard input and gives one [`Answer`] a line on its standard output:
//!
//! ```text
//! > {"workload":"exchange","records":20000000,"workers":1,"seed":1,"batch_records":1024}
//! < {"records":20000000,"seconds":0.37,"cpu_seconds":0.71,"checksum":399999980000000,"batches":0}
//! > {"workload":"nothing","records":1,"workers":1,"seed":1,"batch_records":1024}
//! < {"error":"there is no workload \"nothing\" here"}
//! ```
//!
//! When its input ends, it ends. Its standard error is the user's. A side measures itself, around
//! the round and nothing else, so that neither its start nor the pipe is measured.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One round that a side is asked to do.
///
/// # Examples
///
/// ```
/// use millstream_bench_workload::{RoundRequest, line, parse};
///
/// let request = RoundRequest { records: 5, ..RoundRequest::new("map") };
/// let text = line(&request)?;
/// assert!(text.starts_with(r#"{"workload":"map","records":5,"#));
/// assert_eq!(parse::<RoundRequest>(&text)?, request);
/// # Ok::<(), millstream_bench_workload::ProtocolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundRequest {
    /// The workload's name.
    pub workload: String,
    /// How many records go through.
    pub records: u64,
    /// How many workers (threads, arbiters) do it.
    pub workers: u64,
    /// What decides data that is drawn by chance.
    pub seed: u64,
    /// How many records a batch may have.
    pub batch_records: u64,
    /// Multiplications of user work a record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub work: u32,
    /// The text to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<PathBuf>,
    /// Records a second, where the source has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// How long to stay idle, where that is the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<f64>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl RoundRequest {
    /// A round of `workload` with nothing to do, by one worker, in batches of 1,024.
    pub fn new(workload: &str) -> Self {
        Self {
            workload: workload.to_owned(),
            records: 0,
            workers: 1,
            seed: 1,
            batch_records: 1_024,
            work: 0,
            text: None,
            rate: None,
            idle_seconds: None,
        }
    }
}

/// What a side says about a round it has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundReport {
    /// How many records came out at the end.
    pub records: u64,
    /// How long it took.
    pub seconds: f64,
    /// How much time of processors it took, of all threads, user and system.
    pub cpu_seconds: f64,
    /// What the results came to.
    pub checksum: u64,
    /// How many batches the second task of an exchange received; 0 where nobody counts.
    pub batches: u64,
    /// How old records were at the end, where that is the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// How old records were when they came out, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Half of them were younger.
    pub p50_ms: f64,
    /// 99 of 100 were younger.
    pub p99_ms: f64,
    /// 999 of 1,000 were younger.
    pub p999_ms: f64,
    /// 99 of 100 were made by the source at most this long after they were due.
    pub late_p99_ms: f64,
}

/// What comes back for a [`RoundRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The round is done.
    Done(RoundReport),
    /// The round could not be done. The side goes on.
    Failed {
        /// Why, in lower case.
        error: String,
    },
}

/// Why a line is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The line cannot be understood.
    #[error("the line {line:?} is no {wanted}")]
    Parse {
        /// The line, cut at 200 characters.
        line: String,
        /// What it should have been.
        wanted: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The message cannot be written as a line.
    #[error("a message cannot be written as a line")]
    Write(#[from] serde_json::Error),
}

/// The line that says `message`, without the end of line.
///
/// # Errors
///
/// [`ProtocolError::Write`] when a path in it is not Unicode.
pub fn line<M: Serialize>(message: &M) -> Result<String, ProtocolError> {
    Ok(serde_json::to_string(message)?)
}

/// What a line says.
///
/// # Errors
///
/// [`ProtocolError::Parse`] when it is not JSON, or lacks a field, or has one that is not known.
pub fn parse<M: DeserializeOwned>(line: &str) -> Result<M, ProtocolError> {
    serde_json::from_str(line).map_err(|source| ProtocolError::Parse {
        line: line.chars().take(200).collect(),
        wanted: std::any::type_name::<M>().rsplit("::").next().unwrap_or("message"),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> RoundReport {
        RoundReport {
            records: 10,
            seconds: 0.5,
            cpu_seconds: 0.75,
            checksum: u64::MAX,
            batches: 1,
            latency: None,
        }
    }

    #[test]
    fn a_request_is_one_line_with_only_what_its_workload_needs() {
        let request = RoundRequest { records: 7, workers: 2, ..RoundRequest::new("exchange") };
        let meant = concat!(
            r#"{"workload":"exchange","records":7,"workers":2,"seed":1,"#,
            r#""batch_records":1024}"#
        );
        assert_eq!(line(&request).unwrap(), meant);
        let work = RoundRequest { work: 150, ..request };
        assert_eq!(line(&work).unwrap(), meant.replace('}', r#","work":150}"#));
    }

    #[test]
    fn an_answer_is_one_line_and_a_checksum_keeps_its_64_bits() {
        let meant = concat!(
            r#"{"records":10,"seconds":0.5,"cpu_seconds":0.75,"#,
            r#""checksum":18446744073709551615,"batches":1}"#
        );
        assert_eq!(line(&Answer::Done(report())).unwrap(), meant);
        assert_eq!(parse::<Answer>(meant).unwrap(), Answer::Done(report()));
    }

    #[test]
    fn a_failure_comes_back_as_one() {
        let failed = Answer::Failed { error: "no such thing".into() };
        let text = line(&failed).unwrap();
        assert_eq!(text, r#"{"error":"no such thing"}"#);
        assert_eq!(parse::<Answer>(&text).unwrap(), failed);
    }

    #[test]
    fn latency_stands_beside_the_rest() {
        let latency = Latency { p50_ms: 0.1, p99_ms: 0.5, p999_ms: 1.5, late_p99_ms: 1.25 };
        let answer = Answer::Done(RoundReport { latency: Some(latency), ..report() });
        let text = line(&answer).unwrap();
        assert!(text.ends_with(
            r#""latency":{"p50_ms":0.1,"p99_ms":0.5,"p999_ms":1.5,"late_p99_ms":1.25}}"#
        ));
        assert_eq!(parse::<Answer>(&text).unwrap(), answer);
    }

    #[test]
    fn a_line_that_is_nothing_says_what_it_should_have_been() {
        let error = parse::<RoundRequest>("hello").unwrap_err();
        assert_eq!(error.to_string(), r#"the line "hello" is no RoundRequest"#);
    }

    #[test]
    fn a_missing_and_an_unknown_field_are_errors() {
        let missing = r#"{"workload":"map","records":1,"workers":1,"seed":1}"#;
        let ProtocolError::Parse { source, .. } = parse::<RoundRequest>(missing).unwrap_err()
        else {
            panic!("not a parse error");
        };
        assert!(source.to_string().contains("batch_records"), "{source}");
        let unknown =
            r#"{"workload":"map","records":1,"workers":1,"seed":1,"batch_records":1,"x":1}"#;
        assert!(parse::<RoundRequest>(unknown).is_err());
        assert!(parse::<Answer>(r#"{"records":1}"#).is_err());
    }

    #[test]
    fn an_answer_without_one_of_its_figures_is_none() {
        let whole = serde_json::to_value(report()).unwrap();
        for field in ["records", "seconds", "cpu_seconds", "checksum", "batches"] {
            let mut part = whole.clone();
            assert!(part.as_object_mut().unwrap().remove(field).is_some(), "{field}");
            assert!(parse::<Answer>(&part.to_string()).is_err(), "{field}");
        }
    }

    #[test]
    fn a_long_line_is_cut_in_the_message() {
        let ProtocolError::Parse { line, .. } = parse::<Answer>(&"x".repeat(10_000)).unwrap_err()
        else {
            panic!("not a parse error");
        };
        assert_eq!(line.len(), 200);
    }
}
