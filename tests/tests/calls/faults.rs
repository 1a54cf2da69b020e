//! Calls that hang, panic, block or come too late end as they must, and nothing outlives its job.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use actix::{Actor, Handler, Message};
use millstream::prelude::*;
use millstream_testkit::compare::in_order;
use millstream_testkit::{ManualClock, Simulation, run, run_on_threads};

use crate::desk::{Answer, Bed, Desk, FAILED, Feed, came, idle, ms, start};

/// Both orders of streams without keys.
fn orders() -> [AsyncWait<u64, u64>; 2] {
    [AsyncWait::ordered(), AsyncWait::unordered()]
}

#[test]
fn a_cancel_drops_ten_thousand_calls_that_are_out_and_nothing_goes_out() {
    const CALLS: u64 = 10_000;
    for wait in orders() {
        run(async {
            let bed = Bed::new(wait.capacity(CALLS as usize).timeout(ms(100))).await;
            bed.comes(0..CALLS + 10).await;
            assert_eq!(bed.desk.open().len() as u64, CALLS);
            bed.job.cancel().await.unwrap();
            assert_eq!(in_order(&bed.desk.dropped(), &(0..CALLS).collect::<Vec<_>>()), None);
            assert_eq!((bed.desk.open(), bed.clock.waiting()), (vec![], 0));
            bed.passes(1_000).await;
            assert_eq!((bed.came(), bed.dead()), (vec![], vec![]));
        });
    }
}

/// Never answers, keeps its waker where others find it, and panics in its `Drop` if it is told to.
struct Stubborn {
    wakers: Arc<Mutex<Vec<Waker>>>,
    panics: bool,
    answer: Option<u64>,
}

impl Future for Stubborn {
    type Output = Answer<u64>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer<u64>> {
        self.wakers.lock().unwrap().push(cx.waker().clone());
        self.answer.map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer)))
    }
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        assert!(!self.panics, "dropped");
    }
}

/// A bed whose calls never answer, but those about more than 100 at once; those about odd numbers
/// panic when they are dropped.
async fn stubborn(wait: AsyncWait<u64, u64>, wakers: &Arc<Mutex<Vec<Waker>>>) -> Bed {
    let wakers = wakers.clone();
    Bed::calling(wait, Desk::new(), move |n| Stubborn {
        wakers: wakers.clone(),
        panics: n % 2 == 1,
        answer: (n > 100).then_some(n * 10),
    })
    .await
}

#[test]
fn wakes_after_the_job_is_gone_do_nothing() {
    run(async {
        let wakers = Arc::default();
        let bed = stubborn(AsyncWait::ordered().timeout(ms(10)), &wakers).await;
        bed.comes([2, 4, 6]).await;
        bed.job.cancel().await.unwrap();
        let wakers = std::mem::take(&mut *wakers.lock().unwrap());
        assert_eq!(wakers.len(), 3);
        wakers[0].wake_by_ref();
        thread::spawn(move || wakers.into_iter().for_each(Waker::wake)).join().unwrap();
        idle().await;
        assert_eq!((bed.came(), bed.dead()), (vec![], vec![]));
    });
}

/// A wake of a call that is over makes nothing be polled but what is in its place, in vain.
#[test]
fn wakes_of_calls_that_are_over_change_nothing() {
    run(async {
        let wakers = Arc::default();
        let wait = AsyncWait::ordered().capacity(2).timeout(ms(10)).on_timeout(OnFailure::Drop);
        let bed = stubborn(wait, &wakers).await;
        bed.comes([2, 4, 6, 8]).await;
        bed.passes(10).await;
        let late = wakers.lock().unwrap().clone();
        for waker in &late {
            waker.wake_by_ref();
        }
        idle().await;
        assert_eq!(bed.came(), [""; 0]);
        bed.passes(10).await;
        assert_eq!(bed.ends().await, [""; 0]);
    });
}

#[test]
fn a_panic_in_the_drop_of_calls_is_heard_by_nobody_at_a_cancel() {
    run(async {
        let wakers = Arc::default();
        let bed = stubborn(AsyncWait::unordered(), &wakers).await;
        bed.comes(0..10).await;
        bed.job.cancel().await.unwrap();
        assert!(matches!(bed.job.finished().await, Err(JobError::Cancelled { .. })));
        assert_eq!(bed.came(), [""; 0]);
        assert_eq!(Arc::strong_count(&wakers), 1, "each of the ten was dropped");
    });
}

#[test]
fn a_panic_in_the_drop_of_a_call_that_is_given_up_leaves_its_policy() {
    run(async {
        let wakers = Arc::default();
        let wait = AsyncWait::ordered()
            .capacity(1)
            .timeout(ms(10))
            .on_timeout(OnFailure::fallback(|n: &u64| n + 1_000));
        let bed = stubborn(wait, &wakers).await;
        bed.comes([1, 2, 3, 102]).await;
        for _ in 0..3 {
            bed.passes(10).await;
        }
        assert_eq!(bed.ends().await, ["1001", "1002", "1003", "1020"]);
    });
}

/// The answer has not been heard when it panics, so it has failed.
#[test]
fn a_panic_in_the_drop_of_a_call_that_has_answered_is_its_error() {
    run(async {
        let wakers = Arc::default();
        let wait = AsyncWait::ordered().on_error(OnFailure::fallback(|n: &u64| n + 1_000));
        let bed = stubborn(wait, &wakers).await;
        bed.comes([102, 103, 104]).await;
        assert_eq!(bed.ends().await, ["1020", "1103", "1040"]);
    });
}

/// A call is due again in the instant in which its time is over: it is not made.
#[test]
fn a_retry_that_is_due_at_the_deadline_is_not_made() {
    for wait in orders() {
        run(async {
            let wait = wait
                .timeout(ms(100))
                .retry(Retry::fixed(ms(60)))
                .on_timeout(OnFailure::fallback(|n: &u64| n + 1_000));
            let bed = Bed::new(wait).await;
            bed.comes([1]).await;
            bed.passes(40).await;
            bed.fails(1).await;
            bed.passes(59).await;
            assert_eq!((bed.came(), bed.desk.made()), (vec![], vec![1]));
            bed.passes(1).await;
            assert_eq!((bed.came(), bed.desk.made()), (vec!["1001".to_owned()], vec![1]));
            assert_eq!(bed.ends().await, [""; 0]);
        });
    }
}

/// A call that is made again a moment before has that moment.
#[test]
fn a_retry_a_moment_before_the_deadline_may_still_answer() {
    run(async {
        let wait = AsyncWait::ordered()
            .timeout(ms(100))
            .retry(Retry::fixed(ms(59)))
            .on_timeout(OnFailure::Drop);
        let bed = Bed::new(wait).await;
        bed.comes([1, 2]).await;
        bed.passes(40).await;
        bed.fails(1).await;
        bed.fails(2).await;
        bed.passes(59).await;
        assert_eq!(bed.desk.made(), [1, 2, 1, 2]);
        bed.answers(1).await;
        assert_eq!(bed.came(), ["10"]);
        bed.passes(1).await;
        assert_eq!(bed.desk.dropped(), [2]);
        assert_eq!(bed.ends().await, [""; 0]);
    });
}

/// The clock does not move: a delay that was under way is over when the input is.
#[test]
fn calls_that_wait_to_be_made_again_are_made_when_the_input_ends() {
    for wait in orders() {
        run(async {
            let wait = wait
                .retry(Retry::fixed(ms(1_000_000)).max_retries(9))
                .on_error(OnFailure::fallback(|n: &u64| n + 1_000));
            let bed = Bed::new(wait).await;
            bed.comes([1, 2, 3]).await;
            for n in [1, 2, 3] {
                bed.fails(n).await;
            }
            assert_eq!((bed.desk.open(), bed.came()), (vec![], vec![]));
            bed.feed.end();
            idle().await;
            assert_eq!(bed.desk.open(), [1, 2, 3], "each is made once more, at once");
            bed.answers(1).await;
            bed.fails(2).await;
            bed.answers(3).await;
            assert_eq!(bed.desk.made(), [1, 2, 3, 1, 2, 3], "and not again");
            assert_eq!(bed.ends().await, ["10", "1002", "30"]);
        });
    }
}

#[test]
fn a_job_that_fails_drops_the_calls_that_are_out_and_has_delivered_what_was_before() {
    run(async {
        let bed = Bed::new(AsyncWait::unordered().timeout(ms(5))).await;
        bed.comes(1..=5).await;
        bed.answers(2).await;
        bed.answers(4).await;
        bed.desk.fail(3, "no 3");
        bed.desk.answer(5, 50);
        let (out, desk) = (bed.out.clone(), bed.desk.clone());
        let expected = format!("{FAILED}the call failed, after 1 call: no 3; the record is 3");
        assert_eq!(bed.failed().await, expected);
        assert_eq!(came(&out), ["20", "40"]);
        let mut dropped = desk.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [1, 5]);
    });
}

/// However it ends: by a cancel, by a call that fails, or by a predicate that panics.
#[test]
fn of_a_task_that_is_over_no_call_counts_as_out() {
    for ends in ["cancel", "fail", "panic"] {
        run(async {
            let desk = Desk::new();
            let theirs = desk.clone();
            let wait = AsyncWait::ordered().retry(Retry::fixed(ms(100)).max_retries(1));
            let wait = wait.retry_on_error(|failure| match &*failure.to_string() {
                "panic" => panic!("no"),
                failure => failure == "again",
            });
            let bed = Bed::calling(wait, desk.clone(), move |n| theirs.call(n)).await;
            bed.comes(0..5).await;
            bed.answers(1).await;
            desk.fail(2, "again");
            idle().await;
            let calls_now = || {
                let numbers = bed.job.status().numbers;
                let mut tasks = numbers.tasks.into_iter().filter_map(|task| task.numbers.calls);
                let calls = tasks.next().unwrap();
                (calls.attempts, calls.queued, calls.in_flight, calls.oldest_ns)
            };
            bed.clock.advance(ms(50));
            assert_eq!(calls_now(), (5, 5, 4, Some(50_000_000)));
            match ends {
                "cancel" => bed.job.cancel().await.unwrap(),
                _ => desk.fail(3, ends),
            }
            bed.job.finished().await.unwrap_err();
            assert_eq!(calls_now(), (5, 0, 0, None), "{ends}");
        });
    }
}

/// The job does not wait for calls when another of its tasks has failed.
#[test]
fn what_calls_have_given_at_once_in_front_of_one_that_fails_has_been_delivered() {
    for (wait, panics) in orders().into_iter().zip([false, true]) {
        run(async move {
            let call = move |n: u64| async move {
                assert!(!(n == 3 && panics), "no 3");
                if n == 3 { Err(Failure::new("no 3")) } else { Ok(10 * n) }
            };
            let bed = Bed::calling(wait, Desk::new(), call).await;
            // All of one batch, so of one turn.
            bed.comes(1..6).await;
            let out = bed.out.clone();
            let error = bed.failed().await;
            assert!(error.contains("no 3") && error.ends_with("the record is 3"), "{error}");
            assert_eq!(came(&out), ["10", "20"]);
        });
    }
}

#[test]
fn a_failure_elsewhere_ends_the_job_though_calls_are_out() {
    run(async {
        let (desk, clock) = (Desk::<u64>::new(), ManualClock::new());
        let (feed, broken) = (Feed::default(), Feed::default());
        let theirs = desk.clone();
        let flow = Dataflow::new("calls");
        let out = flow
            .source("numbers", feed.clone())
            .async_wait("call", AsyncWait::ordered(), move |n| theirs.call(n))
            .collect("out");
        let _ = flow.source("others", broken.clone()).for_each("breaks", |n: u64| panic!("no {n}"));
        let job = start(&flow, &clock).await;
        feed.give([1, 2, 3]);
        idle().await;
        desk.answer(1, 10);
        idle().await;
        broken.give([7]);
        let error = job.finished().await.unwrap_err().to_string();
        assert_eq!(error, r#"task 0 of "breaks" in job "calls" panicked after 0 records: no 7"#);
        assert_eq!((came(&out), desk.dropped()), (vec!["10".to_owned()], vec![2, 3]));
    });
}

/// Asks for a number, which is told to the test.
#[derive(Message)]
#[rtype(result = "()")]
struct Tell(Sender<&'static str>);

struct Neighbour;

impl Actor for Neighbour {
    type Context = actix::Context<Self>;
}

impl Handler<Tell> for Neighbour {
    type Result = ();

    fn handle(&mut self, Tell(to): Tell, _: &mut Self::Context) {
        to.send("the neighbour has its turn").unwrap();
    }
}

/// A call that blocks holds up its arbiter as long as it does, and no longer.
#[test]
fn after_a_call_that_blocks_the_thread_its_neighbours_have_their_turn() {
    run_on_threads(async {
        let (tell, told) = channel();
        let neighbour = Neighbour.start();
        let flow = Dataflow::new("calls");
        let sender = tell.clone();
        let out = flow
            .source("numbers", Items::from(0..3_u64))
            .async_wait("call", AsyncWait::unordered(), move |n| {
                let (sender, neighbour) = (sender.clone(), neighbour.clone());
                async move {
                    if n == 1 {
                        neighbour.do_send(Tell(sender.clone()));
                        // Another thread lets it go: until then nothing happens on this one.
                        let (release, released) = channel();
                        let other = thread::spawn(move || {
                            sender.send("the call blocks").unwrap();
                            release.send(()).unwrap();
                        });
                        released.recv().unwrap();
                        other.join().unwrap();
                    }
                    tokio::task::yield_now().await;
                    Ok(n * 10)
                }
            })
            .collect("out");
        let settings = Settings::new().slow_turn(ms(60_000));
        flow.start(settings).await.unwrap().finished().await.unwrap();
        assert_eq!(out.take().into_iter().collect::<BTreeSet<_>>(), [0, 10, 20].into());
        let order: Vec<_> = told.try_iter().collect();
        assert_eq!(order, ["the call blocks", "the neighbour has its turn"]);
        drop(tell);
    });
}

/// One credit, one record a batch, one a turn, one call at a time.
#[test]
fn with_the_least_of_everything_all_calls_are_made_in_order() {
    const RECORDS: u64 = 300;
    for wait in [AsyncWait::ordered(), AsyncWait::unordered()] {
        for seed in 0..10 {
            let least = Settings::new().credits(1).batch_records(1).turn_records(1);
            let run = Simulation::of(seed).settings(least).run(|flow| {
                let wait = wait
                    .clone()
                    .capacity(1)
                    .timeout(ms(50))
                    .on_timeout(OnFailure::fallback(|n: &u64| n * 10 + 1))
                    .on_error(OnFailure::fallback(|n: &u64| n * 10 + 2));
                flow.source("numbers", Items::from(0..RECORDS))
                    .async_wait("call", wait, |n| async move {
                        match n % 5 {
                            0 => Ok(n * 10),
                            1 => Err(Failure::new("no")),
                            2 => panic!("no"),
                            3 => std::future::pending().await,
                            _ => {
                                tokio::task::yield_now().await;
                                Ok(n * 10)
                            }
                        }
                    })
                    .collect("out")
            });
            run.outcome.unwrap();
            let answer = |n: u64| n * 10 + [0, 2, 2, 1, 0][n as usize % 5];
            let expected: Vec<u64> = (0..RECORDS).map(answer).collect();
            assert_eq!(in_order(&run.built.take(), &expected), None, "seed {seed}");
        }
    }
}

/// Polls in vain cost nothing but themselves: nobody is called, answered or given up by them.
#[test]
fn calls_that_are_woken_without_an_answer_go_on_waiting() {
    run(async {
        let bed = Bed::new(AsyncWait::ordered().capacity(3)).await;
        bed.comes([1, 2, 3, 4]).await;
        for _ in 0..10 {
            bed.desk.wake_all();
            idle().await;
        }
        assert_eq!(
            (bed.came(), bed.desk.open(), bed.desk.made()),
            (vec![], vec![1, 2, 3], vec![1, 2, 3])
        );
        for n in 1..=4 {
            bed.answers(n).await;
        }
        assert_eq!(bed.ends().await, ["10", "20", "30", "40"]);
    });
}
