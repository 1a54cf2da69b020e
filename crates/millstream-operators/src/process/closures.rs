//! A process as two closures, for the simple case.

use std::marker::PhantomData;

use millstream_core::{Data, Failure, Key, Record};

use super::context::ProcessContext;
use super::keyed::{Fired, KeyedProcess};

/// A process as two closures: one for records, one for timers.
pub struct ProcessFn<K, V, U, S, T, F, G> {
    on_record: F,
    on_timer: G,
    types: PhantomData<Types<K, V, U, S, T>>,
}

type Types<K, V, U, S, T> = fn(K, V, S, T) -> U;

impl<K, V, U, S, T, F, G> ProcessFn<K, V, U, S, T, F, G> {
    /// A process of these closures.
    pub const fn new(on_record: F, on_timer: G) -> Self {
        Self { on_record, on_timer, types: PhantomData }
    }
}

impl<K, V, U, S, T, F: Clone, G: Clone> Clone for ProcessFn<K, V, U, S, T, F, G> {
    fn clone(&self) -> Self {
        Self::new(self.on_record.clone(), self.on_timer.clone())
    }
}

impl<K, V, U, S, T, F, G> KeyedProcess for ProcessFn<K, V, U, S, T, F, G>
where
    K: Key,
    V: Data,
    U: Data,
    S: Record + Clone + Default,
    T: Key,
    F: FnMut(V, &mut S, &mut ProcessContext<'_, K, U, T>) + 'static,
    G: FnMut(Fired<T>, &mut S, &mut ProcessContext<'_, K, U, T>) + 'static,
{
    type Key = K;
    type In = V;
    type Out = U;
    type State = S;
    type Timer = T;

    #[inline]
    fn on_record(
        &mut self,
        record: V,
        state: &mut S,
        cx: &mut ProcessContext<'_, K, U, T>,
    ) -> Result<(), Failure> {
        (self.on_record)(record, state, cx);
        Ok(())
    }

    fn on_timer(
        &mut self,
        fired: Fired<T>,
        state: &mut S,
        cx: &mut ProcessContext<'_, K, U, T>,
    ) -> Result<(), Failure> {
        (self.on_timer)(fired, state, cx);
        Ok(())
    }
}
