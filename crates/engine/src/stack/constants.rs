//! The constants of a calibration that a fit may move: one table of their names, bounds, meanings and places.
//! Everything else in a calibration is measured or published.

use crate::units::Seconds;

use super::{Calibration, Efficiency, Runtime, Software};

use ConstantPlace::{Architectures, ElementWise, LogitsHeld};

/// A constant that a fit may move.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// Its name in reports and files.
    pub name: &'static str,
    /// Least value.
    pub low: f64,
    /// The value where no row determines it: a published one, or one at which the mechanism costs nothing.
    pub usual: f64,
    /// Greatest value.
    pub high: f64,
    /// Unit of the values here; nothing where it is a plain number.
    pub unit: &'static str,
    /// The numbers of the calibration that it sets, all to one value.
    pub place: ConstantPlace,
    /// Its meaning, in a clause.
    pub meaning: &'static str,
    /// How far off its usual value may be, a standard deviation, where that value is published and no row of others moves it.
    pub published: Option<f64>,
}

/// The step of the finite differences that give slopes, as a share of a constant's range.
const NUDGE: f64 = 1e-3;

impl Constant {
    /// Whether it is of a machine's host or network, which may be worse than those of all published runs.
    pub fn is_of_machine(&self) -> bool {
        matches!(self.place, ConstantPlace::Runtime(_, key) if key.of_machine)
    }

    /// Whether only rows of one source move it: a factor on all that its kernels, network or host do, or a figure that
    /// is counted rather than fitted.
    pub fn is_of_source(&self) -> bool {
        match self.place {
            ConstantPlace::Software(key) => key.of_source,
            ConstantPlace::LogitsHeld(_) => true,
            _ => false,
        }
    }

    /// Whether rows of many sources together move it.
    pub fn is_fitted(&self) -> bool {
        !self.is_of_source() && self.published.is_none()
    }

    /// From its least to its greatest value.
    pub fn range(&self) -> f64 {
        self.high - self.low
    }
}

/// Names are unique.
impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A number in a calibration, or several that are one constant.
#[derive(Debug, Clone, Copy)]
pub enum ConstantPlace {
    /// A number of all programs.
    Software(FieldKey<Software>),
    /// An entry of the table of element-wise traffic.
    ElementWise(&'static str),
    /// An entry of the table of what logits hold.
    LogitsHeld(&'static str),
    /// A number of a runtime.
    Runtime(&'static str, FieldKey<Runtime>),
    /// A number of some architectures.
    Architectures(&'static [&'static str], FieldKey<Efficiency>),
}

/// A number of a `T`: its name in the file, and how to read and write it.
#[derive(Debug, Clone, Copy)]
pub struct FieldKey<T> {
    name: &'static str,
    get: fn(&T) -> f64,
    set: fn(&mut T, f64),
    /// Whether it is of a machine's host or network.
    of_machine: bool,
    /// Whether it is a factor on a source's kernels, network or host, and so 1 of all published runs together.
    of_source: bool,
}

impl<T> FieldKey<T> {
    const fn of_machine(self) -> Self {
        Self { of_machine: true, ..self }
    }

    const fn of_source(self) -> Self {
        Self { of_source: true, ..self }
    }
}

/// The type of a constant's number.
trait ConstantNumber {
    fn get(&self) -> f64;
    fn set(&mut self, value: f64);
}

impl ConstantNumber for f64 {
    fn get(&self) -> f64 {
        *self
    }

    fn set(&mut self, value: f64) {
        *self = value;
    }
}

impl ConstantNumber for Seconds {
    fn get(&self) -> f64 {
        Self::get(*self)
    }

    fn set(&mut self, value: f64) {
        *self = Self::new(value);
    }
}

/// The key of a field, or of an element of one, which files name `field.index`.
macro_rules! key {
    ($of:ident, $field:ident $([$index:literal])?) => {
        FieldKey {
            name: concat!(stringify!($field) $(, ".", $index)?),
            get: |from: &$of| ConstantNumber::get(&from.$field$([$index])?),
            set: |from: &mut $of, value| ConstantNumber::set(&mut from.$field$([$index])?, value),
            of_machine: false,
            of_source: false,
        }
    };
}

const MATMUL: FieldKey<Efficiency> = key!(Efficiency, matmul);
const MATMUL_FP8: FieldKey<Efficiency> = key!(Efficiency, matmul_fp8);
const ATTENTION_FLASH_1: FieldKey<Efficiency> = key!(Efficiency, attention_flash[1]);
const ATTENTION_BACKWARD: FieldKey<Efficiency> = key!(Efficiency, attention_backward);
const ATTENTION_SCORE_BYTES: FieldKey<Efficiency> = key!(Efficiency, attention_score_bytes);
const MICRO_BATCH: FieldKey<Software> = key!(Software, micro_batch);
const OWN_COMPUTE: FieldKey<Software> = key!(Software, compute).of_source();
const OWN_NETWORK: FieldKey<Software> = key!(Software, network).of_source();
const OWN_HOST: FieldKey<Software> = key!(Software, host).of_source();
const LAYER: FieldKey<Runtime> = key!(Runtime, layer).of_machine();
const CONTENTION: FieldKey<Runtime> = key!(Runtime, contention);
const TENSOR_COLLECTIVE: FieldKey<Runtime> = key!(Runtime, tensor_collective);
const STEP: FieldKey<Runtime> = key!(Runtime, step);
const LATENCY_BETWEEN: FieldKey<Efficiency> = key!(Efficiency, latency_between);

const fn constant(
    name: &'static str,
    [low, usual, high]: [f64; 3],
    unit: &'static str,
    place: ConstantPlace,
    meaning: &'static str,
) -> Constant {
    Constant { name, low, usual, high, unit, place, meaning, published: None }
}

impl Constant {
    /// Its usual value is published, and is that far off: a standard deviation.
    const fn published(self, error: f64) -> Self {
        Self { published: Some(error), ..self }
    }
}

const HOPPER: &[&str] = &["hopper"];
const NVIDIA: &[&str] = &["ampere", "hopper", "blackwell"];
const CDNA2: &[&str] = &["cdna2"];
const BLACKWELL: &[&str] = &["blackwell"];
/// Every device that runs a kernel of the same source, translated.
const ALL: &[&str] = &["ampere", "hopper", "cdna2", "blackwell"];

/// Every constant: name, least, usual and greatest value, unit, place and meaning.
#[rustfmt::skip]
pub const CONSTANTS: &[Constant] = &[
    constant("matmul-cdna2", [0.38, 0.6, 0.77], "", Architectures(CDNA2, MATMUL),
        "large matrix products on a GCD of the MI250X: from what whole training steps reach (arXiv 2312.12705) to the \
         best product measured (stas00/ml-engineering)"),
    constant("flash2-hopper", [0.1, 0.4, 0.8], "", Architectures(HOPPER, ATTENTION_FLASH_1),
        "flash attention 2 on the H100"),
    constant("flash-backward", [0.5, 0.75, 1.0], "", Architectures(ALL, ATTENTION_BACKWARD),
        "flash attention's rate in backward over that in forward"),
    constant("plain-score-bytes", [4.0, 20.0, 100.0], "B", Architectures(ALL, ATTENTION_SCORE_BYTES),
        "bytes per score of plain attention, unfused"),
    constant("element-wise-eager-2022", [0.2, 1.5, 5.0], "", ElementWise("eager-2022"),
        "element-wise traffic of PyTorch 1 with norms and loss in fp32"),
    constant("element-wise-te", [0.1, 1.0, 4.0], "", ElementWise("transformer-engine"),
        "the same of TransformerEngine's fp8 until the middle of 2024, casts included"),
    constant("micro-batch", [0.0, 0.001, 0.02], "s", ConstantPlace::Software(MICRO_BATCH),
        "fixed seconds per micro-batch"),
    constant("host-fsdp", [0.0, 0.001, 0.004], "s", ConstantPlace::Runtime("fsdp", LAYER),
        "host seconds per layer of FSDP with nested Python modules"),
    constant("contention-overlapped", [0.0, 0.3, 1.0], "", ConstantPlace::Runtime("overlapped", CONTENTION),
        "share of the shorter of compute and communication that Megatron and XLA do not hide with overlap switched on"),
    constant("host-megatron-deepspeed-2023", [0.0, 0.0006, 0.0015], "s",
        ConstantPlace::Runtime("megatron-deepspeed-2023", LAYER),
        "host seconds per layer of Megatron-DeepSpeed: 18 launches and 12 modules of 15 us, two collectives of 40 us, \
         and 100 us for the state of random numbers that dropout sets aside"),
    constant("tensor-collective-2022", [0.0, 0.0, 0.005], "s",
        ConstantPlace::Runtime("megatron-deepspeed-2022", TENSOR_COLLECTIVE),
        "seconds that each tensor collective takes beside the wire's on Jean Zay"),
    constant("step-internevo", [0.0, 0.0, 2.0], "s", ConstantPlace::Runtime("internevo", STEP),
        "seconds of InternEvo's step beside what is modelled"),
    constant("latency-between", [0.7, 1.0, 1.8], "", Architectures(NVIDIA, LATENCY_BETWEEN),
        "factor on the 20 us of a hop between nodes: from the 14 us that NCCL's own model has (src/graph/tuning.cc, \
         ring, Simple) to the 36 us measured on Kestrel; steps of few nodes do not tell it")
        .published(0.4),
    constant("matmul-blackwell", [0.3, 0.7, 0.9], "", Architectures(BLACKWELL, MATMUL),
        "large matrix products of 16 bits on B200, B300, GB200 and GB300, share of the peak"),
    constant("matmul-fp8-blackwell", [0.3, 0.7, 0.9], "", Architectures(BLACKWELL, MATMUL_FP8),
        "the same in fp8, casts included"),
    constant("logits-torch", [2.0, 14.0, 20.0], "B", LogitsHeld("torch"),
        "bytes held per logit by PyTorch's loss: in bf16, in fp32, as logarithms, and their gradient"),
    constant("logits-vocab-parallel", [2.0, 10.0, 20.0], "B", LogitsHeld("vocab-parallel"),
        "the same of Megatron's loss: in bf16, in fp32, and less their maximum"),
    constant("own-compute", [0.6, 1.0, 1.4], "", ConstantPlace::Software(OWN_COMPUTE),
        "rate of one's own kernels over that of published runs"),
    constant("own-network", [0.3, 1.0, 1.7], "", ConstantPlace::Software(OWN_NETWORK),
        "rate of one's own network, in the node and beyond it, over that of published runs"),
    constant("own-host", [0.4, 1.0, 1.6], "", ConstantPlace::Software(OWN_HOST),
        "pace at which one's own host launches kernels over that of published runs"),
];

/// The constant of this name.
pub fn named(name: &str) -> Option<&'static Constant> {
    CONSTANTS.iter().find(|constant| constant.name == name)
}

impl ConstantPlace {
    /// Where it stands in the file: `architectures.ampere.attention_flash.1`.
    pub fn paths(self) -> Vec<String> {
        match self {
            Self::Software(key) => vec![format!("software.{}", key.name)],
            Self::ElementWise(name) => vec![format!("element_wise.{name}")],
            Self::LogitsHeld(name) => vec![format!("logits_held.{name}")],
            Self::Runtime(name, key) => vec![format!("runtimes.{name}.{}", key.name)],
            Self::Architectures(names, key) => {
                names.iter().map(|name| format!("architectures.{name}.{}", key.name)).collect()
            }
        }
    }

    /// The first of the numbers that it leads to; none where the calibration lacks its entry.
    fn first(self, from: &Calibration) -> Option<f64> {
        match self {
            Self::Software(key) => Some((key.get)(&from.software)),
            Self::ElementWise(name) => from.element_wise.get(name).copied(),
            Self::LogitsHeld(name) => from.logits_held.get(name).copied(),
            Self::Runtime(name, key) => from.runtimes.get(name).map(key.get),
            Self::Architectures(names, key) => {
                let mut found = from.architectures.iter().filter(|(name, _)| names.contains(&name.as_str()));
                found.next().map(|(_, efficiency)| (key.get)(efficiency))
            }
        }
    }

    /// Sets all of them; returns how many there are.
    fn set(self, into: &mut Calibration, value: f64) -> usize {
        let entry = |entry: Option<&mut f64>| entry.map(|number| *number = value).into_iter().count();
        match self {
            Self::Software(key) => {
                (key.set)(&mut into.software, value);
                1
            }
            Self::ElementWise(name) => entry(into.element_wise.get_mut(name)),
            Self::LogitsHeld(name) => entry(into.logits_held.get_mut(name)),
            Self::Runtime(name, key) => {
                into.runtimes.get_mut(name).map(|runtime| (key.set)(runtime, value)).into_iter().count()
            }
            Self::Architectures(names, key) => {
                let found = into.architectures.iter_mut().filter(|(name, _)| names.contains(&name.as_str()));
                found.map(|(_, efficiency)| (key.set)(efficiency, value)).count()
            }
        }
    }
}

impl Calibration {
    /// The value of a constant; `None` where the calibration lacks its place.
    pub fn get(&self, constant: &Constant) -> Option<f64> {
        constant.place.first(self)
    }

    /// Sets a constant, within its bounds; returns whether the calibration has it.
    pub fn set(&mut self, constant: &Constant, value: f64) -> bool {
        constant.place.set(self, value.clamp(constant.low, constant.high)) > 0
    }

    /// The calibration with a constant moved a little inside its bounds, and the share of its range that it moved.
    pub fn nudged(&self, constant: &Constant, value: f64) -> (f64, Self) {
        // At the upper bound the step goes down, so that nothing is evaluated with a value that the file would refuse.
        let share = if value + NUDGE * constant.range() > constant.high { -NUDGE } else { NUDGE };
        let mut nudged = self.clone();
        nudged.set(constant, value + share * constant.range());
        (share, nudged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Library;

    /// Runtimes and element-wise traffic have names that stacks give, so that a constant may be of one program.
    #[test]
    fn a_stack_owns_at_most_two_constants() {
        let library = Library::embedded();
        let stacks: Vec<_> = library
            .entries(crate::presets::Kind::Stack)
            .map(|entry| library.stack(&entry.id).expect("it is embedded"))
            .collect();
        let uses = |stack: &crate::stack::Stack, place: ConstantPlace| match place {
            ConstantPlace::Runtime(name, _) => stack.runtime == name,
            ConstantPlace::ElementWise(name) => stack.element_wise_names().any(|other| other == name),
            ConstantPlace::LogitsHeld(name) => {
                let also = [&stack.loss_compiled, &stack.loss_divided];
                let names = std::iter::once(&stack.loss).chain(also.into_iter().flatten());
                names.into_iter().any(|other| other == name)
            }
            ConstantPlace::Software(_) | ConstantPlace::Architectures(..) => true,
        };
        let mut owned = std::collections::BTreeMap::<&str, Vec<&str>>::new();
        for constant in CONSTANTS {
            let users: Vec<&str> =
                stacks.iter().filter(|stack| uses(stack, constant.place)).map(|stack| stack.id.as_str()).collect();
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
        assert!(CONSTANTS.len() <= 48);
        for constant in CONSTANTS {
            let Constant { name, low, high, .. } = constant;
            let value = calibration.get(constant).unwrap_or_else(|| panic!("{name} leads nowhere"));
            assert!((*low..=*high).contains(&value), "{name}: {value} is not in [{low}, {high}]");
            let middle = f64::midpoint(*low, *high);
            assert!(calibration.set(constant, middle));
            assert_eq!(calibration.get(constant), Some(middle), "{name}");
            calibration.set(constant, high + 1.0);
            assert_eq!(calibration.get(constant), Some(*high), "{name}");
        }
        assert!(calibration.problems().is_empty(), "{:?}", calibration.problems());
        calibration.architectures.clear();
        let gone = named("flash2-hopper").expect("a constant");
        assert_eq!((calibration.get(gone), calibration.set(gone, 1.0)), (None, false));
    }

    #[test]
    fn a_path_is_where_the_number_stands_in_the_file() {
        let path = |name: &str| named(name).expect("a constant").place.paths().join(" ");
        let latency = ["ampere", "hopper", "blackwell"].map(|name| format!("architectures.{name}.latency_between"));
        assert_eq!(path("latency-between"), latency.join(" "));
        assert_eq!(path("flash2-hopper"), "architectures.hopper.attention_flash.1");
        assert_eq!(path("host-fsdp"), "runtimes.fsdp.layer");
        assert_eq!(path("micro-batch"), "software.micro_batch");
        assert_eq!(path("logits-torch"), "logits_held.torch");
    }
}
