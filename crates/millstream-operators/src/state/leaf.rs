//! A leaf of a table's tree: a small hash table whose entries stand in line.
//!
//! Most records of most jobs come with a key that is there already, and finding it is most of what
//! a keyed operator does. What that costs is decided by how many lines of the cache it touches and
//! by how few instructions there are, for a processor works on as many records at once as it has
//! room for their instructions.
//!
//! The entries lie side by side in a vector, in the order in which they came, with nothing beside
//! key, value and stamp; what only growing, removing and storing ask for lies in a second vector.
//! *Slots* lead to them: numbers of 32 bits, two in a *bucket*. The low bits of a filled slot are
//! the entry's index, the others are those of its hash, by which the two of a bucket are told apart
//! before anything else is read. A key stands in the first free slot from the bucket on that its
//! hash names (linear probing; Knuth, The Art of Computer Programming, volume 3, section 6.4), and
//! a removal closes the gap that it leaves, so that no slot is ever marked as deleted. At most
//! three slots in eight are filled: more than nine keys in ten then stand in the bucket that their
//! hash names, and are found without a loop.
//!
//! Removing an entry puts the last one into its place. Whoever walks over the entries from the last
//! one to the first therefore meets each that was there when the walk began and still is, whatever
//! comes and goes meanwhile: what is put into a place before it is new or has been met.

use millstream_core::KeyHash;

use crate::drop_all;

/// What the fast look-ups ask for.
pub(super) struct Entry<K, V> {
    /// Which capture it was last saved in, or born after.
    pub(super) stamp: u32,
    pub(super) key: K,
    pub(super) value: V,
}

/// What else is known of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) hash: KeyHash,
    /// How many entries of its group had appeared before it.
    pub(super) order: u64,
}

pub(super) struct Leaf<K, V> {
    buckets: Vec<[u32; 2]>,
    entries: Vec<Entry<K, V>>,
    /// By the same index.
    origins: Vec<Origin>,
}

impl<K, V> Drop for Leaf<K, V> {
    /// Keys and states are users' values, of which more than one may panic. The first panic is
    /// told, by the first leaf that has one.
    fn drop(&mut self) {
        drop_all(&mut self.entries);
    }
}

/// A free slot. No filled one looks like it: an index has fewer bits than that of a slot, and they
/// are not all set.
const FREE: u32 = u32::MAX;

const FEWEST_BUCKETS: usize = 8;

/// A removal leaves at least one slot in so many in use, once there are `SHRINK_ABOVE` buckets.
const SPARSE: usize = 16;
const SHRINK_ABOVE: usize = 64;

/// How many buckets so many entries have: at least four for three.
fn buckets_for(entries: usize) -> usize {
    (4 * entries).div_ceil(3).next_power_of_two().max(FEWEST_BUCKETS)
}

/// The bits of a hash that a leaf uses: the low ones name a slot, the others are kept in it.
///
/// All keys of a leaf may have the highest bits of both halves in common: of the low half those
/// that chose the key group, of the high half those that chose the leaf. So either half's low bits
/// are laid over the other's high ones.
#[inline]
const fn bits(hash: KeyHash) -> u32 {
    let hash = hash.get();
    (hash as u32) ^ ((hash >> 32) as u32).rotate_left(16)
}

impl<K, V> Leaf<K, V> {
    /// A leaf with room for so many entries.
    pub(super) fn with_room(entries: usize) -> Self {
        let buckets = vec![[FREE; 2]; buckets_for(entries)];
        Self { buckets, entries: Vec::with_capacity(entries), origins: Vec::with_capacity(entries) }
    }

    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn origins(&self) -> &[Origin] {
        &self.origins
    }

    pub(super) fn origin(&self, index: usize) -> Origin {
        self.origins[index]
    }

    #[inline]
    pub(super) fn entry(&self, index: usize) -> Option<&Entry<K, V>> {
        self.entries.get(index)
    }

    pub(super) fn key(&self, index: usize) -> &K {
        &self.entries[index].key
    }

    pub(super) fn value(&self, index: usize) -> &V {
        &self.entries[index].value
    }

    #[inline]
    pub(super) fn value_mut(&mut self, index: usize) -> &mut V {
        &mut self.entries[index].value
    }

    /// The value at an index, if it is this key's and has this stamp.
    #[inline]
    pub(super) fn value_if(&mut self, index: usize, key: &K, stamp: u32) -> Option<&mut V>
    where
        K: Eq,
    {
        let entry = self.entries.get_mut(index)?;
        (entry.key == *key && entry.stamp == stamp).then_some(&mut entry.value)
    }

    #[inline]
    pub(super) fn stamp(&self, index: usize) -> u32 {
        self.entries[index].stamp
    }

    pub(super) fn set_stamp(&mut self, index: usize, stamp: u32) {
        self.entries[index].stamp = stamp;
    }

    /// The bits of a hash that name a bucket, and those of a slot that are an index: there are
    /// fewer entries than buckets.
    #[inline]
    const fn mask(&self) -> u32 {
        self.buckets.len() as u32 - 1
    }

    #[inline]
    fn bucket(&self, at: u32) -> [u32; 2] {
        self.buckets[(at & self.mask()) as usize]
    }

    /// Where the entry with this hash most likely is, if there is one: without a loop, and without
    /// a look at the key. No entry is there if none of the bucket has its bits.
    #[inline]
    pub(super) fn look(&self, hash: KeyHash) -> usize {
        let (bits, mask) = (bits(hash), self.mask());
        let [first, second] = self.bucket(bits);
        let likely = if second ^ bits <= mask { second } else { first };
        // The index alone if the bits are the same, and more than any index if they are not.
        (likely ^ (bits & !mask)) as usize
    }

    /// The index of the entry that `same` knows, among those that may have this hash: of hashes
    /// that differ some have the same bits.
    #[inline]
    pub(super) fn find(&self, hash: KeyHash, same: impl Fn(usize) -> bool) -> Option<usize> {
        let (bits, mask) = (bits(hash), self.mask());
        let mut at = bits;
        loop {
            for slot in self.bucket(at) {
                if slot == FREE {
                    return None;
                }
                let index = (slot & mask) as usize;
                if slot ^ bits <= mask && same(index) {
                    return Some(index);
                }
            }
            at = at.wrapping_add(1);
        }
    }

    /// The index of a key's entry.
    #[inline]
    pub(super) fn find_key(&self, hash: KeyHash, key: &K) -> Option<usize>
    where
        K: Eq,
    {
        self.find(hash, |index| self.entries[index].key == *key)
    }

    /// Puts in an entry whose key is not there.
    pub(super) fn push(&mut self, origin: Origin, entry: Entry<K, V>) -> &mut Entry<K, V> {
        let index = self.len();
        self.entries.push(entry);
        self.origins.push(origin);
        let buckets = buckets_for(self.len());
        if buckets > self.buckets.len() {
            self.file_all(buckets);
        } else {
            self.file(origin.hash, index);
        }
        &mut self.entries[index]
    }

    fn file(&mut self, hash: KeyHash, index: usize) {
        let (bits, mask) = (bits(hash), self.mask());
        let mut at = 2 * (bits & mask);
        while self.slot(at) != FREE {
            at += 1;
        }
        *self.slot_mut(at) = bits & !mask | index as u32;
    }

    fn slot(&self, at: u32) -> u32 {
        self.bucket(at / 2)[at as usize % 2]
    }

    fn slot_mut(&mut self, at: u32) -> &mut u32 {
        let bucket = (at / 2) & self.mask();
        &mut self.buckets[bucket as usize][at as usize % 2]
    }

    /// Files all entries in so many buckets.
    fn file_all(&mut self, buckets: usize) {
        self.buckets.clear();
        self.buckets.resize(buckets, [FREE; 2]);
        self.buckets.shrink_to_fit();
        for index in 0..self.len() {
            self.file(self.origins[index].hash, index);
        }
    }

    /// The slot that leads to an entry.
    fn slot_of(&self, index: usize) -> u32 {
        let mask = self.mask();
        let mut at = 2 * (bits(self.origins[index].hash) & mask);
        while self.slot(at) == FREE || (self.slot(at) & mask) as usize != index {
            at += 1;
        }
        at
    }

    /// Takes an entry out; the last one takes its place.
    pub(super) fn remove(&mut self, index: usize) -> (K, V) {
        let (gap, of_last) = (self.slot_of(index), self.slot_of(self.len() - 1));
        let mask = self.mask();
        let slot = self.slot_mut(of_last);
        *slot = *slot & !mask | index as u32;
        self.origins.swap_remove(index);
        let Entry { key, value, .. } = self.entries.swap_remove(index);
        self.close(gap);
        (key, value)
    }

    /// Frees a slot. Whatever stands behind it, and would not be found behind a free one, moves up.
    fn close(&mut self, mut gap: u32) {
        let mask = self.mask();
        let mut at = gap;
        loop {
            at += 1;
            let slot = self.slot(at);
            if slot == FREE {
                break;
            }
            let named = bits(self.origins[(slot & mask) as usize].hash) & mask;
            // How many buckets behind the one that its hash names it stands, and the gap.
            let behind = (at / 2).wrapping_sub(named) & mask;
            if behind >= at / 2 - gap / 2 {
                *self.slot_mut(gap) = slot;
                gap = at;
            }
        }
        *self.slot_mut(gap) = FREE;
    }

    /// Whether it is so empty that it should give memory back.
    pub(super) const fn is_sparse(&self) -> bool {
        self.buckets.len() > SHRINK_ABOVE && self.len() < 2 * self.buckets.len() / SPARSE
    }

    /// Gives memory back, leaving room to grow by as much again.
    pub(super) fn shrink(&mut self) {
        let room = 2 * self.len();
        self.entries.shrink_to(room);
        self.origins.shrink_to(room);
        self.file_all(buckets_for(room));
    }

    /// All entries, in line; the leaf is empty then.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (Origin, Entry<K, V>)> {
        self.buckets.fill([FREE; 2]);
        self.origins.drain(..).zip(self.entries.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(hashes: impl Iterator<Item = KeyHash>) -> Leaf<u64, ()> {
        let mut leaf = Leaf::with_room(0);
        for hash in hashes {
            let entry = Entry { stamp: 0, key: hash.get(), value: () };
            leaf.push(Origin { hash, order: 0 }, entry);
        }
        leaf
    }

    /// How many of the entries are where they most likely are.
    fn found_at_once(leaf: &Leaf<u64, ()>) -> usize {
        let right = |(index, origin): &(usize, &Origin)| leaf.look(origin.hash) == *index;
        leaf.origins().iter().enumerate().filter(right).count()
    }

    #[test]
    fn most_keys_are_found_at_once_even_those_of_one_group_or_one_deep_leaf() {
        // What all keys of a leaf have in common: nothing; their group out of 32,768; that and as
        // much of the high half as ten levels take; thirty bits of the high half.
        let common = [0, 0xFFFE_0000, 0xFFFE_0000 | 0x7FFF << 49, 0xFFFF_FFFC_0000_0000];
        for common in common {
            for keys in [10_u64, 100, 1_000, 1_536, 4_096] {
                let hashes = (0..keys).filter_map(|key| KeyHash::of(&key).ok());
                let hashes = hashes.map(|hash| KeyHash::from_raw(hash.get() & !common));
                let leaf = leaf(hashes);
                let found = found_at_once(&leaf);
                assert!(found as u64 >= keys * 9 / 10, "{common:x}: {found} of {keys}");
            }
        }
    }

    #[test]
    fn an_entry_with_other_bits_in_the_bucket_is_not_taken_for_it() {
        let one = KeyHash::from_raw(0x0000_1234_0000_0005);
        let leaf = leaf(std::iter::once(one));
        assert_eq!(leaf.look(one), 0);
        for bit in 3..64 {
            let other = KeyHash::from_raw(one.get() ^ 1 << bit);
            assert!(leaf.entry(leaf.look(other)).is_none(), "{bit}");
        }
    }

    #[test]
    fn slots_that_look_like_free_ones_are_none() {
        // The low half is all ones, and the high one does not change it.
        let all_ones = KeyHash::from_raw(0xFFFF_FFFF);
        let empty = leaf(std::iter::empty());
        assert!(empty.entry(empty.look(all_ones)).is_none());
        assert_eq!(empty.find_key(all_ones, &all_ones.get()), None);
        for entries in [1, 11, 12, 13] {
            let mut leaf = leaf(std::iter::repeat_n(all_ones, entries));
            for left in (0..entries).rev() {
                assert_eq!(leaf.find(all_ones, |index| index == left), Some(left));
                assert_eq!(leaf.find(all_ones, |_| false), None);
                leaf.remove(0);
            }
            assert_eq!(leaf.find(all_ones, |_| true), None);
        }
    }

    #[test]
    fn a_leaf_that_has_been_emptied_gives_its_memory_back() {
        let mut leaf = leaf((0..4_000_u64).filter_map(|key| KeyHash::of(&key).ok()));
        while leaf.len() > 10 {
            leaf.remove(leaf.len() / 2);
            if leaf.is_sparse() {
                leaf.shrink();
            }
        }
        assert!(leaf.buckets.len() <= SHRINK_ABOVE);
        assert!(leaf.entries.capacity() <= 2 * SHRINK_ABOVE);
        for index in 0..leaf.len() {
            let hash = leaf.origin(index).hash;
            assert_eq!(leaf.find_key(hash, &hash.get()), Some(index));
        }
    }
}
