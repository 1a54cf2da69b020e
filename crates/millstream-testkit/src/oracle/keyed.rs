//! The values of a stream with a key, and what becomes of them with a state for each.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use millstream_core::{Key, KeyGroup, KeyGroups, KeyHash, codec};

use super::Oracle;
use crate::refuse::refuse;

/// The values of a stream with a key.
#[must_use]
pub struct KeyedOracle<K, T, F> {
    values: Vec<T>,
    key: F,
    types: PhantomData<fn() -> K>,
}

/// A keyed stream of which only the last result of each key goes out.
#[must_use]
pub struct AtEndOracle<K, T, F> {
    keyed: KeyedOracle<K, T, F>,
    groups: KeyGroups,
}

/// What a key had come to, and where it stands among all keys.
struct State<K, S, U> {
    group: KeyGroup,
    /// The how-manieth key it was to appear.
    appeared: usize,
    key: K,
    state: S,
    last: U,
}

impl<K: Key, T, F: Fn(&T) -> K> KeyedOracle<K, T, F> {
    pub(super) fn new(values: Vec<T>, key: F) -> Self {
        Self { values, key, types: PhantomData }
    }

    /// From here on only the last result of each key goes out: by key group, and within a group in
    /// the order in which the keys appeared. That is the order of a job only if the stage has one
    /// task and its input an order.
    pub fn at_end(self, groups: KeyGroups) -> AtEndOracle<K, T, F> {
        AtEndOracle { keyed: self, groups }
    }

    /// As [`KeyedStream::reduce`](millstream::KeyedStream::reduce).
    pub fn reduce(self, function: impl Fn(&mut T, T)) -> Oracle<(K, T)>
    where
        T: Clone,
    {
        let (all, _) = self.states(KeyGroups::default_for(1), || None, reducing(function));
        Oracle::of(all)
    }

    /// As [`KeyedStream::fold`](millstream::KeyedStream::fold).
    pub fn fold<S: Clone>(self, first: S, function: impl Fn(&mut S, T)) -> Oracle<(K, S)> {
        let first = || first.clone();
        let (all, _) = self.states(KeyGroups::default_for(1), first, folding(function));
        Oracle::of(all)
    }

    /// As [`KeyedStream::count`](millstream::KeyedStream::count).
    pub fn count(self) -> Oracle<(K, u64)> {
        self.fold(0, |count, _| *count += 1)
    }

    /// As [`KeyedStream::map_with_state`](millstream::KeyedStream::map_with_state).
    pub fn map_with_state<S, U>(self, function: impl Fn(&K, &mut S, T) -> U) -> Oracle<U>
    where
        S: Default,
        U: Clone,
    {
        let (all, _) = self.states(KeyGroups::default_for(1), S::default, function);
        Oracle::of(all)
    }

    /// The result for each value, and what each key has come to, by key group and appearance.
    fn states<S, U: Clone>(
        self,
        groups: KeyGroups,
        first: impl Fn() -> S,
        step: impl Fn(&K, &mut S, T) -> U,
    ) -> (Vec<U>, Vec<State<K, S, U>>) {
        let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let mut states: Vec<State<K, S, U>> = Vec::new();
        let mut all = Vec::new();
        for value in self.values {
            let key = (self.key)(&value);
            let (name, hash) = match (codec::encode(&key), KeyHash::of(&key)) {
                (Ok(name), Ok(hash)) => (name, hash),
                (Err(error), _) => refuse(error.to_string()),
                (_, Err(error)) => refuse(error.to_string()),
            };
            if let Some(place) = places.get(&name) {
                let known = &mut states[*place];
                known.last = step(&key, &mut known.state, value);
                all.push(known.last.clone());
                continue;
            }
            let mut state = first();
            let last = step(&key, &mut state, value);
            all.push(last.clone());
            let appeared = states.len();
            places.insert(name, appeared);
            states.push(State { group: groups.of(hash), appeared, key, state, last });
        }
        states.sort_by_key(|state| (state.group, state.appeared));
        (all, states)
    }
}

impl<K: Key, T, F: Fn(&T) -> K> AtEndOracle<K, T, F> {
    /// As [`AtEnd::reduce`](millstream::AtEnd::reduce).
    pub fn reduce(self, function: impl Fn(&mut T, T)) -> Oracle<(K, T)>
    where
        T: Clone,
    {
        self.last(|| None, reducing(function))
    }

    /// As [`AtEnd::fold`](millstream::AtEnd::fold).
    pub fn fold<S: Clone>(self, first: S, function: impl Fn(&mut S, T)) -> Oracle<(K, S)> {
        let (_, states) = self.keyed.states(
            self.groups,
            || first.clone(),
            |_, state, value| {
                function(state, value);
            },
        );
        Oracle::of(states.into_iter().map(|known| (known.key, known.state)))
    }

    /// As [`AtEnd::count`](millstream::AtEnd::count).
    pub fn count(self) -> Oracle<(K, u64)> {
        self.fold(0, |count, _| *count += 1)
    }

    /// As [`AtEnd::map_with_state`](millstream::AtEnd::map_with_state).
    pub fn map_with_state<S, U>(self, function: impl Fn(&K, &mut S, T) -> U) -> Oracle<U>
    where
        S: Default,
        U: Clone,
    {
        self.last(S::default, function)
    }

    fn last<S, U: Clone>(
        self,
        first: impl Fn() -> S,
        step: impl Fn(&K, &mut S, T) -> U,
    ) -> Oracle<U> {
        let (_, states) = self.keyed.states(self.groups, first, step);
        Oracle::of(states.into_iter().map(|known| known.last))
    }
}

/// A fold as a step that gives out the key and the accumulator.
fn folding<K: Clone, S: Clone, T>(
    function: impl Fn(&mut S, T),
) -> impl Fn(&K, &mut S, T) -> (K, S) {
    move |key, state, value| {
        function(state, value);
        (key.clone(), state.clone())
    }
}

/// A reduction as a step: the first value of a key is its state.
fn reducing<K: Clone, T: Clone>(
    function: impl Fn(&mut T, T),
) -> impl Fn(&K, &mut Option<T>, T) -> (K, T) {
    move |key, state, value| {
        let all = match state.take() {
            Some(mut all) => {
                function(&mut all, value);
                all
            }
            None => value,
        };
        *state = Some(all.clone());
        (key.clone(), all)
    }
}
