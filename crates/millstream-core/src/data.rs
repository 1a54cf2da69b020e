//! What a value must be able to do, in two words: [`Data`] inside a task, [`Record`] between tasks.

use std::ops::{Deref, DerefMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A value inside a fused chain of steps: it may be sent to the task's thread and owns itself.
///
/// Implemented for every type that qualifies.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be moved to the thread of a task",
    label = "this type must be `Send + 'static`",
    note = "own the value instead of borrowing it, and use `Arc` for `Rc`, `Mutex` for `RefCell`"
)]
pub trait Data: Send + 'static {}

impl<T: Send + 'static> Data for T {}

/// A value that crosses from task to task, is a key, or is kept as state: it can be stored and read
/// again.
///
/// Implemented for every type that qualifies; `#[derive(Serialize, Deserialize)]` is all a user
/// writes. A value that cannot be stored goes in [`Volatile`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot cross from one task to another",
    label = "this type must be storable",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it, or wrap it in `Volatile<_>` \
            if it can never be stored"
)]
pub trait Record: Data + Serialize + DeserializeOwned {}

impl<T: Data + Serialize + DeserializeOwned> Record for T {}

/// A value that can travel between tasks but can never be stored, such as a reply channel.
///
/// It satisfies [`Record`] so that it may be sent, and its encoding fails: a stage that tries to
/// put one into a snapshot reports an error with the stage's name instead of storing half a value.
///
/// # Examples
///
/// ```
/// use millstream_core::{Volatile, codec};
///
/// let (sender, receiver) = std::sync::mpsc::channel::<u32>();
/// let travelling = Volatile(sender);
/// assert!(codec::encode(&travelling).is_err());
/// travelling.send(7)?;
/// assert_eq!(receiver.recv()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Volatile<T>(pub T);

impl<T> Volatile<T> {
    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Volatile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Volatile<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Serialize for Volatile<T> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom(format_args!(
            "a Volatile<{}> cannot be stored",
            std::any::type_name::<T>()
        )))
    }
}

impl<'de, T> Deserialize<'de> for Volatile<T> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom(format_args!(
            "a Volatile<{}> is never stored",
            std::any::type_name::<T>()
        )))
    }
}
