//! A call comes to a value or to an error, and to nothing else.

use millstream::Completer;

fn nothing(completer: Completer<u64>) {
    completer.complete(None);
}

fn main() {
    let _ = nothing;
}
