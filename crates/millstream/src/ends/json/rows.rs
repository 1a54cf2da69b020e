//! Splits JSON Lines into lines, and makes values of them.

use std::marker::PhantomData;
use std::str;

use millstream_core::Data;
use serde::de::DeserializeOwned;

use crate::ends::file::{Fault, RowError, Rows};

/// The lines of a JSON Lines file.
pub struct JsonRows<T>(PhantomData<fn() -> T>);

impl<T> JsonRows<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Data + DeserializeOwned> Rows for JsonRows<T> {
    type Value = T;

    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (bytes.len(), false),
        }
    }

    fn end(&mut self) -> Result<(), RowError> {
        Ok(())
    }

    fn value(&mut self, row: &[u8]) -> Result<Option<T>, Fault> {
        let text = str::from_utf8(row).map_err(|error| {
            Fault::Row(RowError::Utf8, Some((error.valid_up_to() + 1).to_string()))
        })?;
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(text).map(Some).map_err(|error| fault(&error))
    }

    fn forget(&mut self) {}
}

/// The parser counts the lines of what it was given, which is one; where in it moves to the place.
fn fault(error: &serde_json::Error) -> Fault {
    let column = error.column();
    let text = error.to_string();
    let place = format!(" at line {} column {column}", error.line());
    let cause = text.strip_suffix(&place).unwrap_or(&text);
    Fault::value(cause, (column > 0).then(|| column.to_string()))
}
