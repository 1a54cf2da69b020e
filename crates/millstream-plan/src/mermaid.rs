//! A plan as a Mermaid flowchart, which Markdown pages and many editors draw.

use std::fmt::Write;

use crate::{Edge, Plan, Stage, StageKind};

impl Plan {
    /// The text of a flowchart from left to right.
    ///
    /// A box is a stage with its name, kind, parallelism and steps; an arrow is an edge with its
    /// input (if not 0), side output, fused steps and route. Side outputs are dotted. Two edges
    /// between the same stages are two arrows.
    ///
    /// No name can break the text: what is not plainly a part of a word becomes a character code.
    ///
    /// # Examples
    ///
    /// ```
    /// use millstream_plan::{Edge, Plan, Route, Stage};
    ///
    /// let mut plan = Plan::new("orders");
    /// let orders = plan.stage(Stage::source("orders", 1));
    /// let out = plan.stage(Stage::sink("out [\"a\"]", 2));
    /// plan.connect(Edge::new(orders, out, Route::Rebalance).steps(["filter"]));
    /// assert_eq!(
    ///     plan.to_mermaid(),
    ///     r#"flowchart LR
    ///     %% orders
    ///     s0(["orders<br/>source × 1"])
    ///     s1[["out #91;#34;a#34;#93;<br/>sink × 2"]]
    ///     s0 -->|"filter<br/>rebalance"| s1
    /// "#
    /// );
    /// ```
    pub fn to_mermaid(&self) -> String {
        let mut text = String::from("flowchart LR\n");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    %% {}", escaped(self.name()));
        for (id, stage) in self.ids() {
            let (open, close) = match stage.kind {
                StageKind::Source => ("([", "])"),
                StageKind::Operator => ("[", "]"),
                StageKind::Sink => ("[[", "]]"),
            };
            let _ = writeln!(text, "    s{id}{open}\"{}\"{close}", box_label(stage));
        }
        for edge in self.edges() {
            let arrow = if edge.output.is_some() { "-.->" } else { "-->" };
            let label = arrow_label(edge);
            let _ = writeln!(text, "    s{} {arrow}|\"{label}\"| s{}", edge.from, edge.to);
        }
        text
    }
}

fn box_label(stage: &Stage) -> String {
    let mut lines = vec![escaped(&stage.name), format!("{} × {}", stage.kind, stage.parallelism)];
    lines.extend(joined(&stage.steps));
    lines.join("<br/>")
}

fn arrow_label(edge: &Edge) -> String {
    let mut lines = Vec::new();
    if let Some(output) = &edge.output {
        lines.push(format!("side output {}", escaped(output)));
    }
    lines.extend(joined(&edge.steps));
    lines.push(edge.route.to_string());
    if edge.port > 0 {
        lines.push(format!("input {}", edge.port));
    }
    lines.join("<br/>")
}

fn joined(steps: &[String]) -> Option<String> {
    let steps: Vec<String> = steps.iter().map(|step| escaped(step)).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// Text that is drawn as itself.
///
/// Inside quotes Mermaid still reads HTML, Markdown, codes and, in some versions, style lines. So
/// only letters and digits of any script, single blanks between words, and `-`, `_`, `.` inside of
/// words stand as they are. Control characters, which cannot be drawn, are spelled out first.
fn escaped(text: &str) -> String {
    let spelled: Vec<char> = text.chars().flat_map(spelled).collect();
    let is_word = |place: Option<usize>| {
        place.and_then(|place| spelled.get(place)).is_some_and(|c| c.is_alphanumeric())
    };
    let mut out = String::with_capacity(text.len());
    for (place, &c) in spelled.iter().enumerate() {
        let within = || is_word(place.checked_sub(1)) && is_word(Some(place + 1));
        let blank = || place > 0 && place + 1 < spelled.len() && spelled[place - 1] != ' ';
        let plain = match c {
            ' ' => blank(),
            '-' | '_' | '.' => within(),
            _ => c.is_alphanumeric(),
        };
        if plain {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}

fn spelled(c: char) -> impl Iterator<Item = char> {
    let (code, plain) =
        if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    code.into_iter().flatten().chain(plain)
}
