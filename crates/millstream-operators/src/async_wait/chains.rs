//! Who of one key goes first: limits the calls of a key and keeps its results in order.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use millstream_core::KeyHash;

use super::slab::NONE;

/// The unemitted records of each key that has any, in order.
///
/// A key is known by its hash alone: two keys of one hash wait for each other, which is slower and
/// never wrong. Nothing is kept of a key whose last record has gone out.
#[derive(Debug)]
pub(super) struct Chains {
    per_key: usize,
    of: HashTable<Chain>,
    /// The record behind each in its chain, and its key, by index.
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    hash: KeyHash,
    resolved: bool,
}

#[derive(Debug)]
struct Chain {
    hash: KeyHash,
    head: u32,
    tail: u32,
    /// The first that has not begun.
    waiting: u32,
    /// Begun and not resolved.
    running: usize,
}

impl Chains {
    pub(super) fn new(per_key: usize) -> Self {
        Self { per_key, of: HashTable::new(), links: Vec::new() }
    }

    /// A record stands behind all others of its key; whether its call may begin.
    pub(super) fn admit(&mut self, index: u32, hash: KeyHash) -> bool {
        let at = index as usize;
        let link = Link { next: NONE, hash, resolved: false };
        if self.links.len() <= at {
            self.links.resize(at + 1, link);
        }
        self.links[at] = link;
        let new = Chain { hash, head: index, tail: NONE, waiting: NONE, running: 0 };
        let found = self.of.entry(mixed(hash), |it| it.hash == hash, |it| mixed(it.hash));
        let chain = found.or_insert(new).into_mut();
        if chain.tail != NONE {
            self.links[chain.tail as usize].next = index;
        }
        chain.tail = index;
        if chain.waiting == NONE && chain.running < self.per_key {
            chain.running += 1;
            return true;
        }
        if chain.waiting == NONE {
            chain.waiting = index;
        }
        false
    }

    /// A record that had begun is resolved. Tells `release` each whose result may go out now, in
    /// order; returns the one that may begin for it.
    pub(super) fn resolve(&mut self, index: u32, mut release: impl FnMut(u32)) -> Option<u32> {
        let link = self.links.get_mut(index as usize)?;
        link.resolved = true;
        let hash = link.hash;
        let found = self.of.entry(mixed(hash), |it| it.hash == hash, |it| mixed(it.hash));
        let Entry::Occupied(mut found) = found else { return None };
        let chain = found.get_mut();
        chain.running -= 1;
        let begins = chain.waiting;
        if begins != NONE {
            chain.waiting = self.links[begins as usize].next;
            chain.running += 1;
        }
        while chain.head != NONE && self.links[chain.head as usize].resolved {
            let released = chain.head;
            chain.head = self.links[released as usize].next;
            release(released);
        }
        if chain.head == NONE {
            found.remove();
        }
        (begins != NONE).then_some(begins)
    }

    /// How many keys have unemitted records.
    pub(super) fn keys(&self) -> usize {
        self.of.len()
    }
}

/// A key's hash is as good as random; a multiplication brings all of it to where the table looks.
const fn mixed(hash: KeyHash) -> u64 {
    let product = hash.get() as u128 * 0x9E37_79B9_7F4A_7C15;
    product as u64 ^ (product >> 64) as u64
}
