//! Proves that the text forms show all of a plan, and that no name can break them.

use millstream_plan::{Edge, Plan, Route, Stage};
use proptest::prelude::*;

/// Two sources by key to one join, late records aside, a result to everyone.
fn trips() -> Plan {
    let mut plan = Plan::new("trips");
    let trips = plan.stage(Stage::source("trips", 2).steps(["map", "filter"]));
    let fares = plan.stage(Stage::source("fares", 1));
    let joined = plan.stage(Stage::operator("fare_of-trip", 4));
    let alarm = plan.stage(Stage::operator("alarm", 2));
    let out = plan.stage(Stage::sink("out", 4));
    let late = plan.stage(Stage::sink("too late", 1));
    plan.connect(Edge::new(trips, joined, Route::ByKey).steps(["map"]));
    plan.connect(Edge::new(fares, joined, Route::ByKey).port(1));
    plan.connect(Edge::new(joined, out, Route::Forward).steps(["filter_map", "inspect"]));
    plan.connect(Edge::new(joined, late, Route::Rebalance).output("late"));
    plan.connect(Edge::new(trips, alarm, Route::Broadcast));
    plan.connect(Edge::new(alarm, late, Route::Rebalance));
    plan.set_key_groups(256);
    plan
}

/// A stream united with itself, and joined with itself: two edges each.
fn twice() -> Plan {
    let mut plan = Plan::new("twice");
    let numbers = plan.stage(Stage::source("numbers", 2));
    let united = plan.stage(Stage::operator("united", 2));
    let paired = plan.stage(Stage::operator("paired", 3));
    let out = plan.stage(Stage::sink("out", 1));
    plan.connect(Edge::new(numbers, united, Route::Forward));
    plan.connect(Edge::new(numbers, united, Route::Forward));
    plan.connect(Edge::new(united, paired, Route::ByKey));
    plan.connect(Edge::new(united, paired, Route::ByKey).port(1));
    plan.connect(Edge::new(paired, out, Route::Rebalance));
    plan
}

/// Names that would break a careless text.
fn unruly() -> Plan {
    let mut plan = Plan::new("%%{init: {}}%%\nend");
    let source = plan.stage(Stage::source("1. \"quoted\" [x](y) {z} <b>#35;</b>", 1));
    let middle = plan.stage(Stage::operator("Verspätung · 遅延 🚂 `*_a_*`", 1));
    let sink = plan.stage(Stage::sink(" end\r\n\"] --> s0 %% style a:#f00;", 1));
    plan.connect(Edge::new(source, middle, Route::Forward).output("|\"x\"|").steps(["a<br/>b"]));
    plan.connect(Edge::new(middle, sink, Route::Forward));
    plan
}

#[test]
fn flowcharts_are_as_written_down() {
    assert_eq!(trips().to_mermaid(), include_str!("golden/trips.mmd"));
    assert_eq!(twice().to_mermaid(), include_str!("golden/twice.mmd"));
    assert_eq!(unruly().to_mermaid(), include_str!("golden/unruly.mmd"));
}

#[test]
fn lists_are_as_written_down() {
    assert_eq!(trips().to_string(), include_str!("golden/trips.txt"));
    assert_eq!(twice().to_string(), include_str!("golden/twice.txt"));
    assert_eq!(unruly().to_string(), include_str!("golden/unruly.txt"));
}

#[test]
fn the_plans_written_down_have_no_fault() {
    for plan in [trips(), twice(), unruly()] {
        assert_eq!(plan.check(), Ok(()));
    }
}

#[test]
fn a_plan_with_faults_can_be_shown_too() {
    let mut plan = Plan::new("");
    let lost = twice().edges()[4].from;
    let only = plan.stage(Stage::source("only", 0));
    plan.connect(Edge::new(lost, only, Route::ByKey));
    plan.connect(Edge::new(only, lost, Route::ByKey));
    assert_eq!(
        plan.to_string(),
        "plan \"\"\n\
         source \"only\" × 0\n  -> stage 2, which is not there, by key\n\
         stage 2, which is not there\n  -> \"only\", by key\n"
    );
    assert_eq!(plan.to_mermaid().lines().count(), 5);
}

/// The text that a label stands for: character codes resolved. `None` if one is no code.
fn drawn(label: &str) -> Option<String> {
    let (first, coded) = label.split_once('#').unwrap_or((label, ""));
    let mut text = first.to_owned();
    for part in coded.split('#').filter(|part| !part.is_empty()) {
        let (code, rest) = part.split_once(';')?;
        text.push(char::from_u32(code.parse().ok()?)?);
        text.push_str(rest);
    }
    Some(text)
}

fn spelled(name: &str) -> String {
    let spell = |c: char| {
        if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
    };
    name.chars().map(spell).collect()
}

proptest! {
    #[test]
    fn no_name_breaks_the_flowchart_and_every_name_can_be_read(
        name in any::<String>(),
        output in prop_oneof![any::<String>(), r#"[#;:"|<>&\[\] a1_.\n-]{0,12}"#],
        step in any::<String>(),
    ) {
        let mut plan = Plan::new(name.clone());
        let from = plan.stage(Stage::source(name.clone(), 1));
        let to = plan.stage(Stage::sink(output.clone(), 1));
        let steps = [step.clone()];
        plan.connect(Edge::new(from, to, Route::Forward).output(output.clone()).steps(steps));
        let text = plan.to_mermaid();
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(lines.len(), 5, "{}", text);

        let inner = |line: &str, before: &str, after: &str| {
            let label = line.trim().strip_prefix(before).and_then(|l| l.strip_suffix(after));
            label.unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let source = inner(lines[2], "s0([\"", "<br/>source × 1\"])");
        let sink = inner(lines[3], "s1[[\"", "<br/>sink × 1\"]]");
        let edge = inner(lines[4], "s0 -.->|\"side output ", "<br/>forward\"| s1");
        let (side, on_the_way) = edge.split_once("<br/>").unwrap();
        let labels = [source.as_str(), sink.as_str(), side, on_the_way];
        for (label, name) in labels.into_iter().zip([&name, &output, &output, &step]) {
            let safe = |c: char| c.is_alphanumeric() || " #;-_.".contains(c);
            prop_assert!(label.chars().all(safe), "{}", label);
            prop_assert_eq!(drawn(label), Some(spelled(name)));
        }
    }
}
