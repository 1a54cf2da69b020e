//! A record is moved into the graph: whoever gave it cannot change it afterwards.

use millstream::{ReadContext, Stamped};

fn reuse(cx: &mut ReadContext<'_, '_, String>, mut record: Stamped<String>) {
    cx.emit(record);
    record.value.push('!');
}

fn main() {
    let _ = reuse;
}
