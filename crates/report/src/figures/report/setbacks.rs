//! Why something makes a step longer that should make it shorter: what moved. Not for what would make it shorter.

use shardscope_engine::evaluate::{Evaluation, More, Setback, Summary};
use shardscope_engine::plan::FrozenFormat;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::units::{Amount, percent, signed};

use crate::figures::figure::{Figure, MEMORY_PARTS, PHASES, TIME_PARTS};
use crate::figures::why::facts::FigureSubject;

/// Parts that moved by less than this share of the change are not named.
const LEAST: f64 = 0.1;

/// A line for each setback, and for each elasticity of the wrong sign.
pub(super) fn setbacks(scenario: &Scenario, evaluation: &Evaluation) -> Vec<String> {
    let said = evaluation.setbacks.iter().map(|setback| words(scenario, setback));
    let known = |property| evaluation.setbacks.iter().any(|setback| setback.more == More::Property(property));
    let reversed = evaluation.elasticity.iter().filter(|one| one.is_reversed() && !known(one.property));
    let reversed = reversed.map(|one| {
        let change = one.property.change().map_or(10.0, |factor| 100.0 * (factor - 1.0));
        let what = printable(&one.property.words(scenario));
        format!(
            "{change:+.0} % {what} gives {}, an elasticity of the wrong sign: tasks start in another order, and some wait longer",
            signed(one.gain)
        )
    });
    said.chain(reversed).collect()
}

/// A setback in words: `cuda-graphs full makes a step 6.3 % longer than none: exposed communication 3.29 s more, other 2.69 s
/// less; most in backward`. In a pipeline the parts are those of the rank that ends last.
fn words(scenario: &Scenario, setback: &Setback) -> String {
    let (what, than) = match &setback.more {
        More::Property(property) => {
            let change = property.change().map_or(0.0, |factor| 100.0 * (factor - 1.0));
            (format!("{change:+.0} % {}", printable(&property.words(scenario))), String::new())
        }
        More::Choice { field, value, instead } => {
            (format!("{} {value}", field.spec().flag), format!(" than {instead}"))
        }
    };
    let is_longer =
        setback.longer() >= setback.larger() || !matches!(setback.more, More::Choice { field: Field::Train, .. });
    let moved = |figures: &[Figure]| {
        let [before, after] = [&setback.without, &setback.with].map(|summary| amounts(scenario, summary, figures));
        let mut moved: Vec<(Figure, Amount)> = figures
            .iter()
            .copied()
            .zip(before)
            .zip(after)
            .map(|((figure, before), after)| (figure, Amount { value: after.value - before.value, ..after }))
            .collect();
        moved.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        moved
    };
    let parts = moved(if is_longer { &TIME_PARTS } else { &MEMORY_PARTS });
    let most = parts.iter().map(|(_, amount)| amount.value.abs()).fold(0.0, f64::max);
    let said = parts.iter().filter(|(_, amount)| amount.value.abs() >= LEAST * most).map(|(figure, amount)| {
        let name = figure.entry().map_or("", |entry| entry.name);
        let way = if amount.value < 0.0 { "less" } else { "more" };
        format!("{name} {} {way}", Amount { value: amount.value.abs(), ..*amount })
    });
    let said = said.collect::<Vec<_>>().join(", ");
    let first = parts.first().map(|(figure, _)| *figure);
    let cause = match &setback.more {
        More::Choice { field: Field::Train, .. } => first.and_then(|part| of_adapters(scenario, part)),
        _ => None,
    };
    let cause = cause.map_or_else(String::new, |cause| format!(", since {cause}"));
    if !is_longer {
        return format!("{what} takes {} more memory{than}: {said}{cause}", percent(setback.larger()));
    }
    let phase = moved(&PHASES).first().and_then(|(figure, _)| figure.entry()).map_or("", |entry| entry.name);
    let of_rank = match scenario.plan.pipeline {
        1 => String::new(),
        _ => format!(" of pipeline rank {}, which ends last", setback.with.last_rank),
    };
    format!("{what} makes a step {} longer{than}: {said}{cause}; most in {phase}{of_rank}", percent(setback.longer()))
}

fn amounts(scenario: &Scenario, summary: &Summary, figures: &[Figure]) -> Vec<Amount> {
    let subject = FigureSubject::new(scenario, summary);
    figures.iter().filter_map(|figure| figure.amount(&subject)).collect()
}

/// Why adapters take more of a part than training all parameters does.
fn of_adapters(scenario: &Scenario, part: Figure) -> Option<&'static str> {
    match part {
        Figure::Other => Some("each adapter is four kernels more, which the host must launch"),
        Figure::Compute if scenario.plan.tuning.frozen_format() != FrozenFormat::Bf16 => {
            Some("frozen weights of fewer bits are dequantised in every pass")
        }
        Figure::Compute => Some("an adapter's products, its scaling and its sum are kernels of their own"),
        Figure::Activations if scenario.stack.adapter_format.is_some() => Some(
            "each adapter casts its input to a format of its own, and keeps the copy for backward (PEFT's LoRA layers)",
        ),
        _ => None,
    }
}
