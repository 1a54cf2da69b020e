//! The graph of a job as data: what there is, how it hangs together, and what is wrong with it.
//!
//! A [`Plan`] holds no closure, no type of a record and no actor. That is why it can be checked
//! before anything starts ([`Plan::check`] finds *every* fault, not the first one), put in order
//! ([`Plan::order`]), printed (`Display`, [`Plan::to_mermaid`]) and compared in a test.
//!
//! A plan is a multigraph: a stream united with itself, or two inputs fed by one stream, are two
//! edges between the same two stages, and both count.
//!
//! # Examples
//!
//! ```
//! use millstream_plan::{Edge, Plan, Route, Stage};
//!
//! let mut plan = Plan::new("orders");
//! let orders = plan.stage(Stage::source("orders", 1));
//! let totals = plan.stage(Stage::operator("totals", 4));
//! let out = plan.stage(Stage::sink("out", 1));
//! plan.connect(Edge::new(orders, totals, Route::ByKey).steps(["map", "filter"]));
//! plan.connect(Edge::new(totals, out, Route::Rebalance));
//!
//! plan.check()?;
//! assert_eq!(plan.order()?, [orders, totals, out]);
//! assert_eq!(
//!     plan.to_string(),
//!     r#"plan "orders"
//! source "orders" × 1
//!   -> "totals", by key, 4 channels: map, filter
//! operator "totals" × 4
//!   -> "out", rebalance, 4 channels
//! sink "out" × 1
//! "#
//! );
//! # Ok::<(), millstream_plan::PlanError>(())
//! ```

mod check;
mod edge;
mod fault;
mod mermaid;
mod order;
mod plan;
mod stage;
mod text;

pub use edge::{Edge, Route};
pub use fault::{PlanError, PlanFault};
pub use plan::Plan;
pub use stage::{Stage, StageKind};
