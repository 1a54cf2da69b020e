//! The ends that every user needs.

mod collect;
mod each;
mod generate;
mod items;

pub use collect::{Collect, Collected};
pub use each::Each;
pub use generate::Generate;
pub use items::Items;
