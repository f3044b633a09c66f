//! Tokens, flop, utilisation and the length of a training.

use shardscope_engine::cost::{TokenFlop, adapters_flop, flop_per_weight, frozen_flop, peak, unmet_logits_flop};
use shardscope_engine::evaluate::{HostDirection, Resource, Summary};
use shardscope_engine::model::LayerKind;
use shardscope_engine::plan::{FlopCount, Recompute};

use crate::figures::figure::Figure;
use shardscope_engine::units::{Amount, Dimension, Flop, Seconds};

use super::facts::{FigureEntry, FormulaFacts, Why, apart, because, count, figure, input, share};
use super::formula::{Citation, Formula};

/// Where the flop of full recompute and of attention are counted.
const MEGATRON: &str =
    "Narayanan et al., arXiv 2104.04473, section 5.1; Korthikanti et al., arXiv 2205.05198, section 6";

/// Where utilisation is defined.
const PALM: &str = "Chowdhery et al., PaLM, arXiv 2204.02311, appendix B";

/// Tokens, flop, utilisation, and the length of a training.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Devices, "devices", "devices", Dimension::Of(""))
        .about("Devices in the job, one for each rank.")
        .value(|of, _| Some(f64::from(of.summary.devices)))
        .why(|facts, _| because(facts.devices(), Citation::chosen("nodes x devices of a node, or as given"))),
    figure(Figure::TokensPerStep, "tokens-per-step", "tokens per step", Dimension::Of("tokens"))
        .about(
            "The global batch in tokens: all micro-batches of every data-parallel rank; ranks of a tensor, context or \
             pipeline group work on the same tokens.",
        )
        .value(|of, _| Some(of.summary.tokens_per_step))
        .why(|facts, _| because(facts.sequences() * facts.sequence(), Citation::convention("one optimizer step"))),
    figure(Figure::TokensPerSecond, "tokens", "tokens per second and device", Dimension::Of("tokens/s"))
        .label("tokens/s")
        .more_is_better()
        .about("Tokens of a step over its time, per device so that jobs of different sizes can be compared.")
        .value(|of, _| Some(of.summary.tokens_per_s_per_device))
        .why(|facts, _| {
            let device_time = facts.figure(Figure::StepTime)? * facts.devices();
            let source = Citation::convention("tokens of all devices over time and devices");
            because(facts.figure(Figure::TokensPerStep)? / device_time, source)
        }),
    figure(Figure::TotalTokens, "tokens-per-s", "tokens per second", Dimension::Of("tokens/s"))
        .label("all tokens/s")
        .more_is_better()
        .map("Tokens per second of all devices", "tokens/s in all")
        .about("Tokens of a step over its time, all devices together: what decides when the training ends.")
        .value(|of, _| Some(of.summary.tokens_per_s()))
        .why(|facts, _| {
            let rate = facts.figure(Figure::TokensPerStep)? / facts.figure(Figure::StepTime)?;
            because(rate, Citation::convention("tokens of all devices over time"))
        }),
    figure(Figure::FlopPerToken, "flop-per-token", "model flop per token", Dimension::Flop)
        .about(
            "Forward and backward need 2 and 4 flop for each parameter and token, 2 and 2 where it is frozen; attention \
             three passes over the full square of scores, not halved for causality.",
        )
        .value(|of, _| Some(of.summary.model_flops.get() / of.summary.tokens_per_s_per_device))
        .why(|facts, _| {
            let each = flop_per_weight(facts.scenario).get();
            let mut flop = Formula::from(each) * facts.counted_parameters() + Formula::from(3.0) * facts.attention();
            if let Some(rule) = facts.recurrences() {
                flop = flop + Formula::from(3.0) * rule;
            }
            if facts.scenario.plan.tuning.freezes() {
                flop = flop + facts.adapters();
            }
            let saved = frozen_flop(facts.scenario);
            if saved > Flop::ZERO {
                let rule = "2 for each gradient of a parameter that backward does not compute, and backward of attention in \
                            layers that it does not reach";
                flop = flop - input("flop that frozen parts save", saved, Citation::convention(rule));
            }
            let unmet = unmet_logits_flop(facts.scenario);
            if unmet > Flop::ZERO {
                let rule = "2 forward and 2 for each gradient of a weight of the logits, for the share of tokens that are a prompt's";
                flop = flop - input("flop of logits that prompts lack", unmet, Citation::convention(rule));
            }
            because(flop, facts.flop_convention())
        }),
    figure(Figure::Recomputed, "recomputed", "recomputed flop per token", Dimension::Flop)
        .about("What activation checkpointing makes backward compute again.")
        .value(|of, _| {
            let Summary { hardware_flops, model_flops, tokens_per_s_per_device, .. } = of.summary;
            // Models beside are computed once.
            let beside = TokenFlop::new(of.scenario).beside.get();
            Some((*hardware_flops - *model_flops).get() / tokens_per_s_per_device - beside)
        })
        .why(|facts, _| because(facts.recomputed(), Citation::paper(MEGATRON))),
    figure(Figure::ModelFlops, "throughput", "model flop per second and device", Dimension::FlopPerSecond)
        .label("TFLOP/s")
        .more_is_better()
        .map("Throughput, TFLOP/s per device", "TFLOP/s per device")
        .about("The arithmetic that the model needs; recomputation does not count.")
        .value(|of, _| Some(of.summary.model_flops.get()))
        .why(|facts, _| {
            let rate = facts.figure(Figure::FlopPerToken)? * facts.figure(Figure::TokensPerSecond)?;
            because(rate, facts.flop_convention())
        }),
    figure(Figure::HardwareFlops, "hardware-flop", "hardware flop per second and device", Dimension::FlopPerSecond)
        .more_is_better()
        .about("The arithmetic that the device performs, including recomputation.")
        .value(|of, _| Some(of.summary.hardware_flops.get()))
        .why(|facts, _| {
            let flop = facts.figure(Figure::FlopPerToken)? + facts.figure(Figure::Recomputed)?;
            let flop = facts.with_flop_beside(flop);
            because(flop * facts.figure(Figure::TokensPerSecond)?, facts.flop_convention())
        }),
    figure(Figure::Mfu, "mfu", "model flop utilisation", Dimension::Share)
        .label("MFU")
        .more_is_better()
        .map("Model flop utilisation, %", "% MFU")
        .about(
            "MFU: the share of the peak spent on what the model needs; above 100 % if causal kernels skip half of the \
             scores, all of which count.",
        )
        .value(|of, _| Some(of.summary.mfu))
        .why(|facts, _| because(facts.figure(Figure::ModelFlops)? / facts.peak(), Citation::paper(PALM))),
    figure(Figure::Hfu, "hfu", "hardware flop utilisation", Dimension::Share)
        .label("HFU")
        .more_is_better()
        .about(
            "HFU: the share of the peak that is used, including recomputation; above 100 % if causal kernels skip \
             half of the scores.",
        )
        .value(|of, _| Some(of.summary.hfu))
        .why(|facts, _| because(facts.figure(Figure::HardwareFlops)? / facts.peak(), Citation::paper(PALM))),
    figure(Figure::Limit, "limit", "limit of the model flop rate", Dimension::FlopPerSecond)
        .more_is_better()
        .map("Throughput limit, TFLOP/s per device", "TFLOP/s per device at most")
        .about(
            "No schedule of this plan can exceed it: arithmetic, the busiest level or the link to the host would be \
             busy all step. Causal kernels skip half of the scores, all of which count: it may be above the peak.",
        )
        .value(|of, _| Some(of.summary.limit.get()))
        .why(|facts, _| {
            because(facts.limit()?, Citation::paper("the network floor of the FSDP limits, arXiv 2504.03655"))
        }),
    figure(Figure::ShareOfLimit, "share-of-limit", "share of the limit", Dimension::Share)
        .more_is_better()
        .map("Throughput, % of its limit", "% of the limit")
        .about("Throughput over the limit that no schedule of this plan can exceed: the rest could still be gained.")
        .value(|of, _| Some(of.summary.model_flops / of.summary.limit))
        .why(|facts, _| {
            let formula = facts.figure(Figure::ModelFlops)? / facts.figure(Figure::Limit)?;
            let source = Citation::convention("throughput over its limit");
            Some(Why { formula, about: Some(facts.beyond().into()), source })
        }),
    figure(Figure::Days, "days", "training time", Dimension::Of("days"))
        .label("days")
        .less_is_better()
        .map("Days of {}", "days")
        .about("The whole training run at the speed of this step, without restarts or evaluation.")
        .value(|of, _| Some(of.expense()?.time.days()))
        .why(|facts, _| {
            let rate = facts.figure(Figure::TotalTokens)?;
            because(facts.tokens()? / rate / Seconds::DAY.get(), Citation::convention("86,400 seconds a day"))
        }),
    figure(Figure::DeviceHours, "device-hours", "device-hours", Dimension::Of("device-hours"))
        .less_is_better()
        .map("Device-hours of {}", "device-hours")
        .about("Hours of all devices added up, for the whole training run.")
        .value(|of, _| Some(of.expense()?.device_time.hours()))
        .why(|facts, _| {
            let hours = facts.tokens()? / facts.figure(Figure::TokensPerSecond)? / 3600.0;
            because(hours, Citation::convention("3,600 seconds an hour"))
        }),
    figure(Figure::Cost, "cost", "cost of the training", Dimension::Money(None))
        .label("cost")
        .less_is_better()
        .map("Cost of {}", "")
        .about("Price of the device-hours alone, without storage, staff or discounts.")
        .value(|of, _| Some(of.expense()?.cost?.amount))
        .why(|facts, _| {
            let own = facts.scenario.plan.price.map(|_| Citation::chosen("price"));
            let source = own.unwrap_or_else(|| facts.stated());
            let price = input("price of a device-hour", facts.scenario.price()?, source);
            because(facts.figure(Figure::DeviceHours)? * price, Citation::convention("device-hours times their price"))
        }),
    figure(Figure::Energy, "energy", "energy of the training", Dimension::Joules)
        .label("energy")
        .less_is_better()
        .map("Energy of {}, kWh", "kWh")
        .about("What the devices draw at their stated power over the whole run, busy or idle.")
        .value(|of, _| Some(of.expense()?.energy?.get()))
        .why(|facts, _| {
            let power = input("power of a device", facts.scenario.cluster.watts_per_device?, facts.stated());
            let source = Citation::convention("device-hours times the power of a device");
            because(facts.figure(Figure::DeviceHours)? * 3600.0 * power, source)
        }),
];

impl FormulaFacts<'_> {
    /// Losses between the step and its limit, as shares of the step: those that a better schedule could win back, and
    /// those that it could not.
    fn beyond(&self) -> String {
        let Summary { step_time, time, model_flops, limit, .. } = self.summary();
        // The shortest step over this one: what arithmetic at the peak, or the busiest link, takes of it.
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
            "A better schedule could win exposed communication, {} of the step, and bubble, {}; faster kernels what \
             these lose against the data sheet's peak, {}. Update, launches and waits take {}.",
            of(time.exposed),
            of(time.bubble),
            of(time.compute - *step_time * reached),
            of(time.optimizer + time.other),
        )
    }

    fn sequences(&self) -> Formula {
        let plan = &self.scenario.plan;
        let examples =
            input("micro-batch", count(plan.micro_batch, ""), Citation::chosen("sequences of a data-parallel rank"));
        let each = plan.sequences_each();
        let method = plan.post_training.method;
        let sequences = match each {
            1 => examples,
            _ => {
                examples
                    * input(format!("sequences of an example of {method}"), count(each, ""), Citation::chosen("method"))
            }
        };
        sequences
            * input(
                "accumulated micro-batches",
                count(plan.accumulate, ""),
                Citation::chosen("micro-batches of a step"),
            )
            * input(
                "data-parallel ranks",
                count(self.layout.data, ""),
                Citation::chosen("devices over tensor, context and pipeline ranks"),
            )
    }

    fn sequence(&self) -> Formula {
        input("sequence", count(self.scenario.plan.sequence, "tokens"), Citation::chosen("tokens of a sequence"))
    }

    /// Tokens that attention meets as one sequence.
    fn attended_sequence(&self) -> Formula {
        let example = self.scenario.plan.attended_sequence();
        if example == self.scenario.plan.sequence {
            return self.sequence();
        }
        input(
            "example",
            count(example, "tokens"),
            Citation::chosen("mean tokens of an example, which attention keeps apart"),
        )
    }

    fn tokens(&self) -> Option<Formula> {
        Some(input("training length", count(self.scenario.plan.length()?, "tokens"), Citation::chosen("tokens")))
    }

    /// Trained parameters, so many.
    pub(super) fn trained(&self, parameters: Amount) -> Formula {
        let name = if self.scenario.trains_part() { "trained parameters" } else { "parameters" };
        input(name, parameters, self.shape())
    }

    /// Flop of a token in adapters: all three products of each.
    fn adapters(&self) -> Formula {
        let all = Citation::convention("6 for each parameter of an adapter that a token meets");
        input("flop of the adapters", adapters_flop(self.scenario), all)
    }

    /// The parameters that the convention counts.
    fn counted_parameters(&self) -> Formula {
        let model = &self.scenario.model;
        match self.scenario.plan.flop_count {
            FlopCount::Parameters => input("parameters", count(model.active_parameters() as f64, ""), self.shape()),
            FlopCount::Matrices | FlopCount::Causal => self.matrix_parameters(),
        }
    }

    fn matrix_parameters(&self) -> Formula {
        let weights = self.scenario.model.matrix_parameters();
        input("weights of matrices", count(weights as f64, ""), self.shape())
    }

    /// Flop of attention's scores and values in one forward pass of a token, as they are counted.
    fn attention(&self) -> Formula {
        let model = &self.scenario.model;
        let of_kind = |(kind, layers): (LayerKind, u32)| {
            let (apart, width) =
                (apart(model, kind), model.attended_width(kind, self.scenario.plan.attended_sequence()));
            input(format!("layers{apart}"), count(layers, ""), self.shape())
                * input(format!("width of the heads{apart}"), count(width, ""), self.shape())
        };
        let kinds = model.kinds().map(of_kind).reduce(|one, other| one + other);
        let whole = Formula::from(4.0) * kinds.unwrap_or_else(|| Formula::from(0.0)) * self.attended_sequence();
        let counted = self.scenario.counted_attention();
        if counted < 1.0 { whole * counted } else { whole }
    }

    /// Flop of mixers that keep a state in one forward pass of a token, where there are any.
    fn recurrences(&self) -> Option<Formula> {
        let model = &self.scenario.model;
        let of_kind = |(kind, layers): (LayerKind, u32)| {
            let recurrence = model.recurrence(kind)?;
            let states = count(recurrence.states() as f64, "");
            Some(
                Formula::from(recurrence.flop_per_number())
                    * input(format!("layers of {}", kind.name(model)), count(layers, ""), self.shape())
                    * input("numbers in a layer's states", states, Citation::convention(recurrence.source())),
            )
        };
        model.kinds().filter_map(of_kind).reduce(|one, other| one + other)
    }

    /// The share of a token's forward that each way of recomputing repeats.
    fn recomputed(&self) -> Formula {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let again = match plan.recompute {
            Recompute::None => return self.logits_again().unwrap_or(Formula::from(0.0)),
            Recompute::Selective => {
                let again = TokenFlop::new(self.scenario).recomputed;
                let rule = "products of the parts that run again, and attention where it does";
                return input("flop of the parts computed again", again, Citation::convention(rule));
            }
            Recompute::Full | Recompute::Share(_) if model.frozen_layers > 0 => {
                let again = TokenFlop::new(self.scenario).recomputed;
                let rule =
                    "2 per weight and token, and attention, of the layers that backward reaches and computes again";
                return input("flop of the layers computed again", again, Citation::convention(rule));
            }
            Recompute::Full | Recompute::Share(_) => {
                let layers = model.layers_matrix_parameters() as f64;
                let products = Formula::from(2.0)
                    * input("weights of the layers' matrices", count(layers, ""), self.shape())
                    + self.attention();
                match self.recurrences() {
                    Some(rule) => products + rule,
                    None => products,
                }
            }
        };
        let layers = share(plan.recompute.layers());
        let layers = again * input("layers recomputed", layers, Citation::chosen("recompute"));
        match self.logits_again() {
            Some(logits) => layers + logits,
            None => layers,
        }
    }

    /// Flop of logits that backward computes again.
    fn logits_again(&self) -> Option<Formula> {
        let model = &self.scenario.model;
        let weights = f64::from(model.vocab) * f64::from(model.hidden) * f64::from(1 + model.mtp_layers)
            - self.scenario.unmet_logits();
        let weights = || input("weights of the head, whose product is repeated", count(weights, ""), self.shape());
        self.scenario.repeats_logits().then(|| Formula::from(2.0) * weights())
    }

    pub(super) fn peak(&self) -> Formula {
        let precision = self.scenario.plan.precision;
        input(format!("peak at {precision}"), peak(self.scenario, precision), self.sheet())
    }

    fn limit(&self) -> Option<Formula> {
        let per_device = || Some(self.figure(Figure::TokensPerStep)? / self.devices());
        let rule = "matrices, attention without what causal kernels skip, what is computed again, and models beside";
        let executed = input(
            "flop per token that no schedule saves",
            TokenFlop::new(self.scenario).executed,
            Citation::convention(rule),
        );
        let busy =
            (0..self.scenario.cluster.levels.len()).filter(|level| self.summary().traffic[*level].busy.get() > 0.0);
        // The shortest step: whichever of arithmetic and links would be busy all through it.
        let mut bounds = vec![executed * per_device()? / self.peak()];
        bounds.extend(busy.filter_map(|level| self.figure(Figure::Busy(level))));
        let ways = HostDirection::ALL.into_iter().filter(|way| self.summary().host.way(*way).busy > Seconds::ZERO);
        bounds.extend(ways.filter_map(|way| self.figure(Figure::Copying(way))));
        Some(self.figure(Figure::FlopPerToken)? * per_device()? / Formula::Largest(bounds))
    }

    fn flop_convention(&self) -> Citation {
        if self.scenario.plan.tuning.freezes() {
            return Citation::convention(
                "2 per weight and token forward and 2 for the gradient of its input: a frozen weight has none of its own; 6 \
                 per parameter of an adapter; attention as in full training",
            );
        }
        let text = match self.scenario.plan.flop_count {
            FlopCount::Parameters => {
                "6 per trained parameter and token, a tied embedding once, active experts only; \
                 12 x layers x width x sequence for attention (torchtitan, fms-fsdp, nanotron)"
            }
            FlopCount::Matrices => {
                "6 per weight of a matrix product and token, logits included, embedding not; \
                 12 x layers x width x sequence for attention (Megatron-LM until March 2025)"
            }
            FlopCount::Causal => {
                "6 per weight of a matrix product and token, logits included, embedding not; \
                 6 x layers x width x sequence for causal attention (Megatron-LM since March 2025)"
            }
        };
        Citation::convention(text)
    }
}
