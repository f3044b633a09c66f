//! An explanation cannot lie: what it states, worked out, is what is shown.

use std::sync::Arc;

use shardscope_engine::evaluate::{Property, Workspace};
use shardscope_engine::scenario::file;
use shardscope_engine::search;
use shardscope_engine::units::{Bytes, significant};

use super::*;

mod guide;

/// Scenarios that lean on every rule: extents, formats on the wire, second copies, recompute of each kind, tensor,
/// context and pipeline parallelism, orders, offload, experts, layers of two kinds, adapters.
const SCENARIOS: [&[(&str, &str)]; 41] = [
    &[],
    &[("strategy", "ddp"), ("model", "mpt-1b"), ("tokens", "3e11")],
    &[("strategy", "zero1"), ("model", "mpt-3b"), ("accumulate", "4"), ("recompute", "selective")],
    &[("strategy", "zero2"), ("model", "mpt-3b"), ("precision", "fp32"), ("recompute", "0.5")],
    &[("strategy", "hsdp"), ("nodes", "8"), ("recompute", "full"), ("tokens", "1e12")],
    &[("strategy", "mics"), ("nodes", "4"), ("accumulate", "2")],
    &[("ema", "device"), ("clip-norm", "off"), ("nodes", "2"), ("tokens", "1e10")],
    &[("ema", "host"), ("nodes", "2"), ("tokens", "1e10")],
    &[("ema", "host"), ("pp", "4"), ("nodes", "4"), ("accumulate", "8"), ("strategy", "zero1")],
    &[("ema", "device"), ("offload", "optimizer"), ("offload-overlap", "on"), ("nodes", "2")],
    &[("offload", "optimizer"), ("host-pinned", "off"), ("nodes", "2"), ("accumulate", "4")],
    &[("offload", "state"), ("host-pinned", "off"), ("ema", "host"), ("strategy", "zero2"), ("accumulate", "2")],
    &[("strategy", "zeropp"), ("nodes", "16"), ("model", "gpt-neox-20b"), ("recompute", "full")],
    &[("hardware", "mi250x-frontier"), ("strategy", "zero-topo"), ("model", "gpt-neox-20b"), ("nodes", "48")],
    &[("tp", "8"), ("model", "llama-2-13b"), ("nodes", "4"), ("micro-batch", "2")],
    &[("cp", "4"), ("seq", "32768"), ("nodes", "4"), ("recompute", "full")],
    &[("pp", "4"), ("nodes", "4"), ("accumulate", "16"), ("strategy", "zero1"), ("recompute", "full")],
    &[("pp", "4"), ("tp", "2"), ("nodes", "2"), ("accumulate", "8"), ("strategy", "zero1")],
    &[("accumulation", "layered"), ("accumulate", "8"), ("nodes", "2"), ("recompute", "full")],
    &[("offload", "all"), ("recompute", "full"), ("nodes", "2")],
    &[("offload", "activations"), ("recompute", "none"), ("model", "mpt-1b"), ("nodes", "2")],
    &[("offload", "state"), ("pp", "4"), ("nodes", "4"), ("accumulate", "8"), ("strategy", "zero1")],
    &[("offload", "all"), ("accumulation", "layered"), ("accumulate", "4"), ("nodes", "2"), ("recompute", "full")],
    &[("offload", "all-nvme"), ("recompute", "full"), ("nodes", "2"), ("tokens", "1e10")],
    &[("offload", "state-nvme"), ("pp", "4"), ("nodes", "4"), ("accumulate", "8"), ("strategy", "zero1")],
    &[("offload", "optimizer-nvme"), ("offload-ratio", "0.4"), ("nodes", "2")],
    &[("strategy", "zeropp"), ("pp", "4"), ("stages-per-rank", "4"), ("schedule", "breadth-first"), ("nodes", "4")],
    &[("model", "mixtral-8x7b"), ("nodes", "8"), ("recompute", "full")],
    &[("model", "deepseek-v3"), ("nodes", "64"), ("recompute", "0.05")],
    &[
        ("model", "deepseek-v3"),
        ("nodes", "64"),
        ("mtp-layers", "1"),
        ("gradient-format", "bf16"),
        ("recompute", "full"),
    ],
    &[("model", "mixtral-8x7b"), ("nodes", "8"), ("ep", "8"), ("capacity", "1.25"), ("recompute", "full")],
    &[("model", "mixtral-8x7b"), ("nodes", "8"), ("ep", "8"), ("dispatch-format", "fp8+bf16+bf16+bf16")],
    &[("model", "gemma3-27b"), ("nodes", "8"), ("recompute", "selective")],
    &[("optimizer", "muon"), ("nodes", "2")],
    &[("frozen-layers", "20"), ("recompute", "full"), ("nodes", "2")],
    &[("frozen-layers", "12"), ("frozen-ends", "none"), ("recompute", "selective"), ("flop-count", "causal")],
    &[("frozen-ends", "head"), ("model", "mixtral-8x7b"), ("nodes", "8"), ("frozen-layers", "3")],
    &[("train", "lora"), ("model", "llama-2-13b"), ("recompute", "full"), ("examples", "50000"), ("packing", "700")],
    &[("train", "qlora"), ("strategy", "ddp"), ("model", "llama-2-7b"), ("lora-targets", "q,v"), ("recompute", "0.5")],
    &[("train", "qlora"), ("pp", "2"), ("nodes", "2"), ("accumulate", "8"), ("flop-count", "causal")],
    &[("stack", "megatron-2021"), ("hardware", "a100-80gb-dgx"), ("recompute", "selective"), ("nodes", "2")],
];

fn scenario(changes: &[(&str, &str)]) -> Scenario {
    let library = shardscope_presets::library();
    let mut file = file::parse(&library.scenario_text("default").unwrap().text).unwrap();
    // One micro-batch where nothing else is said: a step short enough to be listed in full.
    for (flag, value) in [("global-batch", "free")].iter().chain(changes) {
        file.set(flag, value).unwrap();
    }
    let mut scenario = library.resolve(&file).unwrap();
    let cluster = Arc::make_mut(&mut scenario.cluster);
    cluster.price_per_device_hour = "2.50 EUR".parse().ok();
    cluster.watts_per_device = "1.3 kW".parse().ok();
    scenario
}

fn evaluated() -> impl Iterator<Item = (Scenario, Evaluation)> {
    let mut workspace = Workspace::default();
    SCENARIOS.into_iter().map(move |changes| {
        let scenario = scenario(changes);
        let evaluation = search::full(&scenario, &mut workspace).unwrap_or_else(|why| panic!("{changes:?}: {why:?}"));
        (scenario, evaluation)
    })
}

#[test]
fn every_figure_has_an_explanation_whose_formula_gives_it() {
    for (scenario, evaluation) in evaluated() {
        for figure in figures(&scenario, &evaluation) {
            let explanation = explain(figure, &scenario, &evaluation);
            let explanation = explanation.unwrap_or_else(|| panic!("{figure:?} of {}", scenario.name));
            let (stated, shown) = (explanation.formula.value(), explanation.amount.value);
            assert!(
                explanation.holds(),
                "{figure:?} of {} with {:?}: {} = {} is {stated}, not {shown}",
                scenario.strategy,
                scenario.plan,
                explanation.formula,
                explanation.formula.in_numbers()
            );
        }
    }
}

/// What only the simulation knows, in any scenario: the buffers of collectives, where waits belong, and what re-tuning
/// gives.
fn is_only_counted(figure: Figure, evaluation: &Evaluation) -> bool {
    match figure {
        Figure::Buffers
        | Figure::ExposedCopies
        | Figure::Forward
        | Figure::Backward
        | Figure::Update
        | Figure::Beside => true,
        // None stands beside, and nothing writes answers.
        Figure::Engine => evaluation.summary.memory.parts.engine == Bytes::ZERO,
        Figure::BesideWeights => evaluation.summary.memory.parts.beside == Bytes::ZERO,
        Figure::Elasticity(index) => evaluation.elasticity[index].property == Property::MemoryCapacity,
        _ => false,
    }
}

#[test]
fn formulas_explain_rather_than_repeat_the_figure() {
    for (scenario, evaluation) in evaluated() {
        for figure in figures(&scenario, &evaluation) {
            let Some(explanation) = explain(figure, &scenario, &evaluation) else { continue };
            let counted = explanation.formula.to_string().ends_with(", counted");
            assert!(
                !counted || is_only_counted(figure, &evaluation),
                "{figure:?} of {} with {:?}",
                scenario.strategy,
                scenario.plan
            );
        }
    }
}

#[test]
fn what_is_printed_means_what_is_computed() {
    for (scenario, evaluation) in evaluated() {
        for figure in figures(&scenario, &evaluation) {
            let Some(Explanation { formula, .. }) = explain(figure, &scenario, &evaluation) else { continue };
            let text = formula.spelled(&|input| format!("{:e}", input.amount.value));
            let (read, value) = (Reader(&text).sum(), formula.value());
            let close = (read - value).abs() <= 1e-9 * value.abs();
            assert!(close, "{formula} reads as {read}, not as {value}: {text}");
        }
    }
}

#[test]
fn a_formula_that_does_not_hold_is_not_stated() {
    let scenario = scenario(&[]);
    let mut evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    evaluation.summary.tokens_per_step *= 2.0;
    let explanation = explain(Figure::TokensPerStep, &scenario, &evaluation).unwrap();
    assert_eq!(explanation.formula.to_string(), "tokens per step, counted");
    assert!(explanation.holds());
}

#[test]
fn the_state_of_fsdp_is_sixteen_bytes_over_all_ranks() {
    // bf16 weights and gradients, fp32 master weights and two moments: 2, 2 and 4 + 4 + 4 bytes, each over
    // all 128 ranks [ZeRO, arXiv 1910.02054, section 3.1].
    let scenario = scenario(&[("hardware", "h100-80gb-dgx"), ("nodes", "16")]);
    let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    let text = |part: Figure| explain(part, &scenario, &evaluation).unwrap();
    let parameters = scenario.model.parameters() as f64;
    for (part, bytes) in [(Figure::Weights, &[2.0][..]), (Figure::OptimizerState, &[4.0, 4.0 + 4.0])] {
        let explanation = text(part);
        let inputs = explanation.formula.inputs();
        let values: Vec<f64> = inputs.iter().map(|input| input.amount.value).collect();
        assert_eq!(values, [&[parameters], bytes, &[128.0]].concat(), "{}", explanation.formula);
    }
    assert_eq!(text(Figure::Weights).formula.to_string(), "parameters x bytes of a weight / ranks that share it");
}

#[test]
fn gathered_weights_are_whole_units_the_one_that_computes_and_at_most_one_ahead() {
    // Blocks only: every unit is a layer.
    let scenario = scenario(&[("model", "fsdp-7b"), ("nodes", "4")]);
    let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    let gathered = explain(Figure::Gathered, &scenario, &evaluation).unwrap();
    let layers = gathered.formula.inputs()[0].amount.value;
    assert!([1.0, 2.0].contains(&layers), "{}", gathered.formula.in_numbers());
}

#[test]
fn inputs_that_are_figures_lead_to_their_own_explanation() {
    let scenario = scenario(&[]);
    let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    let step = explain(Figure::StepTime, &scenario, &evaluation).unwrap();
    for input in step.formula.inputs() {
        let own = explain(input.figure.unwrap(), &scenario, &evaluation).unwrap();
        assert_eq!((own.name.as_str(), own.amount), (input.name.as_str(), input.amount));
    }
}

#[test]
fn every_input_says_who_says_so() {
    for (scenario, evaluation) in evaluated() {
        for figure in figures(&scenario, &evaluation) {
            let Some(explanation) = explain(figure, &scenario, &evaluation) else { continue };
            for input in explanation.formula.inputs() {
                assert!(!input.source.text.is_empty(), "{figure:?}: {}", input.name);
            }
        }
    }
}

/// Reads a printed formula back, left to right with the usual binding, and works it out.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.0.strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        loop {
            if self.eat(" + ") {
                value += self.product();
            } else if self.eat(" - ") {
                value -= self.product();
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut value = self.power();
        loop {
            if self.eat(" x ") {
                value *= self.power();
            } else if self.eat(" / ") {
                value /= self.power();
            } else {
                return value;
            }
        }
    }

    fn power(&mut self) -> f64 {
        let base = self.leaf();
        if self.eat(" ^ ") { base.powf(self.leaf()) } else { base }
    }

    fn leaf(&mut self) -> f64 {
        if self.eat("max(") {
            let mut largest = self.sum();
            while self.eat(", ") {
                largest = largest.max(self.sum());
            }
            assert!(self.eat(")"), "{}", self.0);
            return largest;
        }
        if self.eat("(") {
            let value = self.sum();
            assert!(self.eat(")"), "{}", self.0);
            return value;
        }
        let end = self.0.find([' ', ',', ')']).unwrap_or(self.0.len());
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().unwrap_or_else(|_| panic!("'{number}' before '{rest}'"))
    }
}

/// What a person reads, printed for one scenario: `cargo test explain -- --ignored --nocapture`.
#[test]
#[ignore = "for looking at"]
fn everything_in_words() {
    for (scenario, evaluation) in evaluated().take(7) {
        for figure in figures(&scenario, &evaluation) {
            let Some(Explanation { name, amount, formula, source, .. }) = explain(figure, &scenario, &evaluation)
            else {
                continue;
            };
            println!("{name} {amount}\n  = {formula}\n  = {}\n  {source}", formula.in_numbers());
        }
    }
}

/// [layered B8]: 4 ranks, 8 micro-batches, one stage each: (4 - 1) / (8 x 1) = 0.375; 4 stages of each: 3 / 32. With 4
/// micro-batches on 8 ranks the slots of one stage are 4 + 7: (8 - 1) / 4 = 1.75.
#[test]
fn the_bubble_is_held_against_its_law() {
    let law = |changes: &[(&str, &str)]| {
        let fixed = [("strategy", "zero1"), ("model", "mpt-7b"), ("nodes", "4"), ("recompute", "full")];
        let scenario = scenario(&[&fixed[..], changes].concat());
        let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
        let bubble = explain(Figure::Bubble, &scenario, &evaluation).unwrap();
        assert!(
            bubble.holds() && bubble.formula.to_string().starts_with("compute x bubble overhead"),
            "{}",
            bubble.formula
        );
        let time = &evaluation.summary.time;
        let overhead = format!("overhead, idle over busy, {} %", significant(100.0 * (time.bubble / time.compute), 3));
        assert!(bubble.source.text.contains(&overhead), "{}", bubble.source.text);
        let law = explain(Figure::BubbleLaw, &scenario, &evaluation).unwrap();
        (law.formula.to_string(), law.formula.value())
    };
    let (formula, value) = law(&[("pp", "4"), ("accumulate", "8")]);
    assert_eq!(formula, "(pipeline ranks - 1) / (micro-batches x stages of a rank)");
    assert!((value - 0.375).abs() < 1e-12);
    let looped = [("pp", "4"), ("accumulate", "8"), ("schedule", "breadth-first"), ("stages-per-rank", "4")];
    assert!((law(&looped).1 - 3.0 / 32.0).abs() < 1e-12);
    assert!((law(&[("pp", "8"), ("accumulate", "4")]).1 - 1.75).abs() < 1e-12);
}

/// Where arithmetic sets the limit, a step is the shortest one, what a schedule could win, what kernels lose, and the
/// update with waits: as said, rounded to three digits, they sum to what the share leaves of the whole.
#[test]
fn what_is_left_to_the_limit_says_to_whom() {
    for changes in [
        &[("hardware", "a100-80gb-dgx"), ("model", "mpt-30b"), ("nodes", "8"), ("recompute", "full")][..],
        &[("pp", "4"), ("nodes", "4"), ("accumulate", "8"), ("strategy", "zero1"), ("model", "mpt-7b")],
    ] {
        let scenario = scenario(changes);
        let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
        let explanation = explain(Figure::ShareOfLimit, &scenario, &evaluation).unwrap();
        let words: Vec<&str> = explanation.about.split_whitespace().collect();
        let said = words.windows(2).filter(|pair| pair[1].starts_with('%')).map(|pair| pair[0].parse::<f64>().unwrap());
        let said: Vec<f64> = said.collect();
        let [exposed, bubble, ..] = said[..] else { panic!("{}", explanation.about) };
        let summary = &evaluation.summary;
        let near = |a: f64, b: f64| (a - b).abs() < 0.1;
        assert!(near(exposed, 100.0 * (summary.time.exposed / summary.step_time)), "{}", explanation.about);
        assert!(near(bubble, 100.0 * (summary.time.bubble / summary.step_time)), "{}", explanation.about);
        assert!(near(said.iter().sum(), 100.0 * (1.0 - explanation.amount.value)), "{}", explanation.about);
        assert_eq!(bubble > 0.0, scenario.plan.pipeline > 1);
    }
}

/// 7 B parameters on 12 nodes by a tenth of the network: the level sets the limit, so that no kernel could help.
#[test]
fn a_limit_of_the_network_leaves_nothing_to_kernels() {
    let scenario = scenario(&[("nodes", "12"), ("bandwidth", "0.1")]);
    let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    let explanation = explain(Figure::ShareOfLimit, &scenario, &evaluation).unwrap();
    assert!(explanation.about.starts_with("The system level is busy for "), "{}", explanation.about);
    assert!(explanation.about.contains(&explanation.amount.to_string()), "{}", explanation.about);
}
