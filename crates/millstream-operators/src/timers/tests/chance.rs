//! Numbers by chance.

/// What follows from a seed.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`.
    pub(super) const fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % n
    }
}
