//! What the larger examples share: the files they read, and how they speak to who runs them.

pub mod progress;

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use millstream::Record;
use millstream::prelude::*;

/// A file of the data, which lies beside the examples' source wherever a program is started.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// All rows of a CSV file, read by a job of its own.
///
/// # Errors
///
/// When the file cannot be read, or a row is none.
pub async fn rows<T: Record>(path: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    let flow = Dataflow::new("rows");
    let rows = flow.source("file", Csv::open(path).null("NA")).collect("rows");
    flow.start(Settings::from_env()?).await?.finished().await?;
    Ok(rows.take())
}

/// Writes to standard output; that a reader has seen enough is no error.
///
/// # Errors
///
/// When it cannot be written to for another reason.
pub fn say(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// A number with a comma between each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        let numbers = [0, 999, 1_000, 27_004, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "27,004", "1,234,567"]);
    }
}
