//! Slow links and low clocks: the rate of a level, or the clock of the devices, that would give the measured time. Each
//! is solved for, since it may have any value.

use std::sync::Mutex;

use crate::cost::Factors;
use crate::evaluate::{Workspace, summary_with};
use crate::hardware::{Cluster, Rings};
use crate::scenario::{Checked, Edit, Field};
use crate::search::advice::Adviser;
use crate::search::evaluator::Evaluator;
use crate::units::{BytesPerSecond, whole_percent};

use super::suspects::{Suspect, machine};
use super::{CauseKind, Change, OwnFigure};

/// The range of a level's rate, as a factor on the stated one: from TCP on one slow port in place of eight fast ones to
/// a network four times as fast as the cluster's file says.
const RATES: [f64; 2] = [1.0 / 256.0, 4.0];

/// The range of the clock, as a factor on the usual one: an H100 that throttles at 600 of 1,980 MHz keeps 0.3.
const CLOCKS: [f64; 2] = [0.3, 1.0];

/// Halvings of the range, on its logarithm: they narrow a range of 1,024 to 0.2 %.
const HALVINGS: usize = 12;

/// A rate that may differ from the stated one.
#[derive(Clone, Copy)]
enum Rate {
    /// A level of the cluster, by its index.
    Level(usize),
    /// The clock of the devices.
    Clock,
}

/// The rates that would each, by itself, give the scenario the measured time.
pub(super) fn suspects(adviser: &Adviser, figure: OwnFigure, evaluator: &Evaluator) -> Vec<Suspect> {
    let scenario = adviser.scenario;
    let Ok(checked) = scenario.checked() else { return Vec::new() };
    let levels = (0..scenario.cluster.levels.len()).rev().map(Rate::Level);
    let rates: Vec<Rate> = levels.chain([Rate::Clock]).collect();
    let order: Vec<usize> = (0..rates.len()).collect();
    let found = Mutex::new(vec![None; rates.len()]);
    evaluator.each(
        &order,
        1,
        |index, workspace| factor(&checked, rates[index], figure, workspace),
        &|index, factor| {
            if let Ok(mut found) = found.lock() {
                found[index] = factor;
            }
        },
    );
    let found = found.into_inner().unwrap_or_default();
    rates.into_iter().zip(found).filter_map(|(rate, factor)| suspect(adviser, rate, factor?)).collect()
}

/// The factor on a rate that gives the scenario the measured time; `None` where no factor in range does.
fn factor(scenario: &Checked, rate: Rate, figure: OwnFigure, workspace: &mut Workspace) -> Option<f64> {
    let mut off = |exponent: f64| {
        let mut factors = Factors::default();
        match rate {
            Rate::Level(index) => factors.bandwidth[index] = libm::exp(exponent),
            Rate::Clock => factors.peak = libm::exp(exponent),
        }
        Some(figure.off(&summary_with(scenario, &factors, workspace).ok()?))
    };
    let [mut low, mut high] = match rate {
        Rate::Level(_) => RATES,
        Rate::Clock => CLOCKS,
    }
    .map(libm::log);
    let at_low = off(low)?;
    if at_low * off(high)? > 0.0 {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if off(middle)? * at_low > 0.0 { low = middle } else { high = middle }
    }
    Some(libm::exp(f64::midpoint(low, high)))
}

/// The scenario on a machine whose rate is changed by a factor.
fn suspect(adviser: &Adviser, rate: Rate, factor: f64) -> Option<Suspect> {
    let scenario = adviser.scenario;
    let own = &scenario.cluster;
    let (kind, change, value, edit) = match rate {
        Rate::Level(index) => {
            let outermost = index + 1 == own.levels.len();
            let planned = if outermost { scenario.plan.bandwidth_factor } else { 1.0 };
            let change = format!("bandwidth {}", own.place(index));
            let value = format!("{} (x {factor:.2})", rate_of(own, index) * (planned * factor));
            let edit = if outermost {
                Edit::new(Field::Bandwidth, planned * factor)
            } else {
                machine(adviser, &change, &whole_percent(factor), &mut scaled(own, index, factor))
            };
            (CauseKind::Link, change, value, edit)
        }
        Rate::Clock => {
            let (change, value) = ("clocks".to_owned(), format!("{} of the usual", whole_percent(factor)));
            let mut cluster = Cluster::clone(own);
            cluster.device.slow(factor);
            let edit = machine(adviser, &change, &whole_percent(factor), &mut cluster);
            (CauseKind::Clock, change, value, edit)
        }
    };
    Some(Suspect { kind, changes: vec![Change::new(change, value)], candidate: adviser.candidate(vec![edit])? })
}

/// The rate at which a device sends into a level while all others do so too.
fn rate_of(cluster: &Cluster, index: usize) -> BytesPerSecond {
    let level = &cluster.levels[index];
    level.measured.as_ref().map_or(level.bandwidth / cluster.sharing(index), |measured| measured.bandwidth)
}

/// The cluster with the rate of a level changed by a factor.
fn scaled(cluster: &Cluster, index: usize, factor: f64) -> Cluster {
    let mut cluster = Cluster::clone(cluster);
    cluster.rings = Rings::default();
    let level = &mut cluster.levels[index];
    level.bandwidth = level.bandwidth * factor;
    level.injection = level.injection.map(|all| all * factor);
    if let Some(measured) = &mut level.measured {
        measured.bandwidth = measured.bandwidth * factor;
    }
    for link in &mut level.links {
        link.bandwidth = link.bandwidth * factor;
    }
    cluster
}
