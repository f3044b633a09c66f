//! A part of a search as JSON, and all of them as one.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cli::exit::{Exit, Failure};
use shardscope_engine::search::WorkPart;
use shardscope_engine::search::plans::{EvaluatedPlan, PlanSearch, pareto_figures, pareto_front};
use shardscope_engine::text::printable;
use shardscope_library::disk::{InputKind, OpenInput};
use shardscope_report::figures::SearchReport;

use super::seal::{Seal, foreign_parts, hashed, mistakes};

/// The key of the hash of everything else in a part.
const CONTENT: &str = "content";

/// A part as its file has it: the JSON of a search, and what tells which of its plans are the best of all parts.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct SearchPart {
    #[serde(default)]
    file: String,
    part: PartRecord,
    objective: String,
    space: SpaceRecord,
    exact: bool,
    seconds: f64,
    plans: Vec<Map<String, Value>>,
    /// Plans that are better than the first, and that no launcher takes.
    #[serde(default)]
    beyond: Vec<Map<String, Value>>,
    /// The gain of a choice for each operator, of its best plan.
    #[serde(default)]
    per_operator: Value,
    pareto: Vec<Value>,
}

/// Which part it is, and how good its plans are.
#[derive(Debug, Serialize, Deserialize)]
struct PartRecord {
    index: u32,
    count: u32,
    question: String,
    /// Plans that the search asks for.
    top: usize,
    plans: Vec<ScoredPlan>,
    #[serde(default)]
    beyond: Vec<ScoredPlan>,
    pareto: Vec<FrontPlan>,
}

/// The score of a plan, the less the better, and a hash of its figures: plans of the same figures count once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ScoredPlan {
    score: [f64; 2],
    figures: String,
}

/// A plan on the front: the figures that it weighs, each the less the better.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FrontPlan {
    devices: u32,
    figures: Vec<f64>,
}

/// How many plans there are.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SpaceRecord {
    plans: u64,
    impossible: u64,
    bounded: u64,
    simulated: u64,
}

impl SearchPart {
    /// The seal of a part of a search.
    pub(in crate::cli) fn seal(part: WorkPart, search: &PlanSearch) -> Seal {
        Seal::new(part, &search.base, &json!({"search": format!("{search:?}")}))
    }

    /// The JSON of a part.
    pub(in crate::cli) fn json(part: WorkPart, report: &SearchReport) -> String {
        let SearchReport { search, answer, .. } = report;
        let standing = |found: &EvaluatedPlan| {
            let figures = hashed(&format!("{:?}", found.summary));
            ScoredPlan { score: search.objective.of(found), figures }
        };
        let weighed = |found: &EvaluatedPlan| FrontPlan {
            devices: found.summary.devices,
            figures: pareto_figures(&search.front, found),
        };
        let record = PartRecord {
            index: part.index(),
            count: part.count(),
            question: Self::seal(part, search).question,
            top: search.top,
            plans: answer.plans.iter().map(standing).collect(),
            beyond: answer.beyond.iter().map(standing).collect(),
            pareto: answer.front.iter().map(weighed).collect(),
        };
        let mut document = report.value();
        document["part"] = json!(record);
        document["part"][CONTENT] = json!(hashed(&document.to_string()));
        format!("{document:#}")
    }

    /// Reads a part of a search, which may be opened already.
    pub(in crate::cli) fn read(file: &Path, opened: Option<OpenInput>) -> Result<Self, Failure> {
        let text = opened.map_or_else(|| OpenInput::open(file, InputKind::SearchPart), Ok).and_then(OpenInput::text);
        let text = text.map_err(|error| Failure::io(file, &error))?;
        let named = printable(&file.display().to_string());
        let wrong = |why: &dyn Display| {
            let what = "is no part of a search; give what `search --part K/N --format json` printed";
            Failure::input(format!("{named}: {what} ({why})"))
        };
        let mut document: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        // Parts of before there was a hash of the content have none.
        let sealed = document.get_mut("part").and_then(|part| part.as_object_mut()?.shift_remove(CONTENT));
        if sealed.is_some_and(|sealed| sealed != hashed(&document.to_string())) {
            let what = "is not as `search --part` wrote it: something in it was changed; run this part again";
            return Err(Failure::input(format!("{named}: {what}")));
        }
        let part: Self = serde_json::from_value(document).map_err(|error| wrong(&error))?;
        let PartRecord { index, count, plans, beyond, pareto, .. } = &part.part;
        let has_each = plans.len() == part.plans.len() && beyond.len() == part.beyond.len();
        if index >= count || !has_each || pareto.len() != part.pareto.len() {
            return Err(wrong(&"'part' does not say of each plan how good it is"));
        }
        Ok(Self { file: named, ..part })
    }

    /// Its place among the parts.
    pub(in crate::cli) fn index(&self) -> u32 {
        self.part.index
    }

    fn sealed(&self) -> Option<(String, Seal)> {
        let PartRecord { index, count, question, .. } = &self.part;
        let part = format!("{index}/{count}").parse().ok()?;
        Some((self.file.clone(), Seal { part, question: question.clone(), content: None }))
    }

    /// The score that a plan must beat to be among the best of all, where other parts of the same search have found
    /// as many as are asked for.
    pub(in crate::cli) fn known(files: &[PathBuf], seal: &Seal) -> Result<Option<[f64; 2]>, Failure> {
        let parts: Vec<Self> = files.iter().map(|file| Self::read(file, None)).collect::<Result<_, _>>()?;
        let mut sealed: Vec<(String, Seal)> = parts.iter().filter_map(Self::sealed).collect();
        sealed.push((format!("--part {}", seal.part), seal.clone()));
        let mistakes = foreign_parts(&sealed);
        if !mistakes.is_empty() {
            return Err(Failure::Input(mistakes));
        }
        let top = parts.first().map_or(0, |part| part.part.top);
        let best = best(&parts);
        Ok(best.get(top.saturating_sub(1)).map(|(standing, _)| standing.score))
    }

    /// All parts as the search that they are parts of.
    pub(in crate::cli) fn merged(parts: &[Self]) -> Result<(String, Exit), Failure> {
        let sealed: Vec<(String, Seal)> = parts.iter().filter_map(Self::sealed).collect();
        let mistakes = mistakes(&sealed);
        if !mistakes.is_empty() {
            return Err(Failure::Input(mistakes));
        }
        let best = best(parts);
        let first = |part: &&Self| part.part.plans.first() == best.first().map(|(standing, _)| *standing);
        let per_operator = parts.iter().find(first).map_or(&Value::Null, |part| &part.per_operator);
        let plans = best.iter().enumerate().map(|(place, (_, plan))| {
            let mut plan = Map::clone(plan);
            plan.insert("rank".to_owned(), json!(place + 1));
            plan
        });
        let plans: Vec<_> = plans.collect();
        let exit = if plans.is_empty() { Exit::DoesNotFit } else { Exit::Done };
        let sum = |count: fn(&SpaceRecord) -> u64| parts.iter().map(|part| count(&part.space)).sum();
        let space = SpaceRecord {
            plans: sum(|space| space.plans),
            impossible: sum(|space| space.impossible),
            bounded: sum(|space| space.bounded),
            simulated: sum(|space| space.simulated),
        };
        let whole = json!({
            "format": 1,
            "objective": parts.first().map(|part| &part.objective),
            "space": space,
            "exact": parts.iter().all(|part| part.exact),
            "seconds": parts.iter().map(|part| part.seconds).sum::<f64>(),
            "plans": plans,
            "beyond": beyond(parts, &best),
            "per_operator": per_operator,
            "recipe": Value::Null,
            "nearest": Value::Null,
            "on_host": Value::Null,
            "pareto": front(parts),
        });
        Ok((format!("{whole:#}"), exit))
    }
}

/// A plan as a part has it, and how good it is.
type Stood<'a> = (&'a ScoredPlan, &'a Map<String, Value>);

/// Whether some launcher takes a plan.
fn is_launched((_, plan): &Stood<'_>) -> bool {
    plan.get("runs_in").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}

/// The best plans of all parts, best first, as many as are asked for; of those that a launcher takes, if there are any.
fn best(parts: &[SearchPart]) -> Vec<Stood<'_>> {
    let all = parts.iter().flat_map(|part| part.part.plans.iter().zip(&part.plans));
    let launched = parts.iter().any(|part| part.part.plans.iter().zip(&part.plans).any(|plan| is_launched(&plan)));
    ranked(parts, all.filter(|plan| !launched || is_launched(plan)))
}

/// What is better than the best plan, and what no launcher takes: what parts found beyond their own best plan, and the best plans
/// of parts in which no launcher takes any.
fn beyond<'a>(parts: &'a [SearchPart], best: &[Stood<'a>]) -> Vec<Map<String, Value>> {
    /// As many as a whole search names.
    const MOST: usize = 3;

    let Some(first) = best.first().filter(|first| is_launched(first)) else { return Vec::new() };
    let own = parts.iter().flat_map(|part| part.part.plans.iter().zip(&part.plans)).filter(|plan| !is_launched(plan));
    let found = parts.iter().flat_map(|part| part.part.beyond.iter().zip(&part.beyond));
    let better = |(standing, _): &Stood<'a>| standing.score < first.0.score;
    let tokens = |plan: &Map<String, Value>| {
        let evaluation = plan.get("evaluation").unwrap_or(&Value::Null);
        plan.get("tokens_per_s").or(evaluation.get("tokens_per_s")).and_then(Value::as_f64)
    };
    let record = |(_, plan): &Stood<'a>| {
        let evaluation = plan.get("evaluation").unwrap_or(&Value::Null);
        let figure = |key: &str| plan.get(key).or(evaluation.get(key)).cloned();
        let peak = figure("peak_bytes").or_else(|| evaluation.pointer("/memory/peak_bytes").cloned());
        let gain = tokens(plan).zip(tokens(first.1)).map(|(tokens, first)| tokens / first - 1.0);
        let entries = [
            ("scenario", figure("scenario")),
            ("gain", Some(json!(gain))),
            ("step_time_s", figure("step_time_s")),
            ("tokens_per_s", Some(json!(tokens(plan)))),
            ("peak_bytes", peak),
            ("runs_in", figure("runs_in")),
            ("missing", figure("missing")),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value.unwrap_or(Value::Null))).collect()
    };
    ranked(parts, own.chain(found).filter(better)).iter().take(MOST).map(record).collect()
}

/// Plans by how good they are, each with figures of its own, as many as are asked for.
fn ranked<'a>(parts: &[SearchPart], plans: impl Iterator<Item = Stood<'a>>) -> Vec<Stood<'a>> {
    let mut all: Vec<_> = plans.collect();
    // Stable: of two that are as good the earlier stays first.
    all.sort_by(|(one, _), (other, _)| {
        one.score[0].total_cmp(&other.score[0]).then(one.score[1].total_cmp(&other.score[1]))
    });
    // Parts may find plans of the same figures, which the whole search would have listed once: 1.0 A, 1.0 A, 2.0 B are two
    // plans, and with two asked for B is among the best.
    let mut seen = HashSet::new();
    all.retain(|(standing, _)| seen.insert(&standing.figures));
    all.truncate(parts.first().map_or(0, |part| part.part.top));
    all
}

/// The plans that no other one beats in all that the front weighs, the fewest devices first.
fn front(parts: &[SearchPart]) -> Vec<&Value> {
    let all = parts.iter().flat_map(|part| part.part.pareto.iter().zip(&part.pareto));
    let mut front =
        pareto_front(all.map(|(weighed, plan)| (weighed.figures.clone(), (weighed.devices, plan))).collect());
    front.sort_by_key(|(devices, _)| *devices);
    front.into_iter().map(|(_, plan)| plan).collect()
}
