//! A value that stays on one thread cannot be sent to the thread of a task.

use std::rc::Rc;

fn pass<D: millstream_core::Data>(_: D) {}

fn main() {
    pass(Rc::new(1));
}
