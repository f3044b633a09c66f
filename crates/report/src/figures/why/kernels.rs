//! A layer's forward and backward, kernel by kernel: what each computes and moves, what it reaches, what bounds it.

use shardscope_engine::cost::{Factors, Kernel, Rates};
use shardscope_engine::plan::Capacity;
use shardscope_engine::plan::pass::{Direction, PerDirection};
use shardscope_engine::units::{Bytes, Dimension, Flop, Seconds, percent};

use crate::figures::figure::Figure;

use super::facts::{
    FigureEntry, FigureSubject, FormulaFacts, Why, because, count, figure, input, layer_kernels, share,
};
use super::formula::{Authority, Citation, Formula};

/// A layer's passes, and the kernels that they run.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::LayerForward(0), "layer-forward", "forward of {}", Dimension::Seconds)
        .about("One layer computes one micro-batch alone, with no transfer beside it, operator by operator.")
        .value(|of, at| Some(time(&all_of(of, at)?.forward)))
        .why(|facts, at| facts.layer_pass(at, Direction::Forward)),
    figure(Figure::LayerBackward(0), "layer-backward", "backward of {}", Dimension::Seconds)
        .about("The same for the gradients of inputs and weights, recompute apart.")
        .value(|of, at| Some(time(&all_of(of, at)?.backward)))
        .why(|facts, at| facts.layer_pass(at, Direction::Backward)),
    figure(Figure::Kernel(0), "kernel", "{}", Dimension::Seconds)
        .about("Arithmetic at the share of the peak that its shape reaches, or its bytes at the memory's rate.")
        .value(|of, at| Some(layer_kernels(of.scenario).get(at)?.kernel.time.time.get()))
        .why(|facts, at| facts.kernel(&layer_kernels(facts.scenario).get(at)?.kernel)),
];

/// The kernels of the layers of a kind, by its place among the model's.
fn all_of(of: &FigureSubject, kind: usize) -> Option<PerDirection<Vec<Kernel>>> {
    let (kind, _) = of.scenario.model.kinds().nth(kind)?;
    Some(Rates::new(of.scenario, &Factors::default()).kernels(kind))
}

fn time(kernels: &[Kernel]) -> f64 {
    kernels.iter().map(|kernel| kernel.time.time).sum::<Seconds>().get()
}

/// The share of the peak that its arithmetic reaches; `None` where memory alone takes the time.
fn reached(kernel: &Kernel) -> Option<f64> {
    let arithmetic = kernel.time.time - kernel.time.memory;
    (arithmetic > Seconds::ZERO).then(|| kernel.flop / arithmetic / kernel.peak)
}

impl FormulaFacts<'_> {
    /// A pass of a layer of a kind: the sum of its kernels, with what each reaches.
    fn layer_pass(&self, kind: usize, direction: Direction) -> Option<Why> {
        let mut kinds = self.scenario.model.kinds().map(|(kind, _)| self.rates.kernels(kind));
        let before: usize =
            kinds.by_ref().take(kind).map(|kernels| kernels.forward.len() + kernels.backward.len()).sum();
        let kernels = kinds.next()?;
        let first = before + if direction == Direction::Forward { 0 } else { kernels.forward.len() };
        let kernels = kernels.get(direction);
        let parts = (first..).take(kernels.len()).map(|at| self.figure(Figure::Kernel(at)));
        let said = kernels.iter().map(|kernel| match reached(kernel) {
            Some(share) => format!("{} {}", kernel.name, percent(share)),
            None => format!("{} bound by memory", kernel.name),
        });
        let about = if kernels.is_empty() {
            "Nothing below the layer is trained, nor in it: backward stops before it.".to_owned()
        } else {
            format!("What each reaches of the peak: {}.", said.collect::<Vec<_>>().join("; "))
        };
        let formula = Formula::Sum(parts.collect::<Option<_>>()?);
        Some(Why { formula, about: Some(about.into()), source: self.calibrated() })
    }

    /// Tokens of the busiest rank's experts over the mean, as the plan fills them up or the router spreads tokens.
    fn load(&self, load: f64) -> Formula {
        let source = match self.scenario.plan.experts.capacity {
            Capacity::Factor(_) => Citation::new(
                Authority::Scenario,
                "capacity: experts are filled up or cut to it (Megatron-LM, `--moe-expert-capacity-factor`)",
            ),
            Capacity::None => Citation::new(
                Authority::Scenario,
                "imbalance: `usual` is 5 % for each doubling of the expert ranks, from a step of Olmo-core 9 % slower on 8",
            ),
        };
        input("tokens of an expert over that mean", count(load, ""), source)
    }

    /// A kernel: flop at what it reaches of the peak, bytes at the memory's rate, or both.
    fn kernel(&self, kernel: &Kernel) -> Option<Why> {
        let counted =
            "of a product both factors read and the result written once; of scores what the kernel writes and reads";
        let moved = |bytes: Bytes| input("bytes", bytes, Citation::convention(counted));
        let streamed =
            |bytes: Bytes| moved(bytes) / input("memory bandwidth reached", self.rates.memory, self.calibrated());
        let computed = |reached: f64| {
            let counted = Citation::convention("2 for each product that is summed up");
            let flop = match kernel.load.get() {
                1.0 => input("flop", kernel.flop, counted),
                load => input("flop at the mean of all ranks", kernel.flop / load, counted) * self.load(load),
            };
            flop / (input("peak", kernel.peak, self.sheet())
                * input("share of the peak reached", share(reached), self.calibrated()))
        };
        let formula = match reached(kernel) {
            None => streamed(kernel.bytes),
            // One of two products may be bound by its bytes, the other by its arithmetic.
            Some(reached) if kernel.time.memory > Seconds::ZERO => {
                computed(reached) + streamed(self.rates.memory * kernel.time.memory)
            }
            Some(reached) => computed(reached),
        };
        let about = match reached(kernel) {
            None if kernel.flop > Flop::ZERO => {
                format!("Bound by memory: its {} at the peak would take {}.", kernel.flop, kernel.flop / kernel.peak)
            }
            None => "Bound by memory: it computes next to nothing.".to_owned(),
            Some(share) if kernel.time.memory > Seconds::ZERO => format!(
                "Products at {} of the peak take {}, what is bound by memory {}.",
                percent(share),
                kernel.time.time - kernel.time.memory,
                kernel.time.memory
            ),
            Some(share) if kernel.bytes.get() > 0.0 => format!(
                "Bound by arithmetic at {} of the peak: its {} alone would take {}.",
                percent(share),
                kernel.bytes,
                kernel.bytes / self.rates.memory
            ),
            Some(share) => {
                format!("Bound by arithmetic at {} of the peak: scores never go to memory.", percent(share))
            }
        };
        because(formula, self.calibrated()).map(|why| Why { about: Some(about.into()), ..why })
    }
}
