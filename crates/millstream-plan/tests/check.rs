//! Proves that each fault of a plan is found, told with what to do, and told beside all others.

use millstream_core::{KeyGroups, StageId};
use millstream_plan::{Edge, Plan, PlanError, PlanFault, Route, Stage, StageKind};

/// A plan without faults, to be spoilt: "in" to "mid" to "out".
fn sound() -> (Plan, [StageId; 3]) {
    let mut plan = Plan::new("job");
    let source = plan.stage(Stage::source("in", 1));
    let middle = plan.stage(Stage::operator("mid", 2));
    let sink = plan.stage(Stage::sink("out", 2));
    plan.connect(Edge::new(source, middle, Route::ByKey));
    plan.connect(Edge::new(middle, sink, Route::Forward));
    (plan, [source, middle, sink])
}

fn faults(plan: &Plan) -> Vec<String> {
    let told = |error: PlanError| error.faults().iter().map(ToString::to_string).collect();
    plan.check().err().map(told).unwrap_or_default()
}

#[test]
fn a_plan_without_faults_passes() {
    assert_eq!(sound().0.check(), Ok(()));
}

#[test]
fn a_plan_without_stages_or_without_a_name_is_refused() {
    assert_eq!(faults(&Plan::new("job")), ["the plan has no stages: begin with a source"]);
    let error = Plan::new(" ").check().unwrap_err();
    assert_eq!(error.faults(), [PlanFault::UnnamedPlan, PlanFault::NoStages]);
}

#[test]
fn equal_names_are_told_once_with_their_number() {
    let (mut plan, [source, ..]) = sound();
    for _ in 0..2 {
        let sink = plan.stage(Stage::sink("out", 1));
        plan.connect(Edge::new(source, sink, Route::Rebalance));
    }
    assert_eq!(faults(&plan), [r#"3 stages are named "out": give each a name of its own"#]);
}

#[test]
fn an_empty_or_blank_name_is_told_by_the_id_of_its_stage_and_is_not_equal_to_another() {
    let (mut plan, [source, ..]) = sound();
    for name in ["", "", " \t"] {
        let operator = plan.stage(Stage::operator(name, 1));
        plan.connect(Edge::new(source, operator, Route::Rebalance));
        let sink = plan.stage(Stage::sink(format!("after {operator}"), 1));
        plan.connect(Edge::new(operator, sink, Route::Rebalance));
    }
    let faults = faults(&plan);
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert_eq!(
        faults[0],
        "stage 3, an operator, has an empty name: give it one, its errors, numbers and snapshots \
         are called by it"
    );
    assert!(faults[1].starts_with("stage 5, ") && faults[2].starts_with("stage 7, "));
}

#[test]
fn a_source_or_operator_with_nothing_behind_it_is_told() {
    let (mut plan, [source, ..]) = sound();
    plan.stage(Stage::source("spare", 1));
    let operator = plan.stage(Stage::operator("loose", 1));
    plan.connect(Edge::new(source, operator, Route::Rebalance));
    assert_eq!(
        faults(&plan),
        [
            r#"nothing connected to the output of source "spare": end it in a sink or remove it"#,
            r#"nothing connected to the output of operator "loose": end it in a sink or remove it"#,
        ]
    );
}

#[test]
fn an_operator_or_sink_with_nothing_before_it_is_told() {
    let (mut plan, [_, _, sink]) = sound();
    let operator = plan.stage(Stage::operator("dry", 2));
    plan.connect(Edge::new(operator, sink, Route::Forward));
    plan.stage(Stage::sink("empty", 1));
    assert_eq!(
        faults(&plan),
        [
            r#"operator "dry" has no input: connect a stream to it or remove it"#,
            r#"sink "empty" has no input: connect a stream to it or remove it"#,
        ]
    );
}

#[test]
fn inputs_that_a_stage_does_not_have_are_told() {
    let (mut plan, [source, middle, sink]) = sound();
    plan.connect(Edge::new(source, middle, Route::ByKey).port(2));
    plan.connect(Edge::new(middle, sink, Route::Forward).port(1));
    assert_eq!(
        faults(&plan),
        [
            r#"operator "mid" has no input 2: connect to an input below 2"#,
            r#"sink "out" has no input 1: connect to an input below 1"#,
        ]
    );
}

#[test]
fn a_second_input_without_a_first_one_is_told() {
    let (mut plan, [source, _, sink]) = sound();
    let join = plan.stage(Stage::operator("join", 2));
    plan.connect(Edge::new(source, join, Route::ByKey).port(1));
    plan.connect(Edge::new(join, sink, Route::Forward));
    assert_eq!(
        faults(&plan),
        [r#"input 1 of operator "join" is connected, input 0 is not: connect both, or only 0"#]
    );
    plan.connect(Edge::new(source, join, Route::ByKey));
    assert_eq!(plan.check(), Ok(()));
}

#[test]
fn a_source_with_an_input_and_a_sink_with_an_output_are_told() {
    let (mut plan, [_, middle, sink]) = sound();
    let late = plan.stage(Stage::source("late", 1));
    plan.connect(Edge::new(late, middle, Route::ByKey));
    plan.connect(Edge::new(sink, late, Route::Rebalance));
    let faults = faults(&plan);
    assert_eq!(
        faults[..2],
        [
            "sink \"out\" has an output, to \"late\": a sink has none, let the edge begin at the \
             stage before it",
            "source \"late\" has an input, from \"out\": a source takes none, let the edge end \
             in an operator or a sink",
        ]
    );
    assert_eq!(faults.len(), 3, "and the cycle: {faults:?}");
}

#[test]
fn a_parallelism_of_zero_or_beyond_all_key_groups_is_told() {
    let mut plan = Plan::new("job");
    let source = plan.stage(Stage::source("in", 0));
    let sink = plan.stage(Stage::sink("out", 32_769));
    plan.connect(Edge::new(source, sink, Route::Rebalance));
    plan.set_key_groups(128);
    assert_eq!(
        faults(&plan),
        [
            r#"source "in" has a parallelism of zero: give it at least one task"#,
            r#"sink "out" has a parallelism of 32769: give it at most 32768 tasks"#,
        ]
    );
    assert!(plan.key_groups().is_err());
}

#[test]
fn key_groups_are_1_to_32768_and_at_least_as_many_as_tasks() {
    let (mut plan, _) = sound();
    assert_eq!(plan.key_groups(), Ok(KeyGroups::default_for(2)));
    for key_groups in [0, 32_769, u32::MAX] {
        plan.set_key_groups(key_groups);
        let told = format!("{key_groups} key groups were asked for: ask for 1 to 32768");
        assert_eq!(faults(&plan), [told]);
        assert!(plan.key_groups().is_err());
    }
    plan.set_key_groups(1);
    assert_eq!(
        faults(&plan),
        ["1 key groups are fewer than the 2 tasks of \"mid\": ask for at least 2 key groups, \
             or give the stage fewer tasks"]
    );
    assert!(plan.key_groups().is_err());
    for key_groups in [2, 32_768] {
        plan.set_key_groups(key_groups);
        assert_eq!(plan.check(), Ok(()));
        assert_eq!(plan.key_groups().unwrap().count(), key_groups);
    }
}

#[test]
fn a_forward_edge_needs_as_many_tasks_on_both_sides() {
    let (mut plan, [source, middle, _]) = sound();
    plan.connect(Edge::new(source, middle, Route::Forward));
    plan.connect(Edge::new(source, middle, Route::Forward));
    assert_eq!(
        faults(&plan),
        ["a forward edge leads from 1 tasks of \"in\" to 2 of \"mid\": rebalance it, or give \
             both stages as many tasks"]
    );
}

#[test]
fn an_edge_whose_ends_are_not_there_is_told_with_their_ids() {
    let (mut plan, [_, middle, sink]) = sound();
    let (nine, max) = (StageId::new(9), StageId::new(u32::MAX));
    plan.connect(Edge::new(middle, nine, Route::Forward));
    plan.connect(Edge::new(max, sink, Route::Forward));
    plan.connect(Edge::new(max, nine, Route::Forward));
    let error = plan.check().unwrap_err();
    assert_eq!(
        error.faults(),
        [
            PlanFault::EdgeToNowhere { from: "mid".into(), to: nine },
            PlanFault::EdgeFromNowhere { from: max, to: "out".into() },
            PlanFault::EdgeInNowhere { from: max, to: nine },
        ]
    );
    assert_eq!(plan.channels(&plan.edges()[2]), None);
    assert!(plan.order().is_ok(), "such edges have no say in the order");
}

#[test]
fn a_side_output_needs_a_name() {
    let (mut plan, [source, middle, _]) = sound();
    plan.connect(Edge::new(source, middle, Route::ByKey).output(""));
    assert_eq!(
        faults(&plan),
        [r#"a side output of "in" that leads to "mid" has an empty name: give it one"#]
    );
}

#[test]
fn a_cycle_is_told_as_the_stages_on_it_and_no_others() {
    let mut plan = Plan::new("job");
    let source = plan.stage(Stage::source("in", 1));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| plan.stage(Stage::operator(name, 1)));
    let sink = plan.stage(Stage::sink("out", 1));
    for (from, to) in [(source, b), (b, c), (c, a), (a, b), (c, d), (d, d), (d, sink)] {
        plan.connect(Edge::new(from, to, Route::Forward));
    }
    let told = [
        "the stages \"a\" -> \"b\" -> \"c\" -> \"a\" are a cycle: a stream cannot lead back to a \
         stage before it, remove one of these edges",
        "the stages \"d\" -> \"d\" are a cycle: a stream cannot lead back to a stage before it, \
         remove one of these edges",
    ];
    assert_eq!(faults(&plan), told);
    let error = plan.order().unwrap_err();
    assert_eq!(error.faults().iter().map(ToString::to_string).collect::<Vec<_>>(), told);
}

#[test]
fn all_faults_are_told_at_once_a_line_each() {
    let mut plan = Plan::new("say \"no\"\nagain");
    let source = plan.stage(Stage::source("x", 1));
    let operator = plan.stage(Stage::operator("", 0));
    plan.stage(Stage::sink("x", 3));
    plan.connect(Edge::new(source, operator, Route::Forward));
    plan.connect(Edge::new(operator, operator, Route::ByKey).port(7));
    plan.set_key_groups(2);
    let error = plan.check().unwrap_err();
    let kind = StageKind::Operator;
    assert_eq!(
        error.faults(),
        [
            PlanFault::EqualNames { name: "x".into(), stages: 2 },
            PlanFault::UnnamedStage { stage: operator, kind },
            PlanFault::NoTasks { stage: "stage 1".into(), kind },
            PlanFault::NoInput { stage: "x".into(), kind: StageKind::Sink },
            PlanFault::UnevenForward {
                from: "x".into(),
                to: "stage 1".into(),
                upstream: 1,
                downstream: 0
            },
            PlanFault::NoSuchInput { stage: "stage 1".into(), kind, port: 7 },
            PlanFault::Cycle { stages: vec!["stage 1".into()] },
            PlanFault::KeyGroupsTooFew { key_groups: 2, stage: "x".into(), parallelism: 3 },
        ]
    );
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], r#"plan "say \"no\"\nagain" has 8 faults:"#);
    assert_eq!(lines.len(), 9);
    for (line, fault) in lines[1..].iter().zip(error.faults()) {
        assert_eq!(line.trim_start(), fault.to_string());
    }
}
