//! Proves that the harness does what a task does, and refuses what a contract forbids.

use millstream_core::{Failure, Timestamp};
use millstream_operators::keyed::{Emit, Fold, KeyedOperator};
use millstream_operators::{NoTimer, Restored, Snapshot};
use serde::{Deserialize, Serialize};

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// What is said to [`Alarms`]: times of timers to set and to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Wish {
    Event(i64),
    Processing(i64),
    Not(i64),
    /// Set a timer whose firing sets the next one, so often.
    Chain(i64, u32),
}

/// Sets timers as it is told, and says when they fire.
struct Alarms;

impl Alarms {
    fn timer(domain: TimerDomain, millis: i64, left: u32) -> Timer<u32> {
        let hash = KeyHash::of("key").unwrap();
        Timer { time: at(millis), domain, hash, payload: left }
    }
}

impl Operator for Alarms {
    type In = Wish;
    type Out = String;
    type Timer = u32;

    fn on_record(
        &mut self,
        record: Stamped<Wish>,
        out: &mut Effects<String, u32>,
    ) -> Result<(), Failure> {
        out.timer(match record.value {
            Wish::Event(millis) => TimerEdit::Set(Self::timer(TimerDomain::Event, millis, 0)),
            Wish::Processing(millis) => {
                TimerEdit::Set(Self::timer(TimerDomain::Processing, millis, 0))
            }
            Wish::Not(millis) => TimerEdit::Delete(Self::timer(TimerDomain::Event, millis, 0)),
            Wish::Chain(millis, n) => TimerEdit::Set(Self::timer(TimerDomain::Event, millis, n)),
        });
        Ok(())
    }

    fn on_watermark(
        &mut self,
        watermark: Timestamp,
        out: &mut Effects<String, u32>,
    ) -> Result<(), Failure> {
        out.emit(Stamped::new(format!("reached {}", watermark.millis())));
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: Timer<u32>,
        out: &mut Effects<String, u32>,
    ) -> Result<(), Failure> {
        out.count("fired", 1);
        out.emit(Stamped::at(format!("{:?}", timer.domain), timer.time));
        if timer.payload > 0 {
            let next = Self::timer(timer.domain, timer.time.millis() + 5, timer.payload - 1);
            out.timer(TimerEdit::Set(next));
        }
        Ok(())
    }
}

/// Gives out the numbers up to the one that comes, one a call.
#[derive(Default)]
struct Count {
    left: u64,
    odd: Option<SideOutput<u64>>,
}

impl Operator for Count {
    type In = u64;
    type Out = u64;
    type Timer = NoTimer;

    fn on_record(&mut self, record: Stamped<u64>, out: &mut Effects<u64>) -> Result<(), Failure> {
        if record.value > 100 {
            return Err(Failure::new("too many").about(&record.value));
        }
        self.left = record.value;
        self.more(out)
    }

    fn more(&mut self, out: &mut Effects<u64>) -> Result<(), Failure> {
        if self.left == 0 {
            return Ok(());
        }
        match &self.odd {
            Some(odd) if self.left % 2 == 1 => out.side(odd, Stamped::new(self.left)),
            _ => out.emit(Stamped::new(self.left)),
        }
        self.left -= 1;
        out.more();
        Ok(())
    }

    fn snapshot(&mut self, _: usize, snapshot: &mut Snapshot) -> Result<bool, Failure> {
        snapshot.operator(self.left);
        Ok(true)
    }

    fn restore(&mut self, piece: &Restored<'_>) -> Result<(), Failure> {
        self.left = piece.read()?;
        Ok(())
    }
}

#[test]
fn more_is_called_until_no_work_is_left() {
    let mut harness = Harness::new(Count::default());
    assert_eq!(harness.record(3).take(), [3, 2, 1]);
    harness.record(1).end();
    let end = Element::Mark(Mark::End);
    assert_eq!(harness.take_elements(), [Element::Record(Stamped::new(1)), end]);
}

#[test]
fn side_outputs_are_given_out_by_their_tag_and_counted_if_nobody_looks() {
    let odd = SideOutput::new("odd");
    let count = || Count { left: 0, odd: Some(odd.clone()) };
    let mut harness = Harness::new(count()).with_side(&odd);
    assert_eq!(harness.record(4).take(), [4, 2]);
    assert_eq!(harness.take_side(&odd), [3, 1].map(Stamped::new));
    assert_eq!((harness.take_side(&odd), harness.take_unread()), (vec![], 0));
    let mut blind = Harness::new(count());
    assert_eq!((blind.record(4).take(), blind.take_unread()), (vec![4, 2], 2));
}

#[test]
fn timers_fire_in_order_of_time_between_the_watermark_and_its_passing_on() {
    let mut harness = Harness::new(Alarms);
    harness.record(Wish::Event(20)).record(Wish::Chain(10, 2)).record(Wish::Event(30));
    harness.record(Wish::Event(20));
    assert_eq!(harness.timers(TimerDomain::Event).len(), 3);
    harness.watermark(25);
    let event = |millis| Element::Record(Stamped::at("Event".to_owned(), at(millis)));
    let expected = [
        Element::Record(Stamped::new("reached 25".to_owned())),
        event(10),
        event(15),
        // The last of the chain is the one that was set as such.
        event(20),
        Element::Mark(Mark::Watermark(at(25))),
    ];
    assert_eq!(harness.take_elements(), expected);
    assert_eq!(harness.timers(TimerDomain::Event), [Alarms::timer(TimerDomain::Event, 30, 0)]);
    assert_eq!(harness.count("fired"), 3);
    assert_eq!(harness.take_timer_edits().len(), 6);
}

#[test]
fn a_deleted_timer_does_not_fire_and_the_domains_do_not_mix() {
    let mut harness = Harness::new(Alarms);
    harness.record(Wish::Event(10)).record(Wish::Processing(10)).record(Wish::Not(10));
    harness.record(Wish::Not(11)).advance_event_time(100);
    assert_eq!(harness.take(), [""; 0]);
    harness.advance_processing_time(9);
    assert_eq!(harness.take(), [""; 0]);
    harness.advance_processing_time(10);
    assert_eq!(harness.take(), ["Processing"]);
}

#[test]
fn timers_are_part_of_the_state_and_go_to_the_owner_of_their_key() {
    let mut harness = Harness::new(Alarms);
    harness.record(Wish::Event(10)).record(Wish::Processing(20)).record(Wish::Event(30));
    harness.freeze();
    harness.record(Wish::Not(10)).record(Wish::Event(40));
    assert!(harness.sweep(1));
    let stored = harness.take_stored();
    assert_eq!((stored.timers(), stored.pieces().len()), (3, 0));

    let mut tasks = Harness::restored(3, &stored, |_| Alarms);
    let owner = tasks[0].task().key_groups.owner_of(KeyHash::of("key").unwrap(), 3);
    for (subtask, task) in tasks.iter_mut().enumerate() {
        task.advance_event_time(100).advance_processing_time(100);
        let fired: &[&str] = if subtask == owner { &["Event", "Event", "Processing"] } else { &[] };
        assert_eq!(task.take(), fired);
    }
}

fn sums(task: &TaskInfo) -> impl Operator<In = Keyed<u64, u64>, Out = (u64, u64)> + use<> {
    let sum = Fold::new(0, |sum: &mut u64, n: u64| *sum += n);
    KeyedOperator::new(task, Emit::AtEnd, sum)
}

fn totals(
    harness: &mut Harness<impl Operator<In = Keyed<u64, u64>, Out = (u64, u64)>>,
) -> Vec<(u64, u64)> {
    let mut totals = harness.end().take();
    totals.sort_unstable();
    totals
}

#[test]
fn a_snapshot_in_pieces_is_the_state_at_the_freeze_whatever_comes_between() {
    let mut harness = Harness::made_for(task(0, 1), sums);
    for key in 0..500 {
        harness.record(keyed(key, key));
    }
    let mut pieces = 0;
    let stored = harness.snapshot_while(7, |harness, taken| {
        pieces = taken;
        harness.record(keyed(taken as u64 % 600, 1_000));
    });
    assert!(pieces > 20, "{pieces} pieces");
    assert!(stored.by_group().len() > 100);
    let expected: Vec<(u64, u64)> = (0..500).map(|key| (key, key)).collect();
    for parallelism in [1, 3, 8] {
        let mut tasks = Harness::restored(parallelism, &stored, sums);
        let mut all: Vec<(u64, u64)> = tasks.iter_mut().flat_map(totals).collect();
        all.sort_unstable();
        assert_eq!(all, expected, "restored by {parallelism}");
    }
}

#[test]
fn the_state_of_several_tasks_is_restored_by_one() {
    let groups = task(0, 2).key_groups;
    let mut two = [0, 1].map(|subtask| Harness::made_for(task(subtask, 2), sums));
    for key in 0..100 {
        let record = keyed(key, 1);
        two[groups.owner_of(record.hash, 2)].record(record);
    }
    let stored = Stored::together(two.iter_mut().map(|task| task.snapshot(10)));
    let mut one = Harness::made_for(task(0, 1), sums);
    one.restore(&stored).record(keyed(7, 1));
    let expected: Vec<_> = (0..100).map(|key| (key, 1 + u64::from(key == 7))).collect();
    assert_eq!(totals(&mut one), expected);
}

#[test]
fn state_without_a_key_goes_to_the_tasks_in_turn() {
    let piece = |left: u64| {
        let mut count = Harness::new(Count { left, odd: None });
        count.snapshot(1)
    };
    let stored = Stored::together([1, 2, 3, 4, 5].map(piece));
    let shares: Vec<usize> =
        (0..2).map(|subtask| stored.of_task(&task(subtask, 2)).pieces().len()).collect();
    assert_eq!(shares, [3, 2]);
}

#[test]
fn what_fails_is_given_back_and_nothing_is_called_after_it() {
    let mut harness = Harness::new(Count::default());
    let failure = harness.try_record(Stamped::new(101)).unwrap_err();
    assert_eq!((failure.to_string().as_str(), failure.record()), ("too many", Some("101")));
    let said = refused(|| _ = harness.record(1));
    assert!(said.contains("a record after a failure"), "{said}");
}

/// The words of a panic.
fn refused(call: impl FnOnce()) -> String {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    *caught.unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn what_the_contract_forbids_is_refused_in_words() {
    let mut ended = Harness::new(Count::default());
    ended.record(1).watermark(5);
    assert!(refused(|| _ = ended.watermark(5)).contains("only rise"));
    assert!(refused(|| _ = ended.record_at(1, i64::MIN)).contains("reserved"));
    assert!(refused(|| _ = ended.open()).contains("opened once"));
    assert!(refused(|| _ = ended.restore(&Stored::default())).contains("before the first input"));
    ended.end();
    assert!(refused(|| _ = ended.record(1)).contains("a record after the end"));
    assert!(refused(|| _ = ended.watermark(9)).contains("a watermark after the end"));
    assert!(refused(|| _ = ended.end()).contains("the end after the end"));
    assert!(refused(|| _ = ended.advance_event_time(1)).contains("a timer after the end"));
    assert!(refused(|| _ = ended.snapshot(1)).contains("a snapshot after the end"));
    let mut open = Harness::new(Count::default());
    open.freeze();
    assert!(refused(|| _ = open.freeze()).contains("epoch 1 is still under way"));
    open.abandon();
    assert_eq!(open.freeze(), Epoch::new(2));
    assert!(refused(|| _ = task(2, 2)).contains("no task 2 of 2"));
    assert!(refused(|| _ = open.take_side(&SideOutput::<u8>::new("x"))).contains("with_side"));
}

#[test]
fn state_and_timers_of_keys_of_another_task_are_refused() {
    let owner = task(0, 2).key_groups.owner_of(KeyHash::of("key").unwrap(), 2);
    let mut other = Harness::made_for(task(1 - owner, 2), |_| Alarms);
    let said = refused(|| _ = other.record(Wish::Event(1)));
    assert!(said.contains("a timer of key group"), "{said}");
    let mut foreign = Harness::made_for(task(0, 1), sums);
    let mut more = task(0, 1);
    more.key_groups = KeyGroups::new(256).unwrap();
    let stored = Harness::made_for(more, sums).snapshot(1);
    let said = refused(|| _ = foreign.restore(&stored));
    assert!(said.contains("stored with 256 key groups, and here are 128"), "{said}");
}
