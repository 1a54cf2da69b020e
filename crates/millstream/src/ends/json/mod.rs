//! JSON Lines files: a value in each line.

mod rows;
mod sink;
mod source;

use std::marker::PhantomData;
use std::path::PathBuf;

pub use sink::JsonLinesSink;
pub use source::JsonLinesSource;

/// JSON Lines files, plain, or compressed if the name ends in `.gz`.
///
/// Each line is one value; lines end in `\n` or `\r\n`, and blank ones are passed over. A `NaN` or
/// an infinity is written as `null`, since JSON has none.
///
/// What stands behind the source or in front of the sink says what type `T` is; where nothing does,
/// `JsonLines::<Row>::open(path)` says it.
pub struct JsonLines<T>(PhantomData<T>);

impl<T> JsonLines<T> {
    /// A source of the values of a file.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Delay {
    ///     carrier: String,
    ///     minutes: Option<f64>,
    /// }
    ///
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("delays.jsonl");
    /// std::fs::write(&path, "{\"carrier\":\"UA\",\"minutes\":2}\n{\"carrier\":\"AA\"}\n")?;
    ///
    /// let flow = Dataflow::new("delays");
    /// let delays = flow
    ///     .source("delays", JsonLines::open(&path))
    ///     .map(|delay: Delay| (delay.carrier, delay.minutes))
    ///     .collect("out");
    /// flow.start(Settings::new()).await?.finished().await?;
    ///
    /// assert_eq!(delays.take(), [("UA".to_owned(), Some(2.0)), ("AA".to_owned(), None)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(path: impl Into<PathBuf>) -> JsonLinesSource<T> {
        JsonLinesSource::new(path.into())
    }

    /// A sink into a file, which becomes visible when the job ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pairs.jsonl");
    /// let flow = Dataflow::new("pairs");
    /// let _ = flow
    ///     .source("numbers", Items::from(1..=2))
    ///     .map(|n: u64| (n, n.to_string()))
    ///     .sink("pairs", JsonLines::to(&path));
    /// flow.start(Settings::new()).await?.finished().await?;
    ///
    /// assert_eq!(std::fs::read_to_string(&path)?, "[1,\"1\"]\n[2,\"2\"]\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn to(path: impl Into<PathBuf>) -> JsonLinesSink<T> {
        JsonLinesSink::new(path.into())
    }
}
