//! A figure as a map shows it: its word, its title, its value in the unit of the title.

use shardscope_engine::evaluate::Summary;
use shardscope_engine::hardware::Reliability;
use shardscope_engine::scenario::{Field, Problem, Scenario};
use shardscope_engine::search::Sweep;

use super::figure::{Figure, METRICS};
use super::why::facts::{Better, FigureSubject};
use shardscope_engine::units::{Amount, Dimension};

/// Tokens of the training that a map takes where no length is given.
const TOKENS: f64 = 1e9;

impl Figure {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        self.entry().map_or("", |entry| entry.id)
    }

    /// Its name in a narrow column.
    pub fn label(self) -> &'static str {
        self.entry().map_or("", |entry| entry.label)
    }

    pub fn unit(self) -> Dimension {
        self.entry().map_or(Dimension::Of(""), |entry| entry.unit)
    }

    /// The unit of a column of it.
    pub fn column_unit(self) -> String {
        self.unit().column_unit()
    }

    pub fn more_is_better(self) -> bool {
        self.entry().is_some_and(|entry| entry.better == Better::More)
    }

    /// The title of a map of it: its name and its unit.
    pub fn title(self, sweep: &Sweep) -> String {
        let Sweep { base: scenario, x, y, .. } = sweep;
        let stated = scenario.plan.length().is_some() || [x, y].iter().any(|axis| axis.field == Field::Tokens);
        let of = if stated { "the training" } else { "1e9 tokens" };
        let Some([title, _]) = self.entry().and_then(|entry| entry.map) else { return String::new() };
        let currency = if self == Self::Cost { currency(scenario) } else { String::new() };
        let comma = if currency.is_empty() { "" } else { ", " };
        format!("{}{comma}{currency}", title.replace("{}", of))
    }

    /// The unit of a map of it, in words.
    pub fn unit_in_words(self, scenario: &Scenario) -> String {
        match self.entry().and_then(|entry| entry.map) {
            _ if self == Self::Cost => currency(scenario),
            words => words.map_or_else(String::new, |[_, unit]| unit.to_owned()),
        }
    }

    /// Its value in the unit of its title, for a length in tokens where the plan has none; NaN where the scenario lacks
    /// what the figure needs.
    pub fn plotted(self, summary: &Summary, scenario: &Scenario) -> f64 {
        let tokens = scenario.plan.length().or(Some(TOKENS));
        let amount = self.amount(&FigureSubject { tokens, ..FigureSubject::new(scenario, summary) });
        amount.map_or(f64::NAN, Amount::in_column)
    }

    /// Its value in a cell of a map, whose axes may set the length of the training, the machine and its price too.
    pub fn mapped(self, summary: &Summary, sweep: &Sweep, index: usize) -> Option<f64> {
        // What a tuned cell settled on shows in its summary.
        self.finite(summary, &sweep.untuned(index).ok()?)
    }

    /// Its value of a scenario; none where that has no such figure.
    pub fn finite(self, summary: &Summary, scenario: &Scenario) -> Option<f64> {
        Some(self.plotted(summary, scenario)).filter(|value| value.is_finite())
    }

    /// Why a scenario has no such figure, whatever its plan.
    pub fn lacks(self, scenario: &Scenario) -> Option<Problem> {
        let cluster = &scenario.cluster;
        let failing = [Self::Goodput, Self::DaysWithFailures, Self::CostWithFailures, Self::EnergyWithFailures];
        if failing.contains(&self)
            && let Some((field, example)) = unknown(&cluster.reliability)
        {
            let what = format!("{} does not say, so there is no {}", cluster.name, self.word());
            let fix = format!("add {field} = \"{example}\" under [reliability] in a copy of its file");
            return Some(Problem { field: format!("cluster.reliability.{field}"), what, fix });
        }
        let (field, fix) = match self {
            Self::Cost | Self::CostWithFailures if scenario.price().is_none() => (
                "cluster.price_per_device_hour",
                "give --price \"2.50 EUR\", or add price_per_device_hour to a copy of its file",
            ),
            Self::Energy | Self::EnergyWithFailures if cluster.watts_per_device.is_none() => {
                ("cluster.watts_per_device", "add watts_per_device = \"1.2 kW\" to a copy of its file")
            }
            _ => return None,
        };
        let what = format!("{} does not say, so there is no {}", cluster.name, self.word());
        Some(Problem { field: field.to_owned(), what, fix: fix.to_owned() })
    }
}

/// The first of what goodput takes that a machine does not state, with an example.
fn unknown(known: &Reliability) -> Option<(&'static str, &'static str)> {
    match known {
        Reliability { device_mtbf: None, .. } => Some(("device_mtbf", "50000 h")),
        Reliability { restart: None, .. } => Some(("restart", "10 min")),
        Reliability { write_rate: None, .. } => Some(("write_rate", "100 GB/s")),
        _ => None,
    }
}

/// Reads the word of a figure that maps show.
pub fn metric(word: &str) -> Result<Figure, String> {
    let words = || METRICS.map(Figure::word).join(", ");
    METRICS.into_iter().find(|metric| metric.word() == word).ok_or_else(|| format!("a metric is one of {}", words()))
}

/// The currency, where the price names one.
fn currency(scenario: &Scenario) -> String {
    let currency = scenario.price().and_then(|price| price.currency);
    Dimension::Money(currency).column_unit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::evaluate::Workspace;
    use shardscope_engine::testing;
    use std::sync::Arc;

    #[test]
    fn cost_and_energy_follow_the_device_hours() {
        let mut scenario = testing::scenario();
        let summary = shardscope_engine::evaluate::summary(&scenario, &mut Workspace::default()).expect("a summary");
        let lacks = |metric: Figure, scenario: &Scenario| metric.lacks(scenario).map(|problem| problem.field);
        assert_eq!(lacks(Figure::Cost, &scenario).as_deref(), Some("cluster.price_per_device_hour"));
        assert_eq!(lacks(Figure::Energy, &scenario).as_deref(), Some("cluster.watts_per_device"));
        assert!(Figure::Cost.plotted(&summary, &scenario).is_nan());
        let cluster = Arc::make_mut(&mut scenario.cluster);
        cluster.price_per_device_hour = "3 EUR".parse().ok();
        cluster.watts_per_device = "500 W".parse().ok();
        let hours = Figure::DeviceHours.plotted(&summary, &scenario);
        // Three euros and half a kilowatt-hour for each device-hour.
        assert!((Figure::Cost.plotted(&summary, &scenario) / hours - 3.0).abs() < 1e-12);
        assert!((Figure::Energy.plotted(&summary, &scenario) / hours - 0.5).abs() < 1e-12);
        assert_eq!((lacks(Figure::Cost, &scenario), lacks(Figure::Energy, &scenario)), (None, None));
        let map = |x: &str| Sweep {
            base: scenario.clone(),
            x: x.parse().expect("an axis"),
            y: "nodes=1".parse().expect("an axis"),
            tune: false,
        };
        assert_eq!(Figure::Cost.title(&map("shard=node")), "Cost of 1e9 tokens, EUR");
        // A map along the length of the training: each cell has its own, and twice the tokens take twice the time.
        let lengths = map("tokens=300B,600B");
        assert_eq!(Figure::Days.title(&lengths), "Days of the training");
        let days = |index| Figure::Days.mapped(&summary, &lengths, index).expect("days");
        let per_second = summary.tokens_per_s_per_device * f64::from(summary.devices);
        assert!((days(0) / (300e9 / per_second / 86_400.0) - 1.0).abs() < 1e-12);
        assert!((days(1) / days(0) - 2.0).abs() < 1e-12);
    }
}
