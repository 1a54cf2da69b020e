//! `word-count`: lines to words, words counted by word, the counts at the end.

use millstream::Dataflow;
use millstream_bench_workload::{Outcome, RoundRequest, SideError, Text, Workload, tokens};

use super::shares::Shares;

const COUNT: &str = "count";

#[derive(Default)]
pub(super) struct WordCount {
    text: Option<Text>,
}

impl Workload for WordCount {
    fn name(&self) -> &'static str {
        "word-count"
    }

    fn prepare(&mut self, request: &RoundRequest) -> Result<(), SideError> {
        let lacks = SideError::Lacks { workload: "word-count", field: "text" };
        if self.text.is_none() {
            let path = request.text.as_deref().ok_or(lacks)?;
            self.text = Some(Text::load(path).map_err(SideError::failed)?);
        }
        Ok(())
    }

    fn round(&mut self, request: &RoundRequest) -> Result<Outcome, SideError> {
        let lacks = SideError::Lacks { workload: "word-count", field: "text" };
        let text = self.text.ok_or(lacks)?;
        let words = request.records;
        let flow = Dataflow::new("word-count");
        let shares = move |index, of| text.share(words, index, of);
        let counts = flow
            .source("lines", Shares::new(request.workers, shares))
            .flat_map(|line| tokens(line).map(str::to_owned))
            .key_by(|word| word.clone())
            .at_end()
            .count(COUNT)
            .collect("counts");
        let job = super::finish(flow, request)?;
        let batches = super::batches(&job, COUNT);
        let mut outcome = Outcome { batches, ..Outcome::default() };
        for (word, count) in counts.take() {
            outcome.records += count;
            outcome.checksum.add_count(&word, count);
        }
        Ok(outcome)
    }
}
