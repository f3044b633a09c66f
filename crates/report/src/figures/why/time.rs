//! The step and its parts.

use shardscope_engine::bounds::pipeline::Pipeline;
use shardscope_engine::cost::{Parameters, SwappedBytes};
use shardscope_engine::evaluate::{ErrorBand, IdleCause, Span, Stream, TaskKind, evidence};
use shardscope_engine::model::LayerKind;
use shardscope_engine::plan::{Accumulation, Recompute};
use shardscope_engine::scenario::{Differentiated, Layout, file::printable};
use shardscope_engine::units::{Amount, Bytes, Count, Dimension, Flop, Seconds, precise_percent};

use crate::figures::figure::{Figure, TIME_PARTS};

use super::facts::{
    FigureEntry, FormulaFacts, LAYERED, Why, apart, because, count, figure, input, only_counted, share,
};
use super::formula::{Citation, Formula, FormulaInput};
use super::memory::{BESIDE_MATRICES, MATRICES};

/// The sentence about the parts of a step.
const PARTS: &str = "each moment of the step counts as what compute does, or as what its next task waits for";

/// The sentence about the phases of a step.
pub(super) const WAITS: &str = "what is waited for belongs to the phase that waits for it";

/// The sentence about exposed communication.
const EXPOSED: &str = "Time that compute stalls for a transfer that its next task needs. Communication hidden behind \
                       compute costs nothing here.";

/// Less than this is rounding: sums of spans that begin and end at whole picoseconds.
const LEAST: Seconds = Seconds::new(1e-9);

/// The step and its parts.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::StepTime, "step-time", "step time", Dimension::Seconds)
        .less_is_better()
        .map("Step time, s", "s per step")
        .about("One optimizer step on the rank that finishes last. The parts cover it without gap or overlap.")
        .value(|of, _| Some(of.summary.step_time.get()))
        .why(|facts, _| {
            let parts = TIME_PARTS.into_iter().map(|part| facts.figure(part)).collect::<Option<_>>()?;
            because(Formula::Sum(parts), Citation::convention(&format!("{PARTS}; {}", facts.confidence())))
        }),
    figure(Figure::Compute, "compute", "compute", Dimension::Seconds)
        .about(
            "Forward, recompute and backward: matrix products and attention at the rate that their shape reaches, \
             element-wise operators at memory bandwidth.",
        )
        .value(|of, _| Some(of.summary.time.compute.get()))
        .why(|facts, _| because(facts.computing()?, facts.calibrated())),
    figure(Figure::Slowed, "slowed", "compute slowed by transfers", Dimension::Seconds)
        .label("slowed")
        .less_is_better()
        .about(
            "A part of compute: how much longer it takes beside transfers, which use a device's cores and memory as \
             it does, than it would alone. A faster link shortens it as it shortens the transfers.",
        )
        .value(|of, _| of.details.map(|known| if known.slowed < LEAST { 0.0 } else { known.slowed.get() }))
        .why(|facts, _| because(facts.slowing(), Citation::simulated())),
    figure(Figure::Exposed, "exposed-time", "exposed communication", Dimension::Seconds)
        .label("exposed")
        .less_is_better()
        .about(EXPOSED)
        .value(|of, _| Some(of.summary.time.exposed.get()))
        .why(|facts, _| {
            let about = format!("{EXPOSED}{}", facts.waits());
            let source = Citation::convention(PARTS);
            Some(Why { formula: facts.exposed(), about: Some(about.into()), source })
        }),
    figure(Figure::ExposedCopies, "exposed-copies", "waits for copies to and from the host", Dimension::Seconds)
        .less_is_better()
        .about("A part of exposed communication: time that compute stalls for what lives on the host.")
        .value(|of, _| Some(of.summary.host.exposed.get()))
        .why(|facts, _| because(only_counted("waits for copies", facts.summary().host.exposed), Citation::simulated())),
    figure(Figure::LostToTransfers, "lost-to-transfers", "lost to transfers", Dimension::Seconds)
        .label("transfers")
        .less_is_better()
        .about(
            "The cost of all transfers to the step: what compute waits for them, and by how much they slow it where they \
             run beside it.",
        )
        .value(|of, _| Some(Figure::Exposed.amount(of)?.value + Figure::Slowed.amount(of)?.value))
        .why(|facts, _| {
            let lost = facts.figure(Figure::Exposed)? + facts.figure(Figure::Slowed)?;
            because(lost, Citation::convention(PARTS))
        }),
    figure(Figure::Bubble, "bubble", "bubble", Dimension::Seconds)
        .less_is_better()
        .about(
            "Time that compute waits for another pipeline rank to send its data. Its law assumes equally long \
             stages and free transfers; deviations are listed separately.",
        )
        .value(|of, _| Some(of.summary.time.bubble.get()))
        .why(|facts, _| because(facts.bubble()?, facts.overhead_and_share())),
    figure(Figure::Optimizer, "optimizer", "optimizer's update", Dimension::Seconds)
        .label("optimizer")
        .about(
            "Gradients are read, state and master weights read and written, weights written: all at memory bandwidth, \
             for this rank's shard.",
        )
        .value(|of, _| Some(of.summary.time.optimizer.get()))
        .why(|facts, _| because(facts.update()?, facts.calibrated())),
    figure(Figure::Other, "other", "other", Dimension::Seconds)
        .about(
            "Host overhead (small kernels launched too slowly, fixed work per micro-batch and step) and waits not \
             counted elsewhere.",
        )
        .value(|of, _| Some(of.summary.time.other.get()))
        .why(|facts, _| because(facts.other(), facts.software())),
    figure(Figure::BubbleLaw, "bubble-overhead", "bubble overhead (idle / busy)", Dimension::Share)
        .less_is_better()
        .about(
            "Idle over busy time of a rank if all stages take equally long and transfers take no time. A share of the \
             step is less: overhead / (1 + overhead).",
        )
        .value(|of, _| {
            let pipeline = (of.scenario.plan.pipeline > 1).then(|| Pipeline::new(&of.scenario.plan))?;
            Some(pipeline.bubble())
        })
        .why(|facts, _| {
            let law = "(P - 1) / (M K), and for fewer micro-batches than ranks by counting its slots";
            because(facts.bubble_law()?, Citation::paper(&format!("{LAYERED}: {law}")))
        }),
    figure(Figure::ExposedShare, "exposed", "exposed share of the step", Dimension::Share)
        .less_is_better()
        .map("Exposed communication, % of the step", "% of the step exposed")
        .about("The share of the step in which compute stalls for a transfer.")
        .value(|of, _| Some(of.summary.time.exposed / of.summary.step_time))
        .why(|facts, _| {
            let share = facts.figure(Figure::Exposed)? / facts.figure(Figure::StepTime)?;
            because(share, Citation::convention(PARTS))
        }),
    figure(Figure::Communication, "communication", "communication, hidden or not", Dimension::Seconds)
        .about(
            "Time that any transfer runs, whether or not compute waits for it; transfers at the same time count once.",
        )
        .value(|of, _| Some(of.summary.time.communication.get()))
        .why(|facts, _| {
            let source = "the union of the transfers' time on the rank that ends last";
            because(facts.figure(Figure::Exposed)? + facts.hidden(), Citation::convention(source))
        }),
    figure(Figure::Transfers, "transfers", "each transfer alone", Dimension::Seconds)
        .less_is_better()
        .about("How long the transfers of a step would take one after the other, copies to and from the host apart.")
        .value(|of, _| Some(of.details?.parts.total().get()))
        .why(|facts, _| {
            let parts = facts.evaluation.details.parts.named().into_iter().filter(|(_, time)| *time > Seconds::ZERO);
            let parts = parts.map(|(name, time)| input(name, time, Citation::simulated())).collect();
            because(Formula::Sum(parts), Citation::simulated())
        }),
    figure(Figure::Forward, "forward-time", "forward", Dimension::Seconds)
        .about("All forward passes of the step, with what they wait for.")
        .value(|of, _| Some(of.summary.phases.forward.get()))
        .why(|facts, _| because(only_counted("forward", facts.summary().phases.forward), Citation::convention(WAITS))),
    figure(Figure::Backward, "backward-time", "backward", Dimension::Seconds)
        .about("All backward passes, with what they recompute and wait for, and the reductions of gradients.")
        .value(|of, _| Some(of.summary.phases.backward.get()))
        .why(|facts, _| {
            because(only_counted("backward", facts.summary().phases.backward), Citation::convention(WAITS))
        }),
    figure(Figure::Update, "update-time", "update", Dimension::Seconds)
        .about("The optimizer's update, and the gathers of what it wrote.")
        .value(|of, _| Some(of.summary.phases.update.get()))
        .why(|facts, _| because(only_counted("update", facts.summary().phases.update), Citation::convention(WAITS))),
];

impl FormulaFacts<'_> {
    fn computing(&self) -> Option<Formula> {
        if self.in_order() { self.work() } else { Some(self.running()) }
    }

    /// How sure the step time is, and by what.
    fn confidence(&self) -> String {
        match (self.evaluation.error_band, evidence(self.scenario)) {
            (Some(ErrorBand { low, high, .. }), Some(behind)) => format!(
                "80 % interval {low} to {high}: from held-out errors of {behind}, and what the constants of \
                 calibration {} leave open of this step",
                self.scenario.calibration.id
            ),
            _ => "no measured run like this".to_owned(),
        }
    }

    /// Whether a rank visits all layers of a micro-batch in order: no pipeline, no layered accumulation.
    pub(super) fn in_order(&self) -> bool {
        let plan = &self.scenario.plan;
        plan.pipeline == 1 && plan.accumulation == Accumulation::Standard
    }

    /// Compute from the cost of a layer.
    fn work(&self) -> Option<Formula> {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let cost = |name: &str, time: Seconds| input(name, time, self.calibrated());
        let of_kind = |(at, (kind, layers)): (usize, (LayerKind, u32))| {
            let [forward, backward] = [self.figure(Figure::LayerForward(at))?, self.figure(Figure::LayerBackward(at))?];
            let apart = apart(model, kind);
            let layers = || input(format!("layers{apart}"), count(layers, ""), self.shape());
            let passes = layers() * (forward.clone() + backward);
            Some(match plan.recompute {
                Recompute::None => passes,
                Recompute::Selective => {
                    let again = self.rates.layer(kind).selective.sum().time;
                    passes + layers() * cost(&format!("{} of a layer{apart}", self.again()), again)
                }
                Recompute::Full | Recompute::Share(_) => {
                    let again = count(self.recomputed_layers(kind), "");
                    passes + input(format!("recomputed layers{apart}"), again, Citation::chosen("recompute")) * forward
                }
            })
        };
        let kinds: Option<Vec<Formula>> = model.kinds().enumerate().map(of_kind).collect();
        let mut passes = kinds?.into_iter().reduce(|one, other| one + other)?;
        if model.vocab > 0 {
            let [embedding, head] =
                [self.rates.embedding(), self.rates.head()].map(|passes| passes.forward.time + passes.backward.time);
            let source = self.source_of_ends(self.calibrated());
            passes = passes + input(self.ends("embedding, logits and loss"), embedding + head, source);
        }
        let micro_batches =
            input("micro-batches", count(plan.accumulate, ""), Citation::chosen("micro-batches of a step"));
        Some(self.with_slowing(micro_batches * self.with_forwards_beside(passes), TaskKind::computes_layers))
    }

    /// Embedding and logits, with those of further tokens.
    pub(super) fn ends(&self, name: &str) -> String {
        match self.scenario.model.mtp_layers {
            0 => name.to_owned(),
            1 => format!("{name}, twice for a further token"),
            layers => format!("{name}, {} times for further tokens", layers + 1),
        }
    }

    /// The paper behind further tokens where there are some, or else another source.
    pub(super) fn source_of_ends(&self, usual: Citation) -> Citation {
        match self.scenario.model.mtp_layers {
            0 => usual,
            _ => Citation::paper(
                "DeepSeek-V3, arXiv 2412.19437, section 2.2: a further token has an embedding, a product of 2 h by h before its \
                 layer, and logits of its own",
            ),
        }
    }

    /// The parts that selective recompute repeats, in words.
    fn again(&self) -> String {
        let modules = self.scenario.plan.repeated_modules();
        if modules.is_of_stack() { "selective recompute".to_owned() } else { format!("{modules} again") }
    }

    /// Layers that backward computes again from their input, the first ones.
    pub(super) fn layers_again(&self) -> u32 {
        libm::round(self.scenario.plan.recompute.layers() * f64::from(self.scenario.model.all_layers())) as u32
    }

    /// Layers of a kind among them.
    fn recomputed_layers(&self, kind: LayerKind) -> u32 {
        if self.scenario.differentiated(kind) == Differentiated::Nothing {
            return 0;
        }
        (0..self.layers_again()).filter(|layer| self.scenario.model.kind(*layer) == kind).count() as u32
    }

    /// Compute as the trace lists it, where each rank has its own layers.
    fn running(&self) -> Formula {
        let forward = self.listed(|kind| kind == TaskKind::Forward);
        let backward = self.listed(TaskKind::is_backward);
        // What a visit runs is explained with a layer, of the kind of the last one.
        let model = &self.scenario.model;
        let last = model.kinds().position(|(kind, _)| kind == model.kind(model.layers - 1)).unwrap_or(0);
        let visits = |name: &str, time: Seconds, of: Figure| FormulaInput {
            name: name.to_owned(),
            amount: time.into(),
            source: Citation::simulated(),
            figure: Some(of),
        };
        let visits = Formula::from(visits("forward visits", forward, Figure::LayerForward(last)))
            + visits("backward visits", backward, Figure::LayerBackward(last));
        self.with_visits_beside(visits) - self.slow_launches()
    }

    /// Time that compute spans of some kinds take together.
    pub(super) fn listed(&self, kinds: impl Fn(TaskKind) -> bool) -> Seconds {
        let own = |span: &&Span| kinds(span.activity.kind);
        let spans = self.spans(Stream::Compute).filter(own);
        spans.map(|span| (span.end - span.start) * self.times_at(span.start)).sum()
    }

    /// Time of some kinds of compute alone, and how much longer it is beside transfers.
    fn with_slowing(&self, alone: Formula, kinds: impl Fn(TaskKind) -> bool) -> Formula {
        let own = |span: &&Span| kinds(span.activity.kind);
        let spans = self.spans(Stream::Compute).filter(own);
        let slowed: Seconds = spans.map(|span| (span.end - span.start - span.alone) * self.times_at(span.start)).sum();
        if slowed < LEAST {
            return alone;
        }
        alone + input("slowed by transfers beside it", slowed, Citation::simulated())
    }

    /// Time of compute beside transfers, less its time alone.
    fn slowing(&self) -> Formula {
        if self.evaluation.details.slowed < LEAST {
            return Formula::from(0.0);
        }
        let own = |span: &&Span| span.activity.kind.computes_layers();
        let spans = self.spans(Stream::Compute).filter(own);
        let (run, alone) = spans.fold((Seconds::ZERO, Seconds::ZERO), |(run, alone), span| {
            let often = self.times_at(span.start);
            (run + (span.end - span.start) * often, alone + span.alone * often)
        });
        let other = self.evaluation.details.slowed - (run - alone);
        let visits = input("visits of layers as they ran", run, Citation::simulated())
            - input("the same visits alone", alone, Citation::simulated());
        if other > LEAST {
            visits + input("other tasks beside transfers", other, Citation::simulated())
        } else {
            visits
        }
    }

    /// Time added to compute because the host launches it too slowly.
    fn slow_launches(&self) -> Formula {
        input("launches that the device waits for", self.evaluation.details.late_launches, self.software())
    }

    /// Time of transfers alone, less that for which nothing waits.
    fn exposed(&self) -> Formula {
        let host = self.summary().host;
        let copies = ("copies to and from the host", host.to.busy + host.from.busy);
        let parts = || self.evaluation.details.parts.named().into_iter().chain([copies]);
        let total: Seconds = parts().map(|(_, time)| time).sum();
        let named = parts().filter(|(_, time)| *time > LEAST);
        let named = Formula::Sum(named.map(|(name, time)| input(name, time, Citation::simulated())).collect());
        let beside = total - self.summary().time.exposed;
        match beside {
            _ if beside > LEAST => named - input("beside compute or one another", beside, Citation::simulated()),
            _ if -beside > LEAST => named + input("longer on links that they share", -beside, Citation::simulated()),
            _ => named,
        }
    }

    /// The waits by the level that the awaited transfer keeps busiest, and for what crosses none.
    fn waits(&self) -> String {
        let levels = self.scenario.cluster.levels.iter().zip(&self.summary().traffic);
        let levels = levels.map(|(level, traffic)| (printable(&level.name), traffic.exposed));
        let felt = levels.chain([("host".to_owned(), self.summary().host.exposed)]).filter(|(_, time)| *time > LEAST);
        let felt: Vec<String> = felt.map(|(name, time)| format!("{name} {time}")).collect();
        if felt.is_empty() { String::new() } else { format!(" By what is waited for: {}.", felt.join(", ")) }
    }

    /// The law's share of the rank's own arithmetic, and what the law leaves out: stages of different lengths, the
    /// embedding and the head, transfers between the stages.
    fn bubble(&self) -> Option<Formula> {
        let Some(pipeline) = self.pipeline() else { return Some(Formula::from(0.0)) };
        let time = &self.summary().time;
        let law = self.figure(Figure::Compute)? * self.figure(Figure::BubbleLaw)?;
        // The law counts slots of equal length: stages of different lengths and transfers between them are beyond it.
        let beyond = time.bubble - time.compute * pipeline.bubble();
        let rest = |name: &str, time: Seconds| input(name, time, Citation::simulated());
        Some(match beyond {
            _ if beyond > LEAST => law + rest("waits beyond the law", beyond),
            _ if -beyond > LEAST => law - rest("bubble that this rank avoids", -beyond),
            _ => law,
        })
    }

    /// `(P - 1) / (M K)`; with fewer micro-batches than ranks each further stage of a rank waits for the first to come
    /// round.
    fn bubble_law(&self) -> Option<Formula> {
        let pipeline = self.pipeline()?;
        let named = |name: &str, value: u32| input(name, count(value, ""), Citation::chosen(name));
        let ranks = || named("pipeline ranks", pipeline.counts.ranks);
        let micro_batches = || named("micro-batches", pipeline.counts.micro_batches);
        let stages = || named("stages of a rank", pipeline.counts.stages);
        let slots = micro_batches() * stages();
        if pipeline.counts.micro_batches >= pipeline.counts.ranks {
            return Some((ranks() - 1.0) / slots);
        }
        let waits = (stages() - 1.0) * ranks() + micro_batches() + (ranks() - 1.0);
        Some(waits / slots - 1.0)
    }

    /// The law, and the same bubble as an overhead and as a share of the step.
    fn overhead_and_share(&self) -> Citation {
        let time = &self.summary().time;
        let over = precise_percent(time.bubble / time.compute);
        let of = precise_percent(time.bubble / self.summary().step_time);
        match self.pipeline() {
            None => Citation::convention(PARTS),
            Some(_) => Citation::paper(&format!(
                "{LAYERED}. Here: overhead, idle over busy, {over}; share of the step, as in the headline, {of}"
            )),
        }
    }

    /// Stretches of waiting, as the trace lists them.
    fn stretches(&self, cause: IdleCause) -> Formula {
        let own = |idle: &&shardscope_engine::evaluate::Stall| idle.rank as usize == self.last && idle.cause == cause;
        let found = self.evaluation.trace.idle.iter().filter(own);
        let (number, total) = found.fold((0.0, Seconds::ZERO), |(number, total), idle| {
            let often = self.times_at(idle.start);
            (number + often, total + (idle.end - idle.start) * often)
        });
        if number == 0.0 {
            return Formula::from(0.0);
        }
        input("stretches of waiting", count(number, ""), Citation::simulated())
            * input("mean length", total / number, Citation::simulated())
    }

    /// The optimizer's update as a stream over memory.
    fn update(&self) -> Option<Formula> {
        let plan = &self.scenario.plan;
        let state = self.evaluation.details.states.get(self.last)?;
        let experts = state.expert_parameters;
        let others = state.parameters - experts;
        let of_experts = self.layout.of_experts();
        let bytes = |bytes: Bytes| Amount { value: bytes.get(), unit: Dimension::Bytes };
        let adam = self.moved_words();
        let moved = input("bytes moved per parameter", bytes(self.rates.update_bytes()), adam.clone());
        let (threads, on_host_bytes) = (self.scenario.host_threads().counted, self.rates.host_update_bytes());
        let sharded = |layout: &Layout| {
            input("ranks that share the optimizer state", count(layout.optimizer, ""), Citation::chosen("strategy"))
        };
        let mut each = self.rank_parameters(others.trained, self.last) / sharded(&self.layout);
        if experts.trained > Count::ZERO {
            let own = input("parameters of its experts", count(experts.trained.get(), ""), self.shape());
            each = each + own / sharded(&of_experts);
        }
        let on_host = plan.optimizer_on_host();
        let share_of = |name: &str, share: f64| {
            let share = Amount { value: share, unit: Dimension::Share };
            let whole = share.value >= 1.0;
            if whole { each.clone() } else { each.clone() * input(name, share, Citation::chosen("offload-ratio")) }
        };
        let updated = || share_of("share on the host", on_host);
        let arithmetic = self.rates.host_update_rate(threads).filter(|_| on_host > 0.0).map(|rate| {
            let source =
                Citation::convention("one thread's rate times --host-threads, at most the host's memory bandwidth");
            let moved = input("bytes moved there per parameter", bytes(on_host_bytes), self.software());
            updated() * moved / input("rate of the rank's threads on the host", rate, source)
        });
        let swapped = self.rates.drives().filter(|_| on_host > 0.0).map(|drives| {
            let SwappedBytes { read, written } = self.rates.swapped_bytes();
            let source =
                || Citation::convention("state and fp32 gradient come and go, weights go where they are there too");
            updated() * input("bytes read of the drives", bytes(read), source())
                / input("rate of reading", drives.read, self.host())
                + updated() * input("bytes written to them", bytes(written), source())
                    / input("rate of writing", drives.write, self.host())
        });
        let host = arithmetic.into_iter().chain(swapped).reduce(|update, swapped| update + swapped);
        let host = host.unwrap_or_else(|| Formula::from(0.0));
        if on_host >= 1.0 {
            return Some(host);
        }
        let owned = others.muon / f64::from(self.layout.optimizer) + experts.muon / f64::from(of_experts.optimizer);
        let owned = owned * (1.0 - on_host);
        let update = if owned > Count::ZERO {
            let each = |state: f64| {
                input("bytes moved for each", bytes(self.rates.moved_by_update(Bytes::new(state))), adam.clone())
            };
            let of = |name: &str, parameters: Count| input(name, count(parameters.get(), ""), self.shape());
            let moved_of = |part: Parameters| {
                of(MATRICES, part.muon) * each(plan.optimizer_state())
                    + of(BESIDE_MATRICES, part.trained - part.muon) * each(plan.state_beside_muon())
            };
            let mut all = moved_of(others) / sharded(&self.layout);
            if experts.trained > Count::ZERO {
                all = all + moved_of(experts) / sharded(&of_experts);
            }
            let kept = || input("share on the device", share(1.0 - on_host), Citation::chosen("offload-ratio"));
            if on_host > 0.0 { all * kept() } else { all }
        } else {
            share_of("share on the device", 1.0 - on_host) * moved
        };
        let stream = update
            * input("optimizer traffic", count(self.rates.calibrated.software.optimizer_traffic, ""), self.software())
            / input("memory rate reached", self.rates.memory, self.calibrated());
        let flop = self.rates.orthogonalisation(owned);
        let update = if flop > Flop::ZERO {
            let muon = Citation::paper("Muon, K. Jordan et al. (2024): five Newton-Schulz iterations");
            stream
                + input("flop that make updates orthogonal", flop, muon)
                    / input("matrix rate reached", self.rates.matmul_storage, self.calibrated())
        } else {
            stream
        };
        let update = if on_host > 0.0 { host + update } else { update };
        Some(self.with_slowing(update, |kind| kind == TaskKind::Optimizer))
    }

    /// Late launches, fixed work of the host, waits.
    fn other(&self) -> Formula {
        let (fixed, waits) = (self.listed(|kind| kind == TaskKind::Host), self.stretches(IdleCause::Other));
        self.slow_launches()
            + input("fixed work of the host", fixed, self.software())
            + input("other waits", Seconds::new(waits.value()), Citation::simulated())
    }

    /// The union of the transfers' time, less what compute waits for.
    fn hidden(&self) -> Formula {
        let transfers = |span: &&Span| span.rank as usize == self.last && span.activity.kind.communicates();
        let mut spans: Vec<(Seconds, Seconds)> =
            self.evaluation.trace.spans.iter().filter(transfers).map(|span| (span.start, span.end)).collect();
        spans.sort_by(|a, b| a.0.get().total_cmp(&b.0.get()));
        // Spans in the order of their start: each adds what lies beyond all before it.
        let mut until = Seconds::ZERO;
        let mut union = Seconds::ZERO;
        for (start, end) in spans {
            union += (end - start.max(until)).max(Seconds::ZERO) * self.times_at(start);
            until = until.max(end);
        }
        input("behind compute", union - self.summary().time.exposed, Citation::simulated())
    }
}
