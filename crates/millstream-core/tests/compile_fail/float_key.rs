//! A float is no key: it has neither `Eq` nor `Hash`.

fn key_by<K: millstream_core::Key>(_: K) {}

fn main() {
    key_by(1.5_f64);
}
