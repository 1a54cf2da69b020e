//! Who of one key goes first: limits the calls of a key and keeps its results in order.

use hashbrown::HashTable;

use millstream_core::KeyHash;

use super::line::Line;
use super::slab::{NONE, Slab};

/// The records of each key that has any whose result is held back or has not come, in order.
///
/// A key is known by its hash alone: two keys of one hash wait for each other, which is slower and
/// never wrong. Nothing is kept of a key whose last result has been let go.
#[derive(Debug)]
pub(super) struct Chains {
    per_key: usize,
    chains: Slab<Chain>,
    /// The places of the chains, by the hash of their key.
    of: HashTable<u32>,
    /// Of each record, by its index.
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// The record behind it in its chain.
    next: u32,
    chain: u32,
    begun: bool,
    resolved: bool,
}

#[derive(Debug)]
struct Chain {
    hash: KeyHash,
    line: Line,
    /// The first that has neither begun nor been resolved.
    waiting: u32,
    /// Begun and not resolved.
    running: usize,
}

impl Chains {
    /// Of so many records at most.
    pub(super) fn new(per_key: usize, most: usize) -> Self {
        let (of, links) = (HashTable::new(), Vec::new());
        Self { per_key, chains: Slab::new(most), of, links }
    }

    /// A record stands behind all others of its key; whether its call may begin.
    #[inline]
    pub(super) fn admit(&mut self, index: u32, hash: KeyHash) -> bool {
        let at = self.chain_of(hash);
        let Some(chain) = self.chains.get_mut(at) else { return false };
        let begun = chain.waiting == NONE && chain.running < self.per_key;
        if begun {
            chain.running += 1;
        } else if chain.waiting == NONE {
            chain.waiting = index;
        }
        let link = Link { next: NONE, chain: at, begun, resolved: false };
        match self.links.get_mut(index as usize) {
            Some(place) => *place = link,
            None => self.links.resize(index as usize + 1, link),
        }
        if let Some(before) = self.links.get_mut(chain.line.push(index) as usize) {
            before.next = index;
        }
        begun
    }

    /// Where the chain of a key is, which is made if there is none.
    #[inline]
    fn chain_of(&mut self, hash: KeyHash) -> u32 {
        let Self { chains, of, .. } = self;
        let hash_of = |at: &u32| chains.get(*at).map_or(0, |chain| mixed(chain.hash));
        let is_it = |at: &u32| chains.get(*at).is_some_and(|chain| chain.hash == hash);
        match of.entry(mixed(hash), is_it, hash_of) {
            hashbrown::hash_table::Entry::Occupied(found) => *found.get(),
            hashbrown::hash_table::Entry::Vacant(vacant) => {
                let chain = Chain { hash, line: Line::EMPTY, waiting: NONE, running: 0 };
                let (at, _) = self.chains.insert(chain);
                vacant.insert(at);
                at
            }
        }
    }

    /// Whether the results of its key before that of this record have all been let go.
    #[inline]
    pub(super) fn is_first(&self, index: u32) -> bool {
        let chain = self.links.get(index as usize).and_then(|link| self.chains.get(link.chain));
        chain.is_some_and(|chain| chain.line.first == index)
    }

    /// A record is resolved. Tells `release` each whose result may go out now, in order; returns
    /// the one that may begin for it.
    #[inline]
    pub(super) fn resolve(&mut self, index: u32, mut release: impl FnMut(u32)) -> Option<u32> {
        let link = self.links.get_mut(index as usize)?;
        link.resolved = true;
        let Link { chain: at, begun, .. } = *link;
        let chain = self.chains.get_mut(at)?;
        chain.running -= usize::from(begun);
        let begins = chain.begin_next(&mut self.links, self.per_key);
        while let Some(first) = chain.line.peek()
            && let Some(link) = self.links.get(first as usize).filter(|link| link.resolved)
        {
            chain.line.pop(link.next);
            release(first);
        }
        if chain.line == Line::EMPTY {
            self.forget(at);
        }
        begins
    }

    fn forget(&mut self, at: u32) {
        if let Some(chain) = self.chains.remove(at)
            && let Ok(found) = self.of.find_entry(mixed(chain.hash), |it| *it == at)
        {
            found.remove();
        }
    }

    /// How many keys have records here.
    pub(super) fn keys(&self) -> usize {
        self.of.len()
    }
}

impl Chain {
    /// Lets the next one begin, if there is one and it may.
    #[inline]
    fn begin_next(&mut self, links: &mut [Link], per_key: usize) -> Option<u32> {
        while let Some(link) = links.get_mut(self.waiting as usize) {
            if !link.resolved && self.running == per_key {
                return None;
            }
            let begins = std::mem::replace(&mut self.waiting, link.next);
            if !link.resolved {
                link.begun = true;
                self.running += 1;
                return Some(begins);
            }
        }
        None
    }
}

/// A key's hash is as good as random; a multiplication brings all of it to where the table looks.
const fn mixed(hash: KeyHash) -> u64 {
    let product = hash.get() as u128 * 0x9E37_79B9_7F4A_7C15;
    product as u64 ^ (product >> 64) as u64
}
