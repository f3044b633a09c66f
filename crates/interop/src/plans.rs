//! Imports and exports plans of launchers: Accelerate, the Trainer, DeepSpeed, Megatron-LM, torchtitan and torchtune.
//!
//! Takes and returns texts. Each tool's module maps keys to fields once, for both directions.

mod accelerate;
mod adapters;
pub(crate) mod asked;
mod commands;
mod context;
mod deepspeed;
pub(crate) mod deviation;
mod draft;
mod exported;
mod free_layers;
mod frozen;
mod harmless;
mod kernels;
pub(crate) mod lacks;
mod launcher;
mod llama_factory;
mod loss;
mod megatron;
mod post_training;
mod primus;
mod programs;
mod python;
mod refusals;
mod releases;
mod rollout_programs;
mod rollouts;
mod sbatch;
mod script;
mod settings;
mod settle;
mod stages;
pub(crate) mod table;
mod target;
mod tool;
mod torchtitan;
mod torchtune;
mod trainer;
mod tuners;
mod words;
mod writer;
mod written;
mod xtuner;

use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::{self, PlanFile, ScenarioFile};
use shardscope_engine::scenario::{Field, Problem, Scenario, UnknownSetting, Value};
use shardscope_library::disk::InputKind;

use shardscope_engine::text::{name, printable};

use super::report::Imported;

use draft::PlanDraft;
use harmless::HarmlessNames;
use settings::{Setting, ToolSettings};
use tool::CompanionFiles;

pub use exported::ExportedPlan;

pub use deviation::UnsupportedField;
pub use exported::export;
pub use sbatch::{JobLauncher, JobWishes};
pub use target::PlanTarget;

/// A scenario that was read from a launcher's configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportedPlan {
    /// The scenario, as in a file.
    pub scenario: ScenarioFile,
}

/// A launcher's file: its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct LauncherFile<'a> {
    /// The name in messages.
    pub name: &'a str,
    /// The file's text.
    pub text: &'a str,
}

/// True if a text is a launcher's configuration, judged by its content.
pub fn is_plan(name: &str, text: &str) -> bool {
    recognised(LauncherFile { name, text }).is_ok() || refusals::foreign(text, &parsed(name, text)).is_some()
}

/// The DeepSpeed file that a configuration refers to, if any.
pub fn referred(text: &str) -> Option<String> {
    let settings = parsed("", text);
    let names = ["deepspeed_config.deepspeed_config_file", "deepspeed"];
    names.into_iter().find_map(|name| settings.text(name)).map(str::to_owned)
}

/// What the user states beside the files; it overrides them.
#[derive(Debug, Clone, Default)]
pub struct PlanWishes {
    /// Fields and their values.
    pub fields: Vec<(Field, Value)>,
    /// A model that is no preset.
    pub model: Option<Model>,
    /// A cluster that is no preset, with an id that no preset has.
    pub machine: Option<Cluster>,
}

/// Imports files that describe one run.
pub fn import(
    files: &[LauncherFile<'_>],
    wishes: PlanWishes,
    library: &Library,
) -> Result<Imported<ImportedPlan>, Vec<Problem>> {
    let mut read = Vec::new();
    for file in files {
        // Beside a plan's file, a list of packages only tells the tool's release.
        if files.len() == 1 || !releases::lists_packages(file.name) {
            read.extend(recognised(*file).map_err(|error| vec![error])?);
        }
    }
    let of_nodes = devices_of_nodes(&wishes, library);
    let machine = wishes.machine.clone();
    let mut draft = PlanDraft::new(wishes, of_nodes, HarmlessNames::of_library(library)?);
    draft.logged = files.iter().any(|file| file.text.contains(LOGGED));
    let tool = take_over(read, &mut draft)?;
    judge_unknown(&mut draft);
    if !draft.errors.is_empty() {
        return Err(draft.errors);
    }
    finish(files, tool, draft, (machine, library))
}

/// Devices on the user's number of nodes, on the user's cluster or else the default scenario's.
fn devices_of_nodes(wishes: &PlanWishes, library: &Library) -> Option<u32> {
    let said = |wanted| wishes.fields.iter().find(|(field, _)| *field == wanted).map(|(_, value)| value);
    let base = || Some(file::parse(&library.scenario_text("default").ok()?.text).ok()?.cluster);
    let cluster = said(Field::Cluster).map(ToString::to_string).or_else(base)?;
    let preset = || Some(library.cluster(&cluster).ok()?.devices_per_node());
    let each = wishes.machine.as_ref().map(Cluster::devices_per_node).or_else(preset)?;
    said(Field::Nodes)?.get::<u32>()?.checked_mul(each)
}

/// The line above the arguments in Megatron-LM's log.
const LOGGED: &str = "- arguments --";

/// The tool and the settings of a file; a script may hold options of two tools.
fn recognised(file: LauncherFile<'_>) -> Result<Vec<(PlanTarget, ToolSettings)>, Problem> {
    let LauncherFile { name, text } = file;
    let mut settings = parsed(name, text);
    // axolotl runs the Trainer, under its own names.
    if settings.has("base_model") && (settings.has("datasets") || settings.has("micro_batch_size")) {
        return Ok(vec![(PlanTarget::TRAINER, adapters::of_axolotls_file(settings))]);
    }
    if llama_factory::is_of(&settings) {
        return Ok(vec![(PlanTarget::TRAINER, llama_factory::of_file(settings))]);
    }
    if rollout_programs::is_of(&settings) {
        return Ok(vec![(PlanTarget::TRAINER, settings)]);
    }
    if let Some(read) = primus::of_file(&mut settings) {
        return Ok(vec![read?]);
    }
    if let Some(read) = xtuner::of_file(name, text) {
        return Ok(vec![(PlanTarget::TRAINER, read?)]);
    }
    if let Some(error) = refusals::foreign(text, &settings) {
        return Err(Problem::new(name, error.what, error.fix));
    }
    if text.contains(LOGGED) {
        return Ok(vec![(PlanTarget::MEGATRON, megatron::from_log(name, text))]);
    }
    if programs::is_megatron_swift(&mut settings) {
        return Ok(vec![(PlanTarget::MEGATRON, settings)]);
    }
    if let Some(tool) = PlanTarget::of_settings(&settings) {
        let on_megatron = tool == PlanTarget::TRAINER && programs::has_degrees(&mut settings);
        return Ok(vec![(if on_megatron { PlanTarget::MEGATRON } else { tool }, settings)]);
    }
    // A YAML document may hold the commands of one job, as clouds' do; with those of several jobs it is no script.
    let of_many = |read: &[(PlanTarget, ToolSettings)]| {
        read.iter().any(|(_, settings)| settings.rest().any(|(name, _)| name.contains(commands::ANOTHER)))
    };
    if let Some(read) = commands::launched(name, text).filter(|read| settings.is_empty() || !of_many(read)) {
        return Ok(read);
    }
    InputKind::LauncherTree
        .check(text)
        .map_err(|error| Problem::new(name, error, "or the script that starts the run"))?;
    let mut what = format!("is no configuration of {}", PlanTarget::known());
    if let Some(words) = Some(text).filter(|text| text.starts_with("#!")).and_then(commands::last_words) {
        what = format!("starts no program whose options are known; its last command is `{words}`");
    }
    Err(Problem::new(name, what, "give the file that the launcher reads, or the log of a Megatron-LM run"))
}

/// The settings of a text in JSON, TOML or YAML; empty for any other text.
fn parsed(name: &str, text: &str) -> ToolSettings {
    let text = text.trim_start_matches('\u{feff}');
    let json = || serde_json::from_str::<Json>(text).ok();
    let toml = || toml::from_str::<Json>(text).ok();
    let yaml = || serde_saphyr::from_str::<Json>(text).ok();
    if InputKind::LauncherTree.check(text).is_err() {
        return ToolSettings::new(name);
    }
    // YAML comes last, since it reads nearly any text: JSON is YAML too, and so is much of TOML.
    let object = json().or_else(toml).or_else(yaml).filter(Json::is_object);
    object.map_or_else(|| ToolSettings::new(name), |object| ToolSettings::from_object(name, &object))
}

/// Parts of names about a job's size, what it trains or what else it runs: a setting with one is not just about logs.
const TELLING: &str = "adapter adapters cp distill dora draft ep expert experts fp4 fp8 freeze frozen generations galore lora mezo moe \
    offload offloading parallel parallelism pp ppo prune quant quantization quantize rank ranks recompute reward \
    rlhf rollout teacher tp trainable unfreeze";

/// Judges settings that the tool's tables lack: refuses those with a telling name or a name of another tool's table,
/// and keeps the rest as unknown.
fn judge_unknown(draft: &mut PlanDraft) {
    let is_known =
        |name: &str| PlanTarget::launchers().flat_map(|target| target.spec().table.names()).any(|known| known == name);
    for (name, setting) in std::mem::take(&mut draft.unknown) {
        let is_off = ["1", "null"].contains(&setting.text.as_str()) || table::OFF.contains(&setting.text.as_str());
        // Prefixes of verl's settings tell nothing.
        let own = name.strip_prefix("actor_rollout_ref.").unwrap_or(&name);
        let own = own.strip_prefix("rollout.").unwrap_or(own);
        let telling =
            own.split(['_', '.', '-']).find(|part| TELLING.split(' ').any(|word| part.eq_ignore_ascii_case(word)));
        let why = match telling {
            // A log has every argument, mostly defaults; `trainable` tells even if off: the rest is frozen.
            part if draft.logged || is_off && part != Some("trainable") => None,
            Some(part) => Some(format!("is unknown, and by its name ('{part}') no setting without effect")),
            None if is_known(&name) => Some("is a setting of another tool, and not known here".to_owned()),
            None => None,
        };
        if let Some(why) = why {
            draft.cannot(&setting, &why, HARMLESS);
        } else {
            draft.doubt(&name, setting);
        }
    }
}

/// The fix if a setting has no effect.
const HARMLESS: &str =
    "say by flags what it means and leave it out, or name it in a file of your own in tools/ of the presets";

/// Reads one launcher's files: a configuration, and the DeepSpeed file that it refers to.
fn take_over(mut read: Vec<(PlanTarget, ToolSettings)>, draft: &mut PlanDraft) -> Result<PlanTarget, Vec<Problem>> {
    let of_deepspeed = |(tool, _): &(PlanTarget, ToolSettings)| *tool == PlanTarget::DEEPSPEED;
    // DeepSpeed's file alone is a plan. Beside another file it is the one referred to.
    let at = if read.len() > 1 { read.iter().position(of_deepspeed) } else { None };
    let deepspeed = at.map(|at| read.remove(at).1);
    let alone = |read: &[(PlanTarget, ToolSettings)]| {
        let place = read.first().map_or("", |(_, settings)| settings.file.as_str());
        let names: Vec<&str> = read.iter().map(|(tool, _)| tool.read_name()).collect();
        let what = format!("files of {} do not make one plan", names.join(" and "));
        vec![Problem::new(place, what, "give one configuration, and the DeepSpeed file that it refers to")]
    };
    // The Trainer's arguments and its launcher's configuration also belong together, and a script's options for
    // Accelerate override Accelerate's file.
    read.sort_by_key(|(tool, settings)| (*tool == PlanTarget::ACCELERATE, !settings.has("config_file")));
    if let [.., (PlanTarget::ACCELERATE, options), (PlanTarget::ACCELERATE, file)] = &mut read[..]
        && options.take("config_file").is_some()
    {
        options.fall_back(std::mem::replace(file, ToolSettings::new("")));
        read.pop();
    }
    // A script does not tell that LLaMA-Factory runs on Megatron-LM.
    if read.iter().any(|(_, settings)| programs::is_on_megatron(settings)) {
        for (tool, _) in read.iter_mut().filter(|(tool, _)| *tool == PlanTarget::TRAINER) {
            *tool = PlanTarget::MEGATRON;
        }
    }
    // A script may start a program with a file; its own options override the file.
    if let [(tool, one), (same, other), ..] = &mut read[..]
        && (tool == same || *tool == PlanTarget::MEGATRON && *same == PlanTarget::TRAINER && programs::names_file(one))
        && programs::names_file(one) != programs::names_file(other)
    {
        if programs::names_file(other) {
            std::mem::swap(one, other);
        }
        programs::take_file(one);
        let file = std::mem::replace(other, ToolSettings::new(""));
        if *tool == PlanTarget::TORCHTUNE {
            *one = torchtune::named_in(std::mem::take(one), &file);
        }
        one.fall_back(file);
        read.remove(1);
    }
    let pair = read.iter().map(|(tool, _)| *tool).collect::<Vec<_>>();
    let ([tool] | [tool @ PlanTarget::TRAINER, PlanTarget::ACCELERATE]) = pair[..] else { return Err(alone(&read)) };
    let both = read.len() == 2;
    for (tool, mut settings) in read {
        read_threads(&mut settings, draft);
        if rollout_programs::read(&mut settings, draft) {
            continue;
        }
        if let Some(reads) = &tool.spec().reads {
            (reads.read)(settings, CompanionFiles { deepspeed: deepspeed.clone(), launched: both }, draft);
        }
    }
    Ok(tool)
}

/// Host threads per process: set by a script, a share of the cores that DeepSpeed's launcher divides, or torchrun's one
/// per process.
fn read_threads(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if let Some(threads) = settings.take(launcher::THREADS) {
        draft.read(Field::HostThreads, &threads.text, &threads.place);
    } else if let Some(bound) = settings.take("bind_cores_to_rank").filter(|bound| bound.text != "false") {
        draft.bound_cores = Some(bound.place);
    }
    if let Some(torchrun) = settings.take(launcher::TORCHRUN) {
        draft.one_thread = Some(torchrun.place);
    }
}

/// Threads that the launcher gives each process, if nothing else sets them and an update on the host needs them.
fn launched_threads(scenario: &Scenario, draft: &mut PlanDraft) -> Option<(u32, String)> {
    let processes = scenario.devices_on_node();
    if let Some(place) = draft.bound_cores.take() {
        return Some(((scenario.cluster.host_cores() / processes).max(1), place));
    }
    let place = draft.one_thread.take()?;
    let matters = scenario.plan.optimizer_on_host() > 0.0 && scenario.host_threads().most.is_some();
    (processes > 1 && matters).then(|| (1, format!("{place}, for each of several processes")))
}

/// The fix if no file gives the number of devices.
pub(crate) const SAY_DEVICES: &str = "say it with --devices N or --nodes N";

/// Builds the scenario: the draft, over the default scenario.
fn finish(
    files: &[LauncherFile<'_>],
    tool: PlanTarget,
    mut draft: PlanDraft,
    (machine, library): (Option<Cluster>, &Library),
) -> Result<Imported<ImportedPlan>, Vec<Problem>> {
    let bug = |what: String| vec![Problem::new("", what, "report it: the default scenario should be readable")];
    let base = library.scenario_text("default").map_err(|unknown| bug(unknown.to_string()))?;
    let mut file = file::parse(&base.text).map_err(|error| bug(error.to_string()))?;
    file.plan = PlanFile::default();
    let first = files.first().map_or("", |file| file.name);
    if draft.devices().is_none() {
        let what = "no file says how many devices the job has";
        return Err(vec![Problem::new(first, what, SAY_DEVICES)]);
    }
    let model = draft.model.take();
    let of_default = "no file says it, so that of the default scenario is taken";
    if machine.is_none() {
        draft.assume(Field::Cluster, Value::id(&file.cluster), of_default);
    }
    let positions = match (&model, draft.value(Field::Model)) {
        (Some(model), _) => Some(model.positions),
        (None, Some(id)) => library.model(&id.to_string()).ok().map(|model| model.positions),
        (None, None) => None,
    };
    if let Some(stack) = draft.stack {
        let (stack, of) = positions.map_or(stack, |positions| deepspeed::stack_of(stack, positions));
        match releases::stack_of(stack, files) {
            Some((released, release)) => draft.assume(Field::Stack, Value::id(released), release),
            None => draft.assume(Field::Stack, Value::id(stack), format!("what is known of {of}")),
        }
    }
    draft.assume(Field::Stack, Value::id(&file.stack), of_default);
    if model.is_none() {
        draft.assume(Field::Model, Value::id(&file.model), of_default);
    }
    // In table order: a strategy comes before the fields that refine it, and a model before its sequence.
    for (field, value) in draft.fields() {
        file.put(field, Some(value.clone()));
    }
    if let Some(model) = model {
        adopt(&mut file, model, library, &mut draft);
    }
    if let Some(machine) = machine {
        file.put(Field::Cluster, Some(Value::id(&machine.id)));
        draft.report.take("cluster", &machine.id, "in full under [machine]");
        file.machine = Some(machine);
    }
    let stem = Path::new(first).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let refused =
        |problems: Vec<Problem>| problems.iter().map(|problem| import_problem(first, problem)).collect::<Vec<_>>();
    let mut scenario = library.resolve(&file).map_err(refused)?;
    if draft.value(Field::HostThreads).is_none()
        && let Some((threads, place)) = launched_threads(&scenario, &mut draft)
    {
        draft.take(Field::HostThreads, threads, &place);
        file.put(Field::HostThreads, Some(threads.into()));
        scenario = library.resolve(&file).map_err(refused)?;
    }
    let scenario = if settle::settle(&scenario, &mut file, &mut draft)? {
        library.resolve(&file).map_err(refused)?
    } else {
        scenario
    };
    scenario.layout().map_err(refused)?;
    scenario.divides_batch().map_err(|problem| refused(vec![problem]))?;
    for field in Field::all().filter(|field| field.spec().left_open) {
        if draft.value(field).is_none() {
            let value = field.value(&scenario).map_or_else(String::new, |value| value.to_string());
            draft.report.assume(field.key(), value, format!("no file says it; --{field} says otherwise"));
        }
    }
    file.unknown = doubted(files, tool, &draft);
    file.name = Some(name(&stem));
    file.about = Some(printable(&format!("imported from {first} ({})", tool.read_name())));
    Ok(Imported { made: ImportedPlan { scenario: file }, report: draft.report })
}

/// The most unknown settings that are kept with a plan: several times more than any real file has.
const MOST_DOUBTED: usize = 200;

/// The unknown settings, with lines if the file has lines.
fn doubted(files: &[LauncherFile<'_>], tool: PlanTarget, draft: &PlanDraft) -> Vec<UnknownSetting> {
    let line = |file: &str, key: &str| {
        let last = key.rsplit('.').next().unwrap_or(key);
        let text = files.iter().find(|one| printable(one.name) == file).map_or("", |one| one.text);
        let is_key = |word: &str| word.trim_start_matches('-').replace('-', "_") == last.replace('-', "_");
        let has = |line: &str| line.split(|sign: char| !sign.is_alphanumeric() && !"_-".contains(sign)).any(is_key);
        text.lines().position(has).map_or(0, |at| at as u32 + 1)
    };
    let setting = |(key, setting): &(String, Setting)| {
        let file = setting.place.split(": ").next().unwrap_or_default();
        let [file_name, key_name, value] = [file, key, &setting.text].map(name);
        UnknownSetting {
            tool: tool.read_name().to_owned(),
            line: line(file, key),
            file: file_name,
            key: key_name,
            value,
        }
    };
    draft.doubted.iter().take(MOST_DOUBTED).map(setting).collect()
}

/// Rewords a scenario's problem for an import: the field of the result, and the flag that changes it.
fn import_problem(file: &str, problem: &Problem) -> Problem {
    let flag = Field::behind(&problem.field).last().map_or_else(String::new, |field| format!(" (--{field})"));
    Problem::new(format!("{file}: {}{flag}", problem.field), &problem.what, &problem.fix)
}

/// Puts a model that is no preset into the file.
fn adopt(file: &mut ScenarioFile, mut model: Model, library: &Library, draft: &mut PlanDraft) {
    model.id = library.new_id(Kind::Model, &model.name);
    file.put(Field::Model, Some(Value::id(&model.id)));
    // Setting a model resets these fields.
    for field in [Field::Sequence, Field::MtpLayers, Field::FrozenLayers] {
        file.put(field, draft.value(field).cloned());
    }
    draft.report.take("model", &model.id, "in full under [shape]");
    file.shape = Some(model);
}

#[cfg(test)]
mod tests;
