//! What all kinds of files have in common: opening, rows and their faults, and becoming visible.

mod error;
mod output;
mod reader;
mod row;
mod target;
mod text;
mod writer;

pub use error::FileError;
pub use output::FileTransaction;
pub use reader::FilePosition;
pub use row::{BadRow, RowError};

pub(super) use reader::{RowOptions, RowReader, Rows};
pub(super) use row::Fault;
#[cfg(feature = "csv")]
pub(super) use row::failure;
pub(super) use writer::{FileWriter, Format, Unwritable};
