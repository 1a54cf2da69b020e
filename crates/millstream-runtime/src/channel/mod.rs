//! Bounded channels between unbounded mailboxes: credits, batches on loan, inbox and outbox.
//!
//! ```text
//!  outbox ─▶ branch ─▶ steps ─▶ route ─▶ outlet ══ Deliver ══▶ mailbox ─▶ inbox ─▶ operator
//!                                           ▲                               │
//!                                           └──── credit, buffer, Resume ───┘
//! ```
//!
//! An actor's mailbox has no bound that binds, so the bound is here: a channel has a few credits, a
//! batch under way holds one, and dropping the batch gives it back.

mod branch;
mod credit;
mod deliver;
mod event_time;
mod held;
mod inbox;
mod outbox;
mod outlet;
mod route;

#[cfg(not(loom))]
#[cfg(test)]
mod tests;

pub use branch::Branch;
#[cfg(test)]
pub(crate) use branch::Outgoing;
pub(crate) use branch::{Edge, Fork, Split};
#[cfg(test)]
pub(crate) use credit::Credits;
pub(crate) use deliver::{Deliver, Link, Resume};
pub(crate) use event_time::EventTime;
pub(crate) use inbox::{Inbox, Refused, Taken, Whole};
pub(crate) use outbox::{Outbox, Side, SideBranch};
pub(crate) use outlet::{Outlet, OutletOf};
pub use route::{Broadcast, ByKey, Outlets, Rebalance, Route};
