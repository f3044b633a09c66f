//! The attention core: scores, softmax and values, by kernel.

use crate::model::{GATE_BACKWARD, GATE_FORWARD, Heads, LayerAttention, LayerKind, LayerMixer};
use crate::plan::pass::PerDirection;
use crate::stack::Attention;
use crate::units::{Bytes, Count, Flop};

use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// Flop of flash attention's backward over its forward's: five products instead of two.
pub(super) const FLASH_BACKWARD: f64 = 2.5;

/// Share of an unfused softmax's traffic that one fused kernel for scale, mask and softmax leaves:
/// the plain kernel reads and writes the scores once more for each of the three.
const FUSED_TRAFFIC: f64 = 0.6;

/// Head sizes that tensor units take in whole: multiples of 16 bytes (NVIDIA, matrix multiplication
/// background user's guide).
const ALIGNED_HEAD: u32 = 8;

/// Accesses to memory by the kernel of the gate of attention's output.
const GATE_ACCESSES: PerDirection<f64> = PerDirection { forward: GATE_FORWARD, backward: GATE_BACKWARD };

/// A kernel's arithmetic and traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct KernelWork {
    pub flop: Flop,
    pub bytes: Bytes,
}

impl Rates<'_> {
    /// Forward and backward of what mixes the tokens of a layer of a kind, for `sequences` sequences: attention's core, with
    /// its indexer where it has one.
    pub(crate) fn attention(&self, kind: LayerKind, sequences: u32) -> PassTimes {
        self.core(kind, sequences) + self.indexer(kind, sequences)
    }

    /// Forward and backward of the attention core of a layer of a kind for `sequences` sequences.
    ///
    /// Flash: `2 x sequences x s^2/cp x width / tp` flop (the causal half; twice that otherwise) at
    /// the kernel's rate ([`super::flash`]).
    /// It leaves out what a window hides, or what an indexer does not choose; its products are then as wide as compressed
    /// keys and values.
    /// Plain: both products over the full square, slower for heads of an odd size, and a number of bytes per
    /// score.
    /// In a layer with another mixer: that one's; nothing in one without a mixer.
    pub(super) fn core(&self, kind: LayerKind, sequences: u32) -> PassTimes {
        let attention = match self.scenario.model.mixer(kind) {
            LayerMixer::Attention(attention) => attention,
            LayerMixer::Recurrent(recurrence) => return self.recurrence_time(recurrence, sequences),
            LayerMixer::None => return PassTimes::default(),
        };
        let plan = &self.scenario.plan;
        let sequence = f64::from(plan.sequence);
        // Each rank has its share of the queries and meets all keys.
        let rows = f64::from(sequences) * sequence / f64::from(plan.context);
        let products = |width: f64| Flop::new(4.0 * rows * sequence * (width / f64::from(plan.tensor)));
        let passes = match self.attention.flash_version() {
            Some(version) => self.flash(&attention, version, products(self.attended_scores(&attention))),
            None => self.plain(attention.heads, rows, products(attention.score_width())),
        };
        passes * self.imbalance() + self.output_gate(&attention, sequences)
    }

    /// What attention's kernel is called.
    pub(super) fn kernel_name(&self, attention: &LayerAttention<'_>) -> &'static str {
        match self.attention {
            Attention::Plain | Attention::FusedSoftmax => "unfused attention",
            _ if attention.indexer.is_some() => "sparse attention",
            _ => "flash attention",
        }
    }

    /// The width of the products of attention's kernel, over the share of the sequence to which a layer attends; of examples that
    /// are kept apart each meets its own keys alone.
    fn attended_scores(&self, attention: &LayerAttention<'_>) -> f64 {
        let plan = &self.scenario.plan;
        let example = plan.attended_sequence();
        attention.score_width() * attention.attended(example) * (f64::from(example) / f64::from(plan.sequence))
    }

    /// Traffic of the gate of attention's output.
    fn output_gate(&self, attention: &LayerAttention<'_>, sequences: u32) -> PassTimes {
        let PerDirection { forward, backward } =
            self.output_gate_bytes(attention, sequences).map(|bytes| DeviceTime::traffic(bytes / self.memory));
        PassTimes::of_inputs(forward, backward)
    }

    fn output_gate_bytes(&self, attention: &LayerAttention<'_>, sequences: u32) -> PerDirection<Bytes> {
        let (plan, width) = (&self.scenario.plan, attention.gate_width() as f64);
        let tokens = f64::from(sequences) * f64::from(plan.sequence) / f64::from(plan.context);
        GATE_ACCESSES.map(|accesses| tokens * (accesses * width / f64::from(plan.tensor)) * self.storage())
    }

    /// Flop and bytes behind [`Self::core`], on the rank that takes longest.
    pub(super) fn attention_work(&self, kind: LayerKind, sequences: u32) -> PerDirection<KernelWork> {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let attention = match model.mixer(kind) {
            LayerMixer::Attention(attention) => attention,
            LayerMixer::Recurrent(recurrence) => return self.recurrence_work(recurrence, sequences),
            LayerMixer::None => return PerDirection::default(),
        };
        let rows = self.slowest_rows(sequences).get();
        let gate = self.output_gate_bytes(&attention, sequences);
        let products = |width: f64| Flop::new(4.0 * rows * f64::from(plan.sequence) * (width / f64::from(plan.tensor)));
        if self.attention.flash() {
            let flop = products(self.attended_scores(&attention)) * if model.causal { 0.5 } else { 1.0 };
            return PerDirection {
                forward: KernelWork { flop, bytes: gate.forward },
                backward: KernelWork { flop: FLASH_BACKWARD * flop, bytes: gate.backward },
            };
        }
        let (flop, bytes) = (products(attention.score_width()), self.score_traffic(attention.heads, rows));
        PerDirection {
            forward: KernelWork { flop, bytes: bytes + gate.forward },
            backward: KernelWork { flop: 2.0 * flop, bytes: bytes + gate.backward },
        }
    }

    /// Queries of so many sequences on a rank, as many as that which takes longest has the work of.
    pub(super) fn slowest_rows(&self, sequences: u32) -> Count {
        let plan = &self.scenario.plan;
        Count::from(sequences) * f64::from(plan.sequence) / f64::from(plan.context) * self.imbalance()
    }

    /// Traffic of the scores of `rows` queries.
    fn score_traffic(&self, heads: Heads, rows: f64) -> Bytes {
        let plan = &self.scenario.plan;
        let scores = rows * f64::from(plan.sequence) * f64::from(heads.queries) / f64::from(plan.tensor);
        let fused = if self.attention == Attention::FusedSoftmax { FUSED_TRAFFIC } else { 1.0 };
        Bytes::new(scores * self.calibrated.efficiency.attention_score_bytes * fused)
    }

    fn plain(&self, heads: Heads, rows: f64, products: Flop) -> PassTimes {
        let traffic = self.score_traffic(heads, rows) / self.memory;
        let aligned = heads.size.is_multiple_of(ALIGNED_HEAD);
        let slower = if aligned { 1.0 } else { self.calibrated.efficiency.attention_misaligned };
        let arithmetic = slower * products / (self.peak_storage * self.calibrated.efficiency.attention_plain);
        let traffic = DeviceTime::traffic(traffic);
        PassTimes::of_inputs(
            DeviceTime::arithmetic(arithmetic) + traffic,
            DeviceTime::arithmetic(2.0 * arithmetic) + traffic,
        )
    }

    /// How much longer the slowest context rank takes than the average: under a causal mask with
    /// contiguous pieces the last of `n` ranks computes `n - 1/2` blocks where the average is `n / 2`.
    fn imbalance(&self) -> f64 {
        let mesh = self.scenario.context_mesh();
        let ranks = f64::from(mesh.others);
        let causal_flash = self.scenario.model.causal && self.attention.flash();
        if mesh.balanced || !causal_flash { 1.0 } else { (2.0 * ranks - 1.0) / ranks }
    }
}
