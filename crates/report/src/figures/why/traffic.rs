//! Traffic of each level, and the gain from more of each resource.

use shardscope_engine::cost::ExpertTransfers;
use shardscope_engine::evaluate::{Copies, HostDirection, Stream};
use shardscope_engine::plan::Ema;

use crate::figures::figure::Figure;
use shardscope_engine::units::{Amount, Bytes, Dimension, Seconds};

use super::facts::{FigureEntry, FormulaFacts, Why, because, count, figure, input, only_counted, share, way};
use super::formula::{Authority, Citation, Formula};

/// The sentence about traffic.
const SENT: &str = "Bytes that one device sends into the level in a step, on average over the devices: a ring of n ranks \
                    passes (n-1)/n of what it gathers or reduces over each of its edges.";

/// Traffic of each level and of each way of the link to the host, and the gain from more of each resource.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Traffic(0), "traffic", "sent into the {} level", Dimension::Bytes)
        .less_is_better()
        .about(SENT)
        .value(|of, level| Some(of.summary.traffic.get(level)?.bytes_per_device.get()))
        .why(|facts, level| {
            let source = "Thakur et al., Optimization of Collective Communication in MPICH, 2005";
            let about = format!("{SENT}{}", facts.exchanges(level));
            Some(Why { formula: facts.sent(level), about: Some(about.into()), source: Citation::paper(source) })
        }),
    figure(Figure::Busy(0), "busy", "the {} level's busy time", Dimension::Seconds)
        .less_is_better()
        .about(
            "How long the level would be busy if each transfer ran alone. More than the step means that the level \
             cannot keep up.",
        )
        .value(|of, level| Some(of.summary.traffic.get(level)?.busy.get()))
        .why(|facts, level| because(facts.busy(level)?, facts.calibrated())),
    figure(Figure::Copied(HostDirection::Out), "copied", "copied {}", Dimension::Bytes)
        .less_is_better()
        .about(
            "Bytes that one device copies this way in a step: its shard of the state that lives on the host, and \
             checkpoints or activations that do.",
        )
        .value(|of, at| Some(of.summary.host.way(way(at)).bytes.get()))
        .why(|facts, at| because(facts.copied(way(at)), Citation::simulated())),
    figure(Figure::Copying(HostDirection::Out), "copying", "busy time of copies {}", Dimension::Seconds)
        .less_is_better()
        .about(
            "How long this way of the link would be busy if each copy ran alone. More than the step means that the \
             link cannot keep up.",
        )
        .value(|of, at| Some(of.summary.host.way(way(at)).busy.get()))
        .why(|facts, at| {
            let link = facts.host_link();
            let source = Citation::convention("each way has the link's bandwidth for itself");
            let Copies { bytes, busy } = facts.summary().host.way(way(at));
            let behind = facts.rates.weights_from_host() < facts.rates.host && way(at) == HostDirection::In;
            let plan = &facts.scenario.plan;
            let works = plan.ema == Ema::Host || (plan.offload.state() && plan.accumulate > 1);
            if works && way(at) == HostDirection::Out {
                let inline =
                    "weights averaged by --host-threads, gradients added to sums at the rank's share of the host's memory \
                     bandwidth, each read and written once, in line with the copies";
                let worked = busy - bytes / facts.rates.host;
                let worked = input("averages and sums on the host", worked, Citation::convention(inline));
                return because(facts.figure(Figure::Copied(way(at)))? / link + worked, source);
            }
            let link = match bytes / busy / facts.rates.host {
                reached if behind => link * input("share of it that the drives fill", share(reached), facts.host()),
                _ => link,
            };
            because(facts.figure(Figure::Copied(way(at)))? / link, source)
        }),
    figure(Figure::Elasticity(0), "elasticity", "10 % {}", Dimension::Change)
        .about("By how much throughput grows: the step is simulated again with that much changed.")
        .value(|of, at| Some(of.elasticity.get(at)?.gain))
        .why(elasticity),
];

pub const fn carried(lane: Stream) -> &'static str {
    match lane {
        Stream::Gather => "gathers of weights",
        Stream::Reduce => "reductions of gradients",
        Stream::Replicas => "sums over replicas",
        Stream::Tensor => "tensor parallelism",
        Stream::Context => "context parallelism",
        Stream::Experts => "tokens to experts and back",
        Stream::Pipeline => "pipeline",
        Stream::Compute | Stream::HostOut | Stream::HostIn => "other transfers",
    }
}

impl FormulaFacts<'_> {
    /// By what sends it, in which form.
    fn sent(&self, level: usize) -> Formula {
        let sent = &self.evaluation.details.sent;
        let forms = &self.evaluation.details.algorithms;
        let name = |lane: Stream| format!("{} ({})", carried(lane), forms[lane as usize].words().join(", "));
        let lanes = Stream::ALL.into_iter().map(|lane| (lane, sent[lane as usize][level]));
        let used = lanes.filter(|(_, bytes)| *bytes > Bytes::ZERO);
        Formula::Sum(used.map(|(lane, bytes)| input(name(lane), bytes, Citation::simulated())).collect())
    }

    /// What the exchanges of a layer's tokens with its experts send into a level for each micro-batch, in words.
    fn exchanges(&self, level: usize) -> String {
        let ExpertTransfers { dispatch, combine } = self.rates.expert_transfers(&self.layout);
        let formats = self.scenario.dispatch_formats();
        let ways = [
            ("to experts", formats.dispatch.forward, dispatch.forward),
            ("back", formats.combine.forward, combine.forward),
            ("in backward to experts", formats.combine.backward, combine.backward),
            ("and back", formats.dispatch.backward, dispatch.backward),
        ];
        let ways = ways.map(|(way, format, sent)| (way, format, sent.bytes[level]));
        if ways.iter().all(|(.., sent)| *sent == Bytes::ZERO) {
            return String::new();
        }
        let said = ways.map(|(way, format, sent)| format!("{way} {sent} in {format}")).join(", ");
        let library = self.scenario.plan.experts.dispatcher;
        format!(
            " Of a layer's tokens {library} sends {said}: a copy for each expert elsewhere, or for each node and rank that has one \
             (DeepEP, tests/test_internode.py)."
        )
    }

    /// How many copies, of what mean size.
    fn copied(&self, way: HostDirection) -> Formula {
        let copies: f64 = self.spans(way.stream()).map(|span| self.times_at(span.start)).sum();
        if copies == 0.0 {
            return Formula::from(0.0);
        }
        let mean = self.summary().host.way(way).bytes / copies;
        input("copies", count(copies, ""), Citation::simulated()) * input("mean size", mean, Citation::simulated())
    }

    /// Bytes over what the level has and the mean share of it that the transfers reach.
    fn busy(&self, index: usize) -> Option<Formula> {
        let (level, traffic) = (self.scenario.cluster.levels.get(index)?, self.summary().traffic.get(index)?);
        if traffic.busy == Seconds::ZERO {
            return Some(Formula::from(0.0));
        }
        let reached = traffic.bytes_per_device / traffic.busy / level.bandwidth;
        let sheet = Citation::new(Authority::Sheet, &level.source);
        Some(
            self.figure(Figure::Traffic(index))?
                / (input("bandwidth of a device's port", level.bandwidth, sheet)
                    * input("share of it that a device uses on average", share(reached), self.calibrated())),
        )
    }
}

/// The gain from more of a resource: its power law, or the result of tuning anew.
fn elasticity(facts: &FormulaFacts, index: usize) -> Option<Why> {
    let found = facts.evaluation.elasticity.get(index)?;
    if found.property.change().is_none() {
        let gain = Amount { value: found.gain, unit: Dimension::Change };
        let about = "Throughput with 10 % more memory over throughput now, micro-batch and recompute tuned both times.";
        let formula = only_counted("gain in throughput", gain);
        return Some(Why { formula, about: Some(about.into()), source: Citation::simulated() });
    }
    let now = facts.figure(Figure::StepTime)?;
    let changed = facts.summary().step_time / (1.0 + found.gain);
    let about = format!(
        "Near its value today, throughput has an elasticity of {:.2}: at 1 nothing else counts, at 0 it does not \
         matter.{}",
        found.value,
        if found.is_reversed() {
            " Here more of it makes the step longer: tasks start in another order, and some wait longer."
        } else if found.ties() {
            " At 10 % something else limits the step."
        } else {
            ""
        },
    );
    let formula = now / input("step time with that much changed", changed, Citation::simulated()) - 1.0;
    Some(Why { formula, about: Some(about.into()), source: Citation::simulated() })
}
