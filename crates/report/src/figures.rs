//! The figures of an evaluation: what each is called, its unit, its value, why it is what it is, and the reports that
//! print them as text, JSON, TOML and CSV.
//!
//! Not for computing: what an evaluation or a search found goes in, words and numbers come out.

mod figure;
mod metric;
pub(crate) mod report;
mod table;
mod why;

pub use figure::{
    BoundForm, COMPARED, Figure, Limit, MEMORY_PARTS, METRICS, PHASES, RunFigure, STRATEGIES, TIME_PARTS, TRAINING,
    WITHIN,
};
pub use metric::metric;
pub use report::{
    CalibrateReport, EvaluationReport, Figures, GridReport, LimitsReport, PlanReport, ProfileReport, PublishedAmounts,
    SearchReport, StepLimit, SupportReport, SweepCells, SweepReport, TrainingReport, ValidateReport, Verdict,
    band_words, beside, cause_cells, changed, extent_words, intensities, limit, measured, plan_words, proven_words,
    published, so_far_words, text, verdict,
};
pub use table::{CellTone, Table, TableCell};
pub use why::facts::{Better, FigureEntry, FigureSubject};
pub use why::formula::{Authority, Citation, Explanation, Formula, FormulaInput};
pub use why::intensity::{bandwidth, carries};
pub use why::{difference, explain, figures, limits, run, training};
