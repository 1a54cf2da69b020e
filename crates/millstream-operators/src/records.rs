//! Records that came together, as an operator takes them.

use std::iter::Take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::vec::Drain;

use millstream_core::Stamped;

/// The next records of a batch, in order: as many as an operator may take in one call.
///
/// An iterator that also shows what comes next, so that work for several records can be begun
/// before the first of them is taken.
///
/// # Examples
///
/// ```
/// use millstream_core::Stamped;
/// use millstream_operators::Records;
///
/// let mut batch: Vec<_> = (1..=4).map(Stamped::new).collect();
/// let mut drain = batch.drain(..);
/// let mut records = Records::new(&mut drain, 3);
/// assert_eq!(records.next(), Some(Stamped::new(1)));
/// assert_eq!(records.ahead(), [2, 3].map(Stamped::new));
/// assert_eq!(records.count(), 2);
/// assert_eq!(drain.next(), Some(Stamped::new(4)));
/// ```
pub struct Records<'a, 'b, T> {
    batch: &'a mut Drain<'b, Stamped<T>>,
    left: usize,
}

impl<'a, 'b, T> Records<'a, 'b, T> {
    /// The next `at_most` records of a batch.
    pub fn new(batch: &'a mut Drain<'b, Stamped<T>>, at_most: usize) -> Self {
        let left = at_most.min(batch.len());
        Self { batch, left }
    }

    /// What comes next.
    #[inline]
    pub fn ahead(&self) -> &[Stamped<T>] {
        &self.batch.as_slice()[..self.left]
    }

    /// Takes the next `records`, or those that there are, by an iterator of the standard library,
    /// whose length the compiler trusts. Those that are not taken from it come another time.
    #[inline]
    pub fn take_some(&mut self, records: usize) -> Take<&mut Drain<'b, Stamped<T>>> {
        let some = records.min(self.left);
        self.left -= some;
        self.batch.by_ref().take(some)
    }
}

/// Empties a batch by an iterator over its records. Those that `work` leaves are dropped.
///
/// Their `Drop` is a user's. If `work` panics they are dropped behind its panic and not while it
/// unwinds, where a second one would end the process; and theirs does not replace the first.
pub fn drained<T, R>(batch: &mut Vec<T>, work: impl FnOnce(&mut Drain<'_, T>) -> R) -> R {
    let mut drain = batch.drain(..);
    let done = catch_unwind(AssertUnwindSafe(|| work(&mut drain)));
    drain.for_each(let_go);
    done.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Drops what stands behind a failure: a panic of a user's `Drop` does not replace it.
pub fn let_go<T>(value: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

impl<T> Iterator for Records<'_, '_, T> {
    type Item = Stamped<T>;

    #[inline]
    fn next(&mut self) -> Option<Stamped<T>> {
        self.left = self.left.checked_sub(1)?;
        self.batch.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Records<'_, '_, T> {}
