//! A completer is used up by its answer.

use millstream::Completer;

fn twice(completer: Completer<u64>) {
    completer.complete(1);
    completer.complete(2);
}

fn main() {
    let _ = twice;
}
