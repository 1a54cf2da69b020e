//! A keyed state: the words of a text, counted by four tasks.
//!
//! `key_by` sends all records of one key to one task, which keeps a state for each key. Without
//! `at_end` a count leaves for every word that comes in, as from an endless stream; with it one
//! count a key leaves, when the input ends.
//!
//! Run it: `cargo run --release --example word_count`

use std::error::Error;
use std::num::NonZeroUsize;

use millstream::prelude::*;

const TEXT: &str = "\
the mill stands by the stream
the stream drives the wheel
the wheel turns the stone and the stone grinds the corn";

/// Tasks that count; the source and the sink have one each, whatever the settings say.
const COUNTERS: usize = 4;

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flow = Dataflow::new("word-count");
    let counts = flow
        .source("lines", Items::from(TEXT.lines()))
        .flat_map(|line| line.split_whitespace().map(str::to_owned))
        .key_by(|word: &String| word.clone())
        .at_end()
        .count("count")
        .parallelism(COUNTERS)
        .collect("counts");

    // Two arbiters, which are threads, that belong to the job; its tasks are spread over them.
    let two = NonZeroUsize::MIN.saturating_add(1);
    let job = flow.start(Settings::new().workers(Workers::Own(two))).await?;
    job.finished().await?;

    // Which of the four tasks is done first is left to chance, so the result is put in order here.
    let mut counts = counts.take();
    counts.sort_by(|(one, m), (other, n)| n.cmp(m).then_with(|| one.cmp(other)));
    for (word, n) in &counts {
        println!("{n} {word}");
    }

    let total: u64 = counts.iter().map(|(_, n)| n).sum();
    println!("{total} words, {} of them different", counts.len());
    Ok(())
}
