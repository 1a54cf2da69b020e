//! The queue gives out what a list would that is searched from its front, in each order.

use proptest::prelude::*;

use super::queue_model::{compare, compare_eagerly};
use super::{KeyHash, Order, Popped, Queue};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..400)
}

const KEY_ORDERED: Order = Order::KeyOrdered { per_key: 1 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_ordered_queue_does_what_a_list_does(bytes in bytes()) {
        compare(Order::Ordered, &bytes);
    }

    #[test]
    fn an_unordered_queue_does_what_a_list_does(bytes in bytes()) {
        compare(Order::Unordered, &bytes);
    }

    #[test]
    fn a_key_ordered_queue_does_what_a_list_does(bytes in bytes()) {
        compare(KEY_ORDERED, &bytes);
    }

    #[test]
    fn an_unordered_queue_never_holds_back_what_its_model_would_emit(bytes in bytes()) {
        compare_eagerly(Order::Unordered, &bytes);
    }

    #[test]
    fn a_key_ordered_queue_never_holds_back_what_its_model_would_emit(bytes in bytes()) {
        compare_eagerly(KEY_ORDERED, &bytes);
    }
}

#[test]
fn a_ticket_names_no_other_record_when_its_place_is_used_again() {
    let mut queue = Queue::new(Order::Ordered, 1);
    let (old, _) = queue.admit("old", None);
    assert_eq!(queue.resolve(old, 1), Ok(()));
    assert_eq!(queue.pop(), Some(Popped::Record("old", 1)));
    let (new, _) = queue.admit("new", None);
    assert_eq!(new.index(), old.index());
    assert_ne!(new, old);
    assert_eq!(queue.resolve(old, 2), Err(2));
    assert_eq!(queue.pending(old), None);
    assert_eq!(queue.pending(new), Some(&"new"));
}

#[test]
fn limits_of_zero_are_taken_for_one() {
    let mut queue = Queue::<u32, u32>::new(Order::KeyOrdered { per_key: 0 }, 0);
    assert!(queue.room().record && queue.room().mark);
    let (ticket, begins) = queue.admit(1, Some(KeyHash::from_raw(1)));
    assert!(begins && !queue.room().record);
    assert_eq!(queue.resolve(ticket, 2), Ok(()));
    assert_eq!(queue.pop(), Some(Popped::Record(1, 2)));
}

#[test]
fn nothing_is_kept_of_keys_that_have_gone() {
    let mut queue = Queue::new(KEY_ORDERED, 2);
    for key in 0..1_000 {
        let (ticket, begins) = queue.admit(key, Some(KeyHash::from_raw(key)));
        assert!(begins);
        assert_eq!(queue.keys(), 1);
        assert_eq!(queue.resolve(ticket, key), Ok(()));
        assert_eq!(queue.pop(), Some(Popped::Record(key, key)));
        assert_eq!(queue.keys(), 0);
    }
}

#[test]
fn a_record_may_have_its_outcome_before_its_call_has_begun() {
    let mut queue = Queue::new(KEY_ORDERED, 9);
    let key = Some(KeyHash::from_raw(7));
    let [(a, _), (b, begins), (c, _)] = ["a", "b", "c"].map(|of| queue.admit(of, key));
    assert!(!begins);
    assert_eq!((queue.resolve(b, 2), queue.next_begin()), (Ok(()), None));
    assert_eq!((queue.resolve(a, 1), queue.next_begin()), (Ok(()), Some(c)));
    assert_eq!(queue.pop(), Some(Popped::Record("a", 1)));
    assert_eq!(queue.pop(), Some(Popped::Record("b", 2)));
    assert_eq!((queue.pop(), queue.keys()), (None, 1));
    assert_eq!((queue.resolve(c, 3), queue.keys()), (Ok(()), 0));
}
