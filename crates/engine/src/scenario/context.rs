//! How a job's context ranks share attention: what its plan leaves to the stack, and what its stack lacks. Not for kinds that no
//! program has ([`super::check`]), nor for what ranks send ([`crate::cost`]).

use crate::model::Mixer;
use crate::plan::{ContextKind, ContextMesh};
use crate::stack::{Feature, Runs, listed};
use crate::units::greatest_common_divisor;

use super::Scenario;
use super::field::Lack;

impl Scenario {
    /// What context ranks send one another: as the plan says, or as the stack does. Where it has other kinds for layers with a
    /// window it takes the first of these.
    pub fn context_kind(&self) -> ContextKind {
        let own = self.stack.context_kind;
        let of_windows = || self.stack.runs.as_ref().and_then(|runs| runs.window_kinds.as_ref());
        match self.plan.context_kind {
            ContextKind::Stack if self.model.window.is_some() => {
                let first = |kinds: &Vec<ContextKind>| kinds.first().copied().filter(|_| !kinds.contains(&own));
                of_windows().and_then(first).unwrap_or(own)
            }
            ContextKind::Stack => own,
            kind => kind,
        }
    }

    /// The context ranks by what they share. Ranks of both kinds exchange heads in groups as large as key heads allow, unless
    /// the plan says otherwise.
    pub fn context_mesh(&self) -> ContextMesh {
        let (ranks, kind) = (self.plan.context, self.context_kind());
        let usual = || self.attending().map(|mixer| self.keys(mixer)).fold(ranks, greatest_common_divisor);
        let heads = match kind {
            ContextKind::Usp => self.plan.context_heads.unwrap_or_else(usual).max(1),
            _ => 1,
        };
        ContextMesh::new(kind, ranks, heads)
    }

    /// The mixers of its layers that are attention.
    pub(super) fn attending(&self) -> impl Iterator<Item = Mixer> {
        let of_layers = |mixer: &Mixer| self.model.kinds().any(|(kind, _)| kind.mixer == *mixer);
        [Mixer::Attention, Mixer::Window].into_iter().filter(of_layers)
    }

    /// Heads of keys that a tensor rank has in layers with a mixer; of latent attention as many as of queries.
    pub(super) fn keys(&self, mixer: Mixer) -> u32 {
        let heads = self.model.heads(mixer);
        let keys = if self.model.latent.is_some() { heads.queries } else { heads.keys };
        (keys / self.plan.tensor.max(1)).max(1)
    }

    /// Heads of keys of a tensor rank, repeated ones among them, that so many ranks exchange.
    pub(crate) fn exchanged_keys(&self, mixer: Mixer, ranks: u32) -> u32 {
        let (queries, keys) = (self.model.heads(mixer).queries / self.plan.tensor.max(1), self.keys(mixer));
        if self.stack.repeats_keys { queries } else { keys.max(ranks) }
    }
}

/// What a program lacks of a job's context parallelism, by the windows of its layers and by its heads.
pub(super) fn lack(scenario: &Scenario, runs: &Runs) -> Option<Lack> {
    if scenario.plan.context == 1 {
        return None;
    }
    let kind = scenario.context_kind();
    let lacking = runs.window_kinds.as_ref().filter(|kinds| scenario.model.window.is_some() && !kinds.contains(&kind));
    if let Some(kinds) = lacking {
        let what = format!("context parallelism of kind {kind} in layers with a window").into();
        return Some(Lack { what, known: listed(Some(kinds)) });
    }
    let heads = scenario.context_mesh().heads;
    let few = |mixer: Mixer| scenario.keys(mixer) < heads;
    let repeats = runs.has(Feature::RepeatedKeys) || scenario.stack.repeats_keys;
    scenario.attending().find(|mixer| !repeats && few(*mixer)).map(|mixer| {
        let what = format!("keys repeated for {heads} ranks that have {} key heads", scenario.keys(mixer)).into();
        Lack { what, known: format!("groups of {} ranks", scenario.keys(mixer)) }
    })
}
