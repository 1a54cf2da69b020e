//! One task's state on its way out and back in: pieces, each of one key group or of the task.

use millstream_core::{KeyGroup, Record, codec};

/// A piece of state, taken and not yet turned into bytes.
///
/// Turning it into bytes is put off so that it can happen on another thread.
pub struct Piece {
    /// The key group it belongs to; none for state of the operator as a whole.
    pub group: Option<KeyGroup>,
    encode: Box<dyn FnOnce() -> Result<Vec<u8>, codec::CodecError> + Send>,
}

impl Piece {
    /// The bytes.
    ///
    /// # Errors
    ///
    /// When the value refuses to be stored.
    pub fn encode(self) -> Result<Vec<u8>, codec::CodecError> {
        (self.encode)()
    }
}

/// Where an operator puts its state.
#[derive(Default)]
pub struct Snapshot {
    pieces: Vec<Piece>,
}

impl Snapshot {
    /// Adds state of a key group. Several pieces of one group are restored one after another.
    pub fn keyed<T: Record>(&mut self, group: KeyGroup, state: T) {
        self.push(Some(group), state);
    }

    /// Adds state of the operator as a whole.
    pub fn operator<T: Record>(&mut self, state: T) {
        self.push(None, state);
    }

    fn push<T: Record>(&mut self, group: Option<KeyGroup>, state: T) {
        self.pieces.push(Piece { group, encode: Box::new(move || codec::encode(&state)) });
    }

    /// What has been added, in order.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }
}

/// A piece of state that comes back.
pub struct Restored<'a> {
    /// The key group it belongs to; none for state of the operator as a whole.
    pub group: Option<KeyGroup>,
    bytes: &'a [u8],
}

impl<'a> Restored<'a> {
    /// A stored piece.
    pub const fn new(group: Option<KeyGroup>, bytes: &'a [u8]) -> Self {
        Self { group, bytes }
    }

    /// The state as it was added.
    ///
    /// # Errors
    ///
    /// When the bytes are those of something else.
    pub fn read<T: Record>(&self) -> Result<T, codec::CodecError> {
        codec::decode(self.bytes)
    }
}

/// State that does not belong to the operator it was given to.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// State came back to an operator that has none.
    #[error("there is stored state, and this operator keeps none: was another one here before?")]
    Stateless,
    /// State of a key group came back to an operator without keys, or the other way round.
    #[error("stored state is of {found}, and this operator keeps state of {expected}")]
    Kind {
        /// What came.
        found: &'static str,
        /// What the operator keeps.
        expected: &'static str,
    },
}
