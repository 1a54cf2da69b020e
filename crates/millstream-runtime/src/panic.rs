//! How the code of a task fails: with an error or a panic, and what a panic says.

use std::any::Any;

use millstream_core::Failure;
use millstream_operators::let_go;

/// How a task's code failed.
#[derive(Clone, Debug)]
pub(crate) enum TaskFailure {
    /// It returned an error.
    Error(Failure),
    /// It panicked, with this message.
    Panic(String),
}

/// What a panic says, as far as it says it in words.
///
/// What it carries is a user's value, which may panic when it is dropped.
pub(crate) fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message").to_owned();
    let_go(payload);
    text
}
