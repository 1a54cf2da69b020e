//! Which channel a record leaves by: forward, by key, in turn, or to all.

use std::marker::PhantomData;

use millstream_core::{Data, Failure, Key, KeyGroups, KeyHash, Keyed, Mark, Stamped};

use millstream_operators::{Collect, Step};

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
        let mut each = Each { route: self, outlets, refused: None };
        step.apply_all(batch, &mut each);
        each.refused.map_or(Ok(()), Err)
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
        if self.refused.is_none()
            && let Err(failure) = self.route.push(record, self.outlets)
        {
            self.refused = Some(failure);
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
        match &mut outlets.0[..] {
            [only] => step.apply_all(batch, only),
            _ => step.apply_all(batch, &mut Each { route: self, outlets, refused: None }),
        }
        Ok(())
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
        let key = (self.key)(&record.value);
        match KeyHash::of(&key) {
            Ok(hash) => Ok(record.map(|value| Keyed { hash, key, value })),
            Err(refused) => Err(Failure::new(refused).about(&key)),
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
            step.apply_all(batch, &mut to);
            return to.refused.map_or(Ok(()), Err);
        }
        let mut each = Each { route: self, outlets, refused: None };
        step.apply_all(batch, &mut each);
        each.refused.map_or(Ok(()), Err)
    }
}

/// Collects into the only channel of a keyed exchange, until the first refusal, which it keeps.
struct ToOnly<'a, K: Key, T: Data, F> {
    route: &'a ByKey<K, F>,
    outlet: &'a mut Outlet<Keyed<K, T>>,
    refused: Option<Failure>,
}

impl<T: Data, K: Key, F: Fn(&T) -> K> ToOnly<'_, K, T, F> {
    /// A piece that the batch being filled has room for.
    ///
    /// A loop that may end at each record is slower than one of a known length, which the
    /// compiler need not watch. So a refusal does not end it: what follows is given the refused
    /// key, without a call of the user's code, and is taken back at the end.
    #[inline]
    fn piece(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        let mut refused = None;
        let keyed = records.enumerate().map(|(at, record)| {
            let (hash, key) = match &refused {
                None => {
                    let key = (self.route.key)(&record.value);
                    match KeyHash::of(&key) {
                        Ok(hash) => (hash, key),
                        Err(error) => {
                            let failure = Failure::new(error).about(&key);
                            refused = Some((at, key.clone(), failure));
                            (KeyHash::from_raw(0), key)
                        }
                    }
                }
                Some((_, key, _)) => (KeyHash::from_raw(0), key.clone()),
            };
            record.map(|value| Keyed { hash, key, value })
        });
        let before = self.outlet.fill(keyed);
        if let Some((at, _, failure)) = refused {
            self.outlet.take_back(before + at);
            self.refused = Some(failure);
        }
    }
}

impl<T: Data, K: Key, F: Fn(&T) -> K> Collect<T> for ToOnly<'_, K, T, F> {
    #[inline]
    fn push(&mut self, record: Stamped<T>) {
        self.extend(std::iter::once(record));
    }

    fn append(&mut self, records: &mut Vec<Stamped<T>>) {
        self.extend(records.drain(..));
    }

    #[inline]
    fn extend(&mut self, records: impl ExactSizeIterator<Item = Stamped<T>>) {
        if self.refused.is_some() {
            return;
        }
        if self.outlet.make_room(records.len()) {
            self.piece(records);
            self.outlet.cut_if_full();
        } else {
            records.for_each(|record| self.push(record));
        }
    }
}
