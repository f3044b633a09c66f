//! Means that make room for a longer context, and that no search over plans tries unasked. Not for what it tries anyway:
//! meshes, recompute, shards.

use crate::plan::{ContextKind, LossChunk, LossKind};
use crate::scenario::{Edit, Field, Scenario, Value};
use crate::search::plans::{PlanSearch, SearchSpace};

/// Tokens of a chunk of the loss, where a stack's own chunks grow with the sequence: 1,024 of 128,256 logits of 14 bytes are
/// 1.8 GB.
const CHUNK: u32 = 1024;

/// Tiles of an MLP: of 64, what lies between its matrices is less than what lies around them.
const TILES: u32 = 64;

/// Changes of a job that are made together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RoomMeans {
    pub edits: Vec<Edit>,
}

impl RoomMeans {
    fn with(&self, more: &[Edit]) -> Self {
        Self { edits: self.edits.iter().chain(more).cloned().collect() }
    }

    /// Whether they change a field.
    pub fn change(&self, field: Field) -> bool {
        self.edits.iter().any(|edit| edit.field == field)
    }

    /// The same without what they change of a field; chunks go with the loss that they are of.
    pub fn without(&self, field: Field) -> Self {
        let goes = |edit: &&Edit| edit.field == field || field == Field::Loss && edit.field == Field::LossChunk;
        Self { edits: self.edits.iter().filter(|edit| !goes(edit)).cloned().collect() }
    }

    /// All that a search may try, the fewest changes first: those without more on the host, and those with it.
    pub fn all(search: &PlanSearch) -> [Vec<Self>; 2] {
        let PlanSearch { base, space, .. } = search;
        let mut found = vec![Self::default()];
        for choices in [kinds(base, space), losses(base, space)] {
            let more: Vec<Self> = choices.iter().flat_map(|edits| found.iter().map(|own| own.with(edits))).collect();
            found.extend(more);
        }
        let tiled: Vec<Self> =
            tiles(base, space).iter().flat_map(|edits| last(&found).map(|own| own.with(edits))).collect();
        found.extend(tiled);
        let offloads = space.offloading(base).into_iter().flat_map(|space| offloads(&space));
        let on_host: Vec<Self> =
            offloads.flat_map(|edit| last(&found).map(move |own| own.with(std::slice::from_ref(&edit)))).collect();
        let mut both = [found, on_host];
        for means in &mut both {
            means.sort_by_key(|means| means.edits.len());
        }
        both
    }
}

/// Whether nobody has said a field or given it values.
fn is_open(field: Field, base: &Scenario, space: &SearchSpace) -> bool {
    let said = space.is_fixed(field) || space.is_free(field);
    !said && field.value(base).as_ref().is_none_or(|own| Some(own) == field.usual())
}

/// Kinds of context parallelism beside the job's own. A plain ring has the transfers and the memory of a balanced one, and is
/// never faster.
fn kinds(base: &Scenario, space: &SearchSpace) -> Vec<Vec<Edit>> {
    if !is_open(Field::ContextKind, base, space) || space.contexts(base).iter().all(|ranks| *ranks == 1) {
        return Vec::new();
    }
    let runs = space.runs(base);
    let of_windows = runs.and_then(|runs| runs.window_kinds.as_ref()).filter(|_| base.model.window.is_some());
    let has = |kind: &ContextKind| {
        !matches!(kind, ContextKind::Stack | ContextKind::Ring)
            && *kind != base.context_kind()
            && runs.is_none_or(|runs| runs.shares_context(*kind))
            && of_windows.is_none_or(|kinds| kinds.contains(kind))
    };
    ContextKind::ALL.iter().filter(|kind| has(kind)).map(|kind| vec![Edit::new(Field::ContextKind, *kind)]).collect()
}

/// Losses beside the job's own that hold fewer logits at once.
fn losses(base: &Scenario, space: &SearchSpace) -> Vec<Vec<Edit>> {
    if base.model.vocab == 0 || !is_open(Field::Loss, base, space) {
        return Vec::new();
    }
    let (runs, own) = (space.runs(base), base.loss());
    let has = |kind: LossKind| kind != own && runs.is_none_or(|runs| runs.computes(kind));
    let of = |kind: LossKind| vec![Edit::new(Field::Loss, kind)];
    let mut found: Vec<Vec<Edit>> =
        [LossKind::Fused, LossKind::Chunked].into_iter().filter(|kind| has(*kind)).map(of).collect();
    let grows = !matches!(base.stack.loss_chunk, Some(LossChunk::Tokens(_)));
    if grows && is_open(Field::LossChunk, base, space) {
        let chunk = Edit::new(Field::LossChunk, CHUNK);
        if own == LossKind::Chunked {
            found.push(vec![chunk]);
        } else if has(LossKind::Chunked) {
            found.push([of(LossKind::Chunked), vec![chunk]].concat());
        }
    }
    found
}

/// An MLP in tiles.
fn tiles(base: &Scenario, space: &SearchSpace) -> Vec<Vec<Edit>> {
    let has = base.model.kinds().any(|(kind, _)| kind.has_mlp() && !kind.has_experts());
    if !has || !is_open(Field::MlpTiles, base, space) {
        return Vec::new();
    }
    vec![vec![Edit::new(Field::MlpTiles, TILES)]]
}

/// The means beside which others are tried that compute more: those that have a loss of few logits, where any has.
fn last(found: &[RoomMeans]) -> impl Iterator<Item = &RoomMeans> {
    let most = |field: Field| found.iter().any(|means| means.change(field));
    let (loss, chunk) = (most(Field::Loss), most(Field::LossChunk));
    found.iter().filter(move |means| (means.change(Field::Loss) || !loss) && (means.change(Field::LossChunk) || !chunk))
}

/// What a space that offloads puts on the host.
fn offloads(space: &SearchSpace) -> Vec<Edit> {
    let values = space.given_values(Field::Offload).unwrap_or_default();
    values.iter().map(|value: &Value| Edit { field: Field::Offload, value: value.clone() }).collect()
}
