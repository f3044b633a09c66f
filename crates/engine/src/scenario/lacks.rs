//! Checks a scenario's plan against the plans that its stack can run. Not for plans that no program can run
//! ([`Scenario::checked`]).

use std::borrow::Cow;

use crate::plan::{Compile, Extent, Extents};
use crate::stack::{Feature, LevelRanks, Runs, listed};

use super::check::combined;
use super::field::Lack;
use super::{Checked, Field, Layout, Problem, Scenario, context};

/// The fix where the stack lists no values to choose from.
const FIX: &str = "choose another, or a stack that has it";

impl Scenario {
    /// Each part of the plan that the stack lacks; none where the stack does not say what it can run, or where the plan
    /// cannot be laid out at all.
    pub fn lacks(&self) -> Vec<Problem> {
        let runs = self.stack.runs.as_ref().map(|runs| self.lacks_of(&self.stack.name, runs)).unwrap_or_default();
        let eager = (self.plan.compile != Compile::Off && !self.is_compiled()).then(|| {
            let what =
                format!("{} has no kernels of torch.compile that are known, and is timed without", self.stack.name);
            Problem::new(Field::Compile.path(), what, "choose off, or a stack with `element_wise_compiled`")
        });
        runs.into_iter().chain(eager).collect()
    }

    /// Each part of the plan that a program of this name lacks.
    pub fn lacks_of(&self, name: &str, runs: &Runs) -> Vec<Problem> {
        self.checked().map_or_else(|_| Vec::new(), |job| job.lacks_of(name, runs).map(|(_, problem)| problem).collect())
    }

    /// Whether the stack lacks a field of this plan that the other scenario does not lack. A field that the other one
    /// lacks already is its owner's choice.
    pub(crate) fn lacks_more_than(&self, other: &Self) -> bool {
        let lacks = self.lacks();
        let known = if lacks.is_empty() { Vec::new() } else { other.lacks() };
        lacks.iter().any(|lack| known.iter().all(|known| known.field != lack.field))
    }

    /// Whether a program can shard the state as a layout does.
    pub(crate) fn runs_shards(&self, runs: &Runs, layout: &Layout) -> bool {
        let Layout { weights, gradients, optimizer, context, .. } = *layout;
        let counts = [weights, gradients, optimizer];
        let group = layout.group();
        let level = |extent: &Extent| super::layout::ranks(self, extent, group).unwrap_or(1);
        let levels = LevelRanks { innermost: level(&Extent::Innermost), node: level(&Extent::Node), system: group };
        let known = runs.shard_patterns(layout.pipeline > 1);
        let held = runs.shards_hold_context != Some(true) || optimizer.is_multiple_of(context);
        held && known.is_none_or(|known| known.iter().any(|pattern| pattern.takes(counts, levels)))
    }
}

impl Checked<'_> {
    /// Each part of the plan that a program of this name lacks, and the field that says it. Nothing is put into words before
    /// it is asked for.
    pub fn lacks_of<'a>(&'a self, name: &'a str, runs: &'a Runs) -> impl Iterator<Item = (Field, Problem)> + 'a {
        let of_fields = Field::all().filter_map(|field| Some((field, field.lack(self, runs)?)));
        let of_drives = || lack_of_drives(self, runs).map(|lack| (Field::Offload, lack));
        let of_placements = || lacks_of_placements(self, runs).into_iter().map(|lack| (Field::Strategy, lack));
        let of_context = || context::lack(self, runs).map(|lack| (Field::ContextKind, lack));
        let later =
            std::iter::once(()).flat_map(move |()| of_drives().into_iter().chain(of_context()).chain(of_placements()));
        let lacks = of_fields.chain(later).map(move |(field, Lack { what, known })| {
            let fix = if known.is_empty() { FIX.to_owned() } else { format!("it has {known}") };
            (field, Problem::new(field.path(), format!("{name} has no {what}"), fix))
        });
        lacks.chain(combined::refused(&self.plan, name, runs).map(|problem| (Field::ExpertOverlap, problem)))
    }
}

impl Field {
    /// Whether a program lacks the value that a job has of this field, whatever the job's other fields say.
    pub fn is_lacked(self, job: &Checked<'_>, runs: &Runs) -> bool {
        self.is_needed_alone() && self.lack(job, runs).is_some()
    }
}

/// Lower stages take the drives for the memory of the host (`deepspeed/runtime/zero/stage_1_and_2.py`, `cpu_offload`).
fn lack_of_drives(job: &Checked<'_>, runs: &Runs) -> Option<Lack> {
    let offload = job.plan.offload;
    (offload.on_drives() && job.layout().weights == 1).then(|| {
        let what = format!("offload of {offload} below ZeRO's stage 3").into();
        Lack { what, known: listed(runs.offload.as_ref()) }
    })
}

/// What a program lacks of where the state of all operators lies, and of each.
fn lacks_of_placements(job: &Checked<'_>, runs: &Runs) -> Vec<Lack> {
    let (layout, operators) = (job.layout(), &job.plan.operators);
    let known = runs.shard_patterns(layout.pipeline > 1).unwrap_or_default();
    let known = || known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let lack = |what: Cow<'static, str>| Lack { what, known: known() };
    let mut found = Vec::new();
    if !runs.has(Feature::Operators) && operators.iter().any(|placement| placement.extents != Extents::default()) {
        found.push(lack("shards for each operator".into()));
    }
    if !runs.has(Feature::Slices) && operators.iter().any(|placement| placement.split > 1) {
        found.push(lack("slices of an operator".into()));
    }
    let placed = operators.iter().map(|placement| layout.placed(job, &placement.extents));
    let unknown = std::iter::once(*layout).chain(placed).find(|layout| !job.runs_shards(runs, layout));
    found.extend(unknown.map(|layout| lack(shards(runs, &layout).into())));
    found
}

/// `shards of weights/gradients/optimizer over 1/1/24 ranks`.
fn shards(runs: &Runs, layout: &Layout) -> String {
    let Layout { weights, gradients, optimizer, context, pipeline, .. } = *layout;
    let over = format!("shards of weights/gradients/optimizer over {weights}/{gradients}/{optimizer} ranks");
    if runs.shards_hold_context == Some(true) && !optimizer.is_multiple_of(context) {
        return format!("{over}, less than its {context} context ranks");
    }
    let beside = if pipeline > 1 && runs.pipeline_shards.is_some() { " in a pipeline" } else { "" };
    format!("{over}{beside}")
}
