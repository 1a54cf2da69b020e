//! The text of `word-count`: made from a seed with words as unevenly frequent as those of a
//! language, kept in a file, and read line by line from memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How many words stand on a line.
pub const WORDS_PER_LINE: u64 = 10;

/// How many different words there are.
const VOCABULARY: u64 = 50_000;

/// The words of a line.
///
/// # Examples
///
/// ```
/// let words: Vec<&str> = millstream_bench_workload::tokens("the mill turns").collect();
/// assert_eq!(words, ["the", "mill", "turns"]);
/// ```
#[inline]
pub fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ')
}

/// Writes at least `bytes` bytes of text in whole lines. The same seed gives the same text.
///
/// The file appears under its name only when it is complete, so that one that is there can be
/// used by the next run.
///
/// # Errors
///
/// Those of the file system.
pub fn write_text(path: &Path, seed: u64, bytes: u64) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&unfinished)?);
    let zipf = Zipf::new();
    let mut chance = Chance(seed);
    let (mut line, mut written) = (String::new(), 0);
    while written < bytes {
        line.clear();
        for place in 0..WORDS_PER_LINE {
            if place > 0 {
                line.push(' ');
            }
            spell(zipf.rank(chance.next()), &mut line);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(&unfinished, path)
}

/// Why a text cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file cannot be read.
    #[error("the text {} cannot be read: who asks for rounds must make it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the text {} has no line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A text in memory, for as long as the process lives.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    lines: &'static [&'static str],
}

impl Text {
    /// Reads a text. Its memory is never given back: a side reads one, once.
    ///
    /// # Errors
    ///
    /// [`TextError`] when it cannot be read or has no line.
    pub fn load(path: &Path) -> Result<Self, TextError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|source| TextError::Read { path: path.to_owned(), source })?;
        let lines: Vec<&'static str> = String::leak(text).lines().collect();
        if lines.is_empty() {
            return Err(TextError::Empty { path: path.to_owned() });
        }
        Ok(Self { lines: Vec::leak(lines) })
    }

    /// How many words it has.
    pub const fn words(&self) -> u64 {
        self.lines.len() as u64 * WORDS_PER_LINE
    }

    /// The lines that source `index` of `of` sources reads: its piece of the text, over and over
    /// until all sources together have read `words` words (at least; the text is read whole).
    pub fn share(
        &self,
        words: u64,
        index: u64,
        of: u64,
    ) -> impl Iterator<Item = &'static str> + Clone + Send + use<> {
        let piece = crate::share(self.lines.len() as u64, index, of);
        let lines = &self.lines[piece.start as usize..piece.end as usize];
        (0..words.div_ceil(self.words())).flat_map(|_| lines.iter().copied())
    }
}

/// Draws ranks with the frequencies that Zipf found: the word of rank r comes 1/r as often as
/// the first. Whole numbers only, so that a text is the same on every machine.
struct Zipf {
    /// For each rank the sum of the weights up to it.
    sums: Vec<u64>,
    total: u64,
}

impl Zipf {
    fn new() -> Self {
        let mut total = 0;
        let sums = (1..=VOCABULARY)
            .map(|rank| {
                total += (1_u64 << 40) / rank;
                total
            })
            .collect();
        Self { sums, total }
    }

    fn rank(&self, random: u64) -> usize {
        let wanted = random % self.total;
        self.sums.partition_point(|&sum| sum <= wanted)
    }
}

/// Appends the word of a rank: one syllable of three letters for the most frequent ones, then
/// two, so that frequent words are short ones.
fn spell(rank: usize, out: &mut String) {
    const FIRST: &[u8; 16] = b"bcdfghjklmnprstv";
    const MIDDLE: &[u8; 5] = b"aeiou";
    const LAST: &[u8; 8] = b"dklmnrst";
    const SYLLABLES: usize = FIRST.len() * MIDDLE.len() * LAST.len();
    if rank >= SYLLABLES {
        spell(rank / SYLLABLES - 1, out);
    }
    let syllable = rank % SYLLABLES;
    out.push(char::from(FIRST[syllable % FIRST.len()]));
    out.push(char::from(MIDDLE[syllable / FIRST.len() % MIDDLE.len()]));
    out.push(char::from(LAST[syllable / (FIRST.len() * MIDDLE.len())]));
}

/// SplitMix64: a sequence that a seed decides.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn text(name: &str, seed: u64, bytes: u64) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_text(&path, seed, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn a_seed_decides_the_text() {
        let (_a, one) = text("one", 7, 10_000);
        let (_b, same) = text("same", 7, 10_000);
        let (_c, other) = text("other", 8, 10_000);
        let read = |path| std::fs::read(path).unwrap();
        assert_eq!(read(&one), read(&same));
        assert_ne!(read(&one), read(&other));
        assert!(read(&one).len() >= 10_000);
        assert!(read(&one).ends_with(b"\n"));
    }

    #[test]
    fn every_rank_has_a_word_of_its_own() {
        let words: HashSet<String> = (0..VOCABULARY as usize)
            .map(|rank| {
                let mut word = String::new();
                spell(rank, &mut word);
                word
            })
            .collect();
        assert_eq!(words.len(), VOCABULARY as usize);
    }

    #[test]
    fn the_second_word_comes_half_as_often_as_the_first() {
        let (zipf, mut chance) = (Zipf::new(), Chance(3));
        let mut counts = HashMap::new();
        for _ in 0..1_000_000 {
            *counts.entry(zipf.rank(chance.next())).or_insert(0_u32) += 1;
        }
        let ratio = f64::from(counts[&1]) / f64::from(counts[&0]);
        assert!((0.48..0.52).contains(&ratio), "{ratio}");
        assert!(counts.keys().all(|&rank| rank < VOCABULARY as usize));
    }

    #[test]
    fn sources_together_read_every_line_of_every_pass() {
        let (_folder, path) = text("shared", 1, 5_000);
        let text = Text::load(&path).unwrap();
        let words: u64 = (0..3)
            .flat_map(|index| text.share(text.words() * 2, index, 3))
            .map(|line| tokens(line).count() as u64)
            .sum();
        assert_eq!(words, text.words() * 2);
    }

    #[test]
    fn a_text_that_is_missing_or_empty_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.txt");
        let error = Text::load(&path).unwrap_err();
        assert!(matches!(&error, TextError::Read { path: named, .. } if *named == path));
        std::fs::write(&path, "").unwrap();
        assert!(matches!(Text::load(&path).unwrap_err(), TextError::Empty { .. }));
    }
}
