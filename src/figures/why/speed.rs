//! Tokens, flop, utilisation and the length of a training.

use crate::cost::peak;
use crate::evaluate::{HostDirection, Resource, Summary};
use crate::plan::{FlopCount, Recompute};
use crate::units::Seconds;

use super::facts::{Facts, count, input, share};
use super::{Figure, Formula, Source, Why};

/// Where the flop of full recompute and of attention are counted.
const MEGATRON: &str =
    "Narayanan et al., arXiv 2104.04473, section 5.1; Korthikanti et al., arXiv 2205.05198, section 6";

impl Facts<'_> {
    pub(super) fn speed(&self, figure: Figure) -> Option<Why> {
        let devices = self.devices();
        let (formula, about, source) = match figure {
            Figure::TokensPerStep => (
                self.sequences() * self.sequence(),
                "Every data-parallel rank takes its micro-batches, one after the other; ranks of a tensor, context or \
                 pipeline group work on the same tokens.",
                Source::convention("one optimizer step"),
            ),
            Figure::TokensPerSecond => (
                self.figure(Figure::TokensPerStep)? / (self.figure(Figure::StepTime)? * devices),
                "Per device, so that jobs of different sizes compare.",
                Source::convention("tokens of all devices over time and devices"),
            ),
            Figure::FlopPerToken => (
                Formula::from(6.0) * self.counted_parameters() + Formula::from(3.0) * self.attention(),
                "Forward and backward need 2 and 4 flop for each parameter and token; attention three passes over \
                 the full square of scores, not halved for causality.",
                self.flop_convention(),
            ),
            Figure::Recomputed => (
                self.recomputed(),
                "What backward computes again instead of keeping it from forward.",
                Source::paper(MEGATRON),
            ),
            Figure::ModelFlops => (
                self.figure(Figure::FlopPerToken)? * self.figure(Figure::TokensPerSecond)?,
                "The arithmetic that the model needs; what is computed twice counts once.",
                self.flop_convention(),
            ),
            Figure::HardwareFlops => (
                (self.figure(Figure::FlopPerToken)? + self.figure(Figure::Recomputed)?)
                    * self.figure(Figure::TokensPerSecond)?,
                "The arithmetic that the device does, recompute counted.",
                self.flop_convention(),
            ),
            Figure::Mfu => (
                self.figure(Figure::ModelFlops)? / self.peak(),
                "The share of the peak that goes into what the model needs.",
                Source::paper("Chowdhery et al., PaLM, arXiv 2204.02311, appendix B"),
            ),
            Figure::Hfu => (
                self.figure(Figure::HardwareFlops)? / self.peak(),
                "The share of the peak that is used, recompute counted; above 100 % where causal kernels skip half of the \
                 scores.",
                Source::paper("Chowdhery et al., PaLM, arXiv 2204.02311, appendix B"),
            ),
            Figure::Limit => (
                self.limit()?,
                "No schedule of this plan's work beats it: the peak, the busiest level or the link to the host takes \
                 the whole step. Causal kernels skip half of the scores, all of which count: it may be above the peak.",
                Source::paper("the network floor of the FSDP limits, arXiv 2504.03655"),
            ),
            Figure::ShareOfLimit => {
                return Some(Why {
                    formula: self.figure(Figure::ModelFlops)? / self.figure(Figure::Limit)?,
                    about: self.beyond().into(),
                    source: Source::convention("throughput over its limit"),
                });
            }
            _ => return self.training(figure),
        };
        Some(Why { formula, about: about.into(), source })
    }

    /// What keeps the step from its limit, as shares of the step: what a better schedule could win, and what it could
    /// not.
    fn beyond(&self) -> String {
        let Summary { step_time, time, model_flops, limit, .. } = self.summary();
        let reached = *model_flops / *limit;
        let of = |seconds: Seconds| share(seconds.max(Seconds::ZERO) / *step_time);
        let resource = self.summary().limiting();
        if resource != Resource::Compute {
            let name = match resource {
                Resource::HostLink => "link to the host".to_owned(),
                _ => format!("{} level", resource.name(self.scenario)),
            };
            return format!(
                "The {name} is busy for {} of the step; a schedule that keeps it busy all through could win the rest.",
                share(reached)
            );
        }
        format!(
            "A better schedule could win exposed communication, {} of the step, and bubble, {}; faster kernels what these \
             lose against the data sheet's peak, {}. Update, launches and waits take {}.",
            of(time.exposed),
            of(time.bubble),
            of(time.compute - *step_time * reached),
            of(time.optimizer + time.other),
        )
    }

    /// What the whole training takes.
    fn training(&self, figure: Figure) -> Option<Why> {
        let cluster = &self.scenario.cluster;
        let (formula, about, source) = match figure {
            Figure::Days => (
                self.tokens()? / (self.figure(Figure::TokensPerSecond)? * self.devices()) / Seconds::DAY.get(),
                "At the speed of this step from beginning to end: no restarts, no evaluation.",
                Source::convention("86,400 seconds a day"),
            ),
            Figure::DeviceHours => (
                self.tokens()? / self.figure(Figure::TokensPerSecond)? / 3600.0,
                "What the whole training costs, whatever the number of devices.",
                Source::convention("3,600 seconds an hour"),
            ),
            Figure::Cost => (
                self.figure(Figure::DeviceHours)?
                    * input("price of a device-hour", cluster.price_per_device_hour?, self.stated()),
                "Device-hours alone: no storage, no people, no discount.",
                Source::convention("device-hours times their price"),
            ),
            Figure::Energy => (
                self.figure(Figure::DeviceHours)?
                    * 3600.0
                    * input("power of a device", cluster.watts_per_device?, self.stated()),
                "At the stated power from beginning to end, busy or not.",
                Source::convention("device-hours times the power of a device"),
            ),
            _ => return None,
        };
        Some(Why { formula, about: about.into(), source })
    }

    /// Sequences of a step.
    fn sequences(&self) -> Formula {
        let plan = &self.scenario.plan;
        input("micro-batch", count(plan.micro_batch, ""), Source::chosen("sequences of a data-parallel rank"))
            * input("accumulated micro-batches", count(plan.accumulate, ""), Source::chosen("micro-batches of a step"))
            * input(
                "data-parallel ranks",
                count(self.layout.data, ""),
                Source::chosen("devices over tensor, context and pipeline ranks"),
            )
    }

    fn sequence(&self) -> Formula {
        input("sequence", count(self.scenario.plan.sequence, "tokens"), Source::chosen("tokens of a sequence"))
    }

    fn tokens(&self) -> Option<Formula> {
        Some(input("training length", count(self.scenario.plan.tokens?, "tokens"), Source::chosen("tokens")))
    }

    /// The parameters that the convention counts.
    fn counted_parameters(&self) -> Formula {
        let model = &self.scenario.model;
        match self.scenario.plan.flop_count {
            FlopCount::Parameters => input("parameters", count(model.active_parameters() as f64, ""), self.shape()),
            FlopCount::Matrices => self.matrix_parameters(),
        }
    }

    fn matrix_parameters(&self) -> Formula {
        let weights = self.scenario.model.matrix_parameters();
        input("weights of matrices", count(weights as f64, ""), self.shape())
    }

    /// Flop of attention's scores and values in one forward pass of a token.
    fn attention(&self) -> Formula {
        let model = &self.scenario.model;
        Formula::from(4.0)
            * input("layers", count(model.layers, ""), self.shape())
            * input("width of the heads", count(model.attention_width() as f64, ""), self.shape())
            * self.sequence()
    }

    /// What each way of recomputing repeats of a token's forward.
    fn recomputed(&self) -> Formula {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let again = match plan.recompute {
            Recompute::None => return Formula::from(0.0),
            Recompute::Selective => return self.attention(),
            Recompute::Full | Recompute::Share(_) => {
                let logits = f64::from(model.vocab) * f64::from(model.hidden);
                let layers = model.matrix_parameters() as f64 - logits;
                Formula::from(2.0) * input("weights of the layers' matrices", count(layers, ""), self.shape())
                    + self.attention()
            }
        };
        let layers = share(plan.recompute.layers());
        again * input("layers recomputed", layers, Source::chosen("recompute"))
    }

    pub(super) fn peak(&self) -> Formula {
        let precision = self.scenario.plan.precision;
        input(format!("peak at {precision}"), peak(self.scenario, precision), self.sheet())
    }

    fn limit(&self) -> Option<Formula> {
        let model = &self.scenario.model;
        let per_device = || Some(self.figure(Figure::TokensPerStep)? / self.devices());
        let square = if model.causal && self.scenario.stack.attention.flash() { 0.5 } else { 1.0 };
        // What is recomputed of the square is halved alike.
        let matrices = Formula::from(6.0) * self.matrix_parameters();
        let mut executed = matrices + Formula::from(3.0 * square) * self.attention();
        match self.scenario.plan.recompute {
            Recompute::None => {}
            Recompute::Selective => executed = executed + Formula::from(square) * self.attention(),
            Recompute::Full | Recompute::Share(_) => {
                let attention = self.attention().value();
                let repeated =
                    self.recomputed().value() - (1.0 - square) * attention * self.scenario.plan.recompute.layers();
                let flop = super::Amount { value: repeated, unit: super::Unit::Flop };
                executed = executed + input("recomputed flop per token", flop, self.shape());
            }
        }
        let busy =
            (0..self.scenario.cluster.levels.len()).filter(|level| self.summary().traffic[*level].busy.get() > 0.0);
        let mut bounds = vec![executed * per_device()? / self.peak()];
        bounds.extend(busy.filter_map(|level| self.figure(Figure::Busy(level))));
        let ways = HostDirection::ALL.into_iter().filter(|way| self.summary().host.way(*way).busy > Seconds::ZERO);
        bounds.extend(ways.filter_map(|way| self.figure(Figure::Copying(way))));
        Some(self.figure(Figure::FlopPerToken)? * per_device()? / Formula::Largest(bounds))
    }

    fn flop_convention(&self) -> Source {
        let text = match self.scenario.plan.flop_count {
            FlopCount::Parameters => {
                "6 per trained parameter and token, a tied embedding once, active experts only; \
                 12 x layers x width x sequence for attention (torchtitan, fms-fsdp, nanotron)"
            }
            FlopCount::Matrices => {
                "6 per weight of a matrix product and token, logits included, embedding not; \
                 12 x layers x width x sequence for attention (Megatron-LM)"
            }
        };
        Source::convention(text)
    }
}
