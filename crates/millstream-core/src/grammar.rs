//! The grammar of a channel as a checker: feed it what passes and it says what was out of place.

use crate::{Epoch, Mark, Timestamp};

/// How a channel broke its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// A watermark did not rise.
    #[error("watermark {next:?} after watermark {last:?}: watermarks only rise")]
    Watermark {
        /// The one before.
        last: Timestamp,
        /// The one that came.
        next: Timestamp,
    },
    /// A barrier's epoch did not rise.
    #[error("barrier {next} after barrier {last}: epochs only rise")]
    Barrier {
        /// The one before.
        last: Epoch,
        /// The one that came.
        next: Epoch,
    },
    /// A record or a watermark came while the channel had said that it is idle.
    #[error("a record or a watermark on an idle channel: ACTIVE comes first")]
    Idle,
    /// Something followed the end.
    #[error("something follows the end")]
    AfterEnd,
}

/// What has passed on one channel, as far as the grammar needs to remember it.
///
/// # Examples
///
/// ```
/// use millstream_core::{Grammar, GrammarError, Mark, Timestamp};
///
/// let mut grammar = Grammar::default();
/// grammar.record()?;
/// grammar.mark(Mark::Watermark(Timestamp::from_millis(10).unwrap()))?;
/// grammar.mark(Mark::End)?;
/// assert_eq!(grammar.record(), Err(GrammarError::AfterEnd));
/// # Ok::<(), GrammarError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    watermark: Option<Timestamp>,
    barrier: Option<Epoch>,
    idle: bool,
    ended: bool,
}

impl Grammar {
    /// A record passes.
    ///
    /// # Errors
    ///
    /// When the channel is idle or has ended.
    pub fn record(&mut self) -> Result<(), GrammarError> {
        match (self.ended, self.idle) {
            (true, _) => Err(GrammarError::AfterEnd),
            (_, true) => Err(GrammarError::Idle),
            _ => Ok(()),
        }
    }

    /// A mark passes.
    ///
    /// # Errors
    ///
    /// When the mark is out of place. What was remembered stays as it was.
    pub fn mark(&mut self, mark: Mark) -> Result<(), GrammarError> {
        if self.ended {
            return Err(GrammarError::AfterEnd);
        }
        match mark {
            Mark::Watermark(_) if self.idle => return Err(GrammarError::Idle),
            Mark::Watermark(next) => match self.watermark {
                Some(last) if next <= last => return Err(GrammarError::Watermark { last, next }),
                _ => self.watermark = Some(next),
            },
            Mark::Barrier(next) => match self.barrier {
                Some(last) if next <= last => return Err(GrammarError::Barrier { last, next }),
                _ => self.barrier = Some(next),
            },
            Mark::Idle => self.idle = true,
            Mark::Active => self.idle = false,
            Mark::End => self.ended = true,
        }
        Ok(())
    }

    /// Whether the end has passed.
    pub const fn ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watermark(millis: i64) -> Mark {
        Mark::Watermark(Timestamp::from_millis(millis).unwrap())
    }

    #[test]
    fn watermarks_and_epochs_only_rise() {
        let mut grammar = Grammar::default();
        grammar.mark(watermark(5)).unwrap();
        assert!(matches!(grammar.mark(watermark(5)), Err(GrammarError::Watermark { .. })));
        assert!(matches!(grammar.mark(watermark(4)), Err(GrammarError::Watermark { .. })));
        grammar.mark(watermark(6)).unwrap();
        grammar.mark(Mark::Barrier(Epoch::new(2))).unwrap();
        let again = grammar.mark(Mark::Barrier(Epoch::new(2)));
        assert!(matches!(again, Err(GrammarError::Barrier { .. })));
    }

    #[test]
    fn nothing_comes_while_idle_but_barriers_status_and_end() {
        let mut grammar = Grammar::default();
        grammar.mark(Mark::Idle).unwrap();
        assert_eq!(grammar.record(), Err(GrammarError::Idle));
        assert_eq!(grammar.mark(watermark(1)), Err(GrammarError::Idle));
        grammar.mark(Mark::Barrier(Epoch::new(1))).unwrap();
        grammar.mark(Mark::Active).unwrap();
        grammar.record().unwrap();
        grammar.mark(Mark::Idle).unwrap();
        grammar.mark(Mark::End).unwrap();
        assert_eq!(grammar.mark(Mark::End), Err(GrammarError::AfterEnd));
        assert!(grammar.ended());
    }
}
