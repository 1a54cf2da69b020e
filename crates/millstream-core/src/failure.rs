//! What went wrong in a user's code or at an end of the graph, with where and about what.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::describe;

/// A place in an input: what an error about a row points at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column's name, or its number from 1.
    pub column: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        Ok(())
    }
}

/// An error of an operator, a source or a sink: a cause, and what is known about its circumstances.
///
/// Any error turns into one by `?`. The runtime adds the job, the stage and the task; whoever makes
/// it adds the place and the record if they are known. Cloning is cheap: the cause is shared.
///
/// # Examples
///
/// ```
/// use millstream_core::Failure;
///
/// fn parse(text: &str) -> Result<u32, Failure> {
///     Ok(text.parse::<u32>()?)
/// }
///
/// let failure = parse("x").unwrap_err().about(&"x");
/// assert_eq!(failure.to_string(), "invalid digit found in string");
/// assert_eq!(failure.record(), Some("\"x\""));
/// ```
#[derive(Clone)]
pub struct Failure(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    cause: Arc<dyn Error + Send + Sync>,
    place: Option<Place>,
    record: Option<String>,
}

impl Failure {
    /// A failure with this cause; a string will do.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::new(Parts { cause: Arc::from(cause.into()), place: None, record: None }))
    }

    /// The same failure, pointing at a place in an input.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        Arc::make_mut(&mut self.0).place = Some(place);
        self
    }

    /// The same failure, telling which record it is about (see [`describe`]).
    #[must_use]
    pub fn about(self, record: &(impl Serialize + ?Sized)) -> Self {
        let text = describe(record);
        self.about_text(text)
    }

    /// The same failure, with a record's text as it is.
    #[must_use]
    pub fn about_text(mut self, record: String) -> Self {
        Arc::make_mut(&mut self.0).record = Some(record);
        self
    }

    /// What is to blame.
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0.cause
    }

    /// Where in an input, if that is known.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The record's text, if the record is known.
    pub fn record(&self) -> Option<&str> {
        self.0.record.as_deref()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(cause: E) -> Self {
        Self::new(cause)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Some(place) => write!(f, "{place}: {}", self.0.cause),
            None => self.0.cause.fmt(f),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("cause", &self.0.cause)
            .field("place", &self.0.place)
            .field("record", &self.0.record)
            .finish()
    }
}
