//! What stands in front of what: segments of records, and marks between them.

use std::collections::VecDeque;

use millstream_core::Mark;

use super::line::Line;

/// A row of segments. Nothing of one goes out before those in front of it are over.
#[derive(Debug)]
pub(super) struct Segments {
    row: VecDeque<Segment>,
    /// The number of the first of them.
    front: u64,
}

#[derive(Debug)]
enum Segment {
    Records {
        /// Records whose result has not come here.
        open: usize,
        /// Those that may go, in the order in which their results came.
        ready: Line,
    },
    /// With the number of its admission.
    Mark(u64, Mark),
}

/// What stands in front of everything and may go.
pub(super) enum Front<'a> {
    /// The first of these records.
    Record(&'a mut Line),
    /// This mark, which is gone.
    Mark(Mark),
}

impl Segments {
    pub(super) const fn new() -> Self {
        Self { row: VecDeque::new(), front: 0 }
    }

    /// A record comes; gives the number of its segment, in which it is counted.
    #[inline]
    pub(super) fn join(&mut self) -> u64 {
        match self.row.back_mut() {
            Some(Segment::Records { open, .. }) => *open += 1,
            _ => self.row.push_back(Segment::Records { open: 1, ready: Line::EMPTY }),
        }
        self.front + self.row.len() as u64 - 1
    }

    /// A mark comes, with this number.
    pub(super) fn mark(&mut self, number: u64, mark: Mark) {
        self.row.push_back(Segment::Mark(number, mark));
    }

    /// A record's result comes to its segment: gives those that may go, to stand behind.
    #[inline]
    pub(super) fn come(&mut self, segment: u64) -> Option<&mut Line> {
        let at = usize::try_from(segment - self.front).ok()?;
        let Segment::Records { open, ready } = self.row.get_mut(at)? else { return None };
        *open -= 1;
        Some(ready)
    }

    /// The number of the segment whose results go out as they come.
    #[inline]
    pub(super) fn flowing(&mut self) -> Option<u64> {
        loop {
            match self.row.front()? {
                Segment::Records { open: 0, ready: Line::EMPTY } => self.pass(),
                Segment::Records { ready: Line::EMPTY, .. } => return Some(self.front),
                Segment::Records { .. } | Segment::Mark(..) => return None,
            }
        }
    }

    /// A result goes out of the segment that is [flowing](Self::flowing).
    #[inline]
    pub(super) fn flows(&mut self) {
        if let Some(Segment::Records { open, .. }) = self.row.front_mut() {
            *open -= 1;
        }
    }

    /// Whether something may go.
    pub(super) fn has_next(&self) -> bool {
        // Segments of records that have all gone out may stand in front.
        let over = |it: &&Segment| matches!(it, Segment::Records { open: 0, ready: Line::EMPTY });
        match self.row.iter().find(|it| !over(it)) {
            None | Some(Segment::Records { ready: Line::EMPTY, .. }) => false,
            Some(Segment::Records { .. } | Segment::Mark(..)) => true,
        }
    }

    /// What may go next, if something may.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Front<'_>> {
        while let Segment::Records { open: 0, ready: Line::EMPTY } = self.row.front()? {
            self.pass();
        }
        if let &Segment::Mark(_, mark) = self.row.front()? {
            self.pass();
            return Some(Front::Mark(mark));
        }
        match self.row.front_mut()? {
            Segment::Records { ready: Line::EMPTY, .. } | Segment::Mark(..) => None,
            Segment::Records { ready, .. } => Some(Front::Record(ready)),
        }
    }

    fn pass(&mut self) {
        self.row.pop_front();
        self.front += 1;
    }

    /// The marks that have not gone out, with their numbers, in order.
    pub(super) fn marks(&self) -> impl Iterator<Item = (u64, Mark)> {
        self.row.iter().filter_map(|segment| match segment {
            Segment::Mark(number, mark) => Some((*number, *mark)),
            Segment::Records { .. } => None,
        })
    }
}
