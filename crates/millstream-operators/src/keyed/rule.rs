//! What a value does to its key's state.

use std::marker::PhantomData;

use millstream_core::{Data, Key, Record};

/// A stateful function of one key at a time.
pub trait Rule: 'static {
    /// What the stream is keyed by.
    type Key: Key;
    /// What comes in.
    type Value: Data;
    /// What is kept for each key.
    type State: Record + Clone;
    /// What goes out.
    type Out: Data;

    /// The state of a key that has come for the first time.
    fn first(&self) -> Self::State;

    /// A value comes; what becomes of the state. The result for this record, if one is asked for at
    /// once.
    fn update(&self, key: &Self::Key, state: &mut Self::State, value: Self::Value) -> Self::Out;

    /// A value comes, and nobody wants a result yet.
    fn absorb(&self, key: &Self::Key, state: &mut Self::State, value: Self::Value) {
        self.update(key, state, value);
    }

    /// The result of a key whose state is given up.
    fn result(&self, key: Self::Key, state: Self::State) -> Option<Self::Out>;
}

/// Folds values into an accumulator that starts the same for each key.
pub struct Fold<K, V, S, F> {
    first: S,
    function: F,
    types: PhantomData<fn(K, V)>,
}

impl<K, V, S, F: Fn(&mut S, V)> Fold<K, V, S, F> {
    /// Starts from `first`.
    pub const fn new(first: S, function: F) -> Self {
        Self { first, function, types: PhantomData }
    }
}

impl<K, V, S, F> Rule for Fold<K, V, S, F>
where
    K: Key,
    V: Data,
    S: Record + Clone,
    F: Fn(&mut S, V) + 'static,
{
    type Key = K;
    type Value = V;
    type State = S;
    type Out = (K, S);

    fn first(&self) -> S {
        self.first.clone()
    }

    #[inline]
    fn update(&self, key: &K, state: &mut S, value: V) -> (K, S) {
        (self.function)(state, value);
        (key.clone(), state.clone())
    }

    #[inline]
    fn absorb(&self, _: &K, state: &mut S, value: V) {
        (self.function)(state, value);
    }

    fn result(&self, key: K, state: S) -> Option<(K, S)> {
        Some((key, state))
    }
}

/// Folds values into the first one of each key.
pub struct Reduce<K, V, F> {
    function: F,
    types: PhantomData<fn(K, V)>,
}

impl<K, V, F: Fn(&mut V, V)> Reduce<K, V, F> {
    /// A reduction by this function, which takes a value into the one before.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<K, V, F> Rule for Reduce<K, V, F>
where
    K: Key,
    V: Record + Clone,
    F: Fn(&mut V, V) + 'static,
{
    type Key = K;
    type Value = V;
    type State = Option<V>;
    type Out = (K, V);

    fn first(&self) -> Option<V> {
        None
    }

    #[inline]
    fn update(&self, key: &K, state: &mut Option<V>, value: V) -> (K, V) {
        let all = match state {
            None => state.insert(value),
            Some(all) => {
                (self.function)(all, value);
                all
            }
        };
        (key.clone(), all.clone())
    }

    #[inline]
    fn absorb(&self, _: &K, state: &mut Option<V>, value: V) {
        match state {
            None => *state = Some(value),
            Some(all) => (self.function)(all, value),
        }
    }

    fn result(&self, key: K, state: Option<V>) -> Option<(K, V)> {
        state.map(|value| (key, value))
    }
}

/// Maps each value with the state of its key at hand.
pub struct WithState<K, V, S, U, F> {
    function: F,
    types: PhantomData<fn(K, V, S) -> U>,
}

impl<K, V, S, U, F: Fn(&K, &mut S, V) -> U> WithState<K, V, S, U, F> {
    /// A map by this function.
    pub const fn new(function: F) -> Self {
        Self { function, types: PhantomData }
    }
}

impl<K, V, S, U, F> Rule for WithState<K, V, S, U, F>
where
    K: Key,
    V: Data,
    S: Record + Clone + Default,
    U: Data,
    F: Fn(&K, &mut S, V) -> U + 'static,
{
    type Key = K;
    type Value = V;
    type State = S;
    type Out = U;

    fn first(&self) -> S {
        S::default()
    }

    #[inline]
    fn update(&self, key: &K, state: &mut S, value: V) -> U {
        (self.function)(key, state, value)
    }

    /// Each result has gone out; at the end there is none.
    fn result(&self, _: K, _: S) -> Option<U> {
        None
    }
}

/// As [`WithState`], for those who want only the last result of each key: it is kept beside the
/// state, so it must be storable too.
pub struct LastWithState<K, V, S, U, F>(WithState<K, V, S, U, F>);

impl<K, V, S, U, F: Fn(&K, &mut S, V) -> U> LastWithState<K, V, S, U, F> {
    /// A map by this function.
    pub const fn new(function: F) -> Self {
        Self(WithState::new(function))
    }
}

impl<K, V, S, U, F> Rule for LastWithState<K, V, S, U, F>
where
    K: Key,
    V: Data,
    S: Record + Clone + Default,
    U: Record + Clone,
    F: Fn(&K, &mut S, V) -> U + 'static,
{
    type Key = K;
    type Value = V;
    type State = (S, Option<U>);
    type Out = U;

    fn first(&self) -> (S, Option<U>) {
        (S::default(), None)
    }

    fn update(&self, key: &K, state: &mut (S, Option<U>), value: V) -> U {
        let result = (self.0.function)(key, &mut state.0, value);
        state.1 = Some(result.clone());
        result
    }

    fn absorb(&self, key: &K, state: &mut (S, Option<U>), value: V) {
        state.1 = Some((self.0.function)(key, &mut state.0, value));
    }

    fn result(&self, _: K, state: (S, Option<U>)) -> Option<U> {
        state.1
    }
}
