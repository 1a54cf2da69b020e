//! Records that came together, as an operator takes them.

use std::any::Any;
use std::iter::Take;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;
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

/// Drops what stands behind a failure: a panic of a user's `Drop` does not replace it, and what
/// that panic carries is not dropped, since that may panic again.
pub fn let_go<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(payload);
    }
}

/// Runs the user's code while a user's value is held. If the code panics the value is dropped
/// behind its panic and not while it unwinds, where a second one would end the process.
#[inline]
pub fn holding<T, R>(held: T, work: impl FnOnce(&T) -> R) -> (T, R) {
    if !needs_drop::<T>() {
        let done = work(&held);
        return (held, done);
    }
    match catch_unwind(AssertUnwindSafe(|| work(&held))) {
        Ok(done) => (held, done),
        Err(payload) => {
            let_go(held);
            resume_unwind(payload)
        }
    }
}

/// Empties a vector of users' values, of which any number may panic when it is dropped: dropped
/// together, a second one would end the process while the first unwinds.
pub fn let_go_all<T>(values: &mut Vec<T>) {
    if let Some(payload) = dropped(values) {
        std::mem::forget(payload);
    }
}

/// As [`let_go_all`], and then panics as the first of them did, unless the thread does already.
pub fn drop_all<T>(values: &mut Vec<T>) {
    match dropped(values) {
        Some(payload) if panicking() => std::mem::forget(payload),
        Some(payload) => resume_unwind(payload),
        None => {}
    }
}

/// As [`let_go_all`]; gives back what the first panic carries.
fn dropped<T>(values: &mut Vec<T>) -> Option<Box<dyn Any + Send>> {
    if !needs_drop::<T>() {
        values.clear();
        return None;
    }
    // From the front, as a vector drops them, and out of the vector before they are dropped.
    values.reverse();
    let mut first = None;
    while !values.is_empty() {
        match dropped_some(values) {
            Ok(()) => {}
            Err(payload) if first.is_none() => first = Some(payload),
            Err(payload) => std::mem::forget(payload),
        }
    }
    first
}

/// One unwinding border for as many values as are dropped without a panic.
fn dropped_some<T>(values: &mut Vec<T>) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(|| {
        while let Some(value) = values.pop() {
            drop(value);
        }
    }))
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

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::{Arc, Mutex};

    use super::*;

    type Dropped = Arc<Mutex<Vec<u64>>>;

    /// Notes that it is dropped. The odd ones panic then, with another one.
    struct Noted(u64, Dropped);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
            match self.0 {
                n if n % 2 == 0 => {}
                n if n < 100 => panic_any(Self(n + 100, self.1.clone())),
                n => panic!("{n} is dropped"),
            }
        }
    }

    fn noted(dropped: &Dropped) -> Vec<Noted> {
        (0..6).map(|n| Noted(n, dropped.clone())).collect()
    }

    #[test]
    fn all_values_are_dropped_in_their_order_whichever_of_them_panic() {
        let dropped = Dropped::default();
        let mut values = noted(&dropped);
        let_go_all(&mut values);
        assert!(values.is_empty());
        // And nothing of what the panics carried.
        assert_eq!(*dropped.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn of_values_that_are_dropped_the_first_panic_is_told_once_all_are() {
        let dropped = Dropped::default();
        let mut values = noted(&dropped);
        let told = catch_unwind(AssertUnwindSafe(|| drop_all(&mut values))).unwrap_err();
        let first = told.downcast::<Noted>().unwrap();
        assert_eq!(first.0, 101);
        std::mem::forget(first);
        assert!(values.is_empty());
        assert_eq!(*dropped.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_value_that_is_held_is_dropped_behind_the_panic() {
        let dropped = Dropped::default();
        let (held, even) = holding(Noted(2, dropped.clone()), |noted| noted.0 % 2 == 0);
        assert_eq!((held.0, even, dropped.lock().unwrap().len()), (2, true, 0));
        let held = Noted(1, dropped.clone());
        let work = AssertUnwindSafe(|| drop(holding(held, |_| panic_any("the first"))));
        let told = catch_unwind(work);
        assert_eq!(told.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(*dropped.lock().unwrap(), [1]);
    }

    #[test]
    fn a_value_that_is_let_go_tells_nothing_of_its_panic() {
        let dropped = Dropped::default();
        let_go(Noted(1, dropped.clone()));
        assert_eq!(*dropped.lock().unwrap(), [1]);
    }

    #[test]
    fn values_may_panic_while_the_thread_already_does() {
        struct Guarded(Vec<Noted>);
        impl Drop for Guarded {
            fn drop(&mut self) {
                drop_all(&mut self.0);
            }
        }
        let dropped = Dropped::default();
        let guarded = Guarded(noted(&dropped));
        let told = catch_unwind(AssertUnwindSafe(move || {
            let _guarded = guarded;
            panic_any("the first");
        }));
        assert_eq!(told.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(*dropped.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}
