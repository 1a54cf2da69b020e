//! The timers of one task in memory: by their time, each once.
//!
//! # How it works
//!
//! Each domain is a tree from times to buckets. The first time is what is due next; a timer is
//! found by its time first, so no further table knows where it is. Where many timers share few
//! times, as those of windows do, the tree is small and a bucket has an index; where each has its
//! own, as those of time-outs do, a bucket is one timer in line. Instants that come in their order,
//! as most do, never see the tree (`run.rs`).

use millstream_core::{Failure, Key, KeyGroups, Timestamp};

use super::bucket::Held;
use super::error::WrongGroup;
use super::queue::TimerQueue;
use super::tree::Tree;
use super::walk::Walk;
use crate::{Restored, Snapshot, Timer, TimerDomain};

/// The timers of one task in memory.
///
/// # Examples
///
/// ```
/// use millstream_core::{Failure, KeyGroups, KeyHash, Timestamp};
/// use millstream_operators::timers::{TimerHeap, TimerQueue};
/// use millstream_operators::{Timer, TimerDomain};
///
/// let mut heap = TimerHeap::new(KeyGroups::default_for(1));
/// let timer = |millis, key: &str| -> Result<_, Failure> {
///     let (time, hash) = (Timestamp::from_millis(millis)?, KeyHash::of(key)?);
///     Ok(Timer { time, domain: TimerDomain::Event, hash, payload: key.to_owned() })
/// };
/// assert!(heap.set(timer(20, "mill")?)?);
/// assert!(heap.set(timer(10, "stream")?)?);
/// assert!(!heap.set(timer(10, "stream")?)?, "it is set already");
///
/// let mut due = Vec::new();
/// heap.take_due(TimerDomain::Event, Timestamp::from_millis(15)?, 100, &mut due)?;
/// assert_eq!(due, [timer(10, "stream")?]);
/// # Ok::<(), Failure>(())
/// ```
#[derive(Debug)]
pub struct TimerHeap<P> {
    pub(super) event: Tree<P>,
    pub(super) processing: Tree<P>,
    key_groups: KeyGroups,
    walk: Option<Walk<P>>,
}

impl<P: Key> TimerHeap<P> {
    /// Without a timer, of a job with so many key groups.
    pub const fn new(key_groups: KeyGroups) -> Self {
        Self { event: Tree::new(), processing: Tree::new(), key_groups, walk: None }
    }

    pub(super) const fn tree(&self, domain: TimerDomain) -> &Tree<P> {
        match domain {
            TimerDomain::Event => &self.event,
            TimerDomain::Processing => &self.processing,
        }
    }

    const fn tree_mut(&mut self, domain: TimerDomain) -> &mut Tree<P> {
        match domain {
            TimerDomain::Event => &mut self.event,
            TimerDomain::Processing => &mut self.processing,
        }
    }
}

impl<P: Key> TimerQueue<P> for TimerHeap<P> {
    fn set(&mut self, timer: Timer<P>) -> Result<bool, Failure> {
        let Timer { time, domain, hash, payload } = timer;
        let held = Held { hash, payload };
        let walk = self.walk.as_ref();
        let unseen = walk.filter(|walk| walk.is_ahead(domain, time, usize::MAX));
        let noted = unseen.map(|_| held.clone());
        let new = self.tree_mut(domain).insert(time, held);
        if new && let (Some(walk), Some(held)) = (&mut self.walk, noted) {
            walk.came(domain, time, held);
        }
        Ok(new)
    }

    fn delete(&mut self, timer: &Timer<P>) -> Result<bool, Failure> {
        let Timer { time, domain, hash, payload } = timer;
        let held = Held { hash: *hash, payload: payload.clone() };
        let Some((at, left)) = self.tree_mut(*domain).remove(*time, &held) else {
            return Ok(false);
        };
        let moved = self.tree(*domain).at(*time).get(at).filter(|_| at < left).cloned();
        if let Some(walk) = &mut self.walk {
            walk.left(*domain, *time, at, held);
            // The last of its instant lies in its place now.
            if let Some(moved) = moved {
                walk.moved(*domain, *time, left, at, moved);
            }
        }
        Ok(true)
    }

    fn next_due(&mut self, domain: TimerDomain) -> Result<Option<Timestamp>, Failure> {
        Ok(self.tree(domain).first_time())
    }

    fn take_due(
        &mut self,
        domain: TimerDomain,
        up_to: Timestamp,
        most: usize,
        into: &mut Vec<Timer<P>>,
    ) -> Result<(), Failure> {
        for _ in 0..most {
            let Some((time, held, left)) = self.tree_mut(domain).pop_due(up_to) else { break };
            if let Some(walk) = &mut self.walk {
                walk.left(domain, time, left, held.clone());
            }
            let Held { hash, payload } = held;
            into.push(Timer { time, domain, hash, payload });
        }
        Ok(())
    }

    fn len(&self, domain: TimerDomain) -> usize {
        self.tree(domain).len()
    }

    fn each(&mut self, visit: &mut dyn FnMut(&Timer<P>)) -> Result<(), Failure> {
        for domain in [TimerDomain::Event, TimerDomain::Processing] {
            for (time, held) in self.tree(domain).iter() {
                for Held { hash, payload } in held {
                    let payload = payload.clone();
                    visit(&Timer { time, domain, hash: *hash, payload });
                }
            }
        }
        Ok(())
    }

    fn freeze(&mut self) -> Result<(), Failure> {
        self.walk = Some(Walk::new());
        Ok(())
    }

    fn snapshot(&mut self, timers: usize, into: &mut Snapshot) -> Result<bool, Failure> {
        let Some(mut walk) = self.walk.take() else { return Ok(true) };
        let all = walk.goes_on(self, timers, self.key_groups, into);
        if !all {
            self.walk = Some(walk);
        }
        Ok(all)
    }

    fn abandon(&mut self) {
        self.walk = None;
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        let timers: Vec<Timer<P>> = piece.read()?;
        for timer in timers {
            let own = self.key_groups.of(timer.hash);
            if piece.group != Some(own) {
                return Err(WrongGroup { own, stored: piece.group }.into());
            }
            self.set(timer)?;
        }
        Ok(())
    }
}
