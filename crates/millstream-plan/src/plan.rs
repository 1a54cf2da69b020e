//! The plan: stages, the edges between them, and what is asked of the whole.

use millstream_core::{KeyGroupError, KeyGroups, StageId};

use crate::{Edge, Stage};

/// The graph of one job.
///
/// It takes whatever it is given; [`check`](Self::check) says what is wrong with it. So a builder
/// can write down all of a program first, and its user hears of every fault at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    name: String,
    stages: Vec<Stage>,
    edges: Vec<Edge>,
    key_groups: Option<u32>,
}

impl Plan {
    /// An empty plan for the job of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), stages: Vec::new(), edges: Vec::new(), key_groups: None }
    }

    /// Adds a stage. Its id is its place, counted from 0.
    pub fn stage(&mut self, stage: Stage) -> StageId {
        let id = id_of(self.stages.len());
        self.stages.push(stage);
        id
    }

    /// Adds an edge, also where there is one already.
    pub fn connect(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Asks for this number of key groups instead of the one that follows from the parallelism.
    pub const fn set_key_groups(&mut self, key_groups: u32) {
        self.key_groups = Some(key_groups);
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The stages; the place of each is its id.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The edges, in the order in which they were added.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The number of key groups that was asked for, whether or not it can be.
    pub const fn explicit_key_groups(&self) -> Option<u32> {
        self.key_groups
    }

    /// The key groups of the job: those asked for, else as many as suit the largest parallelism.
    ///
    /// # Errors
    ///
    /// [`KeyGroupError`] where [`check`](Self::check) finds a fault in the number of key groups or
    /// of tasks.
    pub fn key_groups(&self) -> Result<KeyGroups, KeyGroupError> {
        let largest = self.parallelism_max();
        let groups = match self.key_groups {
            Some(key_groups) => KeyGroups::new(key_groups)?,
            None => KeyGroups::default_for(largest),
        };
        groups.checked_for(largest)
    }

    /// The stage of this id.
    pub fn get(&self, id: StageId) -> Option<&Stage> {
        self.stages.get(self.place(id)?)
    }

    /// The place of a stage that is there.
    pub(crate) fn place(&self, id: StageId) -> Option<usize> {
        usize::try_from(id.get()).ok().filter(|&place| place < self.stages.len())
    }

    /// What faults call a stage: its name, or if it has none, its id.
    pub(crate) fn called(&self, id: StageId) -> String {
        match self.get(id) {
            Some(stage) if !stage.name.trim().is_empty() => stage.name.clone(),
            _ => format!("stage {id}"),
        }
    }

    /// The stages with their ids.
    pub fn ids(&self) -> impl Iterator<Item = (StageId, &Stage)> {
        self.stages.iter().enumerate().map(|(place, stage)| (id_of(place), stage))
    }

    /// The id of the first stage of this name.
    pub fn find(&self, name: &str) -> Option<StageId> {
        self.ids().find_map(|(id, stage)| (stage.name == name).then_some(id))
    }

    /// The edges that lead to a stage.
    pub fn inputs(&self, id: StageId) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.to == id)
    }

    /// The edges that leave a stage.
    pub fn outputs(&self, id: StageId) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == id)
    }

    /// How many channels an edge has: one a task if it is forward, else one for each pair of tasks.
    ///
    /// `None` if one of its stages is not in the plan.
    pub fn channels(&self, edge: &Edge) -> Option<usize> {
        let upstream = self.get(edge.from)?.parallelism;
        let downstream = self.get(edge.to)?.parallelism;
        Some(edge.route.channels(upstream, downstream))
    }

    /// The parallelism of the stage with the most tasks; 0 for a plan without stages.
    pub fn parallelism_max(&self) -> usize {
        self.stages.iter().map(|stage| stage.parallelism).max().unwrap_or(0)
    }
}

/// The id of the stage at a place. Places past the range of ids share the last one; a plan that
/// large does not fit into memory.
pub(crate) fn id_of(place: usize) -> StageId {
    StageId::new(u32::try_from(place).unwrap_or(u32::MAX))
}
