//! A source of values made from their number, as fast as possible or at a rate.

use std::num::NonZeroU64;

use millstream_core::{Data, Failure, Moment, Stamped, Wake};
use millstream_runtime::{Read, ReadContext, Reader, Source, TaskContext};

/// Values made from their number: 0, 1, 2 …
///
/// # On recovery
///
/// The position is the number of values made by a split; a function of the number alone makes the
/// same values again. At a rate, the count of time starts anew.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
///
/// let flow = Dataflow::new("squares");
/// let squares = Generate::new(|n| n * n).records(1_000);
/// let _ = flow.source("squares", squares).collect("out");
/// ```
#[derive(Clone, Debug)]
pub struct Generate<F> {
    function: F,
    records: Option<u64>,
    per_second: Option<NonZeroU64>,
    splits: u64,
}

impl<T: Data, F: Fn(u64) -> T + Clone + Send + 'static> Generate<F> {
    /// Values of this function, without end.
    pub const fn new(function: F) -> Self {
        Self { function, records: None, per_second: None, splits: 1 }
    }

    /// The first `records` values, then the end.
    #[must_use]
    pub fn records(mut self, records: u64) -> Self {
        self.records = Some(records);
        self
    }

    /// At most so many values a second, over all splits together. What a slow graph has held up is
    /// made up for.
    #[must_use]
    pub fn per_second(mut self, per_second: NonZeroU64) -> Self {
        self.per_second = Some(per_second);
        self
    }

    /// Splits the numbers: split `i` of `n` makes the values of `i`, `i + n`, `i + 2n` … Zero
    /// counts as one.
    #[must_use]
    pub fn splits(mut self, splits: u64) -> Self {
        self.splits = splits.max(1);
        self
    }
}

impl<T: Data, F: Fn(u64) -> T + Clone + Send + 'static> Source for Generate<F> {
    type Out = T;
    type Position = u64;
    type Reader = GenerateReader<F>;

    fn splits(&self) -> Vec<String> {
        (0..self.splits).map(|split| split.to_string()).collect()
    }

    async fn open(
        &self,
        split: &str,
        position: Option<u64>,
        task: &TaskContext,
    ) -> Result<GenerateReader<F>, Failure> {
        let first = split.parse::<u64>()?;
        let made = position.unwrap_or(0);
        let all = self.records.unwrap_or(u64::MAX);
        let mine = all.saturating_sub(first).div_ceil(self.splits);
        Ok(GenerateReader {
            function: self.function.clone(),
            first,
            step: self.splits,
            made,
            mine,
            pace: self.per_second.map(|per_second| Pace {
                per_second: per_second.get(),
                splits: self.splits,
                began: task.clock.monotonic(),
                from: made,
                wake: None,
            }),
        })
    }
}

/// Reads a split of [`Generate`].
pub struct GenerateReader<F> {
    function: F,
    first: u64,
    step: u64,
    made: u64,
    /// How many this split makes in all.
    mine: u64,
    pace: Option<Pace>,
}

/// How many values may have been made by now.
struct Pace {
    per_second: u64,
    splits: u64,
    began: Moment,
    from: u64,
    wake: Option<Wake>,
}

const SECOND: u128 = 1_000_000_000;

impl Pace {
    /// Values of the split that may have been made at a moment.
    fn due(&self, now: Moment) -> u64 {
        let nanos = now.since(self.began).as_nanos();
        let due = nanos * u128::from(self.per_second) / (SECOND * u128::from(self.splits));
        self.from.saturating_add(u64::try_from(due).unwrap_or(u64::MAX))
    }

    /// When value number `n` of the split may be made.
    fn moment(&self, n: u64) -> Moment {
        let ahead = u128::from((n + 1).saturating_sub(self.from)) * u128::from(self.splits);
        let nanos = (ahead * SECOND).div_ceil(u128::from(self.per_second));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.began.plus(std::time::Duration::from_nanos(nanos))
    }
}

impl<T: Data, F: Fn(u64) -> T + 'static> Reader for GenerateReader<F> {
    type Out = T;
    type Position = u64;

    fn read(&mut self, cx: &mut ReadContext<'_, '_, T>) -> Result<Read, Failure> {
        let left = self.mine - self.made;
        let due = self
            .pace
            .as_ref()
            .map_or(left, |pace| pace.due(cx.clock().monotonic()).saturating_sub(self.made));
        let budget = u64::try_from(cx.budget())?;
        let n = left.min(due).min(budget);
        let (first, step, function) = (self.first, self.step, &self.function);
        let numbers = self.made..self.made + n;
        if step == 1 && first == 0 {
            cx.extend(numbers.map(|i| Stamped::new(function(i))));
        } else {
            cx.extend(numbers.map(|i| Stamped::new(function(first + i * step))));
        }
        self.made += n;
        if self.made == self.mine {
            return Ok(Read::Ended);
        }
        let Some(pace) = &mut self.pace else { return Ok(Read::Ready) };
        if n == budget {
            return Ok(Read::Ready);
        }
        let mut wake = cx.clock().wake_at(pace.moment(self.made));
        if wake.as_mut().poll(cx.context()).is_ready() {
            return Ok(Read::Ready);
        }
        pace.wake = Some(wake);
        Ok(Read::Later)
    }

    fn position(&self) -> u64 {
        self.made
    }
}
