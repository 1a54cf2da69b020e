//! Proves on random plans that the checks find what naive ones find, and that the order is one.

use std::collections::BTreeSet;

use millstream_core::StageId;
use millstream_plan::{Edge, Plan, PlanFault, Route, Stage, StageKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn kind() -> impl Strategy<Value = StageKind> {
    use StageKind::{Operator, Sink, Source};
    select(vec![Source, Operator, Operator, Operator, Sink])
}

fn route() -> impl Strategy<Value = Route> {
    select(vec![Route::Forward, Route::ByKey, Route::Rebalance, Route::Broadcast])
}

/// Any plan at all: blank and equal names, edges from and to nowhere, cycles, too many tasks.
fn any_plan() -> impl Strategy<Value = Plan> {
    let names = select(vec!["", " ", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    let tasks = prop_oneof![12 => 0_usize..5, 1 => select(vec![32_768, 32_769])];
    let stages = vec((names, kind(), tasks), 0..9);
    let outputs = select(vec![None, None, Some(""), Some("late")]);
    let edges = vec((0_u32..9, 0_u32..9, 0_u32..4, route(), outputs), 0..14);
    let groups = prop_oneof![Just(None), (0_u32..6).prop_map(Some), Just(Some(40_000))];
    (stages, edges, groups).prop_map(|(stages, edges, groups)| {
        let mut plan = Plan::new("random");
        for (name, kind, parallelism) in stages {
            plan.stage(Stage { name: name.to_owned(), kind, parallelism, steps: Vec::new() });
        }
        for (from, to, port, route, output) in edges {
            let mut edge = Edge::new(StageId::new(from), StageId::new(to), route).port(port % 3);
            edge.output = output.map(str::to_owned);
            plan.connect(edge);
        }
        if let Some(groups) = groups {
            plan.set_key_groups(groups);
        }
        plan
    })
}

/// Edges from a lower to a higher rank only, where the ranks are the ids in another order.
fn plan_without_cycles() -> impl Strategy<Value = Plan> {
    let ranks = Just((0..12_u32).collect::<Vec<_>>()).prop_shuffle();
    (ranks, vec((0_usize..12, 0_usize..12, route()), 0..40)).prop_map(|(ranks, edges)| {
        let mut plan = Plan::new("random");
        for id in 0..ranks.len() {
            plan.stage(Stage::operator(id.to_string(), 1));
        }
        for (one, other, route) in edges.into_iter().filter(|edge| edge.0 != edge.1) {
            let (from, to) = (ranks[one.min(other)], ranks[one.max(other)]);
            plan.connect(Edge::new(StageId::new(from), StageId::new(to), route));
        }
        plan
    })
}

/// Whether one stage can be reached from another by at least one edge.
fn reaches(plan: &Plan, from: StageId, to: StageId, without: &[StageId]) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(stage) = open.pop() {
        for edge in plan.edges().iter().filter(|edge| edge.from == stage) {
            let there = plan.get(edge.to).is_some() && !without.contains(&edge.to);
            if edge.to == to && there {
                return true;
            }
            if there && seen.insert(edge.to) {
                open.push(edge.to);
            }
        }
    }
    false
}

fn on_a_cycle(plan: &Plan, without: &[StageId]) -> Vec<StageId> {
    let stages = plan.ids().map(|(id, _)| id).filter(|id| !without.contains(id));
    stages.filter(|&id| reaches(plan, id, id, without)).collect()
}

fn called(plan: &Plan, id: StageId) -> String {
    let name = &plan.stages()[id.get() as usize].name;
    if name.trim().is_empty() { format!("stage {id}") } else { name.clone() }
}

/// What is wrong with each stage by itself, found by asking all edges for each.
fn expected_of_stages(plan: &Plan) -> Vec<PlanFault> {
    let mut faults = Vec::new();
    for (id, Stage { name, kind, parallelism, .. }) in plan.ids() {
        let (stage, kind, parallelism) = (called(plan, id), *kind, *parallelism);
        let ports: Vec<u32> = plan.inputs(id).map(|edge| edge.port).collect();
        let same = plan.stages().iter().filter(|other| other.name == *name).count();
        if name.trim().is_empty() {
            faults.push(PlanFault::UnnamedStage { stage: id, kind });
        } else if same > 1 {
            faults.push(PlanFault::EqualNames { name: name.clone(), stages: same });
        }
        match parallelism {
            0 => faults.push(PlanFault::NoTasks { stage: stage.clone(), kind }),
            32_769.. => faults.push(PlanFault::TooManyTasks {
                stage: stage.clone(),
                kind,
                parallelism,
                limit: 32_768,
            }),
            _ => {}
        }
        if kind != StageKind::Source && ports.is_empty() {
            faults.push(PlanFault::NoInput { stage: stage.clone(), kind });
        }
        if kind == StageKind::Operator && ports.contains(&1) && !ports.contains(&0) {
            faults.push(PlanFault::OnlySecondInput { stage: stage.clone() });
        }
        if kind != StageKind::Sink && plan.outputs(id).count() == 0 {
            faults.push(PlanFault::NothingConnected { stage, kind });
        }
    }
    faults
}

fn expected_of_edges(plan: &Plan) -> Vec<PlanFault> {
    let mut faults = Vec::new();
    for edge in plan.edges() {
        let &Edge { from, to, port, route, .. } = edge;
        match (plan.get(from), plan.get(to)) {
            (None, None) => faults.push(PlanFault::EdgeInNowhere { from, to }),
            (None, Some(_)) => {
                faults.push(PlanFault::EdgeFromNowhere { from, to: called(plan, to) });
            }
            (Some(_), None) => {
                faults.push(PlanFault::EdgeToNowhere { from: called(plan, from), to });
            }
            (Some(one), Some(other)) => {
                let (from, to) = (called(plan, from), called(plan, to));
                if one.kind == StageKind::Sink {
                    faults.push(PlanFault::SinkWithOutput { stage: from.clone(), to: to.clone() });
                }
                match (other.kind, port) {
                    (StageKind::Source, _) => {
                        let (stage, from) = (to.clone(), from.clone());
                        faults.push(PlanFault::SourceWithInput { stage, from });
                    }
                    (StageKind::Operator, 0 | 1) | (StageKind::Sink, 0) => {}
                    (kind, _) => {
                        faults.push(PlanFault::NoSuchInput { stage: to.clone(), kind, port });
                    }
                }
                if edge.output.as_deref() == Some("") {
                    faults.push(PlanFault::UnnamedOutput { from: from.clone(), to: to.clone() });
                }
                let (upstream, downstream) = (one.parallelism, other.parallelism);
                if route == Route::Forward && upstream != downstream {
                    faults.push(PlanFault::UnevenForward { from, to, upstream, downstream });
                }
            }
        }
    }
    faults
}

fn expected_of_the_whole(plan: &Plan) -> Vec<PlanFault> {
    let mut faults = Vec::new();
    if plan.stages().is_empty() {
        faults.push(PlanFault::NoStages);
    }
    match plan.explicit_key_groups() {
        Some(key_groups @ (0 | 32_769..)) => {
            faults.push(PlanFault::KeyGroupsOutOfRange { key_groups, limit: 32_768 });
        }
        Some(key_groups) => {
            let mut largest: Option<(StageId, usize)> = None;
            for (id, stage) in plan.ids().filter(|(_, stage)| stage.parallelism <= 32_768) {
                if largest.is_none_or(|(_, tasks)| stage.parallelism > tasks) {
                    largest = Some((id, stage.parallelism));
                }
            }
            if let Some((id, parallelism)) = largest.filter(|l| l.1 > key_groups as usize) {
                let stage = called(plan, id);
                faults.push(PlanFault::KeyGroupsTooFew { key_groups, stage, parallelism });
            }
        }
        None => {}
    }
    faults
}

fn found(plan: &Plan) -> Vec<PlanFault> {
    plan.check().map_or_else(|error| error.faults().to_vec(), |()| Vec::new())
}

/// A plan in which every name is the stage's id, so that a named cycle can be looked up.
fn with_ids_for_names(plan: &Plan) -> Plan {
    let mut renamed = Plan::new(plan.name());
    for (id, stage) in plan.ids() {
        renamed.stage(Stage { name: id.to_string(), ..stage.clone() });
    }
    plan.edges().iter().for_each(|edge| renamed.connect(edge.clone()));
    renamed
}

fn cycles(plan: &Plan) -> Vec<Vec<StageId>> {
    let id = |name: &String| name.parse().map_or(StageId::new(u32::MAX), StageId::new);
    let cycles = found(plan).into_iter().filter_map(|fault| match fault {
        PlanFault::Cycle { stages } => Some(stages.iter().map(id).collect()),
        _ => None,
    });
    cycles.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_check_finds_all_that_naive_checks_find_and_nothing_else(plan in any_plan()) {
        let found: Vec<_> =
            found(&plan).into_iter().filter(|f| !matches!(f, PlanFault::Cycle { .. })).collect();
        let mut expected = expected_of_the_whole(&plan);
        expected.extend(expected_of_stages(&plan));
        expected.extend(expected_of_edges(&plan));
        let set: BTreeSet<_> = found.iter().cloned().collect();
        prop_assert_eq!(set.len(), found.len(), "a fault is told once");
        prop_assert_eq!(set, expected.into_iter().collect::<BTreeSet<_>>());
    }

    #[test]
    fn named_cycles_are_cycles_apart_from_each_other_and_without_them_none_is_left(
        plan in any_plan().prop_map(|plan| with_ids_for_names(&plan)),
    ) {
        let cycles = cycles(&plan);
        prop_assert_eq!(cycles.is_empty(), on_a_cycle(&plan, &[]).is_empty());
        prop_assert_eq!(cycles.is_empty(), plan.order().is_ok());
        for cycle in &cycles {
            for (&from, &to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                prop_assert!(plan.outputs(from).any(|edge| edge.to == to), "{from} -> {to}");
            }
            prop_assert_eq!(cycle.first(), cycle.iter().min(), "the lowest stage comes first");
        }
        let named: Vec<StageId> = cycles.concat();
        let once: BTreeSet<_> = named.iter().copied().collect();
        prop_assert_eq!(once.len(), named.len(), "a stage is on one named cycle");
        prop_assert!(on_a_cycle(&plan, &named).is_empty());
    }

    #[test]
    fn the_order_has_every_stage_once_sources_first_and_every_edge_leads_forwards(
        plan in plan_without_cycles(),
    ) {
        let order = plan.order().unwrap();
        let sorted: BTreeSet<_> = order.iter().copied().collect();
        prop_assert_eq!(sorted.len(), order.len());
        prop_assert_eq!(order.len(), plan.stages().len());
        let place = |id| order.iter().position(|&at| at == id).unwrap();
        for edge in plan.edges() {
            prop_assert!(place(edge.from) < place(edge.to), "{edge:?} in {order:?}");
        }
        let first = order.iter().take_while(|&&id| plan.inputs(id).count() == 0).count();
        let without_input = order.iter().filter(|&&id| plan.inputs(id).count() == 0).count();
        prop_assert_eq!(first, without_input);
    }

    #[test]
    fn the_order_does_not_depend_on_that_of_the_edges(
        (plan, edges) in plan_without_cycles().prop_flat_map(|plan| {
            let edges = Just(plan.edges().to_vec()).prop_shuffle();
            (Just(plan), edges)
        }),
    ) {
        let mut other = Plan::new(plan.name());
        plan.stages().iter().for_each(|stage| { other.stage(stage.clone()); });
        edges.into_iter().for_each(|edge| other.connect(edge));
        prop_assert_eq!(plan.order(), other.order());
    }
}
