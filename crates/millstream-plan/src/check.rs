//! Every fault of a plan, found before anything starts.

use std::collections::{BTreeMap, BTreeSet};

use millstream_core::{KeyGroups, StageId};

use crate::{Edge, Plan, PlanError, PlanFault, Route, Stage, StageKind};

/// More tasks could not all own a key group.
const TASKS_MAX: usize = KeyGroups::MAX as usize;

/// Which sides of a stage are connected.
#[derive(Clone, Copy, Default)]
struct Ends {
    first_in: bool,
    second_in: bool,
    other_in: bool,
    out: bool,
}

impl Plan {
    /// Looks for everything that would keep the plan from running.
    ///
    /// # Errors
    ///
    /// [`PlanError`] with *all* faults: first those of the whole plan, then by stage, by edge,
    /// cycles, and key groups. The same fault of two edges is told once.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream_plan::{Edge, Plan, Route, Stage};
    ///
    /// let mut plan = Plan::new("loose ends");
    /// let lines = plan.stage(Stage::source("lines", 1));
    /// let words = plan.stage(Stage::operator("words", 0));
    /// plan.connect(Edge::new(lines, words, Route::Rebalance));
    ///
    /// assert_eq!(
    ///     plan.check().unwrap_err().to_string(),
    ///     "plan \"loose ends\" has 2 faults:\n  \
    ///      operator \"words\" has a parallelism of zero: give it at least one task\n  \
    ///      nothing connected to the output of operator \"words\": end it in a sink or remove it"
    /// );
    /// ```
    pub fn check(&self) -> Result<(), PlanError> {
        let mut faults = Vec::new();
        self.check_whole(&mut faults);
        self.check_stages(&mut faults);
        for edge in self.edges() {
            self.check_edge(edge, &mut faults);
        }
        faults.extend(self.cycles());
        self.check_key_groups(&mut faults);
        let mut told = BTreeSet::new();
        faults.retain(|fault| told.insert(fault.clone()));
        if faults.is_empty() { Ok(()) } else { Err(PlanError::new(self.name(), faults)) }
    }

    fn check_whole(&self, faults: &mut Vec<PlanFault>) {
        if is_blank(self.name()) {
            faults.push(PlanFault::UnnamedPlan);
        }
        if self.stages().is_empty() {
            faults.push(PlanFault::NoStages);
        }
        let mut named = BTreeMap::<&str, usize>::new();
        for stage in self.stages().iter().filter(|stage| !is_blank(&stage.name)) {
            *named.entry(&stage.name).or_default() += 1;
        }
        let equal = named.into_iter().filter(|&(_, stages)| stages > 1);
        faults.extend(
            equal.map(|(name, stages)| PlanFault::EqualNames { name: name.to_owned(), stages }),
        );
    }

    fn check_stages(&self, faults: &mut Vec<PlanFault>) {
        let mut ends = vec![Ends::default(); self.stages().len()];
        for edge in self.edges() {
            if let Some(place) = self.place(edge.from) {
                ends[place].out = true;
            }
            if let Some(place) = self.place(edge.to) {
                ends[place].first_in |= edge.port == 0;
                ends[place].second_in |= edge.port == 1;
                ends[place].other_in |= edge.port > 1;
            }
        }
        for ((id, stage), ends) in self.ids().zip(ends) {
            self.check_stage(id, stage, ends, faults);
        }
    }

    fn check_stage(&self, id: StageId, stage: &Stage, ends: Ends, faults: &mut Vec<PlanFault>) {
        let kind = stage.kind;
        let called = || self.called(id);
        if is_blank(&stage.name) {
            faults.push(PlanFault::UnnamedStage { stage: id, kind });
        }
        if stage.parallelism == 0 {
            faults.push(PlanFault::NoTasks { stage: called(), kind });
        }
        if stage.parallelism > TASKS_MAX {
            faults.push(PlanFault::TooManyTasks {
                stage: called(),
                kind,
                parallelism: stage.parallelism,
                limit: TASKS_MAX,
            });
        }
        if kind != StageKind::Source && !(ends.first_in || ends.second_in || ends.other_in) {
            faults.push(PlanFault::NoInput { stage: called(), kind });
        }
        if kind == StageKind::Operator && ends.second_in && !ends.first_in {
            faults.push(PlanFault::OnlySecondInput { stage: called() });
        }
        if kind != StageKind::Sink && !ends.out {
            faults.push(PlanFault::NothingConnected { stage: called(), kind });
        }
    }

    fn check_edge(&self, edge: &Edge, faults: &mut Vec<PlanFault>) {
        let (Some(upstream), Some(downstream)) = (self.get(edge.from), self.get(edge.to)) else {
            faults.push(self.loose_end(edge));
            return;
        };
        let from = || self.called(edge.from);
        let to = || self.called(edge.to);
        if upstream.kind == StageKind::Sink {
            faults.push(PlanFault::SinkWithOutput { stage: from(), to: to() });
        }
        if downstream.kind == StageKind::Source {
            faults.push(PlanFault::SourceWithInput { stage: to(), from: from() });
        } else if edge.port >= downstream.kind.ports_max() {
            let (kind, port) = (downstream.kind, edge.port);
            faults.push(PlanFault::NoSuchInput { stage: to(), kind, port });
        }
        if edge.output.as_deref().is_some_and(is_blank) {
            faults.push(PlanFault::UnnamedOutput { from: from(), to: to() });
        }
        if edge.route == Route::Forward && upstream.parallelism != downstream.parallelism {
            faults.push(PlanFault::UnevenForward {
                from: from(),
                to: to(),
                upstream: upstream.parallelism,
                downstream: downstream.parallelism,
            });
        }
    }

    fn loose_end(&self, edge: &Edge) -> PlanFault {
        let &Edge { from, to, .. } = edge;
        if self.get(from).is_some() {
            PlanFault::EdgeToNowhere { from: self.called(from), to }
        } else if self.get(to).is_some() {
            PlanFault::EdgeFromNowhere { from, to: self.called(to) }
        } else {
            PlanFault::EdgeInNowhere { from, to }
        }
    }

    fn check_key_groups(&self, faults: &mut Vec<PlanFault>) {
        let Some(key_groups) = self.explicit_key_groups() else {
            return;
        };
        let Ok(groups) = KeyGroups::new(key_groups) else {
            faults.push(PlanFault::KeyGroupsOutOfRange { key_groups, limit: KeyGroups::MAX });
            return;
        };
        // A stage with too many tasks for any number of key groups has been told about already.
        let can_be =
            self.stages().iter().map(|stage| stage.parallelism).filter(|&p| p <= TASKS_MAX);
        let largest = can_be.max().unwrap_or(0);
        if largest <= groups.count() as usize {
            return;
        }
        if let Some((id, _)) = self.ids().find(|(_, stage)| stage.parallelism == largest) {
            let stage = self.called(id);
            faults.push(PlanFault::KeyGroupsTooFew { key_groups, stage, parallelism: largest });
        }
    }
}

fn is_blank(name: &str) -> bool {
    name.trim().is_empty()
}
