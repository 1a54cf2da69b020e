//! A source that a test feeds by hand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use millstream_core::{Data, Failure, Stamped};
use millstream_runtime::{Read, ReadContext, Reader, Source, TaskContext};

/// A source of one split that a test feeds by hand, from any thread, while the job runs.
///
/// All clones are the same source. It has no positions: it is for tests that do not recover.
///
/// # Examples
///
/// ```
/// use millstream::prelude::*;
/// use millstream_testkit::{Feed, run, until};
///
/// run(async {
///     let (flow, feed) = (Dataflow::new("by hand"), Feed::new());
///     let seen = flow.source("feed", feed.clone()).map(|n: u64| n * 2).collect("seen");
///     let job = flow.start(Settings::new()).await.unwrap();
///     feed.give([1, 2]);
///     until(|| seen.len() == 2).await;
///     feed.end();
///     job.finished().await.unwrap();
///     assert_eq!(seen.take(), [2, 4]);
/// });
/// ```
pub struct Feed<T>(Arc<Mutex<Fed<T>>>);

struct Fed<T> {
    records: VecDeque<Stamped<T>>,
    ended: bool,
    reader: Option<Waker>,
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Feed<T> {
    /// One that has nothing yet.
    pub fn new() -> Self {
        let fed = Fed { records: VecDeque::new(), ended: false, reader: None };
        Self(Arc::new(Mutex::new(fed)))
    }

    /// One that gives these and then ends.
    pub fn of(records: impl IntoIterator<Item = Stamped<T>>) -> Self {
        let feed = Self::new();
        feed.give_stamped(records);
        feed.end();
        feed
    }

    /// Gives records without a timestamp.
    pub fn give(&self, values: impl IntoIterator<Item = T>) {
        self.give_stamped(values.into_iter().map(Stamped::new));
    }

    /// Gives records.
    pub fn give_stamped(&self, records: impl IntoIterator<Item = Stamped<T>>) {
        self.change(|fed| fed.records.extend(records));
    }

    /// Ends when all that was given has been read.
    pub fn end(&self) {
        self.change(|fed| fed.ended = true);
    }

    fn change(&self, change: impl FnOnce(&mut Fed<T>)) {
        let mut fed = self.fed();
        change(&mut fed);
        let reader = fed.reader.take();
        drop(fed);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn fed(&self) -> MutexGuard<'_, Fed<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Data> Source for Feed<T> {
    type Out = T;
    type Position = ();
    type Reader = Self;

    async fn open(&self, _: &str, _: Option<()>, _: &TaskContext) -> Result<Self, Failure> {
        Ok(self.clone())
    }
}

impl<T: Data> Reader for Feed<T> {
    type Out = T;
    type Position = ();

    fn read(&mut self, cx: &mut ReadContext<'_, '_, T>) -> Result<Read, Failure> {
        let mut fed = self.fed();
        let budget = cx.budget().min(fed.records.len());
        cx.extend(fed.records.drain(..budget));
        fed.reader = Some(cx.waker().clone());
        Ok(match fed.records.is_empty() {
            true if fed.ended => Read::Ended,
            true => Read::Later,
            false => Read::Ready,
        })
    }

    fn position(&self) {}
}
