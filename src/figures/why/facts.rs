//! What formulas are made of: the figures of an evaluation, and the facts of its scenario with their sources.

use crate::bounds::intensity::{self, Intensity};
use crate::bounds::pipeline::Pipeline;
use crate::cost::{Factors, Rates};
use crate::evaluate::{Evaluation, Expense, Lane, Memory, Span, Summary};
use crate::program::Program;
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Seconds};

use super::{Amount, Authority, Figure, Formula, Input, Source, Unit};

/// A scenario and its evaluation, with what formulas need of both.
pub(super) struct Facts<'a> {
    pub scenario: &'a Scenario,
    pub evaluation: &'a Evaluation,
    pub layout: Layout,
    pub rates: Rates<'a>,
    pub program: Program,
    /// The pipeline rank that ends last.
    pub last: usize,
    /// The pipeline rank with the highest peak.
    pub fullest: usize,
    /// Its kinds of transfers.
    pub transfers: Vec<Intensity>,
}

/// The unit of an arithmetic intensity.
const PER_BYTE: &str = "flop/B";

impl Source {
    pub(super) fn new(kind: Authority, text: &str) -> Self {
        // Sources in files run over several lines.
        Self { kind, text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    pub(super) fn simulated() -> Self {
        Self::new(Authority::Simulation, "the step run task by task, in whole picoseconds and bytes")
    }

    pub(super) fn chosen(text: &str) -> Self {
        Self::new(Authority::Scenario, text)
    }

    pub(super) fn convention(text: &str) -> Self {
        Self::new(Authority::Convention, text)
    }

    pub(super) fn paper(text: &str) -> Self {
        Self::new(Authority::Paper, text)
    }
}

/// A count of things that have a name, or none.
pub(super) fn count(value: impl Into<f64>, of: &'static str) -> Amount {
    Amount { value: value.into(), unit: Unit::Of(of) }
}

pub(super) fn share(value: f64) -> Amount {
    Amount { value, unit: Unit::Share }
}

/// An input that a formula names.
pub(super) fn input(name: impl Into<String>, amount: impl Into<Amount>, source: Source) -> Formula {
    Input { name: name.into(), amount: amount.into(), source, figure: None }.into()
}

/// What no short formula gives.
pub(super) fn counted(name: &str, amount: Amount) -> Formula {
    input(format!("{name}, counted"), amount, Source::simulated())
}

impl<'a> Facts<'a> {
    /// `None` for a scenario that cannot be laid out.
    pub fn new(scenario: &'a Scenario, evaluation: &'a Evaluation) -> Option<Self> {
        let layout = scenario.layout().ok()?;
        let mut program = Program::default();
        program.build(scenario, &layout, &Factors::default());
        let end = |rank: &usize| {
            let own = evaluation.trace.spans.iter().filter(|span| span.rank as usize == *rank);
            own.map(|span| span.end).fold(Seconds::ZERO, Seconds::max).get()
        };
        let later = |best: usize, rank: usize| if end(&rank) > end(&best) { rank } else { best };
        let fuller = |best: usize, rank: usize| {
            let peak = |rank: usize| evaluation.stages.get(rank).map_or(Bytes::ZERO, |memory| memory.peak);
            if peak(rank) > peak(best) { rank } else { best }
        };
        let ranks = program.ranks.len();
        Some(Self {
            scenario,
            evaluation,
            layout,
            rates: Rates::of(scenario, &Factors::default()),
            program,
            last: (1..ranks).fold(0, later),
            fullest: (1..ranks).fold(0, fuller),
            transfers: intensity::of(scenario),
        })
    }

    pub fn summary(&self) -> &Summary {
        &self.evaluation.summary
    }

    /// The memory of the fullest rank.
    pub fn memory_of_fullest(&self) -> &Memory {
        &self.summary().memory
    }

    /// Whether the trace lists everything that the rank that ends last does.
    pub fn is_listed(&self) -> bool {
        self.evaluation.trace.folded.is_empty()
    }

    /// The counts of the pipeline; `None` where there is none.
    pub fn pipeline(&self) -> Option<Pipeline> {
        (self.layout.pipeline > 1).then(|| Pipeline::of(&self.scenario.plan))
    }

    /// What runs on a lane of the rank that ends last.
    pub fn spans(&self, lane: Lane) -> impl Iterator<Item = &Span> {
        let last = self.last as u32;
        self.evaluation.trace.spans.iter().filter(move |span| span.rank == last && span.lane == lane)
    }

    /// A figure's name and what the evaluation says.
    pub fn shown(&self, figure: Figure) -> Option<(String, Amount)> {
        let Summary { time, memory, traffic, .. } = self.summary();
        let summary = self.summary();
        let level = |index: usize| self.scenario.cluster.levels.get(index).map(|level| level.name.as_str());
        let expense = || Some(Expense::of(self.scenario.plan.tokens?, summary, &self.scenario.cluster));
        Some(match figure {
            Figure::StepTime => ("step time".to_owned(), summary.step_time.into()),
            Figure::Compute => ("compute".to_owned(), time.compute.into()),
            Figure::Exposed => ("exposed communication".to_owned(), time.exposed.into()),
            Figure::Bubble => ("bubble".to_owned(), time.bubble.into()),
            Figure::BubbleLaw => ("bubble's law, idle over busy".to_owned(), share(self.pipeline()?.bubble())),
            Figure::Optimizer => ("optimizer's update".to_owned(), time.optimizer.into()),
            Figure::Other => ("launch, host and waits".to_owned(), time.other.into()),
            Figure::Communication => ("communication, hidden or not".to_owned(), time.communication.into()),
            Figure::TokensPerStep => ("tokens per step".to_owned(), count(summary.tokens_per_step, "tokens")),
            Figure::TokensPerSecond => {
                ("tokens per second and device".to_owned(), count(summary.tokens_per_s_per_device, "tokens/s"))
            }
            Figure::FlopPerToken => {
                let flop = summary.model_flops.get() / summary.tokens_per_s_per_device;
                ("model flop per token".to_owned(), Amount { value: flop, unit: Unit::Flop })
            }
            Figure::Recomputed => {
                let flop = (summary.hardware_flops - summary.model_flops).get() / summary.tokens_per_s_per_device;
                ("recomputed flop per token".to_owned(), Amount { value: flop, unit: Unit::Flop })
            }
            Figure::ModelFlops => ("model flop per second and device".to_owned(), summary.model_flops.into()),
            Figure::HardwareFlops => ("hardware flop per second and device".to_owned(), summary.hardware_flops.into()),
            Figure::Mfu => ("model flop utilisation".to_owned(), share(summary.mfu)),
            Figure::Hfu => ("hardware flop utilisation".to_owned(), share(summary.hfu)),
            Figure::Limit => ("limit of the model flop rate".to_owned(), summary.limit.into()),
            Figure::ShareOfLimit => ("share of the limit".to_owned(), share(summary.model_flops / summary.limit)),
            Figure::Days => ("training time".to_owned(), count(expense()?.time.days(), "days")),
            Figure::DeviceHours => ("device-hours".to_owned(), count(expense()?.device_time.hours(), "device-hours")),
            Figure::Cost => ("cost of the training".to_owned(), expense()?.cost?.into()),
            Figure::Energy => ("energy of the training".to_owned(), expense()?.energy?.into()),
            Figure::Peak => ("peak of the memory".to_owned(), memory.peak.into()),
            Figure::Part(index) => {
                let (name, bytes) = *memory.parts.named().get(index)?;
                (name.replace('_', " "), bytes.into())
            }
            Figure::Capacity => ("memory of a device".to_owned(), memory.capacity.into()),
            Figure::Headroom => ("memory left".to_owned(), (memory.capacity - memory.peak).into()),
            Figure::Traffic(index) => {
                (format!("sent into the {} level", level(index)?), traffic.get(index)?.bytes_per_device.into())
            }
            Figure::Busy(index) => {
                (format!("the {} level's busy time", level(index)?), traffic.get(index)?.busy.into())
            }
            Figure::Copied(way) => (format!("copied {}", way.lane().name()), summary.host.way(way).bytes.into()),
            Figure::Copying(way) => {
                (format!("busy time of copies {}", way.lane().name()), summary.host.way(way).busy.into())
            }
            Figure::Slowdown(index) => {
                let transfer = self.transfers.get(index)?;
                (format!("{}: factor on its arithmetic's time", transfer.kind.word()), count(transfer.slowdown(), ""))
            }
            Figure::Intensity(index) => {
                let transfer = self.transfers.get(index)?;
                (format!("intensity of {}", transfer.kind.word()), count(transfer.flop_per_byte(), PER_BYTE))
            }
            Figure::Threshold(index) => {
                let transfer = self.transfers.get(index)?;
                let link = transfer.link.name(self.scenario);
                (
                    format!("intensity that {link} needs for {}", transfer.kind.word()),
                    count(transfer.threshold, PER_BYTE),
                )
            }
            Figure::Elasticity(index) => self.gain(index)?,
            Figure::Limits(_) | Figure::Run(_) => return None,
        })
    }

    /// A figure as an input to another one's formula.
    pub fn figure(&self, figure: Figure) -> Option<Formula> {
        let (name, amount) = self.shown(figure)?;
        let source = Source::new(Authority::Derived, "explained on its own");
        Some(Input { name, amount, source, figure: Some(figure) }.into())
    }

    /// What the vendor says about the device.
    pub fn sheet(&self) -> Source {
        let device = &self.scenario.cluster.device;
        Source::new(Authority::Sheet, &format!("{}: {}", device.name, device.source))
    }

    /// What the cluster's file says of the whole machine.
    pub fn stated(&self) -> Source {
        let cluster = &self.scenario.cluster;
        Source::new(Authority::Sheet, &format!("{}: {}", cluster.name, cluster.source))
    }

    /// Where the shape of the model is from.
    pub fn shape(&self) -> Source {
        let model = &self.scenario.model;
        Source::paper(&format!("{}: {}", model.name, model.source))
    }

    /// What the software reaches.
    pub fn calibrated(&self) -> Source {
        let calibration = &self.scenario.calibration;
        Source::new(Authority::Measurement, &format!("calibration {}: {}", calibration.id, calibration.source))
    }

    /// How the software behaves.
    pub fn software(&self) -> Source {
        let stack = &self.scenario.stack;
        Source::new(Authority::Scenario, &format!("stack {}: {}", stack.id, stack.source))
    }

    pub fn devices(&self) -> Formula {
        input("devices", count(self.layout.devices, ""), Source::chosen("nodes x devices of a node, or as given"))
    }
}
