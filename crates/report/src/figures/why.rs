//! Where each figure comes from: its formula, what goes into it in this scenario, and its source.
//!
//! A formula prints itself and works itself out, and a test holds every one against the figure that it explains.
//! Where no formula short enough to read gives the figure, because the order of a schedule decides it, the
//! explanation names what the simulation counted. Pure functions of a scenario and its evaluation; not for computing
//! figures.

mod beside;
pub mod difference;
pub(super) mod facts;
pub(super) mod formula;
mod goodput;
pub mod intensity;
mod kernels;
pub mod limits;
mod memory;
pub mod run;
mod speed;
mod time;
pub(super) mod traffic;

use std::mem::discriminant;

use shardscope_engine::evaluate::{Evaluation, HostDirection};
use shardscope_engine::scenario::Scenario;

use super::figure::{Figure, TRAINING};
use facts::{FigureEntry, FigureSubject, FormulaFacts, Why};
use formula::Explanation;
use shardscope_engine::units::Amount;

/// The table of figures, in the order in which reports print them.
pub fn table() -> impl Iterator<Item = &'static FigureEntry> {
    let topics: [&[FigureEntry]; 8] = [
        time::FIGURES,
        beside::FIGURES,
        kernels::FIGURES,
        speed::FIGURES,
        goodput::FIGURES,
        memory::FIGURES,
        intensity::FIGURES,
        traffic::FIGURES,
    ];
    topics.into_iter().flatten()
}

impl Figure {
    /// Its entry of the table; `None` for limits and for runs that were searched, which are no figures of an
    /// evaluation.
    pub fn entry(self) -> Option<&'static FigureEntry> {
        table().find(|entry| discriminant(&entry.figure) == discriminant(&self))
    }

    /// Its value; `None` where there is no such figure.
    pub fn amount(self, subject: &FigureSubject) -> Option<Amount> {
        self.entry()?.amount(subject, self.index())
    }

    /// Its name here, which of several included: `sent into the node level`.
    pub fn name(self, subject: &FigureSubject) -> Option<String> {
        Some(self.entry()?.name.replace("{}", &subject.which(self)?))
    }
}

/// A figure's name and value.
fn shown(figure: Figure, subject: &FigureSubject) -> Option<(String, Amount)> {
    Some((figure.name(subject)?, figure.amount(subject)?))
}

/// Every figure of an evaluation that can be explained.
pub fn figures(scenario: &Scenario, evaluation: &Evaluation) -> Vec<Figure> {
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let copies = if evaluation.summary.host.any() { &HostDirection::ALL[..] } else { &[] };
    let all = |figure: Figure| -> Vec<Figure> {
        let kinds = 0..scenario.model.kinds().count();
        let levels = 0..scenario.cluster.levels.len();
        let transfers = (0..).take_while(|at| subject.transfer(*at).is_some());
        match figure {
            Figure::LayerForward(_) => kinds.map(Figure::LayerForward).collect(),
            Figure::LayerBackward(_) => kinds.map(Figure::LayerBackward).collect(),
            Figure::Kernel(_) => (0..facts::layer_kernels(scenario).len()).map(Figure::Kernel).collect(),
            Figure::Traffic(_) => levels.map(Figure::Traffic).collect(),
            Figure::Busy(_) => levels.map(Figure::Busy).collect(),
            Figure::Copied(_) => copies.iter().copied().map(Figure::Copied).collect(),
            Figure::Copying(_) => copies.iter().copied().map(Figure::Copying).collect(),
            // One of many: which interval is asked for is the view's.
            Figure::GoodputEvery(_) => vec![Figure::GoodputEvery(600)],
            Figure::Slowdown(_) => transfers.map(Figure::Slowdown).collect(),
            Figure::Intensity(_) => transfers.map(Figure::Intensity).collect(),
            Figure::Threshold(_) => transfers.map(Figure::Threshold).collect(),
            Figure::Elasticity(_) => (0..evaluation.elasticity.len()).map(Figure::Elasticity).collect(),
            one => vec![one],
        }
    };
    let found = table().flat_map(|entry| all(entry.figure));
    found.filter(|figure| figure.amount(&subject).is_some()).collect()
}

/// The figures of the whole training, where its length is given.
pub fn training(scenario: &Scenario) -> impl Iterator<Item = Figure> {
    let known = |figure: &Figure| scenario.plan.length().is_some() && figure.lacks(scenario).is_none();
    TRAINING.into_iter().filter(known)
}

/// Why a figure is what it is; `None` for a figure that this evaluation does not have.
pub fn explain(figure: Figure, scenario: &Scenario, evaluation: &Evaluation) -> Option<Explanation> {
    let facts = FormulaFacts::new(scenario, evaluation, shown);
    let (name, amount) = facts.shown(figure)?;
    let entry = figure.entry()?;
    let Why { formula, about, source } = (entry.why)(&facts, figure.index())?;
    let about = about.unwrap_or(entry.about.into());
    let mut explanation = Explanation { figure, name, amount, formula, about, source };
    // A formula that does not come to the figure would be a lie: what the simulation counted stands instead.
    if !explanation.holds() {
        explanation.formula = facts::only_counted(&explanation.name, amount);
    }
    Some(explanation)
}

#[cfg(test)]
mod tests;
