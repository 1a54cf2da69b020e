//! Which channel a record leaves by: forward, by key, in turn, or to all.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use millstream_core::{Data, Failure, Key, KeyGroups, KeyHash, Keyed, Mark, Stamped};

use millstream_operators::{Collect, Step, drained, holding, let_go};

use super::outlet::Outlet;

/// A way of choosing channels. What travels may differ from what comes in: a keyed exchange adds
/// the key and its hash.
pub trait Route<T>: 'static {
    /// What travels on the channels.
    type Out: Data;

    /// Sends a record on its way.
    ///
    /// # Errors
    ///
    /// When the record cannot be routed, because its key cannot be hashed.
    #[doc(hidden)]
    fn push(&mut self, record: Stamped<T>, outlets: &mut Outlets<Self::Out>)
    -> Result<(), Failure>;

    /// Sends what a step makes of a batch on its way; `batch` is left empty.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push); the first refusal counts.
    #[doc(hidden)]
    fn all<S: Step<Out = T>>(
        &mut self,
        step: &mut S,
        batch: &mut Vec<Stamped<S::In>>,
        outlets: &mut Outlets<Self::Out>,
    ) -> Result<(), Failure>
    where
        Self: Sized,
    {
        record_by_record(self, step, batch, outlets)
    }
}

/// Sends what a step makes of a batch on its way, each record by itself, until the first refusal.
fn record_by_record<R: Route<S::Out>, S: Step>(
    route: &mut R,
    step: &mut S,
    batch: &mut Vec<Stamped<S::In>>,
    outlets: &mut Outlets<R::Out>,
) -> Result<(), Failure> {
    let mut each = Each { route, outlets, refused: None };
    let ran = catch_unwind(AssertUnwindSafe(|| step.apply_all(batch, &mut each)));
    told(ran, each.refused)
}

/// Sends what a step makes of held records on its way, the last of them first, until there is no
/// credit or the first refusal.
pub(super) fn held_records<R: Route<S::Out>, S: Step>(
    route: &mut R,
    step: &mut S,
    held: &mut Vec<Stamped<S::In>>,
    outlets: &mut Outlets<R::Out>,
) -> Result<(), Failure> {
    let mut each = Each { route, outlets, refused: None };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        while !each.outlets.blocked()
            && each.refused.is_none()
            && let Some(record) = held.pop()
        {
            step.apply(record, &mut |record| each.push(record));
        }
    }));
    told(ran, each.refused)
}

/// Whether a loop can be left by unwinding. In a program whose panics end the process it cannot:
/// there it runs on after a refusal, and what comes behind that is dropped.
const UNWINDS: bool = cfg!(panic = "unwind");

/// Leaves the loop of a step at a refusal, so that nothing of the user's is called any more: the
/// loop need not look for one at each record. Caught where the loop began, and told by
/// [`told`].
#[cold]
fn leave() -> ! {
    struct Left;
    resume_unwind(Box::new(Left))
}

/// How a loop over a batch has ended: with a refusal, whole, or with a panic of the user's.
fn told(ran: thread::Result<()>, refused: Option<Failure>) -> Result<(), Failure> {
    match (refused, ran) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(()),
        (None, Err(payload)) => resume_unwind(payload),
    }
}

/// Collects what leaves a step into a route, record by record, until the first refusal, which it
/// keeps.
struct Each<'a, R, Out: Send + 'static> {
    route: &'a mut R,
    outlets: &'a mut Outlets<Out>,
    refused: Option<Failure>,
}

impl<T, R: Route<T>> Collect<T> for Each<'_, R, R::Out> {
    #[inline]
    fn push(&mut self, record: Stamped<T>) {
        if !UNWINDS && self.refused.is_some() {
            return;
        }
        if let Err(failure) = self.route.push(record, self.outlets) {
            self.refused = Some(failure);
            if UNWINDS {
                leave();
            }
        }
    }
}

/// The sending ends of all channels of one edge.
#[doc(hidden)]
pub struct Outlets<T: Send + 'static>(pub(crate) Vec<Outlet<T>>);

impl<T: Send + 'static> Outlets<T> {
    pub(crate) fn mark(&mut self, mark: Mark) {
        self.0.iter_mut().for_each(|outlet| outlet.mark(mark));
    }

    pub(crate) fn advance(&mut self) {
        self.0.iter_mut().for_each(|outlet| outlet.advance());
    }

    #[inline]
    pub(crate) fn blocked(&self) -> bool {
        self.0.iter().any(|outlet| outlet.blocked())
    }

    pub(crate) fn holding(&self) -> bool {
        self.0.iter().any(|outlet| outlet.holding())
    }

    /// The records of its smallest batch.
    pub(crate) fn batch_records(&self) -> usize {
        self.0.iter().map(|outlet| outlet.batch_records()).min().unwrap_or(usize::MAX)
    }

    /// Every blocked channel is told that its producer waits; false if one has credit.
    pub(crate) fn wait(&self) -> bool {
        all_wait(self.0.iter().filter(|outlet| outlet.blocked()).map(|outlet| outlet.wait()))
    }
}

/// Whether there is something to wait for, and all of it has been told.
///
/// Nothing to wait for is no reason to wait: a credit that comes from another thread between two
/// looks leaves nothing blocked, and nobody would ever wake who went to sleep then.
pub(super) fn all_wait(mut waits: impl Iterator<Item = bool>) -> bool {
    waits.next() == Some(true) && waits.all(|waits| waits)
}

/// The channels take turns, record by record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rebalance {
    next: usize,
}

impl Rebalance {
    /// Subtasks begin with different channels, so that many short inputs spread.
    pub const fn from(subtask: usize) -> Self {
        Self { next: subtask }
    }
}

impl<T: Data> Route<T> for Rebalance {
    type Out = T;

    #[inline]
    fn push(&mut self, record: Stamped<T>, outlets: &mut Outlets<T>) -> Result<(), Failure> {
        if self.next >= outlets.0.len() {
            self.next %= outlets.0.len();
        }
        outlets.0[self.next].push(record);
        self.next += 1;
        Ok(())
    }

    fn all<S: Step<Out = T>>(
        &mut self,
        step: &mut S,
        batch: &mut Vec<Stamped<S::In>>,
        outlets: &mut Outlets<T>,
    ) -> Result<(), Failure> {
        // With one channel there is nothing to choose, and whole batches can be handed over.
        if let [only] = &mut outlets.0[..] {
            step.apply_all(batch, only);
            return Ok(());
        }
        record_by_record(self, step, batch, outlets)
    }
}

/// Every record by all channels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broadcast;

impl<T: Data + Clone> Route<T> for Broadcast {
    type Out = T;

    fn push(&mut self, record: Stamped<T>, outlets: &mut Outlets<T>) -> Result<(), Failure> {
        if let Some((last, others)) = outlets.0.split_last_mut() {
            others.iter_mut().for_each(|outlet| outlet.push(record.clone()));
            last.push(record);
        }
        Ok(())
    }
}

/// Every record by the channel of the task that owns its key. The key and its hash are made here
/// and travel with the record.
pub struct ByKey<K, F> {
    key: F,
    groups: KeyGroups,
    types: PhantomData<fn() -> K>,
}

impl<K, F> ByKey<K, F> {
    /// By the key that `key` takes from a value.
    pub const fn new(key: F, groups: KeyGroups) -> Self {
        Self { key, groups, types: PhantomData }
    }
}

impl<K: Key, F> ByKey<K, F> {
    #[inline]
    fn keyed<T>(&self, record: Stamped<T>) -> Result<Stamped<Keyed<K, T>>, Failure>
    where
        F: Fn(&T) -> K,
    {
        let (record, (key, hash)) =
            holding(record, |record| holding((self.key)(&record.value), KeyHash::of));
        match hash {
            Ok(hash) => Ok(record.map(|value| Keyed { hash, key, value })),
            Err(refused) => {
                let failure = Failure::new(refused).about(&key);
                let_go(key);
                let_go(record);
                Err(failure)
            }
        }
    }
}

impl<T, K, F> Route<T> for ByKey<K, F>
where
    T: Data,
    K: Key,
    F: Fn(&T) -> K + 'static,
{
    type Out = Keyed<K, T>;

    #[inline]
    fn push(
        &mut self,
        record: Stamped<T>,
        outlets: &mut Outlets<Keyed<K, T>>,
    ) -> Result<(), Failure> {
        let record = self.keyed(record)?;
        let owner = match outlets.0.len() {
            1 => 0,
            parallelism => self.groups.owner_of(record.value.hash, parallelism),
        };
        outlets.0[owner].push(record);
        Ok(())
    }

    fn all<S: Step<Out = T>>(
        &mut self,
        step: &mut S,
        batch: &mut Vec<Stamped<S::In>>,
        outlets: &mut Outlets<Keyed<K, T>>,
    ) -> Result<(), Failure> {
        // With one channel there is nothing to choose, and the keys of a whole batch are made in
        // one loop.
        if let [only] = &mut outlets.0[..] {
            let mut to = ToOnly { route: self, outlet: only, refused: None };
            let ran = catch_unwind(AssertUnwindSafe(|| step.apply_all(batch, &mut to)));
            return told(ran, to.refused);
        }
        record_by_record(self, step, batch, outlets)
    }
}

/// Collects into the only channel of a keyed exchange, until the first refusal, which it keeps.
struct ToOnly<'a, K: Key, T: Data, F> {
    route: &'a ByKey<K, F>,
    outlet: &'a mut Outlet<Keyed<K, T>>,
    refused: Option<Failure>,
}

impl<T: Data, K: Key, F: Fn(&T) -> K> Collect<T> for ToOnly<'_, K, T, F> {
    #[inline]
    fn push(&mut self, record: Stamped<T>) {
        if !UNWINDS && self.refused.is_some() {
            return;
        }
        match self.route.keyed(record) {
            Ok(record) => self.outlet.push(record),
            Err(failure) => {
                self.refused = Some(failure);
                if UNWINDS {
                    leave();
                }
            }
        }
    }

    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        drained(records, |records| self.extend(records));
    }

    #[inline]
    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        if !UNWINDS {
            return records.for_each(|record| self.push(record));
        }
        let Self { route, outlet, refused } = self;
        outlet.extend(records.map(|record| {
            route.keyed(record).unwrap_or_else(|failure| {
                *refused = Some(failure);
                leave()
            })
        }));
    }
}
