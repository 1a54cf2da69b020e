//! What can be written but not read again is no record.

#[derive(serde::Serialize)]
struct Flight {
    delay: i32,
}

fn send<R: millstream_core::Record>(_: R) {}

fn main() {
    send(Flight { delay: 3 });
}
