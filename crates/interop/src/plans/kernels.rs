//! Kernels with which fine-tuning programs replace a model's: attention, and Liger's. [`super::loss`] has the switches
//! for the loss alone.

use shardscope_engine::plan::{AttentionKernel, LossKind};
use shardscope_engine::scenario::Field;

use super::draft::PlanDraft;
use super::settings::ToolSettings;
use super::table::{self, Codec, OFF};

/// Kernels that store the scores of all pairs of tokens; all others, the Hub's too, store none.
const KEEPS_SCORES: &[&str] = &["eager", "disabled", "math", "false"];

/// The attention kernel, under the names of several programs. The stack picks among kernels that store no scores.
pub(super) const ATTENTION: Codec = Codec::new(
    &[],
    |settings, draft| {
        for name in ["attn_implementation", "attn_impl", "flash_attn", "eager_attention"] {
            let Some(setting) = settings.take(name) else { continue };
            let is_eager = name == "eager_attention" && table::switched(&setting.text) == "true";
            let keeps = name != "eager_attention" && KEEPS_SCORES.contains(&setting.text.to_ascii_lowercase().as_str());
            if is_eager || keeps {
                draft.take(Field::AttentionKernel, AttentionKernel::Plain, &setting.place);
            } else {
                draft.report.ignore(&setting.place, format!("'{}' changes nothing", setting.text));
            }
        }
    },
    |_| Vec::new(),
);

/// Switches for all Liger kernels: the Trainer's, LLaMA-Factory's, and those of older TRL and ms-swift.
const LIGER: [&str; 3] = ["use_liger_kernel", "enable_liger_kernel", "use_liger"];

/// Prefix of the Trainer's switches for single kernels (`apply_liger_kernel` of transformers' `integrations/liger.py`).
const LIGER_KERNELS: &str = "liger_kernel_config.";

/// Reads the switch for a tiled MLP, and the number of tiles. Without a number, axolotl's tiles have as many tokens as
/// the model has channels (`src/axolotl/monkeypatch/tiled_mlp/patch.py`), and ms-swift takes four tiles
/// (`swift/plugin/tiled_mlp.py`, gone in 4.6).
pub(super) fn read_tiles(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let count = settings.take(TILES);
    for name in ["tiled_mlp", TILES_OF_SWIFT] {
        match (settings.take(name), &count) {
            (Some(switch), _) if OFF.contains(&switch.text.as_str()) => draft.report.ignore(&switch.place, "it is off"),
            (Some(_), Some(count)) => draft.read(Field::MlpTiles, &count.text, &count.place),
            (Some(switch), None) if name == TILES_OF_SWIFT => draft.take(Field::MlpTiles, 4_u32, &switch.place),
            (Some(switch), None) => draft.tiled = Some(switch.place),
            (None, _) => {}
        }
    }
}

/// Key for the number of tiles, and ms-swift's switch for them.
const TILES: &str = "tiled_mlp_num_shards";
const TILES_OF_SWIFT: &str = "use_tiled_mlp";

/// Reads Liger's kernels. The loss kernel is a field of the plan. Kernels of norms, activations and positions save
/// memory and time, which no stack of these tools knows: they stay with the plan as unknown settings.
pub(super) fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let on = |text: &str| !OFF.contains(&text);
    let whole = |name: &str| settings.text(&format!("{LIGER_KERNELS}{name}"));
    let fused = whole("fused_linear_cross_entropy").is_none_or(on);
    let single = whole("cross_entropy").is_some_and(on);
    for config in settings.take_all(&format!("{LIGER_KERNELS}*")) {
        draft.report.ignore(&config.place, "it says which of Liger's kernels are on");
    }
    for name in LIGER {
        let Some(setting) = settings.take(name) else { continue };
        if !on(&setting.text) {
            draft.report.ignore(&setting.place, "no kernel of Liger's is on");
            continue;
        }
        if fused {
            draft.take(Field::Loss, LossKind::Chunked, &setting.place);
        } else if single {
            draft.take(Field::Loss, LossKind::Fused, &setting.place);
        }
        draft.doubt(name, setting);
    }
    for name in KERNELS_BESIDE {
        match settings.take(name) {
            Some(setting) if on(&setting.text) => draft.doubt(name, setting),
            Some(setting) => draft.report.ignore(&setting.place, "it is off"),
            None => {}
        }
    }
}

/// axolotl's switches for kernels other than the loss: Liger's (src/axolotl/integrations/liger/args.py), and its own
/// for adapters (src/axolotl/kernels/lora.py).
const KERNELS_BESIDE: [&str; 10] = [
    "lora_mlp_kernel",
    "lora_qkv_kernel",
    "lora_o_kernel",
    "liger_rope",
    "liger_rms_norm",
    "liger_rms_norm_gated",
    "liger_layer_norm",
    "liger_glu_activation",
    "liger_swiglu",
    "liger_use_token_scaling",
];
