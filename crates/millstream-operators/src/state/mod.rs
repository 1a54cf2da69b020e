//! The keyed state of one subtask: a table that can be captured while it is written to.
//!
//! # What it must do
//!
//! A record costs one look-up. Growing never stops the task for long. A checkpoint sees the state
//! exactly as it was at the barrier, although the task goes on writing. Results at the end of the
//! input come in an order that no hash decides. A restored table goes on as the old one would have.
//!
//! # How it grows
//!
//! One big table would double as a whole, and move millions of entries while records wait. A table
//! for each key group, or eight of them, would put that off until there are more keys than somebody
//! foresaw, and would lay out a thousand tables for a thousand keys, whose entries then lie far
//! apart. So there is a tree: it begins as one leaf, a small hash table with its entries in line
//! (`leaf.rs` tells how), and a leaf that has [`LEAF_ENTRIES`] entries becomes a branch of eight
//! leaves before anything more is put in. No step ever moves more entries than that. A thousand
//! keys are one small table; many keys cost one more step down for each factor of eight.
//!
//! The way down is by key group first: the keys stand on a *line*, group by group, within a group
//! by their hashes. Each leaf has a *span* of the line, a split cuts a span in eight, and a point
//! of the line always lies in exactly one leaf, which may have many groups or a piece of one.
//! After [`MAX_DEPTH`] levels a leaf grows without limit; only keys that share thirty bits of their
//! hash get there.
//!
//! # How it is captured
//!
//! Each entry has the *stamp* of the last capture that it has been saved in, and the table has the
//! stamp of the newest capture. Beginning a capture only raises the table's stamp. From then on, an
//! entry with an old stamp is one that has not been saved: whoever wants to change or remove it
//! saves it first, a new entry is born with the new stamp, and a sweep walks along the line and
//! saves the rest, a few entries a call. A group is complete when the sweep has left the last leaf
//! that reaches into it.
//!
//! The sweep remembers a point of the line and, of the leaf there, how many entries it has not met.
//! It goes from the last one to the first: those that it has not met are the first ones of the
//! leaf, since a removal puts the last one, which is new or has been met, into the gap, and a split
//! keeps the order. Thus it only ever goes forward, and ends.
//!
//! # Order
//!
//! Within its group an entry remembers the how-many-th it was to appear. The number is stored with
//! the entry, so the order of results is the same after a restore and at any parallelism.
//!
//! # When a user's code panics
//!
//! `Clone`, `Eq`, `Default` and `Drop` of keys and values are the user's. They are called before
//! the table is changed or after it is whole again: a panic can lose the value in hand and can
//! leave a capture incomplete, but the table can always be dropped, and every call on it ends.

mod books;
mod capture;
mod drain;
mod error;
mod leaf;
mod line;
mod next;
mod node;
mod stored;
mod table;

#[cfg(test)]
mod tests;

pub use capture::{CAPTURED_PIECE, Captured};
pub use error::{CaptureOpen, NotOurs, RestoreError};
pub use next::{Change, InLeaf, InTree, Next};
pub use node::{LEAF_ENTRIES, MAX_DEPTH};
pub use stored::Stored;
pub use table::KeyedTable;
