//! What must come out: the same program over plain vectors.
//!
//! An oracle has no tasks, no channels and no time; each of its methods is the obvious loop. What
//! it gives is compared with what a job gave by [`compare`](crate::compare): in order where the job
//! has one, by key where it keeps the order of each key, else in any order.

mod keyed;

pub use keyed::{AtEndOracle, KeyedOracle};

use millstream_core::Key;
use millstream_operators::Either;

/// The values of a stream, all of them at once.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::{Oracle, compare::assert_in_order, simulate};
///
/// let run = simulate(1, |flow| {
///     let numbers = flow.source("numbers", Items::from(1..=4_u64));
///     numbers.flat_map(|n| vec![n; 2]).filter(|n| n % 2 == 0).collect("out")
/// });
/// let numbers = Oracle::of(1..=4_u64);
/// let expected = numbers.flat_map(|n| vec![n; 2]).filter(|n| n % 2 == 0);
/// assert_in_order(&run.built.take(), expected.values());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle<T>(Vec<T>);

impl<T> Oracle<T> {
    /// The values of a source.
    pub fn of(values: impl IntoIterator<Item = T>) -> Self {
        Self(values.into_iter().collect())
    }

    /// The values.
    pub fn values(&self) -> &[T] {
        &self.0
    }

    /// The values, for keeps.
    pub fn into_values(self) -> Vec<T> {
        self.0
    }

    /// As [`Stream::map`](millstream::Stream::map).
    #[must_use]
    pub fn map<U>(self, function: impl FnMut(T) -> U) -> Oracle<U> {
        Oracle::of(self.0.into_iter().map(function))
    }

    /// As [`Stream::filter`](millstream::Stream::filter).
    #[must_use]
    pub fn filter(self, function: impl FnMut(&T) -> bool) -> Self {
        Self::of(self.0.into_iter().filter(function))
    }

    /// As [`Stream::filter_map`](millstream::Stream::filter_map).
    #[must_use]
    pub fn filter_map<U>(self, function: impl FnMut(T) -> Option<U>) -> Oracle<U> {
        Oracle::of(self.0.into_iter().filter_map(function))
    }

    /// As [`Stream::flat_map`](millstream::Stream::flat_map).
    #[must_use]
    pub fn flat_map<I: IntoIterator>(self, function: impl FnMut(T) -> I) -> Oracle<I::Item> {
        Oracle::of(self.0.into_iter().flat_map(function))
    }

    /// As [`Stream::union`](millstream::Stream::union), which says nothing about the order between
    /// the two.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// As [`Stream::connect`](millstream::Stream::connect), which says nothing about the order
    /// between the two.
    #[must_use]
    pub fn connect<U>(self, other: Oracle<U>) -> Oracle<Either<T, U>> {
        self.map(Either::Left).union(other.map(Either::Right))
    }

    /// As [`Stream::fork`](millstream::Stream::fork).
    pub fn fork<const N: usize>(self) -> [Self; N]
    where
        T: Clone,
    {
        std::array::from_fn(|_| self.clone())
    }

    /// As [`Stream::broadcast`](millstream::Stream::broadcast) to so many tasks.
    #[must_use]
    pub fn broadcast(self, tasks: usize) -> Self
    where
        T: Clone,
    {
        self.flat_map(|value| vec![value; tasks])
    }

    /// As [`Stream::key_by`](millstream::Stream::key_by).
    pub fn key_by<K: Key, F: Fn(&T) -> K>(self, key: F) -> KeyedOracle<K, T, F> {
        KeyedOracle::new(self.0, key)
    }
}

impl<L, R> Oracle<Either<L, R>> {
    /// What came by each input of a connected stream.
    pub fn split(self) -> (Oracle<L>, Oracle<R>) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for value in self.0 {
            match value {
                Either::Left(value) => left.push(value),
                Either::Right(value) => right.push(value),
            }
        }
        (Oracle(left), Oracle(right))
    }
}
