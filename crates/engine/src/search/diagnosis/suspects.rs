//! Suspects: settings that a run may have had other than its scenario says. They are fields of the plan, as advice
//! changes them, and settings of the software and the machine that no field holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hardware::Cluster;
use crate::plan::{Format, Precision, Recompute, Size};
use crate::presets::Kind;
use crate::scenario::field::Resolved;
use crate::scenario::{Edit, Field, Value};
use crate::search::advice::Adviser;
use crate::search::candidate::Candidate;
use crate::stack::{Attention, Overlap, Stack};

use super::{CauseKind, Change, Hypothesis};

/// Kernels of attention, and their words.
const KERNELS: [(Attention, &str); 5] = [
    (Attention::Plain, "plain"),
    (Attention::FusedSoftmax, "fused-softmax"),
    (Attention::Flash1, "flash1"),
    (Attention::Flash2, "flash2"),
    (Attention::Flash3, "flash3"),
];

/// Overlaps of communication with compute, and their words.
const OVERLAPS: [(Overlap, &str); 4] = [
    (Overlap::None, "none"),
    (Overlap::Reductions, "reductions"),
    (Overlap::OneStream, "one-stream"),
    (Overlap::Independent, "independent"),
];

/// A setting or a rate that may have been another, and the scenario with it.
pub(super) struct Suspect {
    pub kind: CauseKind,
    pub changes: Vec<Change>,
    pub candidate: Candidate,
}

/// Single changes: of fields, of the software, of the machine.
pub(super) fn singles(adviser: &Adviser) -> Vec<Suspect> {
    let fields = adviser.nearest(|spec| spec.suspected).into_iter().filter(|one| !is_odd(one));
    let mut found: Vec<Suspect> = fields.map(of_fields).collect();
    found.extend(software(adviser));
    found.extend(ports(adviser));
    found.extend(spread(adviser));
    found
}

/// Pairs of settings that change different fields.
pub(super) fn pairs(adviser: &Adviser, singles: &[&Hypothesis]) -> Vec<Suspect> {
    let later = |(index, one)| singles[index + 1..].iter().map(move |other: &&Hypothesis| (one, *other));
    let both = |(one, other): (&Hypothesis, &Hypothesis)| {
        let (edits, more) = (&one.candidate.edits, &other.candidate.edits);
        let apart = edits.iter().all(|edit| more.iter().all(|another| another.field != edit.field));
        let candidate = apart.then(|| adviser.candidate([&edits[..], more].concat())).flatten()?;
        let changes = [&one.changes[..], &other.changes].concat();
        Some(Suspect { kind: CauseKind::Setting, changes, candidate })
    };
    singles.iter().copied().enumerate().flat_map(later).filter_map(both).collect()
}

/// Whether a value is one that nobody sets by mistake, or one of several alike: `fp8` stands for all its recipes.
fn is_odd(candidate: &Candidate) -> bool {
    let recipe = |value: &Value| value.get().is_some_and(|one: Precision| one.is_low() && one != Precision::Fp8);
    let odd = |value: &Value| matches!(value, Value::Recompute(Recompute::Share(_))) || recipe(value);
    candidate.edits.iter().any(|edit| odd(&edit.value))
}

/// A change of fields, by their flags.
fn of_fields(candidate: Candidate) -> Suspect {
    let change = |edit: &Edit| Change::new(edit.field.spec().flag, edit.field.spec().takes.show(&edit.value));
    let changes = candidate.edits.iter().map(change).collect();
    Suspect { kind: CauseKind::Setting, changes, candidate }
}

/// Settings of the software that no field holds. The table of fields has the suspected values of each field.
fn software<'a>(adviser: &'a Adviser) -> impl Iterator<Item = Suspect> + use<'a> {
    let own = &adviser.scenario.stack;
    let kernel = adviser.scenario.attention();
    let precision = adviser.scenario.plan.precision;
    let kernels = KERNELS.into_iter().filter(move |(other, _)| *other != kernel).map(|(other, word)| {
        let changed = Stack { attention: other, attention_on: BTreeMap::new(), ..Stack::clone(own) };
        ("attention", word, changed)
    });
    let overlaps = OVERLAPS.into_iter().filter(|(other, _)| *other != own.overlap);
    let overlaps =
        overlaps.map(|(overlap, word)| ("communication overlap", word, Stack { overlap, ..Stack::clone(own) }));
    let format = adviser.scenario.reduction_format(adviser.scenario.plan.sharding.wire.gradients);
    let reductions = [(Format::Fp32, "fp32"), (Format::Bf16, "bf16")].into_iter().map(|(format, word)| {
        let format = Some(format);
        ("reduce format", word, Stack { reduce_format: format, reduce_format_of_bf16: None, ..Stack::clone(own) })
    });
    let reductions = reductions.filter(move |(.., other)| other.reduce_format != Some(format));
    let gradients = match own.gradient_format {
        Some(_) => {
            ("gradient format", precision.storage().word(), Stack { gradient_format: None, ..Stack::clone(own) })
        }
        None => ("gradient format", "fp32", Stack { gradient_format: Some(Format::Fp32), ..Stack::clone(own) }),
    };
    let during = !own.reduce_during_backward;
    let word = if during { "during backward" } else { "after backward" };
    let reduced = ("gradients reduced", word, Stack { reduce_during_backward: during, ..Stack::clone(own) });
    let all = kernels.chain(overlaps).chain(reductions).chain([gradients, reduced]);
    all.filter_map(|(change, value, stack)| {
        let id = adviser.library.new_id(Kind::Stack, &format!("{}-{change}-{value}", stack.id));
        let stack = Resolved::Stack(Arc::new(Stack { id, ..stack }), Arc::clone(&adviser.scenario.calibration));
        let edits = vec![Edit { field: Field::Stack, value: Value::Preset(stack) }];
        let candidate = adviser.candidate(edits)?;
        Some(Suspect { kind: CauseKind::Setting, changes: vec![Change::new(change, value)], candidate })
    })
}

/// Fewer network ports of a node in use: one of eight, where the library finds no other.
fn ports(adviser: &Adviser) -> Vec<Suspect> {
    let cluster = &adviser.scenario.cluster;
    let Some((at, level)) = cluster.levels.iter().enumerate().next_back() else { return Vec::new() };
    let Some(injection) = level.injection else { return Vec::new() };
    let ports = (injection / level.bandwidth).round() as u32;
    let fewer = std::iter::successors(Some(ports / 2), |ports| Some(ports / 2)).take_while(|fewer| *fewer > 0);
    let suspect = |fewer: u32| {
        let share = f64::from(fewer) / f64::from(ports);
        let mut cluster = Cluster::clone(cluster);
        let level = &mut cluster.levels[at];
        level.injection = level.injection.map(|all| all * share);
        if let Some(measured) = &mut level.measured {
            measured.bandwidth = measured.bandwidth * share;
        }
        on_machine(adviser, "network ports of a node", format!("{fewer} of {ports}"), cluster, Vec::new())
    };
    fewer.filter_map(suspect).collect()
}

/// As many devices on more nodes: each node has more devices than are used.
fn spread(adviser: &Adviser) -> Vec<Suspect> {
    let scenario = adviser.scenario;
    let Some(node) = scenario.cluster.level("node") else { return Vec::new() };
    let members = scenario.cluster.levels[node].members.unwrap_or(1);
    let halves = std::iter::successors(Some(members), |now| now.is_multiple_of(2).then_some(now / 2)).skip(1);
    let has_links = !scenario.cluster.levels[node].links.is_empty();
    let suspect = |fewer: u32| {
        let mut cluster = Cluster::clone(&scenario.cluster);
        cluster.levels[node].members = Some(fewer);
        cluster.nodes = None;
        let used = cluster.devices_per_node();
        let size = match scenario.plan.size {
            Size::Nodes(nodes) => vec![Edit::new(Field::Nodes, nodes * (members / fewer))],
            Size::Devices(_) => Vec::new(),
        };
        let of = scenario.cluster.devices_per_node();
        on_machine(adviser, "devices used of a node", format!("{used} of {of}"), cluster, size)
    };
    // A map of links describes whole nodes only.
    halves.filter(|_| !has_links).filter_map(suspect).collect()
}

/// The scenario on a changed machine.
fn on_machine(
    adviser: &Adviser,
    change: &str,
    value: String,
    mut cluster: Cluster,
    mut edits: Vec<Edit>,
) -> Option<Suspect> {
    edits.insert(0, machine(adviser, change, &value, &mut cluster));
    let candidate = adviser.candidate(edits)?;
    Some(Suspect { kind: CauseKind::Setting, changes: vec![Change::new(change, value)], candidate })
}

/// The edit that puts the scenario on a changed machine, which gets an id of its own.
pub(super) fn machine(adviser: &Adviser, change: &str, value: &str, cluster: &mut Cluster) -> Edit {
    cluster.id = adviser.library.new_id(Kind::Cluster, &format!("{}-{change}-{value}", cluster.id));
    let resolved = Resolved::Cluster(Arc::new(cluster.clone()), adviser.scenario.plan.precision);
    Edit { field: Field::Cluster, value: Value::Preset(resolved) }
}
