//! The report on a measured figure: the hypotheses that may explain it and the prices of memory, as tables and JSON.

use serde_json::{Value, json};

use crate::figures::table::{CellTone, Table, TableCell};
use shardscope_engine::evaluate::{MemoryParts, Summary};
use shardscope_engine::hardware::{Architecture, Maker};
use shardscope_engine::search::{CauseKind, ChoicePrice, Diagnosis, Hypothesis, OwnFigure};
use shardscope_engine::units::{Bytes, percent, signed, whole_percent};

/// The measured memory beside the predicted one in a sentence, and the predicted parts.
pub fn memory_words(diagnosis: &Diagnosis) -> Vec<String> {
    let Diagnosis { figure, predicted, .. } = diagnosis;
    let peak = predicted.memory.peak;
    let sentence = if let OwnFigure::OutOfMemory { needed, room, .. } = figure {
        let fits = if peak > *room { "does not fit" } else { "fits" };
        format!("out of memory: {needed} or more of {room}; predicted {peak}, which {fits}")
    } else {
        let way = if diagnosis.off > 0.0 { "less" } else { "more" };
        let gap = 1.0 / (1.0 + diagnosis.off) - 1.0;
        format!("measured {}, predicted {peak}: {} {way}", figure.typed(), percent(gap.abs()))
    };
    vec![sentence, format!("predicted: {}", parts(predicted))]
}

/// `optimizer 11.2 GiB, weights 1.87 GiB`: the largest part first.
fn parts(summary: &Summary) -> String {
    let mut parts = MemoryParts::named(&summary.memory.parts);
    parts.sort_by(|(_, one), (_, other)| other.get().total_cmp(&one.get()));
    let held = parts.iter().filter(|(_, size)| *size > Bytes::ZERO);
    held.map(|(name, size)| format!("{} {size}", name.replace('_', " "))).collect::<Vec<_>>().join(", ")
}

/// Whether anything explains the figure, in a sentence; `None` where the prediction too is out of memory.
pub fn verdict_words(diagnosis: &Diagnosis) -> Option<String> {
    let Diagnosis { band, tried, hypotheses, .. } = diagnosis;
    let width = percent(libm::expm1(*band));
    let sentence = if diagnosis.is_expected() {
        if matches!(diagnosis.figure, OwnFigure::OutOfMemory { .. }) {
            return None;
        }
        format!("nothing to explain: it is within the prediction's {width}")
    } else if diagnosis.is_explained() {
        format!("the nearest of {tried} hypotheses; within the prediction's {width} they explain it")
    } else if hypotheses.is_empty() {
        format!("none explains it: none of {tried} hypotheses is much nearer than the scenario itself")
    } else {
        format!("none explains it: none of {tried} hypotheses is within the prediction's {width}")
    };
    Some(sentence)
}

/// The commands that tell hypotheses apart which explain a run equally well; `None` where they are of one kind.
pub fn apart_words(diagnosis: &Diagnosis) -> Option<String> {
    let explaining = || diagnosis.hypotheses.iter().filter(|one| diagnosis.explains(one));
    let of_amd = |architecture: &str| Architecture::named(architecture).maker == Maker::Amd;
    let amd = explaining().any(|one| of_amd(&one.candidate.scenario.cluster.device.architecture));
    let has = |kind: CauseKind| explaining().any(|one| one.kind == kind);
    let [clocks, links] = if amd {
        ["rocm-smi --showclocks under load", "all_reduce_perf -b 1G -e 4G of rccl-tests"]
    } else {
        ["nvidia-smi -q -d CLOCK under load", "all_reduce_perf -b 1G -e 4G of nccl-tests"]
    };
    let settings = "eval with what the run's log states";
    let told = [
        (CauseKind::Link, format!("{links}: links")),
        (CauseKind::Clock, format!("{clocks}: clocks")),
        (CauseKind::Setting, format!("{settings}: settings")),
    ];
    let told: Vec<String> = told.into_iter().filter(|(kind, _)| has(*kind)).map(|(_, words)| words).collect();
    (told.len() > 1 && !diagnosis.is_expected()).then(|| format!("what tells them apart: {}", told.join("; ")))
}

/// The hypotheses, the nearest first.
pub fn hypotheses(diagnosis: &Diagnosis) -> Table {
    let of_time = diagnosis.figure.is_of_time();
    let figure = if of_time { "step time" } else { "peak" };
    // Where memory ran out there is no figure to be off from.
    let off = if matches!(diagnosis.figure, OwnFigure::OutOfMemory { .. }) { "" } else { "off" };
    let mut table = Table::headed(["it may have been", off, figure, ""]);
    table.extend(diagnosis.hypotheses.iter().map(|one| hypothesis_cells(diagnosis, one)));
    table
}

fn hypothesis_cells(diagnosis: &Diagnosis, one: &Hypothesis) -> Vec<TableCell> {
    let explains = diagnosis.explains(one) && !diagnosis.is_expected();
    let tone = if explains { CellTone::Name } else { CellTone::Aside };
    let figure = if diagnosis.figure.is_of_time() {
        one.summary.step_time.to_string()
    } else {
        one.summary.memory.peak.to_string()
    };
    [
        TableCell::word(one.to_string()),
        match diagnosis.figure {
            OwnFigure::OutOfMemory { .. } => TableCell::word(""),
            _ => TableCell::change(one.off),
        },
        TableCell::word(figure),
        TableCell::word(if explains { "explains it" } else { "" }),
    ]
    .map(|cell| cell.toned(tone))
    .into()
}

/// The memory and the time that each choice would save or cost.
pub fn prices(diagnosis: &Diagnosis) -> Table {
    let mut table = Table::headed(["choice, batch kept", "peak", "memory", "time", "P(fits)", ""]);
    table.extend(diagnosis.prices.iter().map(price_cells));
    table
}

fn price_cells(one: &ChoicePrice) -> Vec<TableCell> {
    let ChoicePrice { candidate, summary, memory, time, chance, fits } = one;
    let sign = if *memory < Bytes::ZERO { '-' } else { '+' };
    let size = memory.max(Bytes::ZERO - *memory);
    vec![
        TableCell::word(candidate.to_string()),
        TableCell::word(summary.memory.peak.to_string()),
        TableCell::word(format!("{sign}{size}")),
        TableCell::word(signed(*time)),
        TableCell::word(whole_percent(*chance)),
        if *fits { TableCell::word("fits").toned(CellTone::Good) } else { TableCell::word("").toned(CellTone::Aside) },
    ]
}

/// The text for people: the verdict, the hypotheses and the prices of memory.
pub fn diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = verdict_words(diagnosis).map_or_else(String::new, |verdict| verdict + "\n");
    if !diagnosis.hypotheses.is_empty() {
        text += &hypotheses(diagnosis).text();
    }
    if let Some(apart) = apart_words(diagnosis) {
        text += &apart;
        text += "\n";
    }
    if !diagnosis.prices.is_empty() {
        text += "\n";
        text += &prices(diagnosis).text();
    }
    text
}

/// The JSON for scripts.
pub fn diagnosis_record(diagnosis: &Diagnosis) -> Value {
    let hypothesis = |one: &Hypothesis| {
        json!({
            "change": one.joined(|change| change.setting.clone()),
            "value": one.joined(|change| change.value.clone()),
            "kind": one.kind.word(),
            "step_time_s": one.summary.step_time.get(),
            "peak_bytes": one.summary.memory.peak.get().round(),
            "distance": one.off.abs(),
            "explains": diagnosis.explains(one),
        })
    };
    let price = |one: &ChoicePrice| {
        json!({
            "change": one.candidate.to_string(),
            "peak_bytes": one.summary.memory.peak.get().round(),
            "memory_bytes": one.memory.get().round(),
            "time": one.time,
            "p_fits": one.chance,
            "fits": one.fits,
        })
    };
    json!({
        "tried": diagnosis.tried,
        "explained": diagnosis.is_expected() || diagnosis.is_explained(),
        "hypotheses": diagnosis.hypotheses.iter().map(hypothesis).collect::<Vec<_>>(),
        "prices": diagnosis.prices.iter().map(price).collect::<Vec<_>>(),
    })
}
