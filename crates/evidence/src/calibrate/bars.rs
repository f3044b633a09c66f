//! The bars that a fit to the published rows is held to, read from `bars.toml` of the presets. A fit does not use them.

use std::sync::LazyLock;

use serde::Deserialize;
use strum::IntoStaticStr;

use crate::measured::{Metric, Pairs, Reading, Residual, Validation};

use super::{Coverage, Fitted, HoldOutReason, NOMINAL_COVERAGE, OwnSet};

/// The figure that a bar limits; `bars.toml` writes the variant's name, reports write its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(const_into_str)]
pub enum JudgedFigure {
    /// Mean error of step time over groups.
    #[strum(serialize = "mean")]
    Mean,
    /// Median error of step time over groups.
    #[strum(serialize = "median")]
    Median,
    /// 90th percentile of the error of step time over groups.
    #[strum(serialize = "p90")]
    P90,
    /// The null model's error over that of step time.
    #[strum(serialize = "skill")]
    Skill,
    /// Share of the pairs of layouts more than 15 % apart that are ordered rightly.
    #[strum(serialize = "layouts ordered")]
    Ordered,
    /// Mean error over groups of the peaks of memory that allocators report.
    #[strum(serialize = "memory, allocator")]
    Allocator,
    /// Mean error over groups of the peaks of memory that `nvidia-smi` reports.
    #[strum(serialize = "memory, nvidia-smi")]
    Device,
    /// Mean error of the jobs that are larger than those of the fit.
    #[strum(serialize = "fitted to 64 devices at most")]
    Larger,
    /// Mean over sources of the error of each one, left out whole.
    #[strum(serialize = "mean of sources left out")]
    Sources,
    /// The largest error of a source that was left out whole.
    #[strum(serialize = "worst source left out")]
    WorstSource,
    /// Mean error of the sizes of an architecture of one source, each left out.
    #[strum(serialize = "sizes left out")]
    Sizes,
    /// The largest mean error of a set with one of its rows as one's own.
    #[strum(serialize = "worst set, one own row")]
    WithOne,
    /// The largest mean error of a set with three of its rows as one's own.
    #[strum(serialize = "worst set, three own rows")]
    WithThree,
    /// How many sets are further off with own rows than without.
    #[strum(serialize = "sets worse with own rows")]
    Worse,
    /// How far from 80 % the bands' coverage of sources left out whole is.
    #[strum(serialize = "bands of sources, off 80 %")]
    Covered,
}

/// A set of rows and how far off they may be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccuracyBar {
    /// The report's name of the set.
    pub set: String,
    /// The stacks of its rows; all if empty.
    #[serde(default)]
    pub stacks: Vec<String>,
    /// Whether they ran on several nodes; either if absent.
    pub across_nodes: Option<bool>,
    pub figure: JudgedFigure,
    /// The most that it may be.
    pub most: Option<f64>,
    /// The least that it may be, where more is better.
    pub least: Option<f64>,
}

#[derive(Deserialize, Default)]
struct AccuracyBars {
    bars: Vec<AccuracyBar>,
}

/// Every bar, in the order of reports. A test reads the file, which is part of the program.
pub static BARS: LazyLock<Vec<AccuracyBar>> =
    LazyLock::new(|| toml::from_str::<AccuracyBars>(shardscope_presets::BARS).unwrap_or_default().bars);

/// A bar and the figure of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedBar {
    pub bar: &'static AccuracyBar,
    /// Groups behind it, pairs where layouts are ordered.
    pub count: usize,
    /// The figure's value.
    pub value: f64,
    /// The null model's mean error, where step times are judged by their mean.
    pub null: Option<f64>,
}

impl JudgedBar {
    /// Whether it holds; `None` where it is only reported.
    pub fn met(&self) -> Option<bool> {
        let AccuracyBar { most, least, .. } = self.bar;
        most.map(|most| self.value <= most).or(least.map(|least| self.value >= least))
    }
}

/// Judges a fit by each bar whose set has rows. A fit to a few rows of one's own is held to none.
pub fn judge(fitted: &Fitted) -> Vec<JudgedBar> {
    BARS.iter().filter(|_| fitted.from_scratch).filter_map(|bar| bar.judge(fitted)).collect()
}

impl AccuracyBar {
    /// The most or the least that the figure may be.
    pub fn limit(&self) -> Option<f64> {
        self.most.or(self.least)
    }

    fn has(&self, one: &Residual) -> bool {
        (self.stacks.is_empty() || self.stacks.contains(&one.stack))
            && self.across_nodes.is_none_or(|across| across == one.across)
    }

    fn judge(&'static self, fitted: &Fitted) -> Option<JudgedBar> {
        let crossed: &Validation = &fitted.crossed;
        let judged = |count, value| JudgedBar { bar: self, count, value, null: None };
        let step = || crossed.scores(|one| one.metric == Metric::StepTime && self.has(one));
        let memory = |device: bool| {
            let read = |one: &Residual| one.reading.is_some_and(|reading| (reading == Reading::Device) == device);
            crossed.scores(|one| read(one) && self.has(one)).map(|scores| judged(scores.groups, scores.mean))
        };
        let sets = fitted.own.len();
        match self.figure {
            JudgedFigure::Mean => {
                step().map(|scores| JudgedBar { null: Some(scores.null_mean), ..judged(scores.groups, scores.mean) })
            }
            JudgedFigure::Median => step().map(|scores| judged(scores.groups, scores.median)),
            JudgedFigure::P90 => step().map(|scores| judged(scores.groups, scores.p90)),
            JudgedFigure::Skill => step().map(|scores| judged(scores.groups, scores.skill())),
            JudgedFigure::Ordered => {
                let [_, Pairs { pairs, right, .. }] = crossed.ranking_of(|one| self.has(one)).pairs;
                (pairs > 0).then(|| judged(pairs, right))
            }
            JudgedFigure::Allocator => memory(false),
            JudgedFigure::Device => memory(true),
            JudgedFigure::Larger => {
                left_out(fitted, HoldOutReason::Large).next().map(|(groups, mean)| judged(groups, mean))
            }
            JudgedFigure::Sizes => {
                left_out(fitted, HoldOutReason::Size).next().map(|(groups, mean)| judged(groups, mean))
            }
            JudgedFigure::Sources => {
                let count = left_out(fitted, HoldOutReason::Source).count();
                let sum: f64 = left_out(fitted, HoldOutReason::Source).map(|(_, mean)| mean).sum();
                (count > 0).then(|| judged(count, sum / count as f64))
            }
            JudgedFigure::WorstSource => {
                let worst = left_out(fitted, HoldOutReason::Source).map(|(_, mean)| mean).reduce(f64::max)?;
                Some(judged(left_out(fitted, HoldOutReason::Source).count(), worst))
            }
            JudgedFigure::WithOne => worst_set(fitted, |set| set.one.after).map(|worst| judged(sets, worst)),
            JudgedFigure::WithThree => worst_set(fitted, |set| set.three.after).map(|worst| judged(sets, worst)),
            JudgedFigure::Worse => {
                let worse = |set: &&OwnSet| set.one.is_worse() || set.three.is_worse();
                (sets > 0).then(|| judged(sets, fitted.own.iter().filter(worse).count() as f64))
            }
            JudgedFigure::Covered => {
                let sources = fitted.coverage.iter().filter(|Coverage { by: (by, _), .. }| *by == "sources");
                let off = sources.map(|one| (one.rows, (one.held - NOMINAL_COVERAGE).abs()));
                off.reduce(|one, other| if other.1 > one.1 { other } else { one }).map(|(rows, off)| judged(rows, off))
            }
        }
    }
}

/// Groups and mean error of what was left out for a reason.
fn left_out(fitted: &Fitted, why: HoldOutReason) -> impl Iterator<Item = (usize, f64)> {
    fitted.left_out.iter().filter(move |left| left.why == why).map(|left| (left.scores.groups, left.scores.mean))
}

fn worst_set(fitted: &Fitted, of: fn(&OwnSet) -> f64) -> Option<f64> {
    fitted.own.iter().map(of).reduce(f64::max)
}
