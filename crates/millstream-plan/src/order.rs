//! Which stage comes before which, and the cycles that forbid to say so.
//!
//! Stages without an open input are taken away again and again, each closing one input of the
//! stages behind it. What cannot be taken lies on a cycle or behind one. Every such stage has
//! another one before it, so a walk upstream must come back to a stage that it has seen: that part
//! of the walk is a cycle. Its stages are named, taken away, and the taking goes on.

use std::collections::VecDeque;

use millstream_core::StageId;

use crate::plan::id_of;
use crate::{Plan, PlanError, PlanFault};

impl Plan {
    /// The stages in an order in which every edge leads forwards; reversed, the last stage first.
    ///
    /// It is by distance from the sources (the longest way counts), then by id: sources come first,
    /// and neither the order of the edges nor chance has a say.
    ///
    /// Edges to stages that are not there are passed over.
    ///
    /// # Errors
    ///
    /// [`PlanError`] with a [`PlanFault::Cycle`] for each cycle, as in [`check`](Self::check).
    pub fn order(&self) -> Result<Vec<StageId>, PlanError> {
        let mut peeling = Peeling::of(self);
        peeling.take_all();
        let cycles = peeling.cycles();
        if !cycles.is_empty() {
            return Err(PlanError::new(self.name(), named(self, &cycles)));
        }
        let mut places: Vec<usize> = (0..self.stages().len()).collect();
        places.sort_by_key(|&place| (peeling.depth[place], place));
        Ok(places.into_iter().map(id_of).collect())
    }

    /// A fault for each cycle. No stage is on two of them, and without them no cycle is left.
    pub(crate) fn cycles(&self) -> Vec<PlanFault> {
        let mut peeling = Peeling::of(self);
        peeling.take_all();
        named(self, &peeling.cycles())
    }
}

fn named(plan: &Plan, cycles: &[Vec<usize>]) -> Vec<PlanFault> {
    let name = |&place: &usize| plan.called(id_of(place));
    let fault = |cycle: &Vec<usize>| PlanFault::Cycle { stages: cycle.iter().map(name).collect() };
    cycles.iter().map(fault).collect()
}

struct Peeling {
    before: Vec<Vec<usize>>,
    behind: Vec<Vec<usize>>,
    /// How many edges from stages that are not taken yet lead to a stage.
    open: Vec<usize>,
    depth: Vec<usize>,
    taken: Vec<bool>,
    ready: VecDeque<usize>,
}

impl Peeling {
    fn of(plan: &Plan) -> Self {
        let stages = plan.stages().len();
        let mut before = vec![Vec::new(); stages];
        let mut behind = vec![Vec::new(); stages];
        let mut open = vec![0; stages];
        for edge in plan.edges() {
            if let (Some(from), Some(to)) = (plan.place(edge.from), plan.place(edge.to)) {
                before[to].push(from);
                behind[from].push(to);
                open[to] += 1;
            }
        }
        let ready = (0..stages).filter(|&stage| open[stage] == 0).collect();
        Self { before, behind, open, depth: vec![0; stages], taken: vec![false; stages], ready }
    }

    /// Takes every stage that can be.
    fn take_all(&mut self) {
        while let Some(stage) = self.ready.pop_front() {
            debug_assert!(!self.taken[stage], "a stage is taken once");
            self.taken[stage] = true;
            self.close_behind(stage);
        }
    }

    fn close_behind(&mut self, stage: usize) {
        for &behind in &self.behind[stage] {
            self.open[behind] -= 1;
            self.depth[behind] = self.depth[behind].max(self.depth[stage] + 1);
            if self.open[behind] == 0 && !self.taken[behind] {
                self.ready.push_back(behind);
            }
        }
    }

    /// Takes what is left, a cycle at a time.
    fn cycles(&mut self) -> Vec<Vec<usize>> {
        let mut cycles = Vec::new();
        for stage in 0..self.taken.len() {
            // One stage may be behind several cycles, so it is asked until it is taken.
            while !self.taken[stage] {
                let cycle = self.cycle_before(stage);
                for &on_it in &cycle {
                    self.taken[on_it] = true;
                }
                for &on_it in &cycle {
                    self.close_behind(on_it);
                }
                self.take_all();
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// A cycle found by walking upstream, in the direction of its edges, its lowest stage first.
    fn cycle_before(&self, start: usize) -> Vec<usize> {
        let mut walk = Vec::new();
        let mut step_of = vec![None; self.taken.len()];
        let mut at = start;
        while step_of[at].is_none() {
            step_of[at] = Some(walk.len());
            walk.push(at);
            let open = self.before[at].iter().copied().filter(|&stage| !self.taken[stage]);
            match open.min() {
                Some(before) => at = before,
                None => break,
            }
        }
        let mut cycle = walk.split_off(step_of[at].unwrap_or(0));
        cycle.reverse();
        let lowest = (0..cycle.len()).min_by_key(|&step| cycle[step]).unwrap_or(0);
        cycle.rotate_left(lowest);
        cycle
    }
}
