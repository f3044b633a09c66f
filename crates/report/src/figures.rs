//! The figures of an evaluation: what each is called, its unit, its value, why it is what it is, and the reports that
//! print them as text, JSON, TOML and CSV.
//!
//! Not for computing: what an evaluation or a search found goes in, words and numbers come out.

mod figure;
mod metric;
pub(crate) mod report;
mod table;
mod why;

pub use figure::MEMORY_PARTS;

pub use figure::WITHIN;

pub use figure::{BoundForm, COMPARED, Figure, Limit, METRICS, PHASES, RunFigure, STRATEGIES, TIME_PARTS, TRAINING};
pub use metric::metric;
pub use report::StepLimit;
pub use report::{
    CalibrateReport, EvaluationReport, Figures, GridReport, LimitsReport, MeasuredReport, PlanReport, ProfileReport,
    PublishedAmounts, RecipePlan, RunsIn, SearchReport, SequenceReport, SupportReport, SweepCells, SweepReport,
    TrainingReport, ValidateReport, Verdict, above_published, apart_words, band_words, beside, cause_cells, caveats,
    change_of_length, changed, comparison, extent_words, folded, hypotheses, intensities, lacking, limit,
    longest_words, measured, memory_words, needs_words, offload_words, plan_words, prices, proven_words, published,
    safety_words, so_far_words, step_words, text, tried_words, verdict, verdict_words,
};
pub use table::{CellTone, Table, TableCell, known};
pub use why::facts::FigureEntry;
pub use why::facts::{Better, FigureSubject};
pub use why::formula::Authority;
pub use why::formula::Citation;
pub use why::formula::Formula;
pub use why::formula::{Explanation, FormulaInput};
pub use why::intensity::{bandwidth, carries};
pub use why::{difference, explain, figures, limits, run, training};
