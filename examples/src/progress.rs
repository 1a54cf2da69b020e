//! How far the job has come, drawn on a terminal.

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};
use millstream::{Clock, Job, JobError, SystemClock};

/// Between two looks at the job.
const LOOK: Duration = Duration::from_millis(50);

/// How much of a file, unpacked, is looked at to guess how many rows it has.
const SAMPLE_BYTES: u64 = 256 * 1_024;

/// A bar for the flights of a file; a hidden one where it would only be in the way.
///
/// What it is given as a prefix stands in front of it.
pub fn bar(input: &Path) -> ProgressBar {
    if !io::stdout().is_terminal() || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    // A file that cannot be read is the job's to complain about.
    let bar = ProgressBar::new(rows_guess(input).unwrap_or(0));
    let style = "{prefix}{bar:40} {percent:>3} % · {human_pos} flights";
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Moves the bar by what a stage has sent on, until the job has ended.
///
/// # Errors
///
/// When the job fails.
pub async fn follow(job: &Job, stage: &str, bar: &ProgressBar) -> Result<(), JobError> {
    let clock = SystemClock::new();
    let mut finished = pin!(job.finished());
    let outcome = loop {
        show(job, stage, bar);
        let mut tick = clock.wake_at(clock.monotonic().plus(LOOK));
        let first = poll_fn(|cx| match finished.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => tick.as_mut().poll(cx).map(|()| None),
        });
        if let Some(outcome) = first.await {
            break outcome;
        }
    };
    show(job, stage, bar);
    match &outcome {
        Ok(()) => {
            bar.set_length(bar.position());
            bar.finish();
        }
        Err(_) => bar.abandon(),
    }
    outcome
}

/// A look at the job's numbers asks none of its tasks, so it holds up none.
fn show(job: &Job, stage: &str, bar: &ProgressBar) {
    let numbers = job.status().numbers;
    let rows = numbers.stage(stage).map_or(0, |stage| stage.numbers.records_out);
    bar.set_length(bar.length().unwrap_or(0).max(rows));
    bar.set_position(rows);
}

/// About how many rows a file has: as many as fit into its length, by the length of those at its
/// beginning.
fn rows_guess(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut length = file.metadata()?.len();
    let mut sample = Vec::new();
    if path.extension().is_some_and(|end| end == "gz") {
        // Four bytes at the end say how long the contents are, up to 4 GiB.
        file.seek(SeekFrom::End(-4))?;
        let mut unpacked = [0; 4];
        file.read_exact(&mut unpacked)?;
        length = length.max(u32::from_le_bytes(unpacked).into());
        file.rewind()?;
        MultiGzDecoder::new(file).take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    } else {
        file.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    }
    let lines = sample.iter().filter(|byte| **byte == b'\n').count() as u64;
    let rows = lines.saturating_sub(1);
    Ok(rows.saturating_mul(length) / (sample.len() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(name: &str) -> u64 {
        rows_guess(&crate::data(name)).unwrap()
    }

    #[test]
    fn the_rows_of_a_long_file_are_guessed_well_and_those_of_a_short_one_are_counted() {
        let flights = guess("flights-2013-01.csv.gz");
        assert!(flights.abs_diff(27_004) < 500, "{flights}");
        assert_eq!(guess("airlines.csv.gz"), 16);
    }

    #[test]
    fn a_file_that_is_not_there_is_no_guess() {
        assert!(rows_guess(Path::new("no such file")).is_err());
    }
}
