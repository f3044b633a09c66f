//! A training with failures: checkpoints, goodput, and days, cost and energy with them.

use shardscope_engine::bounds::goodput::Interruptions;
use shardscope_engine::cost::{Parameters, trained_parameters};
use shardscope_engine::evaluate::{self, FailureForecast};
use shardscope_engine::plan::OptimizerBytes;

use crate::figures::figure::Figure;
use shardscope_engine::units::{Amount, Count, Dimension, Seconds};

use super::facts::{FigureEntry, FormulaFacts, because, count, figure, input};
use super::formula::{Authority, Citation, Formula};
use super::memory::{BESIDE_MATRICES, MATRICES};

const DALY: &str = "J. T. Daly, Future Generation Computer Systems 22 (2006)";

const SHARES: &str = "J. T. Daly, Future Generation Computer Systems 22 (2006), equation 20: failures at random, in \
                      restarts and checkpoints too";

/// The sentence of each of the training's figures with failures.
const STRETCHED: &str = "the figure without failures over the goodput";

/// A training with failures.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Goodput, "goodput", "goodput", Dimension::Share)
        .more_is_better()
        .map("Goodput, % of the time", "% of the time")
        .about(
            "The share of the time that goes into steps that count: the rest is checkpoints, restarts, and work that is \
             lost with a failure and done again. Stragglers are in the step time already (stragglers of the calibration).",
        )
        .value(|of, _| Some(of.failures()?.shares.useful))
        .why(|facts, _| {
            because(facts.useful_share(facts.figure(Figure::CheckpointInterval)?)?, Citation::paper(SHARES))
        }),
    figure(Figure::GoodputEvery(0), "goodput-every", "goodput with a checkpoint every {}", Dimension::Share)
        .more_is_better()
        .about(
            "The same with so much work between two checkpoints: shorter intervals lose more time to writing, longer \
             ones more work with each failure.",
        )
        .value(|of, seconds| Some(of.failures()?.interruptions.shares(Seconds::new(seconds as f64)).useful))
        .why(|facts, seconds| {
            let interval = input("work between checkpoints", Seconds::new(seconds as f64), Citation::chosen("interval"));
            because(facts.useful_share(interval)?, Citation::paper(SHARES))
        }),
    figure(Figure::DaysWithFailures, "days-with-failures", "training time with failures", Dimension::Of("days"))
        .label("with failures")
        .less_is_better()
        .about("The whole training run with checkpoints, restarts and the work that is done again.")
        .value(|of, _| Some(of.expense_with_failures()?.time.days()))
        .why(|facts, _| facts.stretched(Figure::Days)),
    figure(Figure::CostWithFailures, "cost-with-failures", "cost with failures", Dimension::Money(None))
        .label("so it costs")
        .less_is_better()
        .about("Price of the device-hours, those of checkpoints, restarts and repeated work included.")
        .value(|of, _| Some(of.expense_with_failures()?.cost?.amount))
        .why(|facts, _| facts.stretched(Figure::Cost)),
    figure(Figure::EnergyWithFailures, "energy-with-failures", "energy with failures", Dimension::Joules)
        .label("so it draws")
        .less_is_better()
        .about("What the devices draw at their stated power, also while they wait for a restart.")
        .value(|of, _| Some(of.expense_with_failures()?.energy?.get()))
        .why(|facts, _| facts.stretched(Figure::Energy)),
    figure(Figure::TimeBetweenFailures, "time-between-failures", "time between failures", Dimension::Seconds)
        .more_is_better()
        .about("From one stop of the job to the next, on average: any device can stop all of them.")
        .value(|of, _| Some(of.failures()?.interruptions.between.get()))
        .why(|facts, _| {
            let each = facts.scenario.cluster.reliability.device_mtbf?;
            let each = input("device-time between failures", each, facts.reliability());
            because(each / facts.devices(), Citation::convention("failures of devices add up"))
        }),
    figure(Figure::CheckpointBytes, "checkpoint-size", "size of a checkpoint", Dimension::Bytes)
        .less_is_better()
        .about(
            "Weights, master weights and the optimizer's moments, each written once, however many ranks hold them. \
             Gradients are not saved.",
        )
        .value(|of, _| Some(evaluate::checkpoint_size(of.scenario).get()))
        .why(|facts, _| {
            let plan = &facts.scenario.plan;
            let storage = plan.precision.storage();
            let bytes = |value: f64| Amount { value, unit: Dimension::Bytes };
            let parameters = facts.trained(count(trained_parameters(facts.scenario) as f64, ""));
            let weights = input("bytes of a weight", bytes(storage.bytes()), Citation::chosen("precision"));
            let of_state = |state: OptimizerBytes| {
                let chosen = Citation::chosen("optimizer, precision and ema");
                input("of its optimizer state, averages included", bytes(state.total().get()), chosen)
            };
            let Parameters { trained, muon, .. } = Parameters::trained_in_all(facts.scenario);
            let saved = if muon > Count::ZERO {
                let of = |name: &str, parameters: Count| input(name, count(parameters.get(), ""), facts.shape());
                parameters * weights
                    + of(MATRICES, muon) * of_state(plan.state_of_matrices())
                    + of(BESIDE_MATRICES, trained - muon) * of_state(plan.state_beside_matrices())
            } else {
                parameters * (weights + of_state(plan.state_of_matrices()))
            };
            because(saved, Citation::convention("what frameworks save to go on from"))
        }),
    figure(Figure::CheckpointWrite, "checkpoint-write", "writing of a checkpoint", Dimension::Seconds)
        .less_is_better()
        .about("For how long a checkpoint holds the job up: nothing is computed beside it.")
        .value(|of, _| Some(of.failures()?.interruptions.write.get()))
        .why(|facts, _| {
            let rate = evaluate::checkpoint_bandwidth(facts.scenario)?;
            let cluster = &facts.scenario.cluster;
            let (link, ports) = (facts.scenario.host_link(), cluster.node_injection());
            let [devices, nodes] = [facts.scenario.devices(), facts.scenario.nodes()].map(f64::from);
            // Few devices cannot fill a fast file system: then their links to the host set the rate, or the nodes' ports.
            let rate = if cluster.reliability.write_rate? <= rate {
                input("write rate of the file system", rate, facts.reliability())
            } else if link * devices <= ports * nodes {
                facts.devices() * facts.device_link()
            } else {
                let level = cluster.levels.last().map_or("", |level| &level.source);
                let nodes = input("nodes", count(nodes, ""), Citation::chosen("nodes or devices"));
                nodes * input("ports of a node", ports, Citation::new(Authority::Sheet, level))
            };
            because(facts.figure(Figure::CheckpointBytes)? / rate, Citation::convention("bytes over the rate"))
        }),
    figure(Figure::CheckpointInterval, "checkpoint-interval", "work between checkpoints", Dimension::Seconds)
        .about("Less loses more time to writing, more loses more work with each failure; never less than a step.")
        .value(|of, _| Some(of.failures()?.interval.get()))
        .why(|facts, _| because(facts.between_checkpoints()?, Citation::paper(&format!("{DALY}, equation 37")))),
];

impl FormulaFacts<'_> {
    /// `T / (M e^(R / M) (e^((T + C) / M) - 1))` with so much work `T` between two checkpoints.
    fn useful_share(&self, interval: Formula) -> Option<Formula> {
        let between = || self.figure(Figure::TimeBetweenFailures);
        let restart = input("restart", self.scenario.cluster.reliability.restart?, self.reliability());
        let euler = || input("e", count(std::f64::consts::E, ""), Citation::convention("Euler's number"));
        let grown = |exponent: Formula| Formula::Power(Box::new([euler(), exponent]));
        // What fails begins anew, so that on average work and checkpoint take `M (e^((T + C) / M) - 1)`.
        let stretch = (interval.clone() + self.figure(Figure::CheckpointWrite)?) / between()?;
        Some(interval / (between()? * grown(restart / between()?) * (grown(stretch) - 1.0)))
    }

    /// `sqrt(2 C M) (1 + sqrt(C / 2 M) / 3 + C / 2 M / 9) - C`, or a step.
    fn between_checkpoints(&self) -> Option<Formula> {
        let forecast = FailureForecast::new(self.scenario, self.summary().step_time)?;
        let Interruptions { between, write, .. } = forecast.interruptions;
        // Checkpoints come between steps, so no interval is less than one.
        if forecast.interval <= self.summary().step_time {
            return self.figure(Figure::StepTime);
        }
        // Daly's expansion in `C / 2 M` ends at 1, beyond which the interval is `M` itself.
        if write >= between * 2.0 {
            return self.figure(Figure::TimeBetweenFailures);
        }
        let [write, between] = [Figure::CheckpointWrite, Figure::TimeBetweenFailures].map(|one| self.figure(one));
        let (write, between) = (write?, between?);
        let root = |of: Formula| Formula::Power(Box::new([of, Formula::from(0.5)]));
        let young = root(Formula::from(2.0) * write.clone() * between.clone());
        let half = || write.clone() / (Formula::from(2.0) * between.clone());
        Some(young * (Formula::from(1.0) + root(half()) / 3.0 + half() / 9.0) - write.clone())
    }

    /// A figure of the training with failures.
    fn stretched(&self, without: Figure) -> Option<super::facts::Why> {
        because(self.figure(without)? / self.figure(Figure::Goodput)?, Citation::convention(STRETCHED))
    }
}
