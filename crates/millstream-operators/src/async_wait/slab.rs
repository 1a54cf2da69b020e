//! Numbered places that are used again: the memory of a queue, at most its capacity.

use crate::let_go_all;

/// Says that there is no place; an index that no slab reaches.
pub(super) const NONE: u32 = u32::MAX;

/// Makes room for one more, and for as many as there are, but for no more than `most` in all: what
/// is known to be the end need not be doubled.
pub fn grow<T>(places: &mut Vec<T>, most: usize) {
    let len = places.len();
    if len == places.capacity() {
        places.reserve_exact(len.max(4).min(most.saturating_sub(len)).max(1));
    }
}

/// Values in numbered places. A place is given out with its generation, so that a number that is
/// kept too long does not reach the value that came after.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    most: usize,
    free: u32,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    /// The next free place, while this one is.
    next: u32,
    value: Option<T>,
}

impl<T> Drop for Slab<T> {
    /// Inputs and results are users' values, of which more than one may panic.
    fn drop(&mut self) {
        let_go_all(&mut self.places);
    }
}

impl<T> Slab<T> {
    /// With so many places at most.
    pub(super) const fn new(most: usize) -> Self {
        Self { places: Vec::new(), most, free: NONE }
    }

    /// The number of the place that the next value will be put in.
    #[inline]
    pub(super) const fn next_index(&self) -> usize {
        if self.free == NONE { self.places.len() } else { self.free as usize }
    }

    /// Puts a value in a free place; gives its number and its generation.
    // What is passed here is not to be written to memory and read back at once.
    #[inline(always)]
    pub(super) fn insert(&mut self, value: T) -> (u32, u32) {
        match self.places.get_mut(self.free as usize) {
            Some(place) => {
                let index = self.free;
                self.free = place.next;
                place.value = Some(value);
                (index, place.generation)
            }
            None => {
                let index = u32::try_from(self.places.len()).unwrap_or(NONE);
                grow(&mut self.places, self.most);
                self.places.push(Place { generation: 0, next: NONE, value: Some(value) });
                (index, 0)
            }
        }
    }

    /// What lies there.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.value.as_mut()
    }

    /// As [`get_mut`](Self::get_mut), to read.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.places.get(index as usize)?.value.as_ref()
    }

    /// What lies there, if it is still what was put there with this generation.
    #[inline]
    pub(super) fn current_mut(&mut self, index: u32, generation: u32) -> Option<&mut T> {
        let place = self.places.get_mut(index as usize)?;
        if place.generation == generation { place.value.as_mut() } else { None }
    }

    /// What lies there, with its generation.
    #[inline]
    pub(super) fn at(&self, index: u32) -> Option<(u32, &T)> {
        let place = self.places.get(index as usize)?;
        Some((place.generation, place.value.as_ref()?))
    }

    /// The generation of a place.
    #[inline]
    pub(super) fn generation(&self, index: u32) -> u32 {
        self.places.get(index as usize).map_or(0, |place| place.generation)
    }

    /// Takes what lies there; the place is free.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let place = self.places.get_mut(index as usize)?;
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        place.next = self.free;
        self.free = index;
        Some(value)
    }

    /// Drops what lies there; the place is free. Nothing is moved for it.
    #[inline]
    pub(super) fn clear(&mut self, index: u32) {
        let Some(place) = self.places.get_mut(index as usize) else { return };
        place.generation = place.generation.wrapping_add(1);
        place.next = self.free;
        self.free = index;
        place.value = None;
    }

    /// All values, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    struct Bomb(#[expect(dead_code, reason = "it counts how many there are")] Rc<()>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a value panics when it is dropped");
        }
    }

    #[test]
    fn what_is_left_in_a_slab_is_dropped_one_by_one() {
        let counted = Rc::new(());
        let mut slab = Slab::new(3);
        for _ in 0..3 {
            slab.insert(Bomb(counted.clone()));
        }
        drop(slab);
        assert_eq!(Rc::strong_count(&counted), 1);
    }
}
