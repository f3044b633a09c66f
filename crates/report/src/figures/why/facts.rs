//! The entry of a figure: its names, unit, value and reasons; and the facts of a scenario that reasons are made
//! from, with their sources.

use std::borrow::Cow;

use shardscope_engine::bounds::intensity::Intensity;
use shardscope_engine::bounds::pipeline::Pipeline;
use shardscope_engine::cost::{Factors, Kernel, Rates};
use shardscope_engine::evaluate::{
    Details, Elasticity, Evaluation, Expense, FailureForecast, HostDirection, Memory, Span, Stream, Summary,
};
use shardscope_engine::model::{LayerKind, Model};
use shardscope_engine::plan::Ema;
use shardscope_engine::plan::pass::PerDirection;
use shardscope_engine::scenario::{Layout, PAGEABLE, Scenario};

use crate::figures::figure::Figure;
use shardscope_engine::units::{Amount, Dimension, Seconds};

use super::formula::{Authority, Citation, Formula, FormulaInput};

/// Where the laws of pipelines, of arithmetic intensities and of the batch stand.
pub(super) const LAYERED: &str = "Layered gradient accumulation and modular pipeline parallelism, arXiv 2106.02679";

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The more of it.
    More,
    /// The less of it.
    Less,
    Neither,
}

/// All that there is to say of a figure: a row of the table of figures.
#[derive(Clone, Copy)]
pub struct FigureEntry {
    /// Which; of several (levels, transfers) the first.
    pub figure: Figure,
    /// Its word on the command line and in files.
    pub id: &'static str,
    /// Its name; `{}` stands for which of several.
    pub name: &'static str,
    /// The name in a narrow column.
    pub label: &'static str,
    pub unit: Dimension,
    pub better: Better,
    /// Its meaning, in a sentence or two.
    pub about: &'static str,
    /// The title of a map of it, in which `{}` stands for what is trained; and its unit in words.
    pub map: Option<[&'static str; 2]>,
    /// Its value in base units; `None` where the scenario has no such figure.
    pub value: fn(&FigureSubject, usize) -> Option<f64>,
    /// How it follows from its inputs.
    pub(super) why: fn(&FormulaFacts, usize) -> Option<Why>,
}

/// A row of the table, to be filled in.
pub(super) const fn figure(figure: Figure, id: &'static str, name: &'static str, unit: Dimension) -> FigureEntry {
    FigureEntry {
        figure,
        id,
        name,
        label: name,
        unit,
        better: Better::Neither,
        about: "",
        map: None,
        value: |_, _| None,
        why: |_, _| None,
    }
}

impl FigureEntry {
    pub(super) const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    pub(super) const fn less_is_better(self) -> Self {
        Self { better: Better::Less, ..self }
    }

    pub(super) const fn more_is_better(self) -> Self {
        Self { better: Better::More, ..self }
    }

    pub(super) const fn value(self, value: fn(&FigureSubject, usize) -> Option<f64>) -> Self {
        Self { value, ..self }
    }

    pub(super) const fn why(self, why: fn(&FormulaFacts, usize) -> Option<Why>) -> Self {
        Self { why, ..self }
    }

    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub(super) const fn map(self, title: &'static str, unit: &'static str) -> Self {
        Self { map: Some([title, unit]), ..self }
    }

    /// Its value with its unit.
    pub fn amount(&self, subject: &FigureSubject, index: usize) -> Option<Amount> {
        if self.figure.is_of_whole_step() && subject.scenario.plan.writes() {
            return None;
        }
        let unit = match self.unit {
            Dimension::Money(_) => Dimension::Money(subject.scenario.price()?.currency),
            unit => unit,
        };
        Some(Amount { value: (self.value)(subject, index)?, unit })
    }
}

/// A scenario with the results from which figures are read.
#[derive(Debug, Clone, Copy)]
pub struct FigureSubject<'a> {
    pub scenario: &'a Scenario,
    pub summary: &'a Summary,
    /// The gain from more of each resource, where that is known.
    pub elasticity: &'a [Elasticity],
    /// Details of the simulated step, where they were kept.
    pub details: Option<&'a Details>,
    /// How much is trained, in tokens.
    pub tokens: Option<f64>,
}

impl<'a> FigureSubject<'a> {
    pub fn new(scenario: &'a Scenario, summary: &'a Summary) -> Self {
        Self { scenario, summary, elasticity: &[], details: None, tokens: scenario.plan.length() }
    }

    pub fn evaluated(scenario: &'a Scenario, evaluation: &'a Evaluation) -> Self {
        let Evaluation { summary, elasticity, details, .. } = evaluation;
        Self { elasticity, details: Some(details), ..Self::new(scenario, summary) }
    }

    pub(super) fn expense(&self) -> Option<Expense> {
        Some(Expense::new(self.tokens?, self.summary, self.scenario))
    }

    /// The training with failures, where the cluster states them.
    pub fn failures(&self) -> Option<FailureForecast> {
        FailureForecast::new(self.scenario, self.summary.step_time)
    }

    /// The whole training with failures.
    pub(super) fn expense_with_failures(&self) -> Option<Expense> {
        Some(self.expense()?.at(self.failures()?.shares.useful))
    }

    pub(super) fn transfer(&self, index: usize) -> Option<&'a Intensity> {
        self.details?.transfers.get(index)
    }

    /// The word that tells a figure from others of its name.
    pub fn which(&self, figure: Figure) -> Option<String> {
        Some(match figure {
            Figure::Traffic(index) | Figure::Busy(index) => self.scenario.cluster.levels.get(index)?.name.clone(),
            Figure::LayerForward(index) | Figure::LayerBackward(index) => {
                let (kind, _) = self.scenario.model.kinds().nth(index)?;
                format!("a layer{}", apart(&self.scenario.model, kind))
            }
            Figure::Kernel(index) => {
                let LayerKernel { kind, pass, kernel } = layer_kernels(self.scenario).into_iter().nth(index)?;
                format!("{pass} of {}{}", kernel.name, apart(&self.scenario.model, kind))
            }
            Figure::Copied(way) | Figure::Copying(way) => way.stream().name().to_owned(),
            Figure::GoodputEvery(seconds) => Seconds::new(seconds as f64).to_string(),
            Figure::Slowdown(index) | Figure::Intensity(index) => self.transfer(index)?.kind.word().to_owned(),
            Figure::Threshold(index) => {
                let transfer = self.transfer(index)?;
                format!("{} needs for {}", transfer.link.name(self.scenario), transfer.kind.word())
            }
            Figure::Elasticity(index) => {
                let property = self.elasticity.get(index)?.property;
                let less = property.change().is_some_and(|change| change < 1.0);
                let more = if less { "less" } else { "more" };
                format!("{more} {}", property.words(self.scenario))
            }
            _ => String::new(),
        })
    }
}

/// A way of the link to the host, by its place among both.
pub(super) fn way(index: usize) -> HostDirection {
    HostDirection::ALL[index]
}

/// A formula for a figure, what to say with it beyond what the figure is, and its source.
#[derive(Debug, Clone)]
pub struct Why {
    pub(super) formula: Formula,
    pub(super) about: Option<Cow<'static, str>>,
    pub(super) source: Citation,
}

/// Why a figure is what it is, as each row of the table says it: some figures have no such reason.
#[expect(clippy::unnecessary_wraps, reason = "rows of the table give an option, since some have no reason")]
pub(super) fn because(formula: Formula, source: Citation) -> Option<Why> {
    Some(Why { formula, about: None, source })
}

/// A scenario and its evaluation, with what formulas need of both.
pub(crate) struct FormulaFacts<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) evaluation: &'a Evaluation,
    pub(super) layout: Layout,
    pub(super) rates: Rates<'a>,
    /// The pipeline rank that ends last.
    pub(super) last: usize,
    /// The pipeline rank with the highest peak.
    pub(super) fullest: usize,
    /// A figure's name and value.
    shown: fn(Figure, &FigureSubject) -> Option<(String, Amount)>,
}

impl Citation {
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

/// A kernel of a kind of layer.
pub(super) struct LayerKernel {
    pub kind: LayerKind,
    pub pass: &'static str,
    pub kernel: Kernel,
}

/// The kernels of each kind of layer: those of forward, then those of backward.
pub(super) fn layer_kernels(scenario: &Scenario) -> Vec<LayerKernel> {
    let rates = Rates::new(scenario, &Factors::default());
    let of_kind = |(kind, _)| {
        let PerDirection { forward, backward } = rates.kernels(kind);
        let passes = [("forward", forward), ("backward", backward)].into_iter();
        passes
            .flat_map(move |(pass, kernels)| kernels.into_iter().map(move |kernel| LayerKernel { kind, pass, kernel }))
    };
    scenario.model.kinds().flat_map(of_kind).collect()
}

/// What sets layers of a kind apart from others of their model: ` (experts)`; nothing where all are alike.
pub(super) fn apart(model: &Model, kind: LayerKind) -> String {
    if model.is_mixed() { format!(" ({})", kind.name(model)) } else { String::new() }
}

/// A count of things that have a name, or none.
pub(super) fn count(value: impl Into<f64>, of: &'static str) -> Amount {
    Amount { value: value.into(), unit: Dimension::Of(of) }
}

pub(super) fn share(value: f64) -> Amount {
    Amount { value, unit: Dimension::Share }
}

pub(super) fn input(name: impl Into<String>, amount: impl Into<Amount>, source: Citation) -> Formula {
    FormulaInput { name: name.into(), amount: amount.into(), source, figure: None }.into()
}

/// A value that no short formula gives.
pub(super) fn only_counted(name: &str, amount: impl Into<Amount>) -> Formula {
    input(format!("{name}, counted"), amount, Citation::simulated())
}

impl<'a> FormulaFacts<'a> {
    pub fn new(
        scenario: &'a Scenario,
        evaluation: &'a Evaluation,
        shown: fn(Figure, &FigureSubject) -> Option<(String, Amount)>,
    ) -> Self {
        // The first of equals, as the summary's memory is.
        let fuller = |best: usize, rank: usize| {
            if evaluation.stages[rank].peak > evaluation.stages[best].peak { rank } else { best }
        };
        Self {
            scenario,
            evaluation,
            layout: evaluation.details.layout,
            rates: Rates::new(scenario, &Factors::default()),
            last: evaluation.trace.last_rank() as usize,
            fullest: (1..evaluation.stages.len()).fold(0, fuller),
            shown,
        }
    }

    pub(super) fn summary(&self) -> &Summary {
        &self.evaluation.summary
    }

    /// The memory of the fullest rank.
    pub(super) fn memory_of_fullest(&self) -> &Memory {
        &self.summary().memory
    }

    /// How often what begins at a moment on the rank that ends last does so.
    pub(super) fn times_at(&self, at: Seconds) -> f64 {
        self.evaluation.trace.times_at(self.last as u32, at)
    }

    /// The counts of the pipeline; `None` where there is none.
    pub(super) fn pipeline(&self) -> Option<Pipeline> {
        (self.layout.pipeline > 1).then(|| Pipeline::new(&self.scenario.plan))
    }

    /// Time of a lane of the rank that ends last.
    pub(super) fn spans(&self, lane: Stream) -> impl Iterator<Item = &Span> {
        let last = self.last as u32;
        self.evaluation.trace.spans.iter().filter(move |span| span.rank == last && span.lane == lane)
    }

    /// A figure's name and what the evaluation says.
    pub(super) fn shown(&self, figure: Figure) -> Option<(String, Amount)> {
        (self.shown)(figure, &FigureSubject::evaluated(self.scenario, self.evaluation))
    }

    /// A figure as an input to another one's formula.
    pub(super) fn figure(&self, figure: Figure) -> Option<Formula> {
        if figure == Figure::StepTime && self.scenario.plan.writes() {
            // Of a step whose answers the model writes the update alone is timed.
            return Some(input("time of an update", self.summary().step_time, Citation::simulated()));
        }
        let (name, amount) = self.shown(figure)?;
        let source = Citation::new(Authority::Derived, "explained on its own");
        Some(FormulaInput { name, amount, source, figure: Some(figure) }.into())
    }

    /// A figure of the device's data sheet.
    pub(super) fn sheet(&self) -> Citation {
        let device = &self.scenario.cluster.device;
        Citation::new(Authority::Sheet, &format!("{}: {}", device.name, device.source))
    }

    /// The link to the host, as far as copies of its memory fill it.
    pub(super) fn host_link(&self) -> Formula {
        let link = self.device_link();
        let source = Citation::new(
            Authority::Measurement,
            "bandwidthTest of NVIDIA's CUDA samples on a DGX A100, 10.0 of 25.7 GB/s (gengwg/gpu, nvda_gpu_benchmark.md)",
        );
        let pageable = || input("share of it from memory that is not page-locked", share(PAGEABLE.get()), source);
        if self.scenario.pins_host() { link } else { link * pageable() }
    }

    /// The link to the host, as far as copies of page-locked memory fill it.
    pub(super) fn device_link(&self) -> Formula {
        let Scenario { cluster, calibration, .. } = self.scenario;
        let reached = Citation::new(
            Authority::Measurement,
            "25.7 of 31.5 GB/s on a DGX A100 (gengwg/gpu), 55 of 63 on Aurora (ALCF's documentation): set by hand between them",
        );
        input("bandwidth of the link to the host", cluster.device.host_bandwidth, self.sheet())
            * input("share of it that copies reach", share(calibration.software.host_link), reached)
    }

    /// What an update moves for each parameter.
    pub(super) fn moved_words(&self) -> Citation {
        let plan = &self.scenario.plan;
        let average = "; the average is state, and the updated weight is read once more for it";
        let norm = "; less the gradient that the norm of clipping reads, in all steps that constants were fitted to";
        let all = [
            ("state read and written, gradient read, weight written", true),
            (average, plan.ema == Ema::Device),
            (norm, !plan.clip_norm),
        ];
        Citation::convention(&all.iter().filter(|(_, said)| *said).map(|(words, _)| *words).collect::<String>())
    }

    /// A figure of the cluster's file.
    pub(super) fn stated(&self) -> Citation {
        let cluster = &self.scenario.cluster;
        Citation::new(Authority::Sheet, &format!("{}: {}", cluster.name, cluster.source))
    }

    /// A figure of the cluster's host, its drives included.
    pub(super) fn host(&self) -> Citation {
        let cluster = &self.scenario.cluster;
        let Some(host) = &cluster.host else {
            return Citation::convention(
                "the cluster does not state its host: one socket of eight channels of DDR4-3200",
            );
        };
        let drives = host.nvme.as_ref().map_or("", |drives| &drives.source);
        Citation::new(Authority::Sheet, &format!("{}: {} {drives}", cluster.name, host.source))
    }

    /// A figure of the cluster's reliability.
    pub(super) fn reliability(&self) -> Citation {
        let cluster = &self.scenario.cluster;
        Citation::new(Authority::Sheet, &format!("{}: {}", cluster.name, cluster.reliability.source))
    }

    /// Where the shape of the model is from.
    pub(super) fn shape(&self) -> Citation {
        let model = &self.scenario.model;
        Citation::paper(&format!("{}: {}", model.name, model.source))
    }

    pub(super) fn calibrated(&self) -> Citation {
        let calibration = &self.scenario.calibration;
        Citation::new(Authority::Measurement, &format!("calibration {}: {}", calibration.id, calibration.source))
    }

    pub(super) fn software(&self) -> Citation {
        let stack = &self.scenario.stack;
        Citation::new(Authority::Scenario, &format!("stack {}: {}", stack.id, stack.source))
    }

    pub(super) fn devices(&self) -> Formula {
        input("devices", count(self.layout.devices, ""), Citation::chosen("nodes x devices of a node, or as given"))
    }
}
