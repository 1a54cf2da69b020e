//! Calls that are answered from elsewhere: by any thread, once, and by nobody after their time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use millstream::prelude::*;
use millstream::{Cause, Collected, DeadLetter};
use millstream_testkit::compare::{in_any_order, in_order};
use millstream_testkit::{Chance, ManualClock, run, run_on_threads};

use crate::desk::{FAILED, Feed, at, came, idle, letters, ms, start};

type Handed = (u64, Completer<u64>);

/// Completers that a job hands to a test.
struct Handover {
    sender: Sender<Handed>,
    receiver: Receiver<Handed>,
}

impl Handover {
    fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// What a call does: it hands its completer over.
    fn hand(&self) -> impl Fn(u64, Completer<u64>) + Clone + Send + 'static {
        let sender = self.sender.clone();
        // Whoever is not there any more drops the completer.
        move |n, completer| drop(sender.send((n, completer)))
    }

    /// The completers that were handed over since this was asked.
    fn take(&self) -> Vec<Handed> {
        self.receiver.try_iter().collect()
    }

    fn one(&self) -> Completer<u64> {
        let mut all = self.take();
        assert_eq!(all.len(), 1, "one call was made");
        all.remove(0).1
    }
}

/// A job of a stage of callbacks, with what it takes to run it by hand.
struct Bed {
    handed: Handover,
    feed: Feed,
    clock: ManualClock,
    job: Job,
    out: Collected<u64>,
    letters: Collected<DeadLetter<u64>>,
}

impl Bed {
    async fn new(wait: AsyncWait<u64, u64>) -> Self {
        let (handed, feed, clock) = (Handover::new(), Feed::default(), ManualClock::new());
        let flow = Dataflow::new("calls");
        let called =
            flow.source("numbers", feed.clone()).async_callback("call", wait, handed.hand());
        let letters = called.side_output(&letters()).collect("letters");
        let out = called.collect("out");
        let job = start(&flow, &clock).await;
        Self { handed, feed, clock, job, out, letters }
    }

    async fn comes(&self, values: impl IntoIterator<Item = u64>) {
        self.feed.give(values);
        idle().await;
    }

    async fn ends(&self) -> Vec<String> {
        self.feed.end();
        self.job.finished().await.unwrap();
        came(&self.out)
    }

    fn dead(&self) -> Vec<(u64, Cause, u32)> {
        let letters = self.letters.take().into_iter();
        letters.map(|letter| (letter.input, letter.cause, letter.attempts)).collect()
    }
}

fn unanswered() -> Cause {
    Cause::Error("the completer of the call was dropped without an answer".to_owned())
}

#[test]
fn completers_answer_from_any_thread_and_in_any_order() {
    const RECORDS: u64 = 1_000;
    for ordered in [true, false] {
        run_on_threads(async {
            let wait = if ordered { AsyncWait::ordered() } else { AsyncWait::unordered() };
            let (handed, flow) = (Handover::new(), Dataflow::new("calls"));
            let out = flow
                .source("numbers", Feed::of((0..RECORDS).map(|n| at(n, n as i64))))
                .async_callback("call", wait.capacity(64), handed.hand())
                .parallelism(1)
                .collect("out");
            let Handover { sender, receiver } = handed;
            drop(sender);
            let receiver = Arc::new(Mutex::new(receiver));
            let answering = |seed: u64| {
                let (receiver, mut chance) = (receiver.clone(), Chance::of(seed));
                thread::spawn(move || {
                    loop {
                        let next = receiver.lock().unwrap().recv();
                        let Ok((n, completer)) = next else { return };
                        (0..chance.below(50)).for_each(|_| thread::yield_now());
                        completer.complete(n * 10);
                    }
                })
            };
            let threads: Vec<_> = (0..8).map(answering).collect();
            let settings = Settings::new().workers(Workers::Own(2.try_into().unwrap()));
            flow.start(settings).await.unwrap().finished().await.unwrap();
            drop(flow);
            // The last senders are gone with the job and the flow.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let expected: Vec<_> = (0..RECORDS).map(|n| format!("{}@{n}", n * 10)).collect();
            let compare = if ordered { in_order } else { in_any_order };
            assert_eq!(compare(&came(&out), &expected), None);
        });
    }
}

#[test]
fn a_completer_may_answer_before_it_is_handed_over_or_long_after() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        run(async {
            let kept = Arc::new(Mutex::new(Vec::new()));
            let (theirs, clock, feed) = (kept.clone(), ManualClock::new(), Feed::default());
            let flow = Dataflow::new("calls");
            let out = flow
                .source("numbers", feed.clone())
                .async_callback("call", wait, move |n, completer: Completer<u64>| match n {
                    1 => completer.complete(10),
                    2 => completer.answer(Ok(20)),
                    _ => theirs.lock().unwrap().push(completer),
                })
                .collect("out");
            let job = start(&flow, &clock).await;
            feed.give([1, 2, 3]);
            feed.end();
            idle().await;
            assert_eq!(came(&out), ["10", "20"]);
            clock.advance(ms(1_000_000));
            idle().await;
            kept.lock().unwrap().pop().unwrap().complete(30);
            job.finished().await.unwrap();
            assert_eq!(came(&out), ["30"]);
        });
    }
}

/// A call comes to a value or to an error; to neither it cannot come.
#[test]
fn a_completer_that_is_dropped_unanswered_is_an_error_of_its_call() {
    run(async {
        let bed = Bed::new(AsyncWait::ordered()).await;
        bed.comes([7]).await;
        drop(bed.handed.one());
        let error = bed.job.finished().await.unwrap_err().to_string();
        let Cause::Error(why) = unanswered() else { unreachable!() };
        let expected = format!("{FAILED}the call failed, after 1 call: {why}; the record is 7");
        assert_eq!((error, came(&bed.out)), (expected, vec![]));
    });
}

#[test]
fn a_completer_that_is_dropped_or_fails_goes_the_way_of_an_error() {
    run(async {
        let wait = AsyncWait::ordered()
            .retry(Retry::fixed(ms(10)).max_retries(1))
            .on_error(OnFailure::dead_letter(&letters()));
        let bed = Bed::new(wait).await;
        bed.comes([1, 2, 3]).await;
        let mut handed = bed.handed.take().into_iter();
        let mut next = || handed.next().unwrap();
        // 1 is dropped by a thread that panics, 2 fails, 3 is answered.
        let (_, first) = next();
        let panicked = thread::spawn(move || {
            let _first = first;
            panic!("before it has answered");
        });
        assert!(panicked.join().is_err());
        next().1.fail(Failure::new("no 2"));
        next().1.complete(30);
        idle().await;
        assert_eq!((came(&bed.out), bed.dead()), (vec![], vec![]), "both wait to be called again");
        bed.clock.advance(ms(10));
        idle().await;
        let again = bed.handed.take();
        assert_eq!(again.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2]);
        drop(again);
        idle().await;
        assert_eq!(bed.dead(), [(1, unanswered(), 2), (2, unanswered(), 2)]);
        assert_eq!(bed.ends().await, ["30"]);
    });
}

#[test]
fn an_answer_after_the_time_is_ignored_and_the_next_record_has_the_place() {
    run(async {
        let wait = AsyncWait::ordered()
            .capacity(1)
            .timeout(ms(100))
            .on_timeout(OnFailure::fallback(|n: &u64| n + 1_000));
        let bed = Bed::new(wait).await;
        bed.comes([1, 2]).await;
        let late = bed.handed.one();
        bed.clock.advance(ms(100));
        idle().await;
        let second = bed.handed.one();
        late.complete(10);
        idle().await;
        assert_eq!(came(&bed.out), ["1001"], "2 has no answer yet");
        second.complete(20);
        assert_eq!(bed.ends().await, ["20"]);
    });
}

/// An answer of a call that was given up for another attempt is none.
#[test]
fn an_answer_of_an_earlier_attempt_is_ignored() {
    run(async {
        let wait = AsyncWait::ordered()
            .retry(Retry::fixed(ms(10)).max_retries(3))
            .retry_on_answer(|answer| *answer == 0);
        let bed = Bed::new(wait).await;
        bed.comes([1]).await;
        bed.handed.one().complete(0);
        idle().await;
        bed.clock.advance(ms(10));
        idle().await;
        assert_eq!(came(&bed.out), [""; 0]);
        bed.handed.one().complete(10);
        assert_eq!(bed.ends().await, ["10"]);
    });
}

#[test]
fn a037_an_answer_after_the_job_is_gone_does_nothing() {
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        run(async {
            let bed = Bed::new(wait.timeout(ms(100))).await;
            bed.comes([1, 2, 3]).await;
            let handed = bed.handed.take();
            bed.job.cancel().await.unwrap();
            assert_eq!(bed.clock.waiting(), 0, "no deadline is left");
            let answering = thread::spawn(move || {
                for (n, completer) in handed {
                    if n == 3 {
                        completer.fail(Failure::new("late"))
                    } else {
                        completer.complete(n)
                    }
                }
            });
            answering.join().expect("who answers is not told");
            idle().await;
            assert_eq!((came(&bed.out), bed.dead()), (vec![], vec![]));
        });
    }
}

/// Two threads that each want to answer, and a completer that the first of them takes.
fn race(completer: Completer<u64>, values: [u64; 2], third: impl FnOnce()) {
    let shared = Arc::new(Mutex::new(Some(completer)));
    let begin = Arc::new(Barrier::new(3));
    let answering = values.map(|value| {
        let (shared, begin) = (shared.clone(), begin.clone());
        thread::spawn(move || {
            begin.wait();
            let first = shared.lock().unwrap().take();
            if let Some(completer) = first {
                completer.complete(value);
            }
        })
    });
    begin.wait();
    third();
    answering.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a028_of_two_threads_with_one_completer_one_answers_and_once() {
    const RECORDS: u64 = 1_000;
    run_on_threads(async {
        let wait = AsyncWait::unordered().capacity(RECORDS as usize);
        let (handed, flow) = (Handover::new(), Dataflow::new("calls"));
        let out = flow
            .source("numbers", Items::from(0..RECORDS))
            .async_callback("call", wait, handed.hand())
            .collect("out");
        let job = flow.start(Settings::new()).await.unwrap();
        let mut raced = 0;
        while raced < RECORDS {
            for (n, completer) in handed.take() {
                race(completer, [n * 10 + 1, n * 10 + 2], || {});
                raced += 1;
            }
            tokio::task::yield_now().await;
        }
        job.finished().await.unwrap();
        assert_one_each(out.take(), RECORDS, &[1, 2]);
    });
}

/// One result for each record, and it is one of its own.
fn assert_one_each(mut came: Vec<u64>, records: u64, which: &[u64]) {
    came.sort_unstable();
    let of: Vec<u64> = came.iter().map(|answer| answer / 10).collect();
    assert_eq!(of, (0..records).collect::<Vec<_>>());
    assert!(came.iter().all(|answer| which.contains(&(answer % 10))), "{came:?}");
}

/// The clock is moved to the deadline while two threads want to answer.
#[test]
fn of_two_threads_and_a_time_out_in_one_instant_exactly_one_counts() {
    const RECORDS: u64 = 1_000;
    run_on_threads(async {
        let wait = AsyncWait::ordered()
            .capacity(1)
            .timeout(ms(10))
            .on_timeout(OnFailure::fallback(|n: &u64| n * 10 + 9));
        let (handed, clock, flow) = (Handover::new(), ManualClock::new(), Dataflow::new("calls"));
        let out = flow
            .source("numbers", Items::from(0..RECORDS))
            .async_callback("call", wait, handed.hand())
            .parallelism(1)
            .collect("out");
        let settings = Settings::new().clock(Arc::new(clock.clone()));
        let two = Workers::Own(2.try_into().unwrap());
        let job = flow.start(settings.workers(two)).await.unwrap();
        let mut call = None;
        while (out.len() as u64) < RECORDS {
            // With one place a call that was made is the only one that is still out.
            call = handed.take().pop().or(call);
            if let Some(deadline) = clock.next_wake()
                && let Some((n, completer)) = call.take()
            {
                race(completer, [n * 10 + 1, n * 10 + 2], || clock.advance_to(deadline));
            }
            tokio::task::yield_now().await;
        }
        job.finished().await.unwrap();
        let came = out.take();
        assert!(came.is_sorted(), "they go out in the order of the input");
        assert_one_each(came, RECORDS, &[1, 2, 9]);
    });
}

/// Whoever is served first, what has been answered by the instant of the deadline counts.
#[test]
fn an_answer_in_the_instant_of_the_deadline_counts() {
    for answers_first in [true, false] {
        run(async {
            let wait = AsyncWait::ordered()
                .timeout(ms(10))
                .on_timeout(OnFailure::fallback(|n: &u64| n * 10 + 9));
            let bed = Bed::new(wait).await;
            bed.comes([1, 2]).await;
            let mut handed = bed.handed.take();
            let (_, second) = handed.pop().unwrap();
            if answers_first {
                second.complete(21);
                bed.clock.advance(ms(10));
            } else {
                bed.clock.advance(ms(10));
                second.complete(21);
            }
            idle().await;
            assert_eq!(bed.ends().await, ["19", "21"]);
        });
    }
}
