//! The figures of an evaluation: what each is called, its unit, its value, why it is what it is, and the reports that
//! print them as text, JSON, TOML and CSV.
//!
//! Not for computing: what an evaluation or a search found goes in, words and numbers come out.

pub(crate) mod report;
mod why;

pub use report::{
    Band, Bottleneck, Bytes, CalibrateReport, Figures, GridReport, IntensityRecord, LimitsReport, Memory, Phases,
    PlanReport, ProfileReport, Published, PublishedFigure, Report, Stage, SweepReport, Time, Traffic, Training,
    TrainingReport, ValidateReport, Verdict, beside, changed, limit, published, text, verdict,
};
pub use why::{
    Amount, Authority, Explanation, Figure, Formula, Input, Source, Unit, difference, explain, figures, limits, run,
    training,
};
