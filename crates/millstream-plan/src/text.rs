//! A plan as a short list: each stage a line, below it the edges that leave it.

use std::fmt;

use crate::{Edge, Plan};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan {:?}", self.name())?;
        if let Some(key_groups) = self.explicit_key_groups() {
            write!(f, ", {key_groups} key groups")?;
        }
        writeln!(f)?;
        let mut leaving = vec![Vec::new(); self.stages().len()];
        let mut loose = Vec::new();
        for edge in self.edges() {
            match self.place(edge.from) {
                Some(place) => leaving[place].push(edge),
                None => loose.push(edge),
            }
        }
        for (stage, edges) in self.stages().iter().zip(leaving) {
            write!(f, "{} {:?} × {}", stage.kind, stage.name, stage.parallelism)?;
            write_steps(f, &stage.steps)?;
            edges.into_iter().try_for_each(|edge| self.write_edge(f, edge))?;
        }
        for edge in loose {
            writeln!(f, "stage {}, which is not there", edge.from)?;
            self.write_edge(f, edge)?;
        }
        Ok(())
    }
}

impl Plan {
    fn write_edge(&self, f: &mut fmt::Formatter<'_>, edge: &Edge) -> fmt::Result {
        match self.get(edge.to) {
            Some(stage) => write!(f, "  -> {:?}", stage.name)?,
            None => write!(f, "  -> stage {}, which is not there", edge.to)?,
        }
        if edge.port > 0 {
            write!(f, ", input {}", edge.port)?;
        }
        if let Some(output) = &edge.output {
            write!(f, ", side output {output:?}")?;
        }
        write!(f, ", {}", edge.route)?;
        match self.channels(edge) {
            Some(1) => write!(f, ", 1 channel")?,
            Some(channels) => write!(f, ", {channels} channels")?,
            None => {}
        }
        write_steps(f, &edge.steps)
    }
}

fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[String]) -> fmt::Result {
    if steps.is_empty() {
        return writeln!(f);
    }
    let steps: Vec<String> = steps.iter().map(|step| step.escape_debug().to_string()).collect();
    writeln!(f, ": {}", steps.join(", "))
}
