//! DeepSpeed's offload to the host and to drives, in both directions.

use shardscope_engine::plan::Offload;
use shardscope_engine::scenario::Field;

use super::super::asked::PlanQuery;
use super::super::deviation::Deviation;
use super::super::draft::PlanDraft;
use super::super::settings::{Setting, ToolSettings};
use super::super::table::{self, Codec, OFF, ToolKey, nothing, number, only};
use super::super::writer::{Line, PlanWriter};
use super::{DRIVES, stage};

/// Offload to the host or its drives. Only stage 3 offloads weights, or any state to drives; every stage that shards
/// the optimizer's state can offload it to the host.
pub(super) const OFFLOAD: Codec =
    Codec::new(&[Field::Offload, Field::OffloadRatio, Field::HostPinned], read_offload, write_offload).losing(&[
        Deviation::instead_of(
            Field::Offload,
            |asked, _| offloaded(asked) != asked.plan().offload,
            |asked, _| format!("stage {} offloads {} at most", stage(asked), offloaded(asked)),
        ),
        Deviation::instead(
            Field::OffloadRatio,
            |asked, _| {
                let divides = offloaded(asked).optimizer() && stage(asked) == 3;
                !divides && asked.value(Field::OffloadRatio).is_some()
            },
            "stage 3 alone divides the update between device and host",
        ),
        Deviation::unsaid(Field::HostPinned, |asked, _| {
            !offloaded(asked).optimizer() && asked.value(Field::HostPinned).is_some()
        }),
    ]);

/// Keys beside the device of the optimizer's offload.
const OPTIMIZER_OFFLOAD: &[ToolKey] = &[
    number("ratio", Field::OffloadRatio),
    only("super_offload", OFF, "a plan updates on the host after the backward pass"),
    only("pipeline_read", OFF, "a plan reads a part of the state, updates it and writes it before the next"),
    only("pipeline_write", OFF, "a plan reads a part of the state, updates it and writes it before the next"),
    nothing("nvme_path", DRIVES),
    nothing("*", "the stack says how host copies run"),
];

/// Keys beside the device of the weights' offload.
const WEIGHTS_OFFLOAD: &[ToolKey] = &[
    nothing("ratio", "it divides the optimizer alone"),
    nothing("nvme_path", DRIVES),
    nothing("*", "the stack says how host copies run"),
];

/// The place to which a part of the state is offloaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OffloadPlace {
    Device,
    Host,
    Drives,
}

pub(super) fn read_offload(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (mut places, mut pinned) = (Vec::new(), Vec::from_iter(settings.take(ALL_PINNED)));
    let mut to = |settings: &mut ToolSettings, [object, old]: [&str; 2], keys, draft: &mut PlanDraft| {
        let mut inside = settings.take_inside(object);
        let old = settings.take(old).filter(|old| old.text == "true");
        pinned.extend(inside.take(PINNED));
        let Some(device) = inside.take("device").or(old) else {
            table::read(keys, &mut inside, draft);
            return OffloadPlace::Device;
        };
        table::read(keys, &mut inside, draft);
        let place = match device.text.as_str() {
            "none" => return OffloadPlace::Device,
            "cpu" | "true" => OffloadPlace::Host,
            "nvme" => OffloadPlace::Drives,
            _ => {
                draft.cannot(&device, "is no place that a plan can offload to", "write cpu, nvme or none");
                return OffloadPlace::Device;
            }
        };
        places.push(device.place);
        place
    };
    let optimizer = ["zero_optimization.offload_optimizer", "zero_optimization.cpu_offload"];
    let optimizer = to(settings, optimizer, OPTIMIZER_OFFLOAD, draft);
    let weights = ["zero_optimization.offload_param", "zero_optimization.cpu_offload_params"];
    let weights = to(settings, weights, WEIGHTS_OFFLOAD, draft);
    let checkpoints = settings.take(CHECKPOINTS).filter(|it| it.text == "true");
    let offload = Offload::ALL.iter().copied().find(|offload| {
        let place = if offload.on_drives() { OffloadPlace::Drives } else { OffloadPlace::Host };
        let held = |there: bool| if there { place } else { OffloadPlace::Device };
        [held(offload.optimizer()), held(offload.state())] == [optimizer, weights]
            && offload.checkpoints() == checkpoints.is_some()
    });
    for Setting { text, place } in pinned {
        if places.is_empty() {
            draft.report.ignore(&place, "nothing of the state is offloaded");
        } else {
            draft.take(Field::HostPinned, text != "false", &place);
        }
    }
    if !places.is_empty() {
        draft.assume(
            Field::HostPinned,
            false,
            "no pin_memory is there, and it was off by default before DeepSpeed 0.19.6",
        );
    }
    let place = places.first().cloned().or(checkpoints.map(|it| it.place));
    let Some(offload) = offload else {
        let what = "a plan offloads the optimizer, or the whole state, to one place, or checkpoints, or all of them";
        return draft.refuse(&place.unwrap_or_default(), what, Field::Offload);
    };
    draft.take(Field::Offload, offload, &place.unwrap_or_else(|| format!("{}: no offload_optimizer", settings.file)));
}

fn write_offload(writer: &mut PlanWriter) -> Vec<Line> {
    let (possible, stage) = (offloaded(writer.asked), stage(writer.asked));
    let mut lines = Vec::new();
    if possible.optimizer() && stage == 3 {
        lines.extend(writer.line("zero_optimization.offload_optimizer.ratio", Field::OffloadRatio));
    }
    let device = if possible.on_drives() { "nvme" } else { "cpu" };
    for (_, object) in
        [(possible.optimizer(), "offload_optimizer"), (possible.state(), "offload_param")].iter().filter(|(on, _)| *on)
    {
        let name = |key: &str| format!("zero_optimization.{object}.{key}");
        lines.push(Line::new(&name("device"), device));
        lines.push(Line::new(&name(PINNED), writer.plan().host_pinned));
        lines.extend(possible.on_drives().then(|| Line::new(&name("nvme_path"), NVME_PATH)));
    }
    if possible.on_drives() {
        writer.elsewhere.push(format!("nvme_path {NVME_PATH}: where the nodes' drives are mounted"));
    }
    lines.extend(possible.checkpoints().then(|| Line::new(CHECKPOINTS, true)));
    lines
}

const CHECKPOINTS: &str = "activation_checkpointing.cpu_checkpointing";

/// The drives' path in DeepSpeed's own examples (docs/_pages/config-json.md).
const NVME_PATH: &str = "/local_nvme";

/// The part of a plan's offload that its stage supports.
fn offloaded(asked: &PlanQuery<'_>) -> Offload {
    let wanted = asked.plan().offload;
    match stage(asked) {
        0 if wanted.checkpoints() => Offload::Checkpoints,
        0 => Offload::None,
        1 | 2 if wanted.state() || wanted.on_drives() => Offload::Optimizer,
        _ => wanted,
    }
}

/// Key that page-locks one offload; `ALL_PINNED` is an older key for all.
const PINNED: &str = "pin_memory";

const ALL_PINNED: &str = "zero_optimization.cpu_offload_use_pin_memory";
