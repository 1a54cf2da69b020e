//! What comes back from a call, and what goes on because of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use millstream_core::{Failure, Mark, Stamped};

use super::stored::Admission;
use super::{Ticket, Verdict};

/// A call that is to be made.
#[derive(Debug, PartialEq, Eq)]
pub struct Start<I> {
    /// The record it is for.
    pub ticket: Ticket,
    /// How many calls have been made for this record with this one.
    pub attempt: u32,
    /// Which record, for the outside.
    pub admission: Admission,
    /// What the call is about.
    pub input: I,
}

/// What a call has given.
#[derive(Debug)]
pub enum Answer<R> {
    /// Its results.
    Results(R),
    /// An error.
    Failed(Failure),
    /// It panicked, with this message.
    Panicked(Failure),
}

/// What goes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Out<I, R> {
    /// The results of one record, all at its time.
    Results(Stamped<()>, R),
    /// A record for the side output of dead letters.
    DeadLetter(Stamped<DeadLetter<I>>),
    /// A mark whose turn it is.
    Mark(Mark),
}

/// A record whose call has failed for good, with what is known about that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter<I> {
    /// The record.
    pub input: I,
    /// Why.
    pub cause: Cause,
    /// How many calls were made.
    pub attempts: u32,
}

impl<I> DeadLetter<I> {
    /// The same about another form of the record.
    pub fn map<J>(self, change: impl FnOnce(I) -> J) -> DeadLetter<J> {
        let Self { input, cause, attempts } = self;
        DeadLetter { input: change(input), cause, attempts }
    }

    /// Whether its time was over.
    pub const fn is_timeout(&self) -> bool {
        matches!(self.cause, Cause::Timeout(_))
    }
}

/// Why a record's call has failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The last call gave this error.
    Error(String),
    /// The last call panicked with this message.
    Panic(String),
    /// No call had succeeded after this time.
    Timeout(Duration),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => f.write_str(error),
            Self::Panic(message) => write!(f, "panicked: {message}"),
            Self::Timeout(after) => write!(f, "timed out after {after:?}"),
        }
    }
}

/// What a record has come to, kept until its turn.
#[derive(Debug)]
pub(super) enum Settled<R> {
    Results(R),
    Dropped,
    /// In a box, because it is rare and large.
    Dead(Box<(Cause, u32)>),
}

/// A call that failed for good, and with it the job.
#[derive(Clone, Debug)]
pub struct CallError {
    attempts: u32,
    cause: Cause,
    failure: Option<Failure>,
}

impl CallError {
    pub(super) fn failure(attempts: u32, cause: Cause, failure: Option<Failure>) -> Failure {
        Failure::new(Self { attempts, cause, failure })
    }

    /// How many calls were made for the record.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Why the last one failed.
    pub const fn cause(&self) -> &Cause {
        &self.cause
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.attempts == 1 { "" } else { "s" };
        match &self.cause {
            Cause::Timeout(after) => {
                write!(f, "no answer within {after:?}, after {} call{s}", self.attempts)
            }
            cause => write!(f, "the call failed, after {} call{s}: {cause}", self.attempts),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.failure.as_ref().map(|failure| failure.cause() as &(dyn Error + 'static))
    }
}

/// A verdict with its job-failing part taken out. A dead letter needs its input.
pub(super) fn settled<R>(
    verdict: Verdict<R>,
    has_input: bool,
    cause: Cause,
    attempts: u32,
) -> Result<Settled<R>, Cause> {
    match verdict {
        Verdict::DeadLetter if has_input => Ok(Settled::Dead(Box::new((cause, attempts)))),
        Verdict::Fail | Verdict::DeadLetter => Err(cause),
        Verdict::Drop => Ok(Settled::Dropped),
        Verdict::Fallback(results) => Ok(Settled::Results(results)),
    }
}
