//! An operator that passes everything on and refuses what the grammar of a channel forbids.

use std::marker::PhantomData;

use millstream_core::{Data, Failure, Grammar, Mark, Stamped, TaskInfo, Timestamp};
use millstream_operators::{Effects, NoTimer, Operator};

/// Passes everything on, and fails when what comes is not what may come.
///
/// It can be put anywhere in a graph. It sees what an operator sees: records, and marks that are
/// merged over all inputs. It refuses a watermark that does not rise, anything before the opening
/// or after the end, a second opening; and if it is told to, late records.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::{Checker, simulate};
///
/// simulate(7, |flow| {
///     flow.source("numbers", Items::from(0..100_u64))
///         .operator("check", |_| Checker::new())
///         .collect("out")
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Checker<T> {
    grammar: Grammar,
    watermark: Option<Timestamp>,
    opened: bool,
    late: bool,
    types: PhantomData<fn(T)>,
}

impl<T> Checker<T> {
    /// A checker that lets late records pass.
    pub fn new() -> Self {
        Self {
            grammar: Grammar::default(),
            watermark: None,
            opened: false,
            late: true,
            types: PhantomData,
        }
    }

    /// The same, and a record at or below the watermark is refused.
    #[must_use]
    pub const fn refuse_late(mut self) -> Self {
        self.late = false;
        self
    }

    fn opened(&self) -> Result<(), Failure> {
        if self.opened {
            Ok(())
        } else {
            Err(Failure::new("an operator is called before it is open"))
        }
    }
}

impl<T> Default for Checker<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Data> Operator for Checker<T> {
    type In = T;
    type Out = T;
    type Timer = NoTimer;

    fn open(&mut self, _: &TaskInfo) -> Result<(), Failure> {
        if std::mem::replace(&mut self.opened, true) {
            return Err(Failure::new("an operator is opened twice"));
        }
        Ok(())
    }

    fn on_record(&mut self, record: Stamped<T>, out: &mut Effects<T>) -> Result<(), Failure> {
        self.opened()?;
        self.grammar.record()?;
        if let (false, Some(watermark), Some(at)) = (self.late, self.watermark, record.timestamp())
            && at <= watermark
        {
            return Err(Failure::new(format!("a record of {at:?} after watermark {watermark:?}")));
        }
        out.emit(record);
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Timestamp, _: &mut Effects<T>) -> Result<(), Failure> {
        self.opened()?;
        self.grammar.mark(Mark::Watermark(watermark))?;
        self.watermark = Some(watermark);
        Ok(())
    }

    fn on_end(&mut self, _: &mut Effects<T>) -> Result<(), Failure> {
        self.opened()?;
        Ok(self.grammar.mark(Mark::End)?)
    }

    fn close(&mut self) -> Result<(), Failure> {
        match self.grammar.ended() {
            true => Ok(()),
            false => Err(Failure::new("an operator is closed before its input has ended")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn open() -> (Checker<u8>, Effects<u8>) {
        let mut checker = Checker::new();
        checker.open(&crate::task(0, 1)).unwrap();
        (checker, Effects::new(Default::default(), 1_024))
    }

    fn said(result: Result<(), Failure>) -> String {
        result.map_or_else(|failure| failure.to_string(), |()| "nothing".to_owned())
    }

    #[test]
    fn what_is_as_it_should_be_passes() {
        let (mut checker, mut out) = open();
        checker.on_record(Stamped::new(1), &mut out).unwrap();
        checker.on_watermark(at(5), &mut out).unwrap();
        checker.on_record(Stamped::at(2, at(3)), &mut out).unwrap();
        checker.on_end(&mut out).unwrap();
        checker.close().unwrap();
        assert_eq!(*out.records(), [Stamped::new(1), Stamped::at(2, at(3))]);
    }

    #[test]
    fn nothing_follows_the_end_and_watermarks_rise() {
        let (mut checker, mut out) = open();
        checker.on_watermark(at(5), &mut out).unwrap();
        assert!(said(checker.on_watermark(at(5), &mut out)).contains("only rise"));
        checker.on_end(&mut out).unwrap();
        assert!(said(checker.on_record(Stamped::new(1), &mut out)).contains("follows the end"));
        assert!(said(checker.on_watermark(at(6), &mut out)).contains("follows the end"));
        assert!(said(checker.on_end(&mut out)).contains("follows the end"));
    }

    #[test]
    fn nothing_comes_before_the_opening_or_closes_before_the_end() {
        let (mut checker, mut out) = open();
        assert!(said(checker.open(&crate::task(0, 1))).contains("opened twice"));
        assert!(said(checker.close()).contains("closed before"));
        let mut fresh = Checker::new();
        assert!(said(fresh.on_record(Stamped::new(1), &mut out)).contains("before it is open"));
    }

    #[test]
    fn late_records_are_refused_if_that_is_asked_for() {
        let (checker, mut out) = open();
        let mut checker = checker.refuse_late();
        checker.on_watermark(at(5), &mut out).unwrap();
        checker.on_record(Stamped::at(1, at(6)), &mut out).unwrap();
        checker.on_record(Stamped::new(1), &mut out).unwrap();
        assert!(said(checker.on_record(Stamped::at(1, at(5)), &mut out)).contains("5ms after"));
    }
}
