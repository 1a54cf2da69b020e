//! Who stands in front of whom: the two ends of a list through numbered places.

use super::slab::NONE;

/// The ends of a list through numbered places, each of which knows the one behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) first: u32,
    last: u32,
}

impl Line {
    /// Nobody.
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    /// Another stands at the end. Says who stands before it and has to be told; nobody if the line
    /// was empty.
    #[inline]
    pub(super) const fn push(&mut self, index: u32) -> u32 {
        let before = std::mem::replace(&mut self.last, index);
        if before == NONE {
            self.first = index;
        }
        before
    }

    /// Who stands in front.
    #[inline]
    pub(super) const fn peek(&self) -> Option<u32> {
        if self.first == NONE { None } else { Some(self.first) }
    }

    /// Who stood in front leaves; this one stood behind it.
    #[inline]
    pub(super) const fn pop(&mut self, next: u32) {
        self.first = next;
        if next == NONE {
            self.last = NONE;
        }
    }
}
