//! The constants of a calibration that a fit may move: names, bounds and meanings, and setting them from
//! a plain vector. Everything else in a calibration is measured or published.

use crate::units::{BytesPerSecond, Seconds};

use super::{Calibration, Efficiency, Runtime, Software};

/// A constant that a fit may move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: &'static str,
    /// Unit of the values here; nothing where it is a plain number.
    pub unit: &'static str,
    /// Least value.
    pub low: f64,
    /// What stands for it where no row tells: published, or that the mechanism costs nothing beside the rest.
    pub usual: f64,
    /// Greatest value.
    pub high: f64,
    /// What it stands for.
    pub meaning: &'static str,
    /// Its fields in the calibration, divided by spaces; a name that ends in `*` stands for all that begin like it.
    pub path: &'static str,
}

macro_rules! constants {
    ($($name:literal [$low:literal, $usual:literal, $high:literal] $unit:literal $path:literal, $meaning:literal;)+) => {
        /// All of them.
        pub const CONSTANTS: &[Constant] = &[$(Constant {
            name: $name,
            unit: $unit,
            low: $low,
            usual: $usual,
            high: $high,
            meaning: $meaning,
            path: $path,
        }),+];
    };
}

constants! {
    "matmul-ampere" [0.6, 0.8, 1.0] "" "architectures.ampere.matmul", "large matrix products on the A100, share of the peak";
    "matmul-hopper" [0.45, 0.7, 0.95] "" "architectures.hopper.matmul", "large matrix products on the H100, share of the peak";
    "matmul-fp8" [0.3, 0.7, 0.9] "" "architectures.hopper.matmul_fp8", "the same in fp8, casts included";
    "wave" [0.0, 0.8, 1.0] "" "architectures.ampere.wave architectures.hopper.wave", "share of tile and wave quantisation that shows";
    "misalignment" [0.0, 0.1, 0.5] "" "architectures.ampere.misalignment architectures.hopper.misalignment", "growth per power of two below 64 in a product's width or depth";
    "flash1-ampere" [0.1, 0.5, 0.72] "" "architectures.ampere.attention_flash.0", "flash attention 1 on the A100, forward, share of the peak";
    "flash2-ampere" [0.15, 0.65, 0.8] "" "architectures.ampere.attention_flash.1", "flash attention 2 on the A100";
    "flash2-hopper" [0.1, 0.4, 0.8] "" "architectures.hopper.attention_flash.1", "flash attention 2 on the H100";
    "flash3-hopper" [0.1, 0.6, 0.9] "" "architectures.hopper.attention_flash.2", "cuDNN's attention on the H100";
    "flash-backward" [0.5, 0.75, 1.0] "" "architectures.ampere.attention_backward architectures.hopper.attention_backward", "flash attention's rate in backward over that in forward";
    "flash-half-sequence" [0.0, 1000.0, 3000.0] "" "architectures.ampere.attention_half_sequence architectures.hopper.attention_half_sequence", "sequence at which flash attention reaches half its rate";
    "plain-misaligned" [1.0, 5.0, 30.0] "" "architectures.ampere.attention_misaligned architectures.hopper.attention_misaligned", "their slow-down where heads are no multiple of 8";
    "plain-score-bytes" [4.0, 20.0, 100.0] "B" "architectures.ampere.attention_score_bytes architectures.hopper.attention_score_bytes", "bytes per score of plain attention, unfused";
    "element-wise-fused" [0.0, 0.7, 3.0] "" "element_wise.fused", "element-wise traffic of Megatron's fused kernels";
    "element-wise-eager" [0.0, 1.0, 4.0] "" "element_wise.eager", "the same of eager PyTorch with fused norms";
    "element-wise-eager-2022" [0.2, 1.5, 5.0] "" "element_wise.eager-2022", "the same of PyTorch 1 with norms and loss in fp32";
    "element-wise-unfused" [0.3, 1.5, 6.0] "" "element_wise.unfused", "the same of eager Llama blocks: RMSNorm, rotary and SwiGLU unfused";
    "element-wise-compiled" [0.0, 0.5, 3.0] "" "element_wise.compiled", "the same under torch.compile";
    "element-wise-te" [0.1, 1.0, 4.0] "" "element_wise.transformer-engine", "the same of TransformerEngine and XLA, casts to fp8 included";
    "loss-torch" [4.0, 30.0, 100.0] "B" "loss.torch", "bytes per logit moved by PyTorch's loss";
    "loss-vocab-parallel" [4.0, 40.0, 150.0] "B" "loss.vocab-parallel", "the same of Megatron's loss, split over the vocabulary";
    "micro-batch" [0.0, 0.001, 0.02] "s" "software.micro_batch", "fixed seconds per micro-batch";
    "host-exponent" [1.5, 3.0, 12.0] "" "software.host_exponent", "exponent of the soft maximum of host and device";
    "stragglers" [0.0, 0.01, 0.1] "" "software.stragglers", "growth of compute per doubling of the nodes";
    "host-megatron" [0.0, 0.0005, 0.001] "s" "runtimes.megatron.layer", "host seconds per layer of Megatron";
    "host-fsdp" [0.0, 0.001, 0.004] "s" "runtimes.fsdp.layer", "host seconds per layer of FSDP with nested Python modules";
    "contention-fsdp" [0.0, 0.3, 1.0] "" "runtimes.fsdp*.contention", "share of the shorter of compute and communication that FSDP does not hide";
    "contention-overlapped" [0.0, 0.3, 1.0] "" "runtimes.overlapped.contention", "the same of Megatron and XLA with overlap switched on";
    "host-megatron-deepspeed-2023" [0.0, 0.0005, 0.003] "s" "runtimes.megatron-deepspeed-2023.layer", "host seconds per layer of Megatron-DeepSpeed";
    "tensor-collective-2022" [0.0, 0.0, 0.005] "s" "runtimes.megatron-deepspeed-2022.tensor_collective", "seconds that each tensor collective takes beside the wire's on Jean Zay";
    "wire-loss-deepspeed-2022" [0.0, 0.09, 0.5] "" "runtimes.deepspeed-2022.wire_loss", "growth per doubling of the nodes of what the wire between them takes under DeepSpeed's ZeRO-3 (0.09: reduce-scatter on 4 to 128 nodes, NVIDIA/nccl issue 1229)";
    "step-internevo" [0.0, 0.0, 2.0] "s" "runtimes.internevo.step", "seconds of InternEvo's step beside what is modelled";
    "step-per-shard-internevo" [0.0, 0.0, 0.01] "s" "runtimes.internevo.step_per_shard", "seconds of its broadcast from each rank that shares the optimizer's state";
    "logits-torch" [2.0, 14.0, 20.0] "B" "logits_held.torch", "bytes held per logit by PyTorch's loss: in bf16, in fp32, as logarithms, and their gradient";
    "logits-vocab-parallel" [2.0, 10.0, 20.0] "B" "logits_held.vocab-parallel", "the same of Megatron's loss: in bf16, in fp32, and less their maximum";
    "latency-between" [0.5, 2.0, 6.0] "" "architectures.ampere.latency_between architectures.hopper.latency_between", "factor on the latency of hops between nodes";
}

/// A field that a path leads to.
enum Slot<'a> {
    Number(&'a mut f64),
    Time(&'a mut Seconds),
    Rate(&'a mut BytesPerSecond),
}

impl Slot<'_> {
    fn get(&self) -> f64 {
        match self {
            Self::Number(number) => **number,
            Self::Time(time) => time.get(),
            Self::Rate(rate) => rate.get(),
        }
    }

    fn set(self, value: f64) {
        match self {
            Self::Number(number) => *number = value,
            Self::Time(time) => *time = Seconds::new(value),
            Self::Rate(rate) => *rate = BytesPerSecond::new(value),
        }
    }
}

impl Calibration {
    /// The value of a constant; `None` where the calibration lacks its field.
    pub fn get(&self, name: &str) -> Option<f64> {
        let constant = CONSTANTS.iter().find(|constant| constant.name == name)?;
        let mut value = None;
        self.clone().visit(constant, &mut |slot| value = value.or(Some(slot.get())));
        value
    }

    /// Sets a constant, inside its bounds; whether the calibration has it.
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        let Some(constant) = CONSTANTS.iter().find(|constant| constant.name == name) else { return false };
        let mut found = false;
        self.visit(constant, &mut |slot| {
            found = true;
            slot.set(value.clamp(constant.low, constant.high));
        });
        found
    }

    /// Hands over the fields of a constant.
    fn visit(&mut self, constant: &Constant, see: &mut impl FnMut(Slot<'_>)) {
        constant.path.split(' ').for_each(|path| self.follow(path, see));
    }

    /// Hands over the fields that a path leads to.
    fn follow(&mut self, path: &str, see: &mut impl FnMut(Slot<'_>)) {
        let words: Vec<&str> = path.split('.').collect();
        match words[..] {
            ["software", field] => self.software.field(field).into_iter().for_each(see),
            ["element_wise", name] => self.element_wise.get_mut(name).map(Slot::Number).into_iter().for_each(see),
            ["loss", name] => self.loss.get_mut(name).map(Slot::Number).into_iter().for_each(see),
            ["logits_held", name] => self.logits_held.get_mut(name).map(Slot::Number).into_iter().for_each(see),
            ["runtimes", pattern, field] => {
                let found = self.runtimes.iter_mut().filter(|(name, _)| matches(pattern, name));
                found.filter_map(|(_, runtime)| runtime.field(field)).for_each(see);
            }
            ["architectures", pattern, ref field @ ..] => {
                let found = self.architectures.iter_mut().filter(|(name, _)| matches(pattern, name));
                found.filter_map(|(_, efficiency)| efficiency.field(field)).for_each(see);
            }
            _ => {}
        }
    }
}

/// Whether a name is the pattern, or begins like one that ends in `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

impl Software {
    fn field(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "host_exponent" => Slot::Number(&mut self.host_exponent),
            "micro_batch" => Slot::Time(&mut self.micro_batch),
            "stragglers" => Slot::Number(&mut self.stragglers),
            _ => return None,
        })
    }
}

impl Runtime {
    fn field(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "layer" => Slot::Time(&mut self.layer),
            "contention" => Slot::Number(&mut self.contention),
            "tensor_collective" => Slot::Time(&mut self.tensor_collective),
            "step" => Slot::Time(&mut self.step),
            "step_per_shard" => Slot::Time(&mut self.step_per_shard),
            "wire_loss" => Slot::Number(&mut self.wire_loss),
            "most_received" => Slot::Rate(self.most_received.as_mut()?),
            _ => return None,
        })
    }
}

impl Efficiency {
    fn field(&mut self, path: &[&str]) -> Option<Slot<'_>> {
        Some(Slot::Number(match path {
            ["matmul"] => &mut self.matmul,
            ["matmul_fp8"] => &mut self.matmul_fp8,
            ["wave"] => &mut self.wave,
            ["misalignment"] => &mut self.misalignment,
            ["attention_misaligned"] => &mut self.attention_misaligned,
            ["attention_score_bytes"] => &mut self.attention_score_bytes,
            ["attention_flash", version] => self.attention_flash.get_mut(version.parse::<usize>().ok()?)?,
            ["attention_backward"] => &mut self.attention_backward,
            ["attention_half_sequence"] => &mut self.attention_half_sequence,
            ["latency_between"] => &mut self.latency_between,
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Library;

    /// What a constant of one program stands for: runtimes and element-wise traffic have names that stacks give.
    #[test]
    fn a_stack_owns_at_most_two_constants() {
        let library = Library::embedded();
        let stacks: Vec<_> = library
            .entries(crate::presets::Kind::Stack)
            .map(|entry| library.stack(&entry.id).expect("it is embedded"))
            .collect();
        let uses = |stack: &crate::stack::Stack, path: &str| match path.split('.').collect::<Vec<_>>()[..] {
            ["runtimes", pattern, _] => matches(pattern, &stack.runtime),
            ["element_wise", name] => {
                stack.element_wise == name || stack.element_wise_compiled.as_deref() == Some(name)
            }
            ["loss" | "logits_held", name] => stack.loss == name || stack.loss_compiled.as_deref() == Some(name),
            _ => true,
        };
        let mut owned = std::collections::BTreeMap::<&str, Vec<&str>>::new();
        for constant in CONSTANTS {
            let users: Vec<&str> = stacks
                .iter()
                .filter(|stack| constant.path.split(' ').any(|path| uses(stack, path)))
                .map(|stack| stack.id.as_str())
                .collect();
            assert!(!users.is_empty(), "no stack uses {}", constant.name);
            if let [one] = users[..] {
                owned.entry(one).or_default().push(constant.name);
            }
        }
        assert!(owned.contains_key("internevo"), "{owned:?}");
        assert!(owned.values().all(|constants| constants.len() <= 2), "{owned:?}");
    }

    #[test]
    fn every_constant_is_found_inside_its_bounds_and_takes_a_value() {
        let mut calibration = (*Library::embedded().calibration("measured").expect("it is embedded")).clone();
        assert!(CONSTANTS.len() <= 40);
        for constant in CONSTANTS {
            let Constant { name, low, high, .. } = constant;
            let value = calibration.get(name).unwrap_or_else(|| panic!("{name} leads nowhere"));
            assert!((*low..=*high).contains(&value), "{name}: {value} is not in [{low}, {high}]");
            let middle = f64::midpoint(*low, *high);
            assert!(calibration.set(name, middle));
            assert_eq!(calibration.get(name), Some(middle), "{name}");
            calibration.set(name, high + 1.0);
            assert_eq!(calibration.get(name), Some(*high), "{name}");
        }
        assert_eq!((calibration.get("speed"), calibration.set("speed", 1.0)), (None, false));
        assert!(calibration.problems().is_empty(), "{:?}", calibration.problems());
    }
}
