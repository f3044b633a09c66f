//! The constants of a calibration that a fit may move: names, bounds and meanings, and setting them from
//! a plain vector. Everything else in a calibration is measured or published.

use crate::units::Seconds;

use super::{Calibration, Efficiency, Runtime, Software};

/// A constant that a fit may move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: &'static str,
    /// Least value, in the base unit of its field (seconds for a time).
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// What it stands for.
    pub meaning: &'static str,
    /// Its field in the calibration; a name that ends in `*` stands for all that begin like it.
    pub path: &'static str,
}

macro_rules! constants {
    ($($name:literal [$low:literal, $high:literal] $path:literal, $meaning:literal;)+) => {
        /// All of them.
        pub const CONSTANTS: &[Constant] =
            &[$(Constant { name: $name, low: $low, high: $high, meaning: $meaning, path: $path }),+];
    };
}

constants! {
    "matmul-ampere" [0.6, 1.0] "architectures.ampere.matmul", "large matrix products on the A100, share of the peak";
    "matmul-hopper" [0.45, 0.95] "architectures.hopper.matmul", "large matrix products on the H100, share of the peak";
    "matmul-fp8" [0.3, 0.9] "architectures.hopper.matmul_fp8", "the same in fp8, casts included";
    "wave" [0.0, 1.0] "architectures.*.wave", "share of tile and wave quantisation that shows";
    "misalignment" [0.0, 0.5] "architectures.*.misalignment", "growth per power of two below 64 in a product's width or depth";
    "flash1-ampere" [0.1, 0.72] "architectures.ampere.attention_flash.0", "flash attention 1 on the A100, forward, share of the peak";
    "flash2-ampere" [0.15, 0.8] "architectures.ampere.attention_flash.1", "flash attention 2 on the A100";
    "flash2-hopper" [0.1, 0.8] "architectures.hopper.attention_flash.1", "flash attention 2 on the H100";
    "flash3-hopper" [0.1, 0.9] "architectures.hopper.attention_flash.2", "cuDNN's attention on the H100";
    "flash-half-sequence" [0.0, 3000.0] "architectures.*.attention_half_sequence", "sequence at which flash attention reaches half its rate";
    "plain-products" [0.1, 1.0] "architectures.*.attention_plain", "score and value products of plain attention, share of the peak";
    "plain-misaligned" [1.0, 30.0] "architectures.*.attention_misaligned", "their slow-down where heads are no multiple of 8";
    "plain-score-bytes" [4.0, 100.0] "architectures.*.attention_score_bytes", "bytes per score of plain attention, unfused";
    "element-wise-fused" [0.0, 3.0] "element_wise.fused", "element-wise traffic of Megatron's fused kernels";
    "element-wise-eager" [0.0, 4.0] "element_wise.eager", "the same of eager PyTorch with fused norms";
    "element-wise-eager-2022" [0.2, 5.0] "element_wise.eager-2022", "the same of PyTorch 1 with norms and loss in fp32";
    "element-wise-unfused" [0.3, 6.0] "element_wise.unfused", "the same of eager Llama blocks: RMSNorm, rotary and SwiGLU unfused";
    "element-wise-compiled" [0.0, 3.0] "element_wise.compiled", "the same under torch.compile";
    "element-wise-te" [0.1, 4.0] "element_wise.transformer-engine", "the same of TransformerEngine and XLA, casts to fp8 included";
    "loss-traffic" [4.0, 80.0] "software.loss_traffic", "bytes per logit moved by the loss";
    "micro-batch" [0.0, 0.02] "software.micro_batch", "fixed seconds per micro-batch";
    "host-exponent" [1.5, 12.0] "software.host_exponent", "exponent of the soft maximum of host and device";
    "stragglers" [0.0, 0.1] "software.stragglers", "growth of compute per doubling of the nodes";
    "optimizer-traffic" [0.3, 10.0] "software.optimizer_traffic", "optimizer traffic over its state's bytes, read and written once";
    "host-megatron" [0.0, 0.001] "runtimes.megatron.layer", "host seconds per layer of Megatron";
    "host-fsdp" [0.0, 0.004] "runtimes.fsdp.layer", "host seconds per layer of FSDP with nested Python modules";
    "contention-fsdp" [0.0, 1.0] "runtimes.fsdp*.contention", "share of the shorter of compute and communication that FSDP does not hide";
    "contention-overlapped" [0.0, 1.0] "runtimes.overlapped.contention", "the same of Megatron and XLA with overlap switched on";
    "host-megatron-deepspeed-2023" [0.0, 0.003] "runtimes.megatron-deepspeed-2023.layer", "host seconds per layer of Megatron-DeepSpeed";
    "tensor-collective-2022" [0.0, 0.005] "runtimes.megatron-deepspeed-2022.tensor_collective", "seconds that each tensor collective takes beside the wire's on Jean Zay";
    "wire-deepspeed-2022" [0.05, 2.0] "runtimes.deepspeed-2022.wire", "share of the wire that DeepSpeed's ZeRO-3 reaches";
    "wire-loss-deepspeed-2022" [0.0, 2.0] "runtimes.deepspeed-2022.wire_loss", "growth of its inverse per doubling of the nodes";
    "wire-deepspeed-2021" [0.02, 2.0] "runtimes.deepspeed-2021.wire", "the share that it reached a year earlier";
    "step-internevo" [0.0, 2.0] "runtimes.internevo.step", "seconds of InternEvo's step beside what is modelled";
    "step-per-shard-internevo" [0.0, 0.01] "runtimes.internevo.step_per_shard", "seconds of its broadcast from each rank that shares the optimizer's state";
    "latency-between" [0.5, 6.0] "architectures.*.latency_between", "factor on the latency of hops between nodes";
}

/// A field that a path leads to.
enum Slot<'a> {
    Number(&'a mut f64),
    Time(&'a mut Seconds),
}

impl Calibration {
    /// The value of a constant; `None` where the calibration lacks its field.
    pub fn get(&self, name: &str) -> Option<f64> {
        let constant = CONSTANTS.iter().find(|constant| constant.name == name)?;
        let mut value = None;
        self.clone().visit(constant.path, &mut |slot| {
            value = value.or(Some(match slot {
                Slot::Number(number) => *number,
                Slot::Time(time) => time.get(),
            }));
        });
        value
    }

    /// Sets a constant, inside its bounds; whether the calibration has it.
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        let Some(constant) = CONSTANTS.iter().find(|constant| constant.name == name) else { return false };
        let value = value.clamp(constant.low, constant.high);
        let mut found = false;
        self.visit(constant.path, &mut |slot| {
            found = true;
            match slot {
                Slot::Number(number) => *number = value,
                Slot::Time(time) => *time = Seconds::new(value),
            }
        });
        found
    }

    /// Hands over the fields that a path leads to.
    fn visit(&mut self, path: &str, see: &mut impl FnMut(Slot<'_>)) {
        let words: Vec<&str> = path.split('.').collect();
        match words[..] {
            ["software", field] => self.software.field(field).into_iter().for_each(see),
            ["element_wise", name] => self.element_wise.get_mut(name).map(Slot::Number).into_iter().for_each(see),
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
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

impl Software {
    fn field(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "host_exponent" => Slot::Number(&mut self.host_exponent),
            "micro_batch" => Slot::Time(&mut self.micro_batch),
            "loss_traffic" => Slot::Number(&mut self.loss_traffic),
            "optimizer_traffic" => Slot::Number(&mut self.optimizer_traffic),
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
            "wire" => Slot::Number(&mut self.wire),
            "wire_loss" => Slot::Number(&mut self.wire_loss),
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
            ["attention_plain"] => &mut self.attention_plain,
            ["attention_misaligned"] => &mut self.attention_misaligned,
            ["attention_score_bytes"] => &mut self.attention_score_bytes,
            ["attention_flash", version] => self.attention_flash.get_mut(version.parse::<usize>().ok()?)?,
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
