//! The vocabulary of Millstream.
//!
//! Everything that two parts of the runtime say to each other is named here, and nothing else:
//! what flows on a channel ([`Stamped`], [`Mark`], [`Batch`], [`Grammar`]), time ([`Timestamp`],
//! [`Clock`]), keys and who owns them ([`Key`], [`KeyHash`], [`KeyGroups`]), ids, what a value must
//! be able to do ([`Data`], [`Record`]), the bytes of state ([`codec`]), what went wrong
//! ([`Failure`]), and plain numbers ([`Counter`], [`Gauge`], [`Histogram`]).
//!
//! The crate knows no actor, no file and no thread, and depends on nothing of ours.

pub mod codec;

mod clock;
mod data;
mod describe;
mod element;
mod failure;
mod grammar;
mod id;
mod key;
mod key_group;
mod key_hash;
mod metric;
mod time;

pub use clock::{Clock, Moment, Wake};
pub use data::{Data, Record, Volatile};
pub use describe::{RECORD_IN_ERROR, describe};
pub use element::{Batch, Mark, Stamped};
pub use failure::{Failure, Place};
pub use grammar::{Grammar, GrammarError};
pub use id::{Attempt, Epoch, StageId, TaskInfo};
pub use key::{Key, Keyed};
pub use key_group::{KeyGroup, KeyGroupError, KeyGroups};
pub use key_hash::{KeyError, KeyHash};
pub use metric::{Counter, Gauge, Histogram, HistogramView};
pub use time::{ReservedTimestamp, Timestamp};
