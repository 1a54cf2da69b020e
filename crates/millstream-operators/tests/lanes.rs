//! Proves which work a turn serves, in which order and how much of it, by a loop that serves
//! closures as a task does, and against a list of tokens.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver};

use millstream_operators::{Lane, Lanes, LanesError, Serve};
use proptest::collection::vec;
use proptest::prelude::*;

const LANES: [Lane; 4] = [Lane::Control, Lane::Completions, Lane::Timers, Lane::Data];
/// The lanes of work that is mailed.
const MAILED: [Lane; 3] = [Lane::Control, Lane::Completions, Lane::Timers];

/// What may go wrong in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wrong(&'static str);

type Work = Box<dyn FnOnce(&mut Loop) -> Result<(), Wrong> + Send>;

/// Serves closures as a task serves its work: it looks at what is there, and then goes by its
/// lanes.
struct Loop {
    lanes: Lanes,
    waiting: [VecDeque<(&'static str, Work)>; 4],
    /// One piece of input, of which there is always one more; its number is given to it.
    input: fn(&mut Loop, u32) -> Result<(), Wrong>,
    inputs: u32,
    log: Vec<String>,
    turns: usize,
    over: bool,
}

impl Loop {
    fn new(budget: usize, input: fn(&mut Self, u32) -> Result<(), Wrong>) -> Self {
        Self {
            lanes: Lanes::new(budget),
            waiting: Default::default(),
            input,
            inputs: 0,
            log: Vec::new(),
            turns: 0,
            over: false,
        }
    }

    fn post<W>(&mut self, lane: Lane, name: &'static str, work: W)
    where
        W: FnOnce(&mut Self) -> Result<(), Wrong> + Send + 'static,
    {
        self.waiting[lane as usize].push_back((name, Box::new(work)));
    }

    fn note(&mut self, what: &str) {
        self.log.push(what.to_owned());
    }

    fn left(&self) -> Vec<&'static str> {
        self.waiting.iter().flatten().map(|(name, _)| *name).collect()
    }

    /// One turn, in which there is one piece of input.
    fn turn(&mut self) -> Result<(), Wrong> {
        self.turns += 1;
        let [control, completions, timers, _] = self.waiting.each_ref().map(VecDeque::len);
        self.lanes.begin([control, completions, timers, 1]);
        while let Some(Serve { lane, .. }) = self.lanes.next() {
            self.lanes.served(lane, 1);
            let done = match self.waiting[lane as usize].pop_front() {
                Some((name, work)) => {
                    self.note(name);
                    work(self)
                }
                None => {
                    self.inputs += 1;
                    self.note("input");
                    (self.input)(self, self.inputs)
                }
            };
            if done.is_err() {
                self.lanes.interrupt();
                return done;
            }
        }
        Ok(())
    }

    /// Turns until the input says that it is over; where a turn has nothing to do, it waits for
    /// mail.
    fn run(&mut self, mail: &Receiver<(&'static str, Work)>) -> Result<(), Wrong> {
        while !self.over {
            let before = self.log.len();
            self.turn()?;
            if self.log.len() == before {
                let Ok(mail) = mail.recv() else { return Err(Wrong("nobody is left")) };
                self.waiting[Lane::Control as usize].push_back(mail);
            }
        }
        Ok(())
    }
}

fn fine(_: &mut Loop) -> Result<(), Wrong> {
    Ok(())
}

fn take_one(_: &mut Loop, _: u32) -> Result<(), Wrong> {
    Ok(())
}

/// Posts itself again whenever it runs.
fn again(lane: Lane) -> impl FnOnce(&mut Loop) -> Result<(), Wrong> + Send + 'static {
    move |this: &mut Loop| {
        this.waiting[lane as usize].push_back(("again", Box::new(again(lane))));
        Ok(())
    }
}

#[test]
fn a130_what_is_mailed_in_a_turn_waits_for_the_next_one() {
    for lane in MAILED {
        let mut task = Loop::new(8, take_one);
        task.post(lane, "m1", move |this| {
            this.post(lane, "m3", fine);
            Ok(())
        });
        task.post(lane, "m2", fine);
        assert_eq!((task.turn(), task.turn()), (Ok(()), Ok(())));
        assert_eq!(task.log, ["m1", "m2", "input", "m3", "input"], "{lane:?}");
        assert_eq!(task.left(), [""; 0]);
    }
}

#[test]
fn a130_mail_that_never_ends_does_not_keep_the_input_waiting() {
    for lane in MAILED {
        for budget in [1, 2, 8] {
            let mut task = Loop::new(budget, take_one);
            task.post(lane, "again", again(lane));
            while task.inputs < 3 {
                assert_eq!(task.turn(), Ok(()));
            }
            assert_eq!(task.log, ["again", "input", "again", "input", "again", "input"]);
            assert_eq!(task.left(), ["again"]);
        }
    }
}

#[test]
fn a133_an_error_ends_the_turn_and_what_waits_is_still_there() {
    for lane in MAILED {
        let mut task = Loop::new(8, take_one);
        task.post(lane, "bad", |_| Err(Wrong("bad")));
        task.post(lane, "waiting", fine);
        assert_eq!(task.turn(), Err(Wrong("bad")));
        assert_eq!(task.log, ["bad"], "neither what waits nor the input has run");
        assert_eq!(task.left(), ["waiting"]);
        assert_eq!(task.lanes.next(), None, "the turn is over");
    }
}

#[test]
fn a133_an_error_from_outside_goes_before_all_that_waits() {
    for waits in [Lane::Completions, Lane::Timers] {
        let mut task = Loop::new(8, take_one);
        task.post(waits, "waiting", fine);
        task.post(Lane::Control, "from outside", |_| Err(Wrong("from outside")));
        assert_eq!(task.turn(), Err(Wrong("from outside")));
        assert_eq!(task.log, ["from outside"]);
        assert_eq!(task.left(), ["waiting"]);
    }
}

#[test]
fn a138_a_suspended_input_lets_mail_pass_and_goes_on_when_it_is_resumed() {
    let (mail, mails) = mpsc::channel::<(&'static str, Work)>();
    let (tell, told) = mpsc::channel();
    let mut task = Loop::new(8, |this, n| {
        match n {
            3 => {
                assert_eq!(this.lanes.suspend(), Ok(()));
                let twice = this.lanes.suspend();
                assert_eq!(twice, Err(LanesError::Suspended));
            }
            // The suspension is over: this is no resume for one to come.
            5 => this.lanes.resume(),
            6 => this.over = true,
            _ => {}
        }
        Ok(())
    });
    let other = std::thread::spawn(move || {
        // Nothing is served by then but mail, so each is waited for.
        for (name, resumes) in [("one", false), ("two", false), ("resume", true)] {
            let tell = tell.clone();
            let work: Work = Box::new(move |this| {
                if resumes {
                    this.lanes.resume();
                }
                tell.send(this.inputs).map_err(|_| Wrong("nobody listens"))
            });
            mail.send((name, work)).unwrap();
            assert_eq!(told.recv(), Ok(3), "no input is served while it is suspended");
        }
    });
    // The first mail must find a suspended input.
    for _ in 0..3 {
        assert_eq!(task.turn(), Ok(()));
    }
    assert_eq!(task.run(&mails), Ok(()));
    other.join().unwrap();
    let log = ["input", "input", "input", "one", "two", "resume", "input", "input", "input"];
    assert_eq!(task.log, log);
    // Three turns with input, then each mail wakes one turn and is waited for by another that finds
    // nothing to do; the last mail's turn has input again, and two more turns follow.
    assert_eq!(task.turns, 3 + 1 + 2 * 2 + 1 + 2, "a suspended loop waits and does not spin");

    assert_eq!(task.lanes.suspend(), Ok(()));
    task.lanes.begin([0, 0, 0, 1]);
    assert_eq!(task.lanes.next(), None);
}

#[test]
fn a139_an_interrupted_turn_leaves_the_rest_to_the_next_one() {
    for lane in MAILED {
        let mut task = Loop::new(8, take_one);
        task.post(lane, "suspend", |this| {
            this.lanes.interrupt();
            Ok(())
        });
        task.post(lane, "stop", |this| {
            this.over = true;
            Ok(())
        });
        assert_eq!(task.turn(), Ok(()));
        assert_eq!((&task.log[..], task.over), (&["suspend".to_owned()][..], false));
        assert_eq!(task.left(), ["stop"]);
        assert_eq!(task.turn(), Ok(()));
        assert!(task.over);
        assert_eq!(task.log, ["suspend", "stop", "input"]);
    }
}

#[test]
fn a139_a_finished_input_is_never_served_again() {
    let mut task = Loop::new(8, take_one);
    task.lanes.finish();
    for _ in 0..3 {
        task.post(Lane::Control, "mail", fine);
        assert_eq!(task.turn(), Ok(()));
        task.lanes.resume();
        assert_eq!(task.turn(), Ok(()));
    }
    assert_eq!(task.log, ["mail"; 3]);
    assert_eq!(task.inputs, 0);
}

/// A turn as a list of tokens, one for each piece of work that it may serve.
#[derive(Debug, Default)]
struct Tokens {
    tokens: Vec<Lane>,
    suspended: bool,
    finished: bool,
}

impl Tokens {
    fn begin(&mut self, budget: usize, waiting: [usize; 4]) {
        let budget = budget.max(1);
        let quarter = budget.div_ceil(4);
        let [control, completions, timers, data] = waiting;
        let (completions, timers) = (completions.min(quarter), timers.min(quarter));
        let rest = (budget as i64 - completions as i64 - timers as i64).max(quarter as i64);
        let counts = [control, completions, timers, data.min(rest as usize)];
        let tokens = LANES.into_iter().zip(counts);
        self.tokens = tokens.flat_map(|(lane, n)| std::iter::repeat_n(lane, n)).collect();
    }

    fn next(&self) -> Option<Serve> {
        let open = |lane: &&Lane| **lane != Lane::Data || !(self.suspended || self.finished);
        let lane = *self.tokens.iter().find(open)?;
        Some(Serve { lane, at_most: self.of(lane) })
    }

    fn of(&self, lane: Lane) -> usize {
        self.tokens.iter().filter(|token| **token == lane).count()
    }

    fn served(&mut self, lane: Lane, n: usize) {
        for _ in 0..n {
            if let Some(at) = self.tokens.iter().position(|token| *token == lane) {
                self.tokens.remove(at);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Begin([usize; 4]),
    Served(usize, usize),
    Skip(usize),
    Interrupt,
    Suspend,
    Resume,
    Finish,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => [0..4_usize, 0..40_usize, 0..40_usize, 0..90_usize].prop_map(Op::Begin),
        8 => (0..4_usize, 0..30_usize).prop_map(|(lane, n)| Op::Served(lane, n)),
        1 => (0..4_usize).prop_map(Op::Skip),
        1 => Just(Op::Interrupt),
        1 => Just(Op::Suspend),
        1 => Just(Op::Resume),
        1 => prop_oneof![20 => Just(Op::Resume), 1 => Just(Op::Finish)],
    ]
}

proptest! {
    #[test]
    fn lanes_are_a_list_of_tokens(budget in 0..70_usize, ops in vec(op(), 1..60)) {
        let mut lanes = Lanes::new(budget);
        let mut tokens = Tokens::default();
        for op in ops {
            match op {
                Op::Begin(waiting) => {
                    lanes.begin(waiting);
                    tokens.begin(budget, waiting);
                }
                Op::Served(lane, n) => {
                    lanes.served(LANES[lane], n);
                    tokens.served(LANES[lane], n);
                }
                Op::Skip(lane) => {
                    lanes.skip(LANES[lane]);
                    tokens.tokens.retain(|token| *token != LANES[lane]);
                }
                Op::Interrupt => {
                    lanes.interrupt();
                    tokens.tokens.clear();
                }
                Op::Suspend => {
                    let twice = std::mem::replace(&mut tokens.suspended, true);
                    let expected = if twice { Err(LanesError::Suspended) } else { Ok(()) };
                    prop_assert_eq!(lanes.suspend(), expected);
                }
                Op::Resume => {
                    lanes.resume();
                    tokens.suspended = false;
                }
                Op::Finish => {
                    lanes.finish();
                    tokens.finished = true;
                }
            }
            prop_assert_eq!(lanes.next(), tokens.next(), "after {:?}", op);
        }
    }

    /// Work arrives all the time, and whatever is served makes new work of its kind. `pieces` says
    /// how much of what it may a turn serves at once.
    #[test]
    fn a_turn_is_bounded_and_starves_nobody(
        budget in 1..70_usize,
        start in [0..9_usize, 0..99_usize, 0..99_usize, 0..99_usize],
        pieces in vec(1..20_usize, 1..12),
        turns in 1..8_usize,
    ) {
        let quarter = budget.div_ceil(4);
        let mut lanes = Lanes::new(budget);
        let mut waiting = start;
        let mut pieces = pieces.into_iter().cycle();
        for _ in 0..turns {
            let before = waiting;
            let mut served = [0; 4];
            let mut last = Lane::Control;
            lanes.begin(before);
            while let Some(serve) = lanes.next() {
                prop_assert!(serve.lane >= last && serve.at_most > 0);
                last = serve.lane;
                let n = pieces.next().unwrap_or(1).min(serve.at_most);
                lanes.served(serve.lane, n);
                served[serve.lane as usize] += n;
                // As much comes anew, and one more.
                waiting[serve.lane as usize] += 1;
            }
            prop_assert_eq!(served[0], before[0], "every order of the turn's start");
            for lane in 1..4 {
                prop_assert!(served[lane] <= before[lane], "nothing that came in the turn");
                prop_assert!(served[lane] >= before[lane].min(quarter), "{:?}", LANES[lane]);
            }
            prop_assert!(served[1] <= quarter && served[2] <= quarter);
            prop_assert!(served[1] + served[2] + served[3] <= budget + 2);
            let alone = before[1] == 0 && before[2] == 0;
            prop_assert!(!alone || served[3] == before[3].min(budget), "all of the budget");
        }
    }
}
