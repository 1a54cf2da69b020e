//! CSV files: rows of columns that a header names.

mod cell;
mod field;
mod rows;
mod sink;
mod source;
mod table;
mod typed;

use std::marker::PhantomData;
use std::path::PathBuf;

pub use sink::CsvSink;
pub use source::CsvSource;

/// CSV files, plain, or compressed if the name ends in `.gz`.
///
/// Fields may be quoted with `"`, which is doubled inside of quotes; quoted fields may hold
/// delimiters and line breaks. Lines end in `\n`, `\r\n` or `\r`. The first line names the columns.
///
/// What stands behind the source or in front of the sink says what type `T` is; where nothing does,
/// `Csv::<Row>::open(path)` says it.
pub struct Csv<T>(PhantomData<T>);

impl<T> Csv<T> {
    /// A source of the rows of a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Flight {
    ///     carrier: String,
    ///     dep_delay: Option<f64>,
    /// }
    ///
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("flights.csv");
    /// std::fs::write(&path, "carrier,flight,dep_delay\nUA,1545,2\nAA,1141,NA\n")?;
    ///
    /// let flow = Dataflow::new("flights");
    /// let delays = flow
    ///     .source("flights", Csv::open(&path).null("NA"))
    ///     .map(|flight: Flight| (flight.carrier, flight.dep_delay))
    ///     .collect("delays");
    /// flow.start(Settings::new()).await?.finished().await?;
    ///
    /// assert_eq!(delays.take(), [("UA".to_owned(), Some(2.0)), ("AA".to_owned(), None)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(path: impl Into<PathBuf>) -> CsvSource<T> {
        CsvSource::new(path.into())
    }

    /// A sink into a file, which becomes visible when the job ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Square {
    ///     n: u64,
    ///     square: u64,
    /// }
    ///
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("squares.csv");
    /// let flow = Dataflow::new("squares");
    /// let _ = flow
    ///     .source("numbers", Items::from(1..=3))
    ///     .map(|n| Square { n, square: n * n })
    ///     .sink("squares", Csv::to(&path));
    /// flow.start(Settings::new()).await?.finished().await?;
    ///
    /// assert_eq!(std::fs::read_to_string(&path)?, "n,square\n1,1\n2,4\n3,9\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn to(path: impl Into<PathBuf>) -> CsvSink<T> {
        CsvSink::new(path.into())
    }
}

#[cfg(test)]
mod tests;
