//! The ends that every user needs.

mod collect;
#[cfg(feature = "csv")]
mod csv;
mod each;
#[cfg(any(feature = "csv", feature = "json"))]
mod file;
mod generate;
mod items;
#[cfg(feature = "json")]
mod json;

pub use collect::{Collect, Collected};
#[cfg(feature = "csv")]
pub use csv::{Csv, CsvSink, CsvSource};
pub use each::Each;
#[cfg(any(feature = "csv", feature = "json"))]
pub use file::{BadRow, FileError, FilePosition, FileTransaction, RowError};
pub use generate::Generate;
pub use items::{Items, ItemsReader};
#[cfg(feature = "json")]
pub use json::{JsonLines, JsonLinesSink, JsonLinesSource};
