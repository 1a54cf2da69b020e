//! What the tests of the workspace share: how the checks read source text, and how a test speaks.
//!
//! [`Source`] is one file, read once: its text, its code with comments and strings blanked out, its
//! tokens, and which of its lines are test code. The checks are functions over it: [`tidy`] holds
//! the rules of style, [`cycle`] the arrows between the modules of a crate, [`layer`] the table of
//! which crate may depend on which. They know nothing of the real tree, so each is tested on a
//! small text with a planted fault; `tests/tidy.rs` and `tests/layering.rs` apply them to the tree.

pub mod cycle;
pub mod layer;
pub mod tidy;

mod function;
mod import;
mod mask;
mod say;
mod source;
mod test_code;
mod token;
mod tree;

pub use function::Function;
pub use mask::Kind;
pub use say::{say, skip};
pub use source::{Place, Source};
pub use tree::{read, read_settings, root};
