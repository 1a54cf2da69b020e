//! A volatile value travels like a record and can be neither stored nor read.

use std::sync::mpsc;

use millstream_core::{Key, KeyError, KeyHash, Record, Volatile, codec, describe};

#[derive(serde::Serialize, serde::Deserialize)]
struct Request {
    id: u32,
    reply: Volatile<mpsc::Sender<u32>>,
}

fn request() -> (Request, mpsc::Receiver<u32>) {
    let (sender, receiver) = mpsc::channel();
    (Request { id: 7, reply: Volatile(sender) }, receiver)
}

#[test]
fn what_holds_a_volatile_is_a_record_and_may_change_threads() {
    fn over_there<R: Record>(record: R, answer: impl FnOnce(R) + Send + 'static) {
        std::thread::spawn(move || answer(record)).join().unwrap();
    }
    let (request, receiver) = request();
    over_there(request, |request| request.reply.send(request.id + 1).unwrap());
    assert_eq!(receiver.recv().unwrap(), 8);
}

#[test]
fn storing_one_fails_and_names_what_it_holds() {
    let error = codec::encode(&request().0).unwrap_err().to_string();
    assert!(error.contains("cannot encode a volatile::Request"), "{error}");
    assert!(error.contains("Volatile<std::sync::mpsc::Sender<u32>> cannot be stored"), "{error}");
}

#[test]
fn reading_one_fails_whatever_the_bytes_are() {
    let bytes = codec::encode(&(7, ())).unwrap();
    let error = codec::decode::<Volatile<()>>(&bytes).unwrap_err().to_string();
    assert!(error.contains("a Volatile<()> is never stored"), "{error}");
}

#[test]
fn an_error_message_shows_what_stands_before_it() {
    let text = describe(&request().0);
    assert!(text.starts_with("Request { id: 7, reply: <cannot be shown: a Volatile<"), "{text}");
}

#[test]
fn as_a_key_it_is_refused_when_it_is_hashed() {
    fn hash<K: Key>(key: &K) -> Result<KeyHash, KeyError> {
        KeyHash::of(key)
    }
    assert!(matches!(hash(&Volatile(1_u8)), Err(KeyError::Refused(_))));
}
